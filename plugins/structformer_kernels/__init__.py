"""The papers' neural baselines: KNRM, Conv-KNRM and DRMM as kinds of rankers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.models import RankerKind


@hookimpl
def structformer_rankers() -> list[RankerKind]:
    from structformer_kernels.kinds import KINDS

    return list(KINDS)
