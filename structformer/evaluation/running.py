"""Running an experiment: every row's model trained, all rows searched with and compared on the same queries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.errors import ModelError, UsageError
from structformer.evaluation.comparison import Evaluation, evaluate
from structformer.evaluation.experiment import Experiment, ExperimentRow
from structformer.evaluation.judgements import Judgements
from structformer.models.registry import read_record
from structformer.retrieval.pipeline import parse_pipeline
from structformer.storage.files import write_json
from structformer.training import TrainingOptions, train, training_options
from structformer.training.finetuning import finetuning_options, judged_source
from structformer.training.options import Listener
from structformer.workspace import Workspace

_ASKED_FOR = "experiment.json"


def run_experiment(
    workspace: str | Path | Workspace,
    judgements: Judgements,
    experiment: Experiment,
    *,
    max_seconds: float | None = None,
    seed: int = 0,
    output: Path | None = None,
    say: Callable[[str], None] = lambda text: None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Evaluation:
    """Train what the rows ask for and compare them. max_seconds: time for each training, over what its row says.

    A row whose model is there already, trained with the same options on this corpus, is not trained again, so that a
    killed experiment goes on where it was. A row that has nothing to train on is left out and named. Raises UsageError
    when no row is left."""
    workspace = Workspace(workspace)
    rows = experiment.rows
    train_on, judged = (
        split_queries(judgements, seed) if any(row.finetune for row in rows) else (judgements, judgements)
    )
    kept: list[ExperimentRow] = []
    for number, row in enumerate(rows, 1):
        say(f"row {number} of {len(rows)}: {row.label}")
        try:
            _trained(workspace, row, train_on, max_seconds, seed, say)
        except ModelError as error:
            say(f"left out: {error}")
            continue
        kept.append(row)
    if not kept:
        raise UsageError("no row could be trained")
    pipelines = [parse_pipeline(row.pipeline.replace("{model}", _searched(row))) for row in kept]
    baseline = [pipeline for row, pipeline in zip(kept, pipelines, strict=True) if row.label == experiment.baseline]
    return evaluate(
        workspace,
        judged,
        pipelines=pipelines,
        labels=[row.label for row in kept],
        against=baseline,
        measures=experiment.measures,
        title=experiment.title,
        seed=seed,
        output=output,
        progress=progress,
        standard=False,
    )


def split_queries(judgements: Judgements, seed: int) -> tuple[Judgements, Judgements]:
    """Half of the judged queries to train on, the other half to judge by; which is which depends on their ids and the
    seed alone.
    """

    def half(name: str) -> int:
        return hashlib.sha256(f"half/{seed}/{name}".encode()).digest()[0] % 2

    parts = [
        Judgements(
            {name: text for name, text in judgements.queries.items() if half(name) == side},
            {name: grades for name, grades in judgements.qrels.items() if half(name) == side},
        )
        for side in (0, 1)
    ]
    return parts[0], parts[1]


def _searched(row: ExperimentRow) -> str:
    return f"{row.model}-finetuned" if row.finetune else row.model


def _trained(
    workspace: Workspace,
    row: ExperimentRow,
    judgements: Judgements,
    max_seconds: float | None,
    seed: int,
    say: Callable[[str], None],
) -> None:
    if row.train is None:
        return
    chosen = {**row.train, "name": row.model, "seed": seed}
    if max_seconds is not None and row.train.get("max_seconds") != "none":
        chosen["max_seconds"] = max_seconds
    recipe = chosen.pop("recipe", None)
    options = training_options(recipe, chosen)
    corpus = Corpus.open(workspace).fingerprint
    listener = Listener(note=say)
    _once(
        workspace,
        row.model,
        {"options": asdict(options), "corpus": corpus},
        lambda: train(workspace, options, force=True, listener=listener),
    )
    if row.finetune:
        settled = finetuning_options(workspace, row.model, {"seed": seed, "max_seconds": options.max_seconds})
        tuned: TrainingOptions = training_options(None, settled)
        asked = {
            "options": asdict(tuned),
            "corpus": corpus,
            "qrels": judgements.qrels,
            "base": read_record(workspace, row.model).fingerprint,
        }

        def finetune() -> None:
            source, _ = judged_source(workspace, judgements.queries, judgements.qrels, negatives=7, seed=seed)
            train(workspace, replace(tuned), force=True, source=source, listener=listener)

        _once(workspace, f"{row.model}-finetuned", asked, finetune)


def _once(workspace: Workspace, name: str, asked: Mapping[str, Any], make: Callable[[], object]) -> None:
    """Make a model unless it is there, made for the same."""
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
    path = workspace.model(name) / _ASKED_FOR
    if path.exists() and json.loads(path.read_text()).get("digest") == digest:
        return
    make()
    write_json(path, {"digest": digest})
