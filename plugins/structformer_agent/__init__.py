"""The section-title search agent: the stage `agent` and the command `structformer agent`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.retrieval import StageKind

CHOICES = ("first", "embedding", "texts", "classifier", "titles")  # ways to choose section titles


@hookimpl
def structformer_stages() -> list[StageKind]:
    from structformer_agent.agent import AGENT

    return [AGENT]


@hookimpl
def structformer_commands(app: Any) -> None:
    help_line = "Search again with section titles of the documents found."
    app.add_lazy("agent", "structformer_agent.command:command", help_line, "Research")
