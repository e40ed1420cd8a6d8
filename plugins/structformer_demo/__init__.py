"""The search on documents that are here already: what installed Python packages say about themselves."""

from typing import Any

from structformer.plugins import hookimpl


@hookimpl
def structformer_commands(app: Any) -> None:
    app.add_lazy("demo", "structformer_demo.command:command", "Try it on documents that you already have.", "More")
