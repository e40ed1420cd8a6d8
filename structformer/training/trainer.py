"""A training run from beginning to end: plan by measuring this machine, train within the time, judge, save."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from structformer._version import __version__
from structformer.corpus import Corpus
from structformer.errors import ModelError, WorkspaceError
from structformer.models.attention import AttentionWeights
from structformer.models.base import BaseModel, resolve_base_model
from structformer.models.kinds import Ranker, ranker_kind
from structformer.models.registry import ModelRecord, write_record
from structformer.models.scratch import make_scratch_model, weights_digest
from structformer.sampling import DEFAULT_TASKS, Samples, SamplingOptions, needs_attention, sample
from structformer.sampling.draw_examples import draw
from structformer.sampling.held_out import DevelopmentSet, development_set
from structformer.storage.files import replacing_folder
from structformer.storage.seal import Sealed, seal
from structformer.training.card import write_card
from structformer.training.checkpoint import Checkpoints, read_weights
from structformer.training.example_order import ExampleOrder, ExampleSource
from structformer.training.judging import Judge, Weights, development_score, mix_weights, weights_of
from structformer.training.logs import StepLog, check_trackers
from structformer.training.loop import Run
from structformer.training.objectives import Objective
from structformer.training.options import BOTH, Listener, TrainingOptions, TrainingResult
from structformer.training.out_of_memory import memory_errors
from structformer.training.planning import agreed, make_plan, measure, planned_before
from structformer.training.resolve import (
    ResolvedOptions,
    device_name,
    identity,
    load_ranker,
    make_objective,
    prepare_model,
    resolve,
)
from structformer.training.unfinished import write_options
from structformer.workspace import Workspace

_SAVING_SECONDS = 3.0
# People's queries are unlike those drawn from structure, and half-way between two sets of weights lies most of the gain
# on the new kind of queries with most of what was good on the old (Wortsman et al., CVPR 2022, section 4), so more than
# half is not taken.
_SHARES = (0.25, 0.5)


@dataclass(frozen=True, slots=True)
class Source:
    """Examples and a development set from elsewhere than the sampled structure, as fine-tuning on judgements has them.
    judged_by: what the development set is made of; objective: made for the ranker in the place of its kind's; passages:
    what goes on encoding passages, where queries' side alone is trained; mix: weights of its tasks, None for those of
    the options.
    """

    samples: ExampleSource
    development: DevelopmentSet | Judge | None
    judged_by: str
    objective: Callable[[Any], Objective] | None = None
    passages: Ranker | None = None
    mix: dict[str, float] | None = None


@memory_errors("while training")
def train(
    workspace: str | Path | Workspace = ".structformer",
    options: TrainingOptions | None = None,
    *,
    dry_run: bool = False,
    resume: bool = False,
    force: bool = False,
    source: Source | None = None,
    development: DevelopmentSet | None = None,
    listener: Listener | None = None,
) -> TrainingResult:
    """Train a ranker on the workspace's Examples, drawing them first when there are none of the current corpus.

    development: judged queries to choose the checkpoint by, in the place of held-out structure.

    Judges itself on held-out structure, where the corpus is large enough, and keeps the share of trained weights that
    did best; when that is none, the base's weights are saved and `better_than_base` is False. With `resume` it
    continues from the newest checkpoint of an unfinished run of the same options and returns the weights that an
    undisturbed run would have returned. An earlier model of the same name is kept in models/earlier, unless `force`
    replaces it. With `dry_run` the workspace is not written. Raises WorkspaceError without a corpus, or while another
    process writes the workspace; ModelError without a base model, Examples, memory, room on the disk or a finite loss.
    """
    started = time.monotonic()
    workspace, options, listener = Workspace(workspace), options or TrainingOptions(), listener or Listener()
    Corpus.open(workspace)
    with ExitStack() as stack:
        if dry_run:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="structformer-")))
            places = _Places(scratch / "cache", scratch / "samples", scratch / "logs")
        else:
            if os.environ.get("RANK", "0") == "0":  # the first of several processes writes for all
                stack.enter_context(workspace.writing("structformer train"))
            places = _Places(workspace.cache, None, workspace.logs(options.name or options.ranker))
        return _train(
            workspace,
            options,
            places,
            started,
            dry_run=dry_run,
            resume=resume,
            force=force,
            source=source,
            judged=development,
            listener=listener,
        )


@dataclass(frozen=True, slots=True)
class _Places:
    """Where a run writes beside its checkpoints and its model. samples: a folder for Examples that are not to be
    published.
    """

    cache: Path
    samples: Path | None
    logs: Path


def _train(
    workspace: Workspace,
    options: TrainingOptions,
    places: _Places,
    started: float,
    *,
    dry_run: bool,
    resume: bool,
    force: bool,
    source: Source | None,
    judged: DevelopmentSet | None,
    listener: Listener,
) -> TrainingResult:
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    corpus = Corpus.open(workspace)
    if options.threads:
        torch.set_num_threads(options.threads)
    check_trackers(options.report_to)
    device = device_name()
    settings = resolve(options, device)
    if source and source.mix:
        settings = replace(settings, mix=source.mix)
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
        project_dir=str(places.logs),
    )
    if not accelerator.is_main_process:
        listener = Listener()
    checkpoints = Checkpoints(workspace.checkpoints(settings.name))
    base = resolve_base_model(options.base_model, options.ranker)
    with accelerator.main_process_first():
        location = _scratch_model(places.cache, corpus, options) if base.scratch else base.location
        samples = (
            source.samples
            if source
            else _current_samples(workspace, corpus, settings, options, location, places, listener)
        )
    order = ExampleOrder(
        samples, settings.mix, settings.groups * options.accumulation * accelerator.num_processes, options.seed
    )
    if not order.mix:
        raise ModelError(_nothing_to_learn(settings.mix, samples, workspace))
    torch.manual_seed(options.seed)
    ranker = load_ranker(options, location, settings)
    ranker.model.to(accelerator.device)
    objective = (
        source.objective(ranker)
        if source and source.objective
        else make_objective(
            ranker, options, settings, location, device, _teacher(options, workspace, accelerator.device)
        )
    )
    objective.to(accelerator.device)
    manifest = samples.manifest
    development: DevelopmentSet | Judge | None = judged
    if development is None:
        development = (
            source.development if source else development_set(corpus, seed=manifest["seed"], share=manifest["held_out"])
        )
    judged_by = "judged development queries" if judged else source.judged_by if source else "held-out structure"
    shares = (1.0,) if source and source.passages else _shares(ranker, base, options)
    name = identity(options, settings, samples.fingerprint)
    measured, development = measure(objective, order, settings, device, development, options)
    reserve = _SAVING_SECONDS + (len(shares) * measured.scoring_seconds if development is not None else 0.0)
    planned = make_plan(order, options, settings, base, device, measured, time.monotonic() - started, reserve)
    if resume and (newest := checkpoints.newest()) is not None:
        planned = planned_before(planned, newest)
    plan = agreed(replace(planned, processes=accelerator.num_processes), accelerator)
    if listener.plan:
        listener.plan(plan)
    folder = workspace.model(settings.name)
    if dry_run:
        return TrainingResult(folder, plan, 0, time.monotonic() - started)
    base_weights = weights_of(ranker.model)
    if accelerator.is_main_process:
        _make_ready(checkpoints, resume, listener)
        write_options(checkpoints.folder, options)
    accelerator.wait_for_everyone()
    if options.report_to:
        accelerator.init_trackers("structformer", config={"run": settings.name, "recipe": options.recipe or ""})
    prepare_model(ranker, options)
    run = Run(accelerator, objective, order, plan, options, settings, checkpoints, name, development, listener)
    resumed_at = run.resume() if resume else 0
    if resumed_at:
        listener.say(f"going on after step {resumed_at}")
    deadline = None if options.max_seconds is None else started + options.max_seconds - reserve
    log = StepLog(checkpoints.folder / "training.jsonl", steps=resumed_at) if accelerator.is_main_process else None
    steps = run.train(resumed_at, deadline, log)
    final = run.weights()
    if options.report_to:
        accelerator.end_training()
    result = TrainingResult(
        folder, plan, steps, time.monotonic() - started, resumed_at=resumed_at, side=options.side or BOTH
    )
    if accelerator.is_main_process:
        if accelerator.distributed_type == "FSDP":
            ranker = load_ranker(options, location, settings)
        best = run.best.step if run.best.step > 0 else steps
        chosen = read_weights(checkpoints.folder / "best") if best != steps else final
        _set_weights(ranker, chosen)
        listener.say(
            f"judging on {judged_by} ..."
            if development is not None
            else "too few documents to hold any out: not judged"
        )
        scores, kept = _judge(ranker, base_weights, development, shares, measured.base_score)
        default_score = _default_score(ranker, base, development)
        result = replace(
            result,
            seconds=time.monotonic() - started,
            development=scores,
            kept=kept,
            best_step=best,
            judged_by=judged_by,
            better_than_base=_better(ranker, development, scores, kept, default_score),
            default_score=default_score,
        )
        if source and source.passages:
            ranker.passages = source.passages  # type: ignore[attr-defined]
        _save(workspace, ranker, base, options, settings, samples, result, checkpoints, corpus, force)
    accelerator.wait_for_everyone()
    return result


def _scratch_model(cache: Path, corpus: Corpus, options: TrainingOptions) -> str:
    """The folder of the untrained model of this corpus, size and seed; made once, and again when a file of it has
    changed.
    """
    folder = cache / f"scratch-{corpus.fingerprint}-{options.size}-{options.seed}"
    if not folder.exists() or Sealed(folder, "train again").problems():
        with replacing_folder(folder) as temporary:
            make_scratch_model(lambda: _texts(corpus), temporary, size=options.size, seed=options.seed)
            seal(temporary)
    return str(folder)


def _texts(corpus: Corpus) -> Iterator[str]:
    for document in corpus.documents():
        for section in document.sections():
            yield f"{section.title}\n{section.text}"


def _nothing_to_learn(mix: Collection[str], samples: ExampleSource, workspace: Workspace) -> str:
    dropped = samples.manifest["census"]["dropped"]
    reasons = "; ".join(f"{task}: {', '.join(dropped[task])}" for task in mix if dropped.get(task))
    return (
        f"no Examples of {', '.join(mix)} in {workspace}{f' ({reasons})' if reasons else ''}: the "
        "corpus has no structure to learn from. "
        "`structformer sample --min-words 5` lets shorter sections take part; `--task-mix ict` "
        "asks with sentences and needs no headings"
    )


def _current_samples(
    workspace: Workspace,
    corpus: Corpus,
    settings: ResolvedOptions,
    options: TrainingOptions,
    location: str,
    places: _Places,
    listener: Listener,
) -> Samples:
    """The workspace's Examples; drawn when there are none of this corpus, of a task or with the options that are asked
    for.
    """
    tasks = list(settings.mix)
    attention = AttentionWeights(location, places.cache) if needs_attention(tasks) else None
    wanted = options.sampling

    def drawn_anew(
        names: Collection[str], chosen: SamplingOptions, seed: int, held_out: float | None = None
    ) -> Samples:
        if places.samples is None:
            return sample(workspace, names, options=chosen, seed=seed, held_out=held_out, weights=attention)
        places.samples.mkdir()
        draw(workspace, list(names), places.samples, options=chosen, seed=seed, held_out=held_out, weights=attention)
        return Samples.at(places.samples)

    if not workspace.has("samples"):
        listener.say("no Examples yet: drawing them (structformer sample)")
        return drawn_anew(dict.fromkeys((*DEFAULT_TASKS, *tasks)), SamplingOptions(**wanted), options.seed)
    samples = Samples.open(workspace)
    manifest = samples.manifest
    drawn = list(manifest["tasks"])
    undrawn = [task for task in tasks if task not in drawn]
    other = {name: value for name, value in wanted.items() if manifest["options"].get(name) != value}
    same_attention = attention is None or manifest.get("attention") == attention.fingerprint
    if manifest["corpus"] == corpus.fingerprint and not undrawn and not other and same_attention:
        return samples
    if undrawn:
        listener.say(f"drawing Examples of {', '.join(undrawn)} too")
    elif other:
        listener.say(
            f"drawing the Examples again, with {', '.join(f'{name} {value}' for name, value in other.items())}"
        )
    else:
        listener.say("the Examples are of an earlier corpus or another model: drawing them again")
    if attention is None:
        drawn = [task for task in drawn if not needs_attention([task])]
    chosen = SamplingOptions(**{**manifest["options"], **wanted})
    return drawn_anew([*drawn, *undrawn], chosen, manifest["seed"], manifest["held_out"])


def _default_score(ranker: Ranker, base: BaseModel, development: DevelopmentSet | Judge | None) -> float | None:
    """What the encoder scores that the search would use without this model; None where that is this model's own
    base.
    """
    if development is None or not base.scratch or not ranker_kind(ranker.kind).sentence_encoder:
        return None
    try:
        default = resolve_base_model("auto", "bi-encoder")
    except ModelError:
        return None
    return development_score(ranker_kind(ranker.kind).load(default.location), development)


def _teacher(
    options: TrainingOptions, workspace: Workspace, device: torch.device
) -> Callable[..., torch.Tensor] | None:
    if options.teacher is None:
        return None
    from structformer.training.teacher import CrossEncoderTeacher

    return CrossEncoderTeacher(workspace, options.teacher, device)


def _make_ready(checkpoints: Checkpoints, resume: bool, listener: Listener) -> None:
    if not resume:
        if steps := checkpoints.steps():
            listener.say(f"starting over: the checkpoints of an unfinished run (step {steps[-1]}) are dropped")
        checkpoints.clear()
    elif checkpoints.newest() is None:
        listener.say("no checkpoint to continue from: starting over")
    checkpoints.prepare()


def _set_weights(ranker: Ranker, weights: dict[str, torch.Tensor]) -> None:
    """Put an objective's weights into the ranker's model, whatever wrapped it while training."""
    found = {name.removeprefix("model."): value for name, value in weights.items() if name.startswith("model.")}
    ranker.model.load_state_dict(found)


def _shares(ranker: Ranker, base: BaseModel, options: TrainingOptions) -> tuple[float, ...]:
    """Shares of trained weights to try. A fresh head, or a fresh model, has no base worth mixing with."""
    return _SHARES if options.interpolate and ranker_kind(ranker.kind).interpolates and not base.scratch else (1.0,)


def _judge(
    ranker: Ranker,
    base: Weights,
    development: DevelopmentSet | Judge | None,
    shares: tuple[float, ...],
    base_score: float,
) -> tuple[dict[float, float], float]:
    """Scores on the development set by share of trained weights, and the best share; the ranker is left with it."""
    trained = weights_of(ranker.model)
    if development is None:
        mix_weights(ranker.model, base, trained, shares[-1])
        return {}, shares[-1]
    scores = {0.0: base_score}
    for share in shares:
        mix_weights(ranker.model, base, trained, share)
        scores[share] = development_score(ranker, development)
    # Untrained weights behind a fresh head are no ranker at all, so there the trained ones are kept whatever they
    # score.
    best = max(scores, key=lambda share: (scores[share], share)) if len(shares) > 1 else shares[0]
    mix_weights(ranker.model, base, trained, best)
    return scores, best


def _better(
    ranker: Ranker,
    development: DevelopmentSet | Judge | None,
    scores: dict[float, float],
    kept: float,
    default_score: float | None,
) -> bool | None:
    """Whether the search should use the ranker instead of what it started from; None where nothing was held out."""
    if development is None:
        return None
    if not isinstance(development, DevelopmentSet):
        return not development.worse(ranker)
    return kept > 0 and scores[kept] > max(scores[0.0], default_score or 0.0)


def _save(
    workspace: Workspace,
    ranker: Ranker,
    base: BaseModel,
    options: TrainingOptions,
    settings: ResolvedOptions,
    samples: ExampleSource,
    result: TrainingResult,
    checkpoints: Checkpoints,
    corpus: Corpus,
    force: bool,
) -> None:
    try:
        with workspace.replacing_model(settings.name, keep=not force) as temporary:
            ranker.model.to("cpu")
            ranker.save(temporary)
            if (log := checkpoints.folder / "training.jsonl").exists():
                shutil.copy(log, temporary / "training.jsonl")
            training = {
                "tool_version": __version__,
                "corpus": samples.manifest["corpus"],
                "side": options.side or BOTH,
                "options": {**asdict(options), "report_to": list(options.report_to)},
                "settings": asdict(settings),
                "plan": asdict(result.plan),
                "steps": result.steps,
                "best_step": result.best_step,
                "seconds": round(result.seconds, 1),
                "processes": result.plan.processes,
                "development": {f"{share:g}": score for share, score in result.development.items()},
                "kept": result.kept,
                "better_than_base": result.better_than_base,
                "default_score": result.default_score,
            }
            digest = weights_digest(str(temporary))
            record = ModelRecord(ranker.kind, base.name, base.location, digest, training, base.revision)
            write_record(temporary, record)
            write_card(temporary, record, corpus)
    except WorkspaceError as error:
        steps = checkpoints.steps()
        again = f"; step {steps[-1]} is kept: `structformer train --resume` saves it then" if steps else ""
        raise ModelError(f"the model could not be saved: {error}{again}") from error
    checkpoints.clear()
