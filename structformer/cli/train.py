"""`structformer train`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from structformer.cli import common
from structformer.cli.brief import BriefCommand, completed
from structformer.cli.sample import listed_tasks, task_names
from structformer.cli.training_view import of_first_process, print_result, watched
from structformer.errors import UsageError
from structformer.models.kinds import RankerKind, imported, ranker_kind, ranker_kinds
from structformer.text.field_docs import field_docs
from structformer.workspace import Workspace


class RankersOption(click.Option):
    """An option whose help lists the kinds of rankers when it is shown: plugins' are loaded only then."""

    def __init__(self, *args: Any, describe: Callable[[Mapping[str, RankerKind]], str], **options: Any) -> None:
        super().__init__(*args, **options)
        self._describe = describe

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = self._describe(ranker_kinds())
        return super().get_help_record(ctx)


def training_flags(function: Any) -> Any:
    """Return the flags that training commands share; a flag that is not given leaves its key to the recipe."""
    docs = field_docs("training.options", "TrainingOptions")
    positive = common.Number(min=0, min_open=True)
    whole = click.IntRange(1)

    def option(flag: str, key: str, **options: Any) -> Any:
        return click.option(flag, key, **{"help": docs[key].help, **options})

    flags = (
        option("--base-model", "base_model"),
        option("--size", "size", type=click.Choice(["tiny", "mini", "small", "base"])),
        click.option("--max-time", help="Time for the whole run: 90s, 5m, 1h, none.  [default: 10m, or the recipe's]"),
        option("--max-steps", "max_steps", type=whole),
        option("--epochs", "max_epochs", type=positive),
        option("--batch", "groups", type=whole),
        option("--accumulation", "accumulation", type=whole),
        option("--learning-rate", "learning_rate", type=positive),
        option(
            "--loss",
            "loss",
            cls=RankersOption,
            describe=lambda kinds: "; ".join(f"{name}: {', '.join(kind.losses)}" for name, kind in kinds.items()) + ".",
        ),
        option("--mlm", "mlm", type=common.Number(0)),
        option("--max-tokens", "document_tokens", type=click.IntRange(8, 8192)),
        option("--batch-tokens", "batch_tokens", type=click.IntRange(8)),
        option("--hard-negatives", "hard_negatives", type=click.IntRange(0)),
        click.option(
            "--precision", type=click.Choice(["auto", "bf16", "fp16", "fp32"]), help="auto: bf16 where it is fast."
        ),
        option("--gradient-checkpointing", "gradient_checkpointing", is_flag=True, default=None),
        option("--compile", "compile", is_flag=True, default=None),
        option("--eval-steps", "eval_steps", type=whole),
        option("--save-steps", "save_steps", type=whole),
        option("--threads", "threads", type=whole),
        option("--report-to", "report_to", multiple=True, type=click.Choice(["tensorboard", "trackio", "wandb"])),
        common.several_option(
            "--set", "KEY=VALUE", "Any other key of docs/options.md; sample.KEY for sampling.", name="settings"
        ),
        option("--name", "name"),
        click.option(
            "--force", is_flag=True, help="Replace a model of the same name instead of keeping it in models/earlier."
        ),
        option("--seed", "seed", type=int),
    )
    return common.with_options(function, *flags)


