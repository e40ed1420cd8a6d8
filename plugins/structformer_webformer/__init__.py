"""Webformer on the document tree: the command `structformer webformer`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structformer.plugins import hookimpl

if TYPE_CHECKING:
    import click


@hookimpl
def structformer_commands(app: click.Group) -> None:
    from structformer_webformer.command import command

    app.add_command(command)
