"""`structformer pretrain`."""

from pathlib import Path

import click
from structformer.cli import BriefCommand, Output, OutputPath, common_options, default_option, seconds, several_option


@click.command("pretrain", cls=BriefCommand, main="--output --cache --apart --base-model --max-time --share")
@click.argument("corpora", metavar="LIST", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--output", "target", type=OutputPath(), required=True, help="The folder to write the adapter into.")
@default_option(
    "--cache",
    Path("pretraining"),
    "Where documents, workspaces, pairs and checkpoints are kept: a later run continues there.",
    type=click.Path(file_okay=False, path_type=Path),
)
@several_option(
    "--apart", "WORKSPACE", "Workspace kept for evaluation: near copies of its passages are not learned from."
)
@default_option("--base-model", "minilm", "The encoder to adapt: a folder, or a hub name.")
@click.option("--max-time", help="Time to learn in this run: 90s, 5m, 1h.  [default: until --steps]")
@click.option("--steps", type=click.IntRange(1), default=2000, show_default=True)
@click.option("--batch", type=click.IntRange(2), default=48, show_default=True, help="Pairs of a step.")
@click.option("--rank", type=click.IntRange(1), default=8, show_default=True, help="Of the adapter's matrices.")
@click.option("--learning-rate", type=click.FloatRange(0, min_open=True), default=5e-4, show_default=True)
@click.option("--seed", type=int, default=0, show_default=True)
@default_option(
    "--share", 0.5, "Share of what was learned; the rest is the base.", type=click.FloatRange(0, 1, min_open=True)
)
@common_options
def command(
    corpora: Path,
    target: Path,
    cache: Path,
    apart: tuple[str, ...],
    base_model: str,
    max_time: str | None,
    share: float,
    out: Output,
    workspace: Path,  # which every command takes; this one writes nothing there
    **chosen: int | float,
) -> int:
    """Teach a sentence encoder the structure of many corpora: a small LoRA adapter, for any corpus.

    LIST is a TOML file of tables [[corpus]] with name, licence and folder, and of a public repository its address and
    commit: docs/learning.md. Each corpus is read and asks questions by its headings, links and sentences; the
    encoder learns to find the passages that answer them. A corpus that cannot be fetched or read is named and left out
    (exit code 1). `structformer index --base-model FOLDER` searches by the adapter, without torch too.
    """
    from structformer.models import MINILM_HUB, resolve_base_model
    from structformer.workspace import check_folder

    from structformer_lab.pretraining.adapter import AdapterRun, PretrainingOptions
    from structformer_lab.pretraining.corpora import gather, read_list

    listed, limit = read_list(corpora), seconds(max_time)
    check_folder(target, None, force=True)  # before hours of work
    base = resolve_base_model(base_model, "bi-encoder")
    options = PretrainingOptions(**chosen)  # type: ignore[arg-type]
    pairs, left_out = gather(listed, corpora.parent, cache, [Path(each) for each in apart], out.note)
    folder = str(Path(base.location).resolve()) if Path(base.location).is_dir() else base.location
    run = AdapterRun(folder, MINILM_HUB if base.name == "minilm" else folder, pairs, options)
    out.note(f"{len(run.corpora)} corpora, {sum(run.corpora.values())} pairs")
    run.learn(cache / "checkpoint.pt", limit, out.note)
    run.write(target, share, listed)
    out.json({"adapter": str(target), "steps": run.step, "corpora": run.corpora, "left_out": left_out})
    out.result(f"{target}: an adapter of {base.name} after {run.step} steps")
    return 1 if left_out else 0
