"""Late interaction (ColBERT) as a ranker, and the search stage over its token vectors, `late`."""

from typing import Any

from structformer.plugins import hookimpl


@hookimpl
def structformer_rankers() -> list[Any]:
    from structformer_colbert.kind import LATE_INTERACTION

    return [LATE_INTERACTION]


@hookimpl
def structformer_stages() -> list[Any]:
    from structformer_colbert.stage import LATE

    return [LATE]
