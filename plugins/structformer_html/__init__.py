"""HTML for structformer. For now the plainest form: headings, links and text of the page's body."""

from __future__ import annotations

from structformer.formats import Format
from structformer.plugins import hookimpl


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_html.format import HtmlFormat

    return [HtmlFormat()]
