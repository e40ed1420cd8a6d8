"""The rst format for structformer."""

from __future__ import annotations

from structformer.formats.protocol import Format
from structformer.plugins import hookimpl

from structformer_rst.format import RstFormat

__all__ = ["RstFormat"]


@hookimpl
def structformer_formats() -> list[Format]:
    return [RstFormat()]
