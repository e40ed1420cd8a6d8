"""`structformer sample`."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from structformer.cli import common
from structformer.cli.brief import BriefCommand, completed
from structformer.text.field_docs import field_docs

if TYPE_CHECKING:
    from structformer.sampling import Samples

_DOCS = field_docs("sampling.example", "SamplingOptions")


def task_names() -> list[str]:
    """Return the names of all tasks."""
    return [name for name, _ in listed_tasks()["Tasks"]]


def listed_tasks() -> dict[str, list[tuple[str, str]]]:
    """Return all tasks with the paper that each is from, for `--help --all`."""
    from structformer.sampling.tasks import tasks

    return {"Tasks": [(name, task.source or "no paper") for name, task in tasks().items()]}


@click.command(
    "sample",
    cls=BriefCommand,
    main="--tasks --show --negatives --negatives-from --min-words --draws --held-out --llm --workers",
    more=listed_tasks,
)
@click.option(
    "--tasks",
    metavar="LIST",
    shell_complete=completed(task_names),
    help="Tasks, comma-separated.  [default: Wikiformer's four, ict and ovs]",
)
@click.option("--show", type=click.IntRange(0), default=0, help="Print this many Examples of each task.")
@click.option("--negatives", metavar="N|all", help=_DOCS["negatives"].help)
@click.option("--min-words", type=click.IntRange(0), help=_DOCS["min_words"].help)
@click.option("--inner", type=click.Choice(["auto", "own", "subtree"]), help=_DOCS["inner"].help)
@click.option("--every-child/--one-child", default=None, help=_DOCS["every_child"].help)
@click.option("--draws", type=click.IntRange(1), help=_DOCS["draws"].help)
@click.option(
    "--held-out",
    type=common.Number(0, 0.9),
    help="Share of documents held out for evaluation.  [default: 0.1, less in big corpora]",
)
@click.option(
    "--negatives-from",
    type=click.Choice(["document", "siblings", "random", "lexical"]),
    help=_DOCS["negatives_from"].help,
)
@click.option("--compat", type=click.Choice(["paper", "released-code"]), help=_DOCS["compat"].help)
@common.default_option("--attention-model", "auto", "HARP's and B-PROP's tasks: the model whose attention draws words.")
@click.option(
    "--llm",
    metavar="URL",
    help="written: have the language model at this OpenAI-compatible address write questions. Sections and their paths "
    "are sent there, and nothing is sent otherwise. Its key: STRUCTFORMER_ASK_KEY.",
)
@click.option("--llm-model", metavar="NAME", help="With --llm: which of its models.  [default: the only one]")
@click.option("--max-requests", type=click.IntRange(1), help="With --llm: sections to send, at most.  [default: 1000]")
@click.option("--at-once", type=click.IntRange(1), help="With --llm: requests at the same time.  [default: 4]")
@click.option(
    "--patience", type=common.Number(1), help="With --llm: stop after this many seconds of silence.  [default: 300]"
)
@common.several_option("--path", "GLOB", "With --llm: send only documents with these ids.", name="paths")
@common.several_option("--where", "KEY=VALUE", "With --llm: send only documents with this metadata.", name="settings")
@click.option("--workers", type=click.IntRange(1), help="Worker processes.  [default: by size, at most all cores]")
@common.engine_option
@click.option("--seed", type=int, default=0, show_default=True)
@common.part_option
@common.common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    tasks: str | None,
    show: int,
    negatives: str | None,
    held_out: float | None,
    attention_model: str,
    workers: int | None,
    engine: str,
    seed: int,
    part: str | None,
    workspace: Path,
    out: common.Output,
    **given: Any,
) -> int:
    """Draw training Examples, groups of query-document pairs, from the corpus's trees and its reference graph.

    --help --all lists the tasks with their sources."""
    from structformer.engines.job_parts import Part
    from structformer.sampling import SamplingOptions, default_tasks, needs_attention
    from structformer.sampling.draw_examples import draw_samples, sample_part
    from structformer.sampling.sets import SampleRequest
    from structformer.sampling.tasks import chosen_tasks
    from structformer.workspace import Workspace

    of_sampling = {each.name: given.pop(each.name, None) for each in fields(SamplingOptions)}
    chosen = {key: value for key, value in of_sampling.items() if value is not None}
    if negatives is not None:
        if negatives != "all" and not negatives.isdecimal():
            raise click.BadParameter(f"{negatives!r}: write a number, or all", param_hint="--negatives")
        chosen["negatives"] = None if negatives == "all" else int(negatives)
    options = SamplingOptions(**chosen)
    listed = default_tasks() if tasks is None else tasks.split(",")
    names = [task.strip().lower() for task in listed if task.strip()]
    weights = None
    if needs_attention(names):
        from structformer.models.attention import AttentionWeights
        from structformer.models.base import resolve_base_model

        base = resolve_base_model(attention_model, "cross-encoder")
        weights = AttentionWeights(base.location, Workspace(workspace).cache)
    request = SampleRequest(tuple(names), options, seed, held_out=held_out, weights=weights)
    if any(given.values()):
        asking = [task.prepare for task in chosen_tasks(names) if task.prepare]
        if part is not None or not asking:
            raise click.UsageError("--llm and what goes with it are for --tasks written, without --part")
        for prepare in asking:
            prepare(Workspace(workspace), request, given, out)
    if part is not None:
        own = Part.parse(part)
        with out.progress("sampling") as progress:
            whole = sample_part(own, request, workspace, workers=workers, engine=engine, progress=progress)
        done = "its Examples are drawn" if whole else "its page texts are there, those of other parts are not yet"
        return common.say_part(out, own, done, workspace, again=not whole)
    with out.progress("sampling") as progress:
        samples = draw_samples(request, workspace, workers=workers, engine=engine, progress=progress)
    show_samples(ctx, out, samples, workspace, show)
    return 0


def show_samples(ctx: click.Context, out: common.Output, samples: Samples, workspace: Path, show: int = 0) -> None:
    """Say how many Examples were drawn, and show some of each task."""
    from structformer.sampling.sets import other_flags

    common.save_config(ctx, samples.folder)
    census = samples.manifest["census"]
    examples = [
        samples.example(task, number) for task, count in samples.counts.items() for number in range(min(show, count))
    ]
    out.json({**census, "held_out": samples.manifest["held_out"], "shown": [asdict(example) for example in examples]})
    shown = common.table(["task", "Examples"], [[*map(str, row)] for row in census["examples"].items()])
    for row, task in zip(shown.split("\n"), ("", "", *census["examples"]), strict=True):
        reasons = ", ".join(f"{number} {reason}" for reason, number in census["dropped"].get(task, {}).items())
        out.result(f"{row}  dropped: {reasons}" if reasons else row)
    for example in examples:
        out.result(f"\n{example.task} from {common.printable(example.document_id)}")
        for place, (query, document) in enumerate(zip(example.queries, example.documents, strict=True)):
            asked = (
                "(the same)"
                if place and query == example.queries[0]
                else common.printable(textwrap.shorten(query, 110))
            )
            out.result(f" {'-' if place else '+'} query    {asked}")
            out.result(f"   document {common.printable(textwrap.shorten(document, 110))}")
    if share := samples.manifest["held_out"]:
        out.say(f"\n{share:.0%} of the documents are held out for `structformer evaluate --held-out-structure`")
    flags, beside = other_flags(workspace, samples.manifest)
    if beside:
        listed = ", ".join(each or "the default options" for each in beside)
        out.say(f"\nbeside these are those drawn with {listed}; a training takes those of its own options")
    out.say(f"\nnext: structformer train -w {workspace} {_training_flags(samples.manifest['tasks'], flags)}".rstrip())


def _training_flags(tasks: Sequence[str], flags: str) -> str:
    """Return how `train` takes Examples of these tasks: by a recipe of them with the same options, or by a mix."""
    from structformer.sampling import default_tasks
    from structformer.sampling.sets import as_flags
    from structformer.training.recipes import recipe_names, training_options

    mix = "" if set(tasks) == set(default_tasks()) else f"--task-mix {','.join(tasks)} "
    if mix:
        for name, options in ((each, training_options(each, {})) for each in recipe_names()):
            alike = sorted(as_flags(options.sampling).split()) == sorted(flags.split())
            if alike and set(options.mix or ()) == set(tasks):
                return f"--recipe {name}"
    return mix + flags
