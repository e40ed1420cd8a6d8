"""`structformer pull`."""

from __future__ import annotations

from pathlib import Path

import click
from structformer.cli import common_options, output


@click.command("pull")
@click.argument("repo", metavar="OWNER/NAME[@COMMIT]")
@click.option("--name", default="", help="The model's name in the workspace.  [default: its name on the hub]")
@common_options
@click.pass_context
def command(
    ctx: click.Context, repo: str, name: str, workspace: Path, quiet: bool, verbose: bool, as_json: bool
) -> None:
    """Fetch a model that `push` sent from a hub into the workspace; a model of the same name goes to models/earlier."""
    from structformer_exports.hub import pull_model

    out = output(ctx)
    called, commit = pull_model(workspace, repo, name)
    out.json({"model": called, "commit": commit})
    out.result(f"{called} ({repo.partition('@')[0]}@{commit})")
