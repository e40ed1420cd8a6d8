"""`structformer report`."""

from pathlib import Path

import click
from structformer.cli import Output, OutputPath, common_options, force_option


@click.command("report")
@click.argument("model")
@click.option(
    "--output", "target", type=OutputPath(), help="The page to write.  [default: report.html in the model's folder]"
)
@force_option("the file named by --output")
@common_options
def command(model: str, target: Path | None, force: bool, workspace: Path, out: Output) -> None:
    """Write a self-contained page with the curves, scores and options of MODEL, a name in the workspace or a folder.

    For a run in progress or stopped, the page shows its record up to the last checkpoint.
    """
    from structformer_lab.run_page import write_report

    path = write_report(workspace, model, target, force=force)
    out.json({"page": str(path)})
    out.result(str(path))
