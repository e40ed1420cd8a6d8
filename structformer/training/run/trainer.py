"""A training run from beginning to end: plan by measuring this machine, train within the time, judge, save."""

import os
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from structformer.corpus import Corpus
from structformer.errors import ModelError, UsageError
from structformer.extras import require
from structformer.models.attention import AttentionWeights
from structformer.models.base import BaseModel, base_for
from structformer.models.kinds import Ranker, ranker_kind
from structformer.models.known_encoders import training_advice
from structformer.models.scratch import make_scratch_model
from structformer.sampling import needs_attention
from structformer.sampling.held_out import DevelopmentSet, development_set
from structformer.storage.files import replacing_folder
from structformer.storage.seal import Sealed, seal
from structformer.training.data import example_order
from structformer.training.judged.judging import (
    Judge,
    Judging,
    Weights,
    choose,
    ranks_on,
    set_weights,
    shares_to_try,
    weights_of,
)
from structformer.training.objectives.losses import CrossEncoderTeacher
from structformer.training.objectives.objectives import Objective
from structformer.training.options import BOTH, QUERY, TrainingOptions, TrainingPlan, TrainingResult
from structformer.training.report.reporting import Reporter
from structformer.training.request import RunMode, Source
from structformer.training.run import option_defaults
from structformer.training.run.checkpoint import Checkpoints, read_weights
from structformer.training.run.loop import Ground, Run
from structformer.training.run.memory import fitted, forget_peak, memory_errors
from structformer.training.run.option_rules import begun_with, refuse_meaningless, write_options
from structformer.training.run.planning import Measured, make_plan, measure, planned_before
from structformer.training.run.process_turns import Turns
from structformer.training.run.saving import save_model
from structformer.workspace import Workspace

_SAVING_SECONDS = 3.0


@memory_errors("while training")
def train_ranker(
    workspace: str | Path | Workspace = ".structformer",
    options: TrainingOptions | None = None,
    mode: RunMode | None = None,
    *,
    source: Source | None = None,
) -> TrainingResult:
    """Train a ranker on the workspace's Examples, drawing them first when there are none of the current corpus; or on
    those of a source.

    Judges itself on held-out structure, where the corpus is large enough, and keeps the share of trained weights that
    did best; `judged` says what that is worth against the base. A run that is resumed returns the weights that an
    undisturbed one would have returned. Raises UsageError on an option that means nothing to what is trained;
    WorkspaceError without a corpus, or while another process writes the workspace; ModelError without a base model,
    Examples, memory, room on the disk or a finite loss.
    """
    started = time.monotonic()
    forget_peak()
    workspace, options, mode = Workspace(workspace), options or TrainingOptions(), mode or RunMode()
    _refuse_meaningless(workspace, options, mode, source)
    Corpus.open(options.train_from or workspace)
    with ExitStack() as stack:
        scratch = None
        if mode.dry_run:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="structformer-")))
        elif os.environ.get("RANK", "0") == "0":  # the first of several processes writes for all
            stack.enter_context(workspace.writing("structformer train"))
        return _train(_Request(workspace, options, mode, source, scratch, started))


def _refuse_meaningless(workspace: Workspace, options: TrainingOptions, mode: RunMode, source: Source | None) -> None:
    """Raises UsageError on an option that means nothing here; not on what a run that is resumed was begun with. And on
    a kind of ranker that has a trainer of its own.
    """
    if ranker_kind(options.ranker).trainer:
        raise UsageError(
            f"a {options.ranker} is learned from the corpus alone, by structformer train --ranker {options.ranker}"
        )
    side = QUERY if source and source.passages else BOTH
    begun = begun_with(workspace, options) if mode.resume else None
    unasked = {**mode.unasked, **(asdict(begun) if begun else {})}
    refuse_meaningless(options, side, unasked, judged=mode.development is not None, drawn=source is None)


@dataclass(frozen=True, slots=True)
class _Request:
    """A training as it was asked for."""

    workspace: Workspace
    options: TrainingOptions
    mode: RunMode
    source: Source | None
    scratch: Path | None
    """A folder that takes what the workspace must not get; None: the workspace gets all."""
    started: float
    """Time of the monotonic clock."""

    @property
    def learned_from(self) -> Workspace:
        """The workspace whose Examples are learned from."""
        return Workspace(self.options.train_from or self.workspace)

    @property
    def cache(self) -> Path:
        """The folder of what can be made again."""
        return Workspace(self.scratch or self.workspace).cache

    def spent(self) -> float:
        """Return seconds since it was asked."""
        return time.monotonic() - self.started


@dataclass(frozen=True, slots=True)
class _Start:
    """The start of a run: the base model, Examples in their order, the ranker and its objective."""

    base: BaseModel
    location: str
    samples: example_order.ExampleSource
    order: example_order.ExampleOrder
    ranker: Ranker
    objective: Objective


