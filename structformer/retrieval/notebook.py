"""Hits as a notebook shows them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from structformer.notebook_html import ROWS, box, marked, more, note, table, text

if TYPE_CHECKING:
    from structformer.retrieval.hits import Hit, Hits


def hits_html(hits: Hits) -> str:
    """The first hits, with the query's words marked, and whether any of them may well be what was asked for."""
    if not hits:
        return box(f"No hits for: {hits.query}")
    rows = [[str(place), _place(hit), marked(hit.snippet, hit.highlights)] for place, hit in enumerate(hits[:ROWS], 1)]
    return box(
        f"Hits for: {hits.query}",
        "" if hits.confident else note("nothing found with confidence; the nearest:"),
        table(["", "section", "text"], rows),
        more(len(hits) - ROWS, "hits"),
    )


def _place(hit: Hit) -> str:
    address = f"<code>{text(hit.address)}</code>"
    linked = f'<a href="{escape(hit.url)}">{address}</a>' if hit.url else address
    return f"{text(hit.breadcrumb)}<br>{linked}"
