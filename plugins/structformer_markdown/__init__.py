"""Markdown for structformer: CommonMark and GFM with the extensions that real documentation uses."""

from structformer.formats import Format
from structformer.plugins import hookimpl


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_markdown.format import MarkdownFormat

    return [MarkdownFormat()]