def _train(request: _Request) -> TrainingResult:
    ground = _ground(request)
    start = _start(request, ground)
    judging, measured = _measured(request, ground, start)
    reserve = _SAVING_SECONDS
    if judging.development is not None:
        reserve += len(judging.shares) * measured.scoring_seconds
    plan = _plan(request, ground, start, measured, reserve)
    ground.reporter.planned(plan)
    folder = request.workspace.model(ground.settings.name)
    if request.mode.dry_run:
        return TrainingResult(folder, plan, 0, request.spent())
    deadline = None if request.options.max_seconds is None else request.started + request.options.max_seconds - reserve
    run = _run(request, ground, start, plan, judging)
    resumed_at = run.resume() if request.mode.resume else 0
    steps = run.train(resumed_at, deadline)
    final = run.weights()
    ground.reporter.ended()
    side = request.options.side or BOTH
    result = TrainingResult(folder, plan, steps, request.spent(), resumed_at=resumed_at, side=side)
    if ground.accelerator.is_main_process:
        best = run.best.step if run.best.step > 0 else steps
        chosen = read_weights(ground.checkpoints.folder / "best") if best != steps else final
        result = _judged_and_saved(request, ground, start, judging, replace(result, best_step=best), chosen)
    ground.turns.wait()
    return result


def _ground(request: _Request) -> Ground:
    options = request.options
    corpus = Corpus.open(request.learned_from)
    if options.threads:
        torch.set_num_threads(options.threads)
    for tracker in options.report_to:
        require(f"--report-to {tracker}", tracker)
    device = option_defaults.device_name()
    settings = option_defaults.resolve(options, device)
    if request.source and request.source.mix:
        settings = replace(settings, mix=request.source.mix)
    if os.environ.get("ACCELERATE_USE_FSDP"):
        # Models would else be loaded without their weights on all processes but one, and these are measured and judged
        # with before they are sharded.
        os.environ["FSDP_CPU_RAM_EFFICIENT_LOADING"] = "false"
    # Accelerate keeps one precision for the life of a process; a second run in it may want another.
    AcceleratorState._reset_state()
    accelerator = Accelerator(
        cpu=device == "cpu",
        mixed_precision=settings.precision,
        log_with=list(options.report_to) or None,
        project_dir=str(request.scratch or request.workspace.logs(settings.name)),
    )
    checkpoints = Checkpoints(request.workspace.checkpoints(settings.name))
    tracked = {"run": settings.name, "recipe": options.recipe or ""} if options.report_to else None
    file = checkpoints.folder / "training.jsonl"
    reporter = Reporter(accelerator, request.mode.listener, file, tracked_as=tracked)
    return Ground(corpus, device, settings, accelerator, Turns(accelerator), checkpoints, reporter)


def _start(request: _Request, ground: Ground) -> _Start:
    options, settings, source, accelerator = request.options, ground.settings, request.source, ground.accelerator
    base = (source and source.query_model) or base_for(request.workspace, options.base_model, options.ranker)
    with ground.turns.first_then_others():
        location = scratch_model(request.cache, ground.corpus, options) if base.scratch else base.location
        samples = source.samples if source else _drawn(request, ground, location)
    groups = settings.groups * options.accumulation * accelerator.num_processes
    order = example_order.ExampleOrder(samples, settings.mix, groups, options.seed)
    if not order.mix:
        raise ModelError(example_order.nothing_to_learn(settings.mix, samples, request.learned_from))
    if not ranker_kind(options.ranker).in_batch_negatives and (notice := example_order.without_negatives(order)):
        ground.reporter.notice(notice)
    torch.manual_seed(options.seed)
    ranker = option_defaults.load_ranker(options, location, settings)
    ranker.model.to(accelerator.device)
    if not source and not base.scratch and not request.mode.resume and ranker_kind(options.ranker).sentence_encoder:
        training_advice(ground.corpus, request.workspace, base.name, request.mode.listener.note)
    if not base.scratch and (note := getattr(ranker, "note", "")):
        ground.reporter.notice(note)
    if source and source.objective:
        objective = source.objective(ranker)
    else:
        teacher = None
        if options.teacher is not None:
            teacher = CrossEncoderTeacher(request.workspace, options.teacher, accelerator.device)
        objective = option_defaults.make_objective(ranker, options, settings, location, ground.device, teacher)
    objective.to(accelerator.device)
    if options.gradient_checkpointing:
        option_defaults.checkpoint_layers(ranker)
    if accelerator.distributed_type != "FSDP":
        objective.batching = fitted(
            objective, half=accelerator.mixed_precision != "no", free_alone=request.mode.dry_run
        )
    elif options.batch_tokens is not None:
        raise UsageError("--batch-tokens does not go with FSDP: lower --batch and raise --accumulation")
    else:
        objective.batching = replace(objective.batching, whole=True)
    return _Start(base, location, samples, order, ranker, objective)


