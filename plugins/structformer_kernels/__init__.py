"""The papers' neural baselines: KNRM, Conv-KNRM, DRMM and DUET as kinds of rankers, and the command
`structformer ngraphs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    import click
    from structformer.models import RankerKind


@hookimpl
def structformer_rankers() -> list[RankerKind]:
    from structformer_kernels.kinds import KINDS

    return list(KINDS)


@hookimpl
def structformer_commands(app: click.Group) -> None:
    from structformer_kernels.command import command

    app.add_command(command)
