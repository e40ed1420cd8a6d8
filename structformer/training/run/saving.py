"""Saving a trained ranker with its record, its log and its card, the README.md that model hubs show."""

import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

import torch
from safetensors.torch import save_file

from structformer._version import __version__
from structformer.corpus import Corpus
from structformer.corpus.corpus import corpus_languages
from structformer.errors import ModelError, WorkspaceError
from structformer.models.base import MINILM_HUB, BaseModel
from structformer.models.kinds import Ranker, ranker_kind
from structformer.models.known_encoders import KNOWN
from structformer.models.registry import ModelRecord, write_record
from structformer.models.scratch import weights_digest
from structformer.training.options import BOTH, TrainingOptions, TrainingResult
from structformer.training.report.logs import ended_with, losses_of, read_log
from structformer.training.run.loop import Ground
from structformer.training.run.memory import peak_memory
from structformer.workspace import Workspace

_BARS = "▁▂▃▄▅▆▇█"
_POINTS = 40
_HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")  # not a folder's


def save_model(
    workspace: Workspace,
    ground: Ground,
    ranker: Ranker,
    base: BaseModel,
    options: TrainingOptions,
    result: TrainingResult,
    *,
    learned_from: str,
    documents: BaseModel | None,
    beside: Mapping[str, Mapping[str, torch.Tensor]],
    force: bool,
) -> None:
    """Save the model and drop the run's checkpoints. Raises ModelError where it cannot be written; the checkpoints are
    kept then.

    learned_from: fingerprint of the corpus that its Examples are of. documents: encodes passages; None: the base does.
    beside: tensors that another training continues from, by the name of their file. force: replace a model of the same
    name instead of keeping it.
    """
    checkpoints, settings = ground.checkpoints, ground.settings
    try:
        with workspace.replacing_model(settings.name, keep=not force) as temporary:
            ranker.model.to("cpu")
            ranker.save(temporary)
            for name, tensors in beside.items():
                save_file({each: value.cpu().contiguous() for each, value in tensors.items()}, temporary / name)
            if (log := checkpoints.folder / "training.jsonl").exists():
                shutil.copy(log, temporary / "training.jsonl")
            training = {
                "tool_version": __version__,
                "corpus": learned_from,
                "side": options.side or BOTH,
                "options": {**asdict(options), "report_to": list(options.report_to)},
                "settings": asdict(settings),
                "plan": asdict(result.plan),
                "steps": result.steps,
                "best_step": result.best_step,
                "seconds": round(result.seconds, 1),
                "peak_memory": peak_memory(),
                "processes": result.plan.processes,
                "development": {f"{share:g}": score for share, score in result.development.items()},
                "kept": result.kept,
                "judged": None if result.judged is None else asdict(result.judged),
            }
            passages = documents or BaseModel("", "")
            record = ModelRecord(
                ranker.kind,
                base.name,
                base.location,
                weights_digest(str(temporary)),
                training,
                base.revision,
                passages.name,
                passages.revision,
            )
            write_record(temporary, record)
            read_from = Workspace(options.train_from) if options.train_from else workspace
            write_card(temporary, record, ground.corpus, read_from.title)
    except WorkspaceError as error:
        steps = checkpoints.steps()
        again = f"; step {steps[-1]} is kept: `structformer train --resume` saves it then" if steps else ""
        raise ModelError(f"the model could not be saved: {error}{again}") from error
    checkpoints.clear()


