"""The rst format for structformer."""

from __future__ import annotations

from structformer.plugins import Format, hookimpl

from structformer_rst.format import RstFormat

__all__ = ["RstFormat"]


@hookimpl
def structformer_formats() -> list[Format]:
    return [RstFormat()]
