"""The section-title search agent: the stage `agent` and the command `structformer agent`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    import click
    from structformer.retrieval import StageKind


@hookimpl
def structformer_stages() -> list[StageKind]:
    from structformer_agent.stage import AGENT

    return [AGENT]


@hookimpl
def structformer_commands(app: click.Group) -> None:
    from structformer_agent.command import command

    app.add_command(command)
