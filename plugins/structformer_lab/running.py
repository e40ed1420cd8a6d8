"""Running an experiment: every row's model trained, all rows searched with and compared on the same queries."""

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.errors import ModelError, UsageError, WorkspaceError
from structformer.evaluation import Evaluation, Judgements, evaluate, named_development, said_of
from structformer.extras import TORCH, MissingPackage
from structformer.models import base_for, model_file, ranker_kind, read_record, resolve_base_model
from structformer.retrieval import UNTRAINED_OF, has_ranking_head, parse_pipeline, read_run
from structformer.sampling import set_digest
from structformer.storage import read_json, sha256_of, write_json
from structformer.training import (
    DEVELOPMENT,
    Listener,
    RunMode,
    TrainingOptions,
    candidate_documents,
    ended_with,
    made_by_first,
    read_log,
    relevant_documents,
    scratch_model,
    train_ranker,
    training_options,
)
from structformer.workspace import Workspace

from structformer_lab.experiment import (
    BASE,
    CANDIDATES,
    Experiment,
    ExperimentRow,
    RowTraining,
    filled,
    shared,
    shared_out,
)
from structformer_lab.finetuning import DOCUMENTS, PASSAGES, UNASKED, finetuning_options, judged_source

_ASKED_FOR = "experiment.json"
NEGATIVES = 7  # of a judged query, where a row says no other number
_HELD_OUT = 0.0  # all queries are learned from: other ones judge the rows


# Judged queries to fine-tune on, and the run file that negatives are drawn from, None for BM25's documents.
_TrainOn = tuple[Judgements, Path | None]


