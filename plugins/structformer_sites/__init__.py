"""Site generators: one file and one object each. `settings` is the one reader of their settings files."""

from typing import TYPE_CHECKING

from structformer.formats import SiteGenerator
from structformer.lazy_names import lazy_names
from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer_sites.docfx import published_folders
    from structformer_sites.settings import load, parse_lines, parse_toml, parse_yaml, text_of

__all__ = ["load", "parse_lines", "parse_toml", "parse_yaml", "published_folders", "text_of"]
__getattr__ = lazy_names(__name__)


@hookimpl
def structformer_site_generators() -> list[SiteGenerator]:
    from structformer_sites.antora import ANTORA
    from structformer_sites.api_docs import EXDOC, YELP
    from structformer_sites.docfx import DOCFX
    from structformer_sites.docsify import DOCSIFY
    from structformer_sites.docusaurus import DOCUSAURUS
    from structformer_sites.hugo import HUGO
    from structformer_sites.jekyll import JEKYLL
    from structformer_sites.material import MATERIAL
    from structformer_sites.mdbook import GITBOOK, MDBOOK
    from structformer_sites.mediawiki import MEDIAWIKI
    from structformer_sites.mkdocs import MKDOCS
    from structformer_sites.quarto import QUARTO
    from structformer_sites.sphinx import SPHINX
    from structformer_sites.starlight import STARLIGHT
    from structformer_sites.vitepress import VITEPRESS
    from structformer_sites.zola import ZOLA

    # Of two that know a file of one name, such as config.toml, the one whose settings are plainer comes first; of two
    # that know a page, the one whose marks are more its own.
    return [
        MEDIAWIKI, MKDOCS, MATERIAL, JEKYLL, DOCUSAURUS, SPHINX, GITBOOK, MDBOOK, DOCFX, ZOLA, HUGO, STARLIGHT,
        VITEPRESS, ANTORA, QUARTO, DOCSIFY, EXDOC, YELP, *_html_only(),
    ]  # fmt: skip


@hookimpl
def structformer_theme(text: str) -> SiteGenerator:
    from structformer_sites.theme import read_theme

    return read_theme(text)


def _html_only() -> tuple[SiteGenerator, ...]:
    """Return those that only write pages: their settings say nothing of a site."""
    from structformer_sites.asciidoctor import ASCIIDOCTOR
    from structformer_sites.docbook import BOOSTBOOK, DOCBOOK
    from structformer_sites.dokka import DOKKA
    from structformer_sites.doxygen import DOXYGEN
    from structformer_sites.github import GITHUB
    from structformer_sites.javadoc import JAVADOC, JXR
    from structformer_sites.jupyter import JUPYTER
    from structformer_sites.latexml import LATEXML
    from structformer_sites.phpdocumentor import PHPDOCUMENTOR
    from structformer_sites.rustdoc import RUSTDOC
    from structformer_sites.texinfo import TEXINFO
    from structformer_sites.typedoc import TYPEDOC
    from structformer_sites.yard import YARD

    return (
        JAVADOC, DOXYGEN, RUSTDOC, PHPDOCUMENTOR, TYPEDOC, YARD, DOKKA, BOOSTBOOK, DOCBOOK, ASCIIDOCTOR,
        LATEXML, TEXINFO, JUPYTER, GITHUB, JXR,
    )  # fmt: skip
