"""Judged collections and plain records for structformer: BEIR, TREC, MS MARCO, JSON lines, CSV."""

from structformer.formats import Format
from structformer.plugins import hookimpl


@hookimpl
def structformer_formats() -> list[Format]:
    from structformer_records.format import RecordsFormat

    return [RecordsFormat()]
