"""The wikitext format: pages, MediaWiki dumps and WikiExtractor output."""

from structformer.formats import Format
from structformer.plugins import hookimpl


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_wikitext.format import WikitextFormat

    return [WikitextFormat()]
