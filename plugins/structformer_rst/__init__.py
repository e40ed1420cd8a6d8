"""The rst format for structformer."""

from structformer.formats import Format
from structformer.plugins import hookimpl


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_rst.format import RstFormat

    return [RstFormat()]