def chosen_options(values: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """(keys of TrainingOptions, --set settings) from the values of `training_flags` and of options that are files."""
    chosen: dict[str, Any] = {key: str(value) if isinstance(value, Path) else value for key, value in values.items()}
    chosen.pop("force")
    settings: tuple[str, ...] = chosen.pop("settings")
    if (limit := chosen.pop("max_time")) is not None:
        chosen["max_seconds"] = "none" if common.seconds(limit) is None else common.seconds(limit)
    chosen["precision"] = {None: None, "auto": None, "bf16": "bf16", "fp16": "fp16", "fp32": "no"}[chosen["precision"]]
    chosen["report_to"] = chosen["report_to"] or None
    return chosen, settings


def check_corpus(workspace: Path, settings: Sequence[str], *, recipe: str | None = None, resume: bool = False) -> None:
    """Raise WorkspaceError without a corpus, before torch is loaded; what only the options tell is left to training."""
    elsewhere = any(each.partition("=")[0].strip().replace("-", "_") == "train_from" for each in settings)
    if resume or elsewhere or (recipe and Path(recipe).is_file()):
        return
    Workspace(workspace).folder("corpus")


_SIDE = (
    "Which side of a bi-encoder to train. query: on questions drawn from the corpus; nothing is indexed again. both: "
    "passages too, on Examples.  [default: query on a CPU, both with --recipe, --task-mix and the like]"
)


def _names_of_recipes() -> list[str]:
    from structformer.training.recipes import recipe_names

    return recipe_names()


def _recipes_and_tasks() -> dict[str, list[tuple[str, str]]]:
    """Recipes and tasks with a line on each, for `--help --all`."""
    from structformer.training.recipes import read_recipe

    recipes = [(name, read_recipe(name).description) for name in _names_of_recipes()]
    return {"Recipes": recipes, **listed_tasks()}


@click.command(
    "train",
    cls=BriefCommand,
    main="--recipe --ranker --side --task-mix --base-model --max-time --name --set --resume --dry-run",
    more=_recipes_and_tasks,
)
@click.option(
    "--recipe",
    metavar="NAME",
    shell_complete=completed(_names_of_recipes),
    help="A named set of options, such as docs or wikiformer (--help --all lists them), or a TOML file.",
)
@click.option(
    "--ranker",
    metavar="KIND",
    cls=RankersOption,
    shell_complete=completed(ranker_kinds),
    describe=lambda kinds: (
        f"{', '.join(kinds)}, or a plugin's. A bi-encoder finds; a cross-encoder reorders what "
        "was found.  [default: bi-encoder]"
    ),
)
@click.option("--side", type=click.Choice(["query", "both"]), help=_SIDE)
@click.option(
    "--task-mix",
    metavar="MIX",
    shell_complete=completed(task_names),
    help="Tasks and weights, as srr=1,ict=3; sources of questions, as opening=1.  [default: by ranker]",
)
@common.path_option(
    "--query-log",
    "People's queries without judgements, one per line: questions take their lengths, and a query is trained on if "
    "three searches agree on its answer.",
)
@common.path_option(
    "--dev-queries",
    "Judged queries that choose the checkpoint, BEIR JSON lines or lines of id, tab, text; else held-out "
    "structure does.",
)
@common.path_option("--dev-qrels", "The judgements of --dev-queries.")
@click.option(
    "--dev-workspace",
    type=common.WorkspacePath(),
    help="The workspace whose documents --dev-qrels judge.  [default: the one that is trained in]",
)
@common.path_option(
    "--dev-candidates",
    "A TREC run file of --dev-queries: the checkpoint is chosen by MRR@10 after reranking each query's first 100 "
    "documents.  [default: BM25's]",
)
@click.option("--resume", is_flag=True, help="Continue from the newest checkpoint of an unfinished run.")
@click.option(
    "--dry-run", is_flag=True, help="Measure, say what would be done, and stop without writing to the workspace."
)
@training_flags
@common.common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    recipe: str | None,
    ranker: str | None,
    side: str | None,
    task_mix: str | None,
    resume: bool,
    dry_run: bool,
    workspace: Path,
    out: common.Output,
    **flags: Any,
) -> None:
    """Train a ranker on the corpus itself, within the time given, and save it in the workspace.

    By default the query side of a bi-encoder learns from questions drawn from the corpus; whole rankers learn from
    Examples of its structure. Held-out ones judge the result, and the search uses a trained bi-encoder if they show
    no loss. They say little about people's queries: to decide, use your own questions with `evaluate`.

    It first measures this machine and says what it will do. It makes an index, or draws Examples, if there are none
    yet. A run that was stopped continues with `--resume`, alone or with its original flags. A model of the same name
    is kept in models/earlier."""
    chosen, settings = chosen_options(flags)
    if ranker and (trainer := ranker_kind(ranker).trainer):  # which needs none of training's loop
        asked = {**chosen, "recipe": recipe, "side": side, "settings": settings or None}
        asked |= {"resume": resume or None, "dry_run": dry_run or None}
        _train_static(ctx, out, imported(trainer), ranker, asked, task_mix, workspace, force=flags["force"])
        return
    check_corpus(workspace, settings, recipe=recipe, resume=resume)
    from structformer.evaluation.development_queries import named_development, said_of
    from structformer.query_side import train
    from structformer.sampling.sets import parse_mix
    from structformer.training.recipes import training_options
    from structformer.training.run.option_rules import unfinished_options

    chosen.update(ranker=ranker, side=side, mix=parse_mix(task_mix) if task_mix else None)
    options = training_options(recipe, chosen, settings)
    given = {key for key, value in chosen.items() if value is not None}
    if resume and not (recipe or settings or given - {"name", "max_seconds", "threads"}):
        options = unfinished_options(workspace, options, given & {"max_seconds", "threads"})
    development = named_development(workspace, options)
    if development is not None and of_first_process():
        out.note(said_of(development))
    with watched(out, out.verbose) as listener:
        result = train(
            workspace,
            options,
            dry_run=dry_run,
            resume=resume,
            force=flags["force"],
            development=development,
            listener=listener,
            progress=out.lines(),
        )
    if not dry_run and of_first_process():
        common.save_config(ctx, result.folder)
    print_result(out, result, workspace, options.seed, dry_run)


