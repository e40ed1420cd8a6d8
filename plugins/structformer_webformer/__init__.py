"""Webformer on the document tree: the command `structformer webformer`."""

from typing import Any

from structformer.plugins import hookimpl


@hookimpl
def structformer_commands(app: Any) -> None:
    help_line = "Pre-train a base model on the corpus's trees."
    app.add_lazy("webformer", "structformer_webformer.command:command", help_line, "Research")
