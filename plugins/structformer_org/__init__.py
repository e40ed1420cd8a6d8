"""The Org format for structformer."""

from structformer.formats import Format
from structformer.plugins import hookimpl


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_org.format import OrgFormat

    return [OrgFormat()]
