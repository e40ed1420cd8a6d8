"""The Org format for structformer."""

from __future__ import annotations

from structformer.formats import Format
from structformer.plugins import hookimpl


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_org.format import OrgFormat

    return [OrgFormat()]
