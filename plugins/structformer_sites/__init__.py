"""Site generators: one file and one object each. `settings` is the one reader of their settings files."""

from structformer.formats import SiteGenerator
from structformer.plugins import hookimpl

from structformer_sites.settings import load, parse_lines, parse_toml, parse_yaml

__all__ = ["load", "parse_lines", "parse_toml", "parse_yaml"]


@hookimpl
def structformer_site_generators() -> list[SiteGenerator]:
    from structformer_sites.antora import ANTORA
    from structformer_sites.docfx import DOCFX
    from structformer_sites.docsify import DOCSIFY
    from structformer_sites.docusaurus import DOCUSAURUS
    from structformer_sites.hugo import HUGO
    from structformer_sites.jekyll import JEKYLL
    from structformer_sites.material import MATERIAL
    from structformer_sites.mdbook import GITBOOK, MDBOOK
    from structformer_sites.mkdocs import MKDOCS
    from structformer_sites.quarto import QUARTO
    from structformer_sites.sphinx import SPHINX
    from structformer_sites.starlight import STARLIGHT
    from structformer_sites.vitepress import VITEPRESS
    from structformer_sites.zola import ZOLA

    # Of two that know a file of one name, such as config.toml, the one whose settings are plainer comes first.
    return [
        MKDOCS, MATERIAL, JEKYLL, DOCUSAURUS, SPHINX, GITBOOK, MDBOOK, DOCFX, ZOLA, HUGO, STARLIGHT, VITEPRESS, ANTORA,
        QUARTO, DOCSIFY,
    ]  # fmt: skip


@hookimpl
def structformer_theme(text: str) -> SiteGenerator:
    from structformer_sites.theme import read_theme

    return read_theme(text)