def _drawn(request: _Request, ground: Ground, location: str) -> example_order.ExampleSource:
    tasks = list(ground.settings.mix)
    attention = AttentionWeights(location, request.cache) if needs_attention(tasks) else None
    folder, say = request.scratch and request.scratch / "drawn", ground.reporter.notice
    return example_order.current_samples(
        request.learned_from, ground.corpus, tasks, request.options.sampling, attention, folder, say
    )


def _measured(request: _Request, ground: Ground, start: _Start) -> tuple[Judging, Measured]:
    """Return what the run is judged by, and what is known of the machine."""
    options, source, judged = request.options, request.source, request.mode.development
    manifest = start.samples.manifest
    development: DevelopmentSet | Judge | None
    if judged is not None:
        development, judged_by = judged, "judged development queries"
    elif source:
        development, judged_by = source.development, source.judged_by
    else:
        drawn = {"seed": manifest["seed"], "share": manifest["held_out"]}
        development = development_set(ground.corpus, **drawn, openings=ranker_kind(options.ranker).joint)
        judged_by = development.asked if development else ""
    shares = shares_to_try(start.ranker, start.base, options, query_side=bool(source and source.passages))
    if source and source.shares and len(shares) > 1:
        shares = source.shares
    measured, development = measure(
        ground, start.objective, start.order, options, development, one_example=request.mode.dry_run
    )
    weights = weights_of(start.ranker.model)
    taught = source.taught if source and judged is None else None
    taught_base = None if taught is None else ranks_on(start.ranker, taught)
    site = bool(source and source.site)
    judging = Judging(development, judged_by, shares, measured.base_ranks, weights, taught, taught_base, site)
    return judging, measured


def _plan(request: _Request, ground: Ground, start: _Start, measured: Measured, reserve: float) -> TrainingPlan:
    besides = request.spent() + reserve
    plan = make_plan(ground, start.order, request.options, start.base, measured, besides)
    if request.mode.resume and (newest := ground.checkpoints.newest()) is not None:
        plan = planned_before(plan, newest)
    # The processes measure differently, but must do the same.
    return ground.turns.made_by_first(lambda: replace(plan, processes=ground.accelerator.num_processes))


def _run(request: _Request, ground: Ground, start: _Start, plan: TrainingPlan, judging: Judging) -> Run:
    """Return the run, ready to be resumed or to begin."""
    options = request.options
    if ground.accelerator.is_main_process:
        _make_ready(ground.checkpoints, request.mode.resume, ground.reporter.notice)
        write_options(ground.checkpoints.folder, options)
    ground.accelerator.wait_for_everyone()
    if options.compile:
        start.ranker.model.compile(dynamic=True)
    named = option_defaults.identity(options, ground.settings, start.samples.fingerprint)
    return Run(ground, start.objective, options, start.order, plan, named, judging.development)


def _judged_and_saved(
    request: _Request, ground: Ground, start: _Start, judging: Judging, result: TrainingResult, weights: Weights
) -> TrainingResult:
    """Return the result with what judging found. weights: the trained ones."""
    options, settings, ranker = request.options, ground.settings, start.ranker
    if ground.accelerator.distributed_type == "FSDP":
        ranker = option_defaults.load_ranker(options, start.location, settings)
    set_weights(ranker, weights)
    nothing = judging.development is None
    ground.reporter.notice(
        "too few questions to hold any out: not judged" if nothing else f"judging on {judging.judged_by} ..."
    )
    scores, kept, judged = choose(ranker, start.base, judging)
    result = replace(
        result, seconds=request.spent(), development=scores, kept=kept, judged_by=judging.judged_by, judged=judged
    )
    if request.source and request.source.passages:
        ranker.passages = request.source.passages  # type: ignore[attr-defined]
    documents = None
    if request.source and request.source.query_model:
        documents = base_for(request.workspace, options.base_model, options.ranker)
    save_model(
        request.workspace,
        ground,
        ranker,
        start.base,
        options,
        result,
        learned_from=start.samples.manifest["corpus"],
        documents=documents,
        beside=start.objective.kept(weights),
        force=request.mode.force,
    )
    return result


def scratch_model(cache: Path, corpus: Corpus, options: TrainingOptions) -> str:
    """The folder of the untrained model of this corpus, size and seed; made again if one of its files changed."""
    folder = cache / f"scratch-{corpus.fingerprint}-{options.size}-{options.seed}"
    if not folder.exists() or Sealed(folder, "train again").problems():
        with replacing_folder(folder) as temporary:
            make_scratch_model(
                lambda: (
                    f"{each.title}\n{each.text}" for document in corpus.documents() for each in document.sections()
                ),
                temporary,
                size=options.size,
                seed=options.seed,
            )
            seal(temporary)
    return str(folder)


def _make_ready(checkpoints: Checkpoints, resume: bool, say: Callable[[str], None]) -> None:
    if not resume:
        if steps := checkpoints.steps():
            say(f"starting over: the checkpoints of an unfinished run (step {steps[-1]}) are dropped")
        checkpoints.clear()
    elif checkpoints.newest() is None:
        say("no checkpoint to continue from: starting over")
    checkpoints.prepare()