def write_card(folder: Path, record: ModelRecord, corpus: Corpus, title: str) -> None:
    """Write the model's README.md. title: of the corpus."""
    training = record.training
    options, settings, plan = training["options"], training["settings"], training["plan"]
    card = ranker_kind(record.kind).card
    name = settings["name"]
    call = f"{card.loader}.load" if card.library == "structformer" else card.loader
    loading = f'from {card.module} import {card.loader}\n\nmodel = {call}("path/to/{name}")'
    elsewhere = f" of the workspace `{options['train_from']}`" if options.get("train_from") else ""
    # What encodes passages, where queries began from a query model.
    revision = f" at {record.documents_revision}" if record.documents_revision else ""
    documents = [["base of passages", record.documents + revision]] if record.documents else []
    lines = [
        f"---\n{_metadata(card.library, card.tag, record, corpus)}\n---",
        f"# {name}",
        f"A {record.kind} trained by structformer {training['tool_version']} on the structure of a "
        "corpus, without annotations.",
        "## Use",
        f"```python\n{loading}\n{card.call}\n```"
        + (
            "\n\nQueries and passages have encoders of their own: `encode_query`, `encode_document`."
            if record.query_side
            else ""
        ),
        "## Corpus",
        f"{title or 'Unnamed'}: {corpus.document_count} documents, {corpus.section_count} sections"
        f"{elsewhere} (fingerprint `{training['corpus']}`). Examples:",
        _table(
            ["task", "Examples", "weight"],
            [[task, str(count), f"{settings['mix'].get(task, 0):g}"] for task, count in plan["examples"].items()],
        ),
        "## Recipe",
        _table(
            ["", ""],
            [
                ["recipe", options["recipe"] or "the ranker's default"],
                ["base", record.base + (f" at {record.base_revision}" if record.base_revision else "")],
                *documents,
                ["loss", settings["loss"] + (f" + {options['mlm']:g} MLM" if options["mlm"] else "")],
                ["steps", f"{training['steps']} of {plan['groups']} Examples, {plan['epochs']:.1f} epochs"],
                [
                    "learning rate",
                    f"{settings['learning_rate']:g}, {options['schedule']}, warm-up {options['warmup']:g}",
                ],
                ["document tokens", str(settings["document_tokens"])],
                ["precision", settings["precision"]],
                ["seed", str(options["seed"])],
                ["time", f"{training['seconds']:.0f} s on {plan['device']}, {training['processes']} process(es)"],
            ],
        ),
        "## Curves",
        _curves(folder / "training.jsonl"),
        "## Scores",
        _scores(record),
        "## License",
        "The weights derive from the base model and from the corpus; their licenses apply. This page's metadata names "
        "the base model's if structformer knows it. structformer does not know the corpus's. "
        "structformer itself is under Apache-2.0.",
    ]
    (folder / "README.md").write_text("\n\n".join(lines) + "\n", encoding="utf-8")


def _metadata(library: str, tag: str, record: ModelRecord, corpus: Corpus) -> str:
    """Return the YAML for hubs. Languages and names are written as JSON, since YAML reads a bare `no` as false."""
    base = MINILM_HUB if record.base == "minilm" else record.base  # packaged, the hub's own weights
    known = KNOWN.get(base)
    lines = [
        f"library_name: {library}",
        f"pipeline_tag: {tag}",
        f"language: {json.dumps(corpus_languages(corpus))}",
        *([f"base_model: {json.dumps(base)}"] if _HUB_NAME.fullmatch(base) else []),
        *([f"license: {known.licence.lower()}"] if known is not None else []),
        f"tags: {json.dumps(['structformer', record.kind])}",
    ]
    return "\n".join(lines)


def _table(head: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def _curves(path: Path) -> str:
    rows, log = [], read_log(path)
    for name, losses in losses_of(log).items():
        points = _means([loss for _, loss in losses])
        rows.append([name, f"{points[0]:.3f}", f"`{_sparkline(points)}`", f"{points[-1]:.3f}"])
    if not rows:
        return "No steps were run."
    last = ended_with(log)
    return f"{_table(['loss', 'first', '', 'last'], rows)}\n\n{last[0].upper()}{last[1:]}."


def _means(values: list[float]) -> list[float]:
    """At most _POINTS means of neighbouring values."""
    count = min(_POINTS, len(values))
    cuts = [round(number * len(values) / count) for number in range(count + 1)]
    return [sum(values[start:end]) / (end - start) for start, end in pairwise(cuts)]


def _sparkline(values: list[float]) -> str:
    low, high = min(values), max(values)
    return "".join(_BARS[min(7, int(8 * (value - low) / (high - low or 1)))] for value in values)


def _scores(record: ModelRecord) -> str:
    training = record.training
    scores = training["development"]
    if not scores:
        return record.verdict
    rows = [
        ["untrained" if share == "0" else f"{float(share):.0%} trained", f"{score:.3f}"]
        for share, score in scores.items()
    ]
    kept = (
        f"Saved: step {training['best_step']}, with {training['kept']:.0%} of the change that training made to the "
        "base's weights."
    )
    asked = "questions" if training.get("side") == "query" else "sentences and paths"
    measure = training["plan"].get("measure", "nDCG@10")
    note = (
        "Of judged queries that chose the weights; others say how good they are."
        if training["options"].get("dev_queries")
        else f"{measure} on {asked} of held-out documents; it says which weights are "
        "better. They are a weak judge of people's queries: only questions of your own, with `evaluate`, decide."
    )
    return f"{record.verdict}\n\n{_table(['weights', measure], rows)}\n\n{kept} {note}"
