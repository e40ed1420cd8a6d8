"""Webformer on the document tree: the command `structformer webformer`."""

from typing import Any

from structformer.plugins import hookimpl


@hookimpl
def structformer_commands(app: Any) -> None:
    app.add_lazy(
        "webformer",
        "structformer_webformer.command:command",
        "Pre-train a base model on the corpus's trees.",
        "Research",
    )
