"""Experiments: variants of a training that a TOML file describes, the tables of the papers among them."""

from __future__ import annotations

from typing import Any

from structformer.plugins import hookimpl


@hookimpl
def structformer_commands(app: Any) -> None:
    help_line = "Train and compare variants that a TOML file describes."
    app.add_lazy("experiment", "structformer_lab.command:command", help_line, "Research")