def run_experiment(
    workspace: str | Path | Workspace,
    judgements: Judgements,
    experiment: Experiment,
    training: RowTraining | None = None,
    *,
    train_on: Judgements | None = None,
    candidates: Path | None = None,
    train_candidates: Path | None = None,
    files: Mapping[str, str] | None = None,
    output: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    detail: Callable[[str], None] = lambda text: None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Evaluation:
    """Train what the rows ask for and compare them. train_on: judged queries to fine-tune on, half of `judgements` when
    there are none. candidates: the run file that rows put in order; train_candidates: that of the queries in
    `train_on`. files: those that rows need, by the names that their pipelines have for them. say: called with a line of
    each row; detail: with what each training says.

    The title says how long each training may take, and so does the first line. A row whose model is there already,
    trained with the same options on this corpus, is not trained again, and one that was begun goes on after its last
    checkpoint. A row that has nothing to train on is left out and named. Of several processes that a launcher started
    all train each row, and the first compares. Raises UsageError when no row is left."""
    workspace = Workspace(workspace)
    training = training or RowTraining()
    if training.max_seconds is None:
        training = replace(training, max_seconds=experiment.budget)
    rows = experiment.rows
    judged = judgements
    _check_options(workspace, rows, training)
    named = {**(files or {}), "candidates": f'run("{candidates}")' if candidates else CANDIDATES}
    for row in rows:
        with suppress(ModelError):  # a row whose file is not given is left out
            parse_pipeline(filled(row.pipeline or CANDIDATES, {**named, "model": row.model, "base": row.model}))
    title = experiment.title
    if limits := [limit for row in rows for limit in _limits(row, training.of_row(row, rows))]:
        title = f"{title}; {said_limits(limits)}"
        say(title)
    _check_collection(workspace, judgements, candidates)
    learned: _TrainOn | None = None
    if train_on is not None:
        _check_collection(workspace, train_on, train_candidates)
        learned = train_on, train_candidates
    elif any(row.finetune is not None for row in rows):
        half, judged = split_queries(judgements, training.seed)
        learned = half, candidates
    kept: list[ExperimentRow] = []
    caveats: list[str] = []

    def leave_out(row: ExperimentRow, why: object) -> None:
        # What follows names ways to choose a base to train from, none of them this row's.
        caveats.append(f"{row.label} left out: {str(why).partition('; no encoder found')[0]}")
        say(caveats[-1])

    for number, row in enumerate(rows, 1):
        say(f"row {number} of {len(rows)}: {row.label}")
        try:
            own = row.model if row.finetune is None else f"{row.model}-finetuned"
            searched = str(_checkpoint_folder(row.checkpoint)) if row.checkpoint else own
            places = {**named, "model": searched}
            if BASE in row.pipeline:
                base, location = _untrained(workspace, training.of_row(row, rows))
                places["base"] = f'"{UNTRAINED_OF}{location}"'
                if not has_ranking_head(location):
                    caveats.append(f"{row.label}: {base} has no ranking head, so a random one gave these scores.")
            settled = row.filled(places)
            _trained(workspace, settled, training.of_row(row, rows), learned, detail)
            caveats += _last_losses(workspace, row)
        except (ModelError, MissingPackage) as error:
            if isinstance(error, MissingPackage) and not error.packages.isdisjoint(TORCH):
                raise  # no row can do without
            leave_out(row, error)
            continue
        kept.append(settled)
    there = {row.label for row in kept}
    ensembles = {}
    for row in (row for row in kept if row.ensemble):
        if missing := [label for label in row.ensemble if label not in there]:
            leave_out(row, f"it needs the row {', '.join(missing)}")
        else:
            ensembles[row.label] = row.ensemble
    kept = [row for row in kept if not row.ensemble]
    if not kept:
        raise UsageError("; ".join(["no row could be trained", *caveats]))
    pipelines = [parse_pipeline(row.pipeline) for row in kept]
    by_label = {row.label: pipeline for row, pipeline in zip(kept, pipelines, strict=True)}
    baseline = [by_label[label] for label in experiment.baselines if label in by_label]

    def compared() -> Evaluation:
        return evaluate(
            workspace,
            judged,
            pipelines=pipelines,
            labels=[row.label for row in kept],
            ensembles=ensembles,
            against=baseline,
            measures=experiment.measures,
            title=title,
            caveat="\n\n".join(caveats),
            seed=training.seed,
            output=output,
            progress=progress,
            standard=False,
        )

    return made_by_first(compared)


def _last_losses(workspace: Workspace, row: ExperimentRow) -> list[str]:
    """Return what a row's trainings ended with, beside what chance loses."""
    models = {row.label: row.learned} if row.train is not None else {}
    models |= {f"{row.label}, fine-tuned": f"{row.model}-finetuned"} if row.finetune is not None else {}
    logs = {title: read_log(workspace.model(name) / "training.jsonl") for title, name in models.items()}
    return [f"{title}: {last}." for title, log in logs.items() if (last := ended_with(log))]


def _check_options(workspace: Workspace, rows: Sequence[ExperimentRow], training: RowTraining) -> None:
    """Raises UsageError on settings that rows cannot take, and on judged queries of another collection; WorkspaceError
    where a corpus to learn from is missing: before anything is trained.
    """
    if training.train_from is not None:
        Corpus.open(training.train_from)
    read = set()
    for row in rows:
        options = _first_options(row, training.of_row(row, rows))
        if options is None:
            continue
        if options.train_from is not None:
            Corpus.open(options.train_from)
        named = tuple(getattr(options, name) for name in DEVELOPMENT)
        if named not in read:
            read.add(named)
            named_development(workspace, options)


def _check_collection(workspace: Workspace, judged: Judgements, run: Path | None) -> None:
    """Raises UsageError on judgements or a run of another collection, before hours of training are spent on them."""
    corpus = Corpus.open(workspace)
    numbers = {name: number for number, name in enumerate(corpus.document_ids())}
    asked = judged.asked()
    relevant_documents(asked, judged.qrels, numbers)
    if run is not None:
        candidate_documents(workspace, corpus, asked, numbers, read_run(run)[1])


def split_queries(judgements: Judgements, seed: int) -> tuple[Judgements, Judgements]:
    """Return half of the judged queries to train on and half to judge by, as their ids and the seed alone say."""

    def half(name: str) -> int:
        return hashlib.sha256(f"half/{seed}/{name}".encode()).digest()[0] % 2

    return _of(judgements, lambda name: half(name) == 0), _of(judgements, lambda name: half(name) == 1)


def _of(judgements: Judgements, chosen: Callable[[str], bool]) -> Judgements:
    """Return the judgements of some queries."""
    return Judgements(
        {name: text for name, text in judgements.queries.items() if chosen(name)},
        {name: grades for name, grades in judgements.qrels.items() if chosen(name)},
        subtopics=judgements.subtopics,
    )


def _untrained(workspace: Workspace, how: RowTraining) -> tuple[str, str]:
    """Return (name, location) of the cross-encoder's base model, before any training. Raises ModelError."""
    options = training_options(None, {"ranker": "cross-encoder", "seed": how.seed}, how.of_base())
    base = base_for(workspace, options.base_model, options.ranker)
    if not base.scratch:
        return base.name, base.location
    corpus = Corpus.open(options.train_from or how.train_from or workspace)
    return base.name, made_by_first(lambda: scratch_model(workspace.cache, corpus, options))


def _checkpoint_folder(name: str) -> Path:
    """The folder of a published ranker: a folder, or a hub name, whose files are fetched into the hub's cache. Raises
    ModelError where there is none, or it cannot be loaded.
    """
    try:
        location = resolve_base_model(name, "cross-encoder").location
    except ModelError as error:
        # What follows names ways to choose a base to train from.
        raise ModelError(str(error).partition("; ")[0]) from error
    ranker_kind("cross-encoder").load(location)  # fetches what it is made of
    settings = model_file(location, "config.json")
    if settings is None:
        raise ModelError(f"{name} has no config.json")
    return settings.parent


def _first_options(row: ExperimentRow, how: RowTraining) -> TrainingOptions | None:
    """Return the options of the row's training on structure, None where it has none."""
    if row.train is None:
        return None
    elsewhere = None if how.train_from is None else str(how.train_from)
    unsaid = {"train_from": elsewhere, "max_seconds": how.max_seconds}
    chosen = {**unsaid, **row.train, "name": row.learned, "seed": how.seed}
    return training_options(chosen.pop("recipe", None), chosen, how.of_training(row))


def _limits(row: ExperimentRow, how: RowTraining) -> list[float | None]:
    """Return the time limits of the row's trainings in seconds, None for no limit."""
    options = _first_options(row, how)
    limits = [] if options is None else [options.max_seconds]
    if row.finetune is not None:
        own = {"max_seconds": row.finetune.get("max_seconds", how.max_seconds)}
        settings = [setting for setting in how.of_finetuning(row) if setting.startswith("max_seconds=")]
        limits.append(training_options(None, own, settings).max_seconds)
    return limits


def said_limits(limits: Sequence[float | None]) -> str:
    """Time limits of trainings in words."""
    seconds = sorted({limit for limit in limits if limit is not None})
    counts = [(limit / 60, "minute") if limit >= 60 else (limit, "second") for limit in seconds]
    times = [f"{count:g} {unit}{'' if count == 1 else 's'}" for count, unit in counts]
    if not times:
        return "each training takes all its steps, however long"
    some = ", others all their steps, however long" if None in limits else ""
    return f"{'some trainings take' if some else 'each training takes'} at most {' or '.join(times)}{some}"


def _trained(
    workspace: Workspace, row: ExperimentRow, how: RowTraining, train_on: _TrainOn | None, say: Callable[[str], None]
) -> None:
    listener = Listener(note=say)
    options = _first_options(row, how)
    if options is not None:
        asked: dict[str, Any] = {
            "options": asdict(options),
            "samples": set_digest(Corpus.open(options.train_from or workspace), options.sampling),
            "development": _development_digests(workspace, options),
        }

        def train(resume: bool) -> None:
            development = named_development(workspace, options)
            if development is not None:
                say(said_of(development))
            unasked = shared(options, how.of_training(row))
            mode = RunMode(resume=resume, force=True, listener=listener, unasked=unasked, development=development)
            train_ranker(workspace, shared_out(options, _processes()), mode)

        _once(workspace, row.learned, asked, train)
    if row.finetune is None or train_on is None:
        return
    judged, run = train_on
    tuning = {"max_seconds": how.max_seconds, **row.finetune, "seed": how.seed, "name": f"{row.model}-finetuned"}
    negatives, count = tuning.pop("negatives", NEGATIVES), tuning.pop("queries", None)
    of = tuning.pop("of", PASSAGES)
    run = run if of == DOCUMENTS else None
    if count is not None:
        judged = some_queries(judged, count, how.seed)
    settled = finetuning_options(workspace, row.learned if row.train is not None else None, tuning)
    tuned: TrainingOptions = training_options(None, settled, how.of_finetuning(row))
    # Where the row's own model is does not matter, as its weights do: a copied one is kept.
    base = {"base_model": ""} if row.train is not None else {}
    asked = {
        "options": {**asdict(tuned), **base},
        "corpus": Corpus.open(workspace).fingerprint,
        "queries": judged.queries,
        "qrels": judged.qrels,
        "negatives": negatives,
        "of": of,
        "held_out": _HELD_OUT,
        "candidates": sha256_of(run) if run else "",
        "base": read_record(workspace, row.learned).fingerprint if row.train is not None else "",
    }

    def finetune(resume: bool) -> None:
        source, _ = judged_source(
            workspace,
            judged.queries,
            judged.qrels,
            negatives=negatives,
            seed=how.seed,
            of=of,
            run=read_run(run)[1] if run else None,
            held_out=_HELD_OUT,
        )
        unasked = {**UNASKED, **shared(tuned, how.of_finetuning(row))}
        mode = RunMode(resume=resume, force=True, listener=listener, unasked=unasked)
        train_ranker(workspace, shared_out(tuned, _processes()), mode, source=source)

    _once(workspace, f"{row.model}-finetuned", asked, finetune)


def _development_digests(workspace: Workspace, options: TrainingOptions) -> dict[str, str]:
    """Return what determines a training's development queries: digests of the files and of the corpus, by option."""
    if options.dev_queries is None:
        return {}
    paths = {name: getattr(options, name) for name in ("dev_queries", "dev_qrels", "dev_candidates")}
    files = {name: sha256_of(Path(path)) for name, path in paths.items() if path}
    return {**files, "dev_workspace": Corpus.open(options.dev_workspace or workspace).fingerprint}


def some_queries(judgements: Judgements, count: int, seed: int) -> Judgements:
    """So many of the judged queries; more hold those of fewer."""

    def place(name: str) -> str:
        return hashlib.sha256(f"some/{seed}/{name}".encode()).hexdigest()

    return _of(judgements, set(sorted(judgements.asked(), key=place)[:count]).__contains__)


def _once(workspace: Workspace, name: str, asked: Mapping[str, Any], make: Callable[[bool], object]) -> None:
    """Make a model unless it is there, made for the same. `make` takes whether what was begun for it goes on."""
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
    path, begun = workspace.model(name) / _ASKED_FOR, workspace.checkpoints(name) / _ASKED_FOR

    def begin() -> bool | None:
        if _digest_in(path) == digest:
            return None
        by_these = f"{digest}/{_processes()}"
        resume = _digest_in(begun) == by_these
        begun.parent.mkdir(parents=True, exist_ok=True)
        write_json(begun, {"digest": by_these})
        return resume

    def end() -> None:
        write_json(path, {"digest": digest})
        begun.unlink()
        with suppress(OSError):  # something of a user's is left
            begun.parent.rmdir()

    if (resume := made_by_first(begin)) is not None:
        make(resume)
        made_by_first(end)


def _processes() -> int:
    """Return how many processes a launcher has started."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def _digest_in(path: Path) -> str | None:
    with suppress(WorkspaceError):  # what is damaged is made again
        value = read_json(path)
        return str(value.get("digest")) if isinstance(value, dict) else None
    return None
