"""Wikitext for structformer. For now the plainest form: headings, links and text of single pages."""

from __future__ import annotations

from structformer.plugins import Format, hookimpl

from structformer_wikitext.format import WikitextFormat

__all__ = ["WikitextFormat"]


@hookimpl
def structformer_formats() -> list[Format]:
    return [WikitextFormat()]
