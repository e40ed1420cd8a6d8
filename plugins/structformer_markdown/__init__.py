"""Markdown for structformer: CommonMark and GFM with the extensions that real documentation uses."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from structformer.formats import Format, SourceFile
from structformer.lazy_names import lazy_names
from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer_markdown.format import MarkdownFormat

__all__ = ["MarkdownFormat"]
__getattr__ = lazy_names(__name__)


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_markdown.format import MarkdownFormat

    return [MarkdownFormat()]


@hookimpl
def structformer_front_matter(
    text: str, source: SourceFile
) -> tuple[dict[str, Any], str, str, Callable[[str], str]] | None:
    from structformer_markdown.dialects.liquid import without_liquid
    from structformer_markdown.dialects.page import Page
    from structformer_markdown.front_matter import split_front_matter

    metadata, start, warning = split_front_matter(text)
    if not start:
        return None
    return metadata, text[start:], warning, lambda body: without_liquid(body, Page(source))
