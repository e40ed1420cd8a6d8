"""`structformer pull`."""

from pathlib import Path

import click
from structformer.cli import Output, common_options


@click.command("pull")
@click.argument("repo", metavar="OWNER/NAME[@COMMIT]")
@click.option("--name", default="", help="The model's name in the workspace.  [default: its name on the hub]")
@common_options
def command(repo: str, name: str, workspace: Path, out: Output) -> None:
    """Fetch a model that `push` sent from a hub into the workspace; a model of the same name goes to models/earlier."""
    from structformer_exports.model_hub import pull_model

    called, commit = pull_model(workspace, repo, name)
    out.json({"model": called, "commit": commit})
    out.result(f"{called} ({repo.partition('@')[0]}@{commit})")
