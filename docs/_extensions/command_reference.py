"""The directive `command-reference`: a section with the help of every command of `structformer`."""

from __future__ import annotations

import click
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from structformer.cli.main import app as command_line

WIDTH = 100


def helps(command: click.Command, name: str, parent: click.Context | None = None) -> list[tuple[str, str]]:
    """A command's name and help, and those of the commands below it."""
    context = click.Context(command, info_name=name, parent=parent, terminal_width=WIDTH, max_content_width=WIDTH)
    context.meta["structformer.all"] = True
    found = [(context.command_path, command.get_help(context))]
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found += helps(command.get_command(context, below), below, context)
    return found


class CommandReference(SphinxDirective):
    """One section for each command."""

    def run(self) -> list[nodes.Node]:
        sections: list[nodes.Node] = []
        for path, text in helps(command_line, "structformer")[1:]:
            section = nodes.section(ids=[nodes.make_id(path)], names=[path])
            section += nodes.title(path, path)
            section += nodes.literal_block(text, text, language="text")
            sections.append(section)
        return sections


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.add_directive("command-reference", CommandReference)
    return {"parallel_read_safe": True}
