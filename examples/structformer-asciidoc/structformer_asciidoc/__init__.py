"""AsciiDoc for structformer."""

from __future__ import annotations

from structformer.formats.protocol import Format
from structformer.plugins import hookimpl

from structformer_asciidoc.format import AsciiDocFormat

__all__ = ["AsciiDocFormat"]


@hookimpl
def structformer_formats() -> list[Format]:
    return [AsciiDocFormat()]
