"""The AsciiDoc format for structformer."""

from structformer.formats import Format
from structformer.plugins import hookimpl


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_asciidoc.format import AsciiDocFormat

    return [AsciiDocFormat()]
