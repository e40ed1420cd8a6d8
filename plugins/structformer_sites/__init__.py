"""Site generators: one file and one object each. `settings` is the one reader of their settings files."""

from structformer.formats import SiteGenerator
from structformer.plugins import hookimpl

from structformer_sites.settings import load, parse_lines, parse_toml, parse_yaml

__all__ = ["load", "parse_lines", "parse_toml", "parse_yaml"]


@hookimpl
def structformer_site_generators() -> list[SiteGenerator]:
    from structformer_sites.docusaurus import DOCUSAURUS
    from structformer_sites.mkdocs import MKDOCS

    return [MKDOCS, DOCUSAURUS]