def _train_static(
    ctx: click.Context,
    out: common.Output,
    trainer: Any,
    ranker: str,
    asked: dict[str, Any],
    task_mix: str | None,
    workspace: Path,
    *,
    force: bool,
) -> None:
    """Train a static encoder and say what it was learned from. Raises UsageError on a flag that means nothing to it."""
    from structformer.retrieval.learning.structure import StructureOptions
    from structformer.retrieval.vectors.encoder_names import STRUCTURE
    from structformer.sampling import needs_attention
    from structformer.sampling.sets import parse_mix
    from structformer.static_encoder.contrastive import LearningOptions

    learning = {key: value for key in _STATIC_FLAGS if (value := asked.pop(key)) is not None}
    name = asked.pop("name") or STRUCTURE
    flags = {parameter.name: parameter.opts[-1] for parameter in ctx.command.params} | {"max_seconds": "--max-time"}
    if meaningless := [flags[key] for key, value in asked.items() if value is not None]:
        verb = "means" if len(meaningless) == 1 else "mean"
        raise UsageError(
            f"{', '.join(meaningless)} {verb} nothing to a {ranker}, which is learned from the corpus alone"
        )
    options = StructureOptions(
        parse_mix(task_mix) if task_mix else None,
        learning=LearningOptions(**{_STATIC_FLAGS[key]: value for key, value in learning.items()}),
    )
    weights = None
    if options.mix and needs_attention(options.mix):
        from structformer.models.attention import AttentionWeights
        from structformer.models.base import resolve_base_model

        weights = AttentionWeights(resolve_base_model("auto", "cross-encoder").location, Workspace(workspace).cache)
    with out.stages() as progress:
        record = trainer(Workspace(workspace), name, options, force=force, weights=weights, progress=progress)
    training = record.training
    pairs = ", ".join(f"{count} {source}" for source, count in training["pairs"].items())
    out.json({"model": name, **training})
    out.result(f"{name}: {training['features']} words and n-grams, learned from {pairs} in {training['seconds']:g} s")
    out.say(f"\nnext: structformer index -w {workspace}    (or compare: structformer evaluate -w {workspace})")


# Flags of training that a static encoder has too, with their names in LearningOptions.
_STATIC_FLAGS = {"max_epochs": "epochs", "learning_rate": "learning_rate", "groups": "batch", "seed": "seed"}
