"""`structformer push`."""

from pathlib import Path

import click
from structformer.cli import Output, common_options


@click.command("push")
@click.argument("model")
@click.argument("repo", metavar="OWNER/NAME")
@click.option("--public", is_flag=True, help="Make a new repository public.  [default: private]")
@click.option("--evaluation", default="", metavar="NAME", help="Put the table of this evaluation into the card.")
@common_options
def command(model: str, repo: str, public: bool, evaluation: str, workspace: Path, out: Output) -> None:
    """Send MODEL (a name in the workspace) and its card to a hub: huggingface.co, or the one that HF_ENDPOINT names.

    The card says what the model learned from, how, and what it scored. Weights can reveal texts that they were
    trained on: check whose documents these are before you make a model public.
    """
    from structformer_exports.model_hub import push_model

    address = push_model(workspace, model, repo, private=not public, evaluation=evaluation)
    out.json({"address": address})
    out.result(address)
