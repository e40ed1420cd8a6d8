"""HTML for structformer. For now the plainest form: headings, links and text of the page's body."""

from __future__ import annotations

from structformer.plugins import Format, hookimpl

from structformer_html.format import HtmlFormat

__all__ = ["HtmlFormat"]


@hookimpl
def structformer_formats() -> list[Format]:
    return [HtmlFormat()]
