"""A training run as one self-contained page: losses by task, the held-out score, speed, what was chosen."""

import json
from itertools import accumulate
from pathlib import Path
from typing import Any

from structformer.errors import ModelError
from structformer.models import RECORD, model_folder, ranker_kind
from structformer.pages import curve, environment, render
from structformer.sampling import tasks
from structformer.storage import read_json, write_bytes
from structformer.training import losses_of, read_log, run_verdict
from structformer.workspace import Workspace, new_file

_WINDOW = 0.05  # of the run, over which the line is a mean


def write_report(
    workspace: str | Path | Workspace, model: str, target: Path | None = None, *, force: bool = False
) -> Path:
    """Write the page of a trained model, or of a run that is not finished; gives its path. target: in the place of
    report.html in the model's folder; force: also over a file that is there. Raises ModelError when there is neither,
    UsageError where the target must not be written (workspace/user_outputs.py).
    """
    workspace = Workspace(workspace)
    folder = model_folder(workspace, model)
    finished = (folder / RECORD).exists()
    place = folder if finished else workspace.checkpoints(model)
    if not finished and not (place / "training.jsonl").exists():
        raise ModelError(f"no model {model!r} in {workspace}, finished or not")
    record = read_json(folder / RECORD) if finished else None
    if record and ranker_kind(record["kind"]).trainer:
        shown = _without_steps(record)
    else:
        shown = _with_steps(read_log(place / "training.jsonl"), record)
    templates = environment("structformer_lab", "templates")
    page = render("training.html", templates=templates, title=f"Training run: {model}", **shown)
    if target is None:
        write_bytes(place / "report.html", page)
        return place / "report.html"
    with new_file(target, workspace, force=force) as made:
        made.write_bytes(page)
    return target


def _with_steps(log: list[dict[str, Any]], record: dict[str, Any] | None) -> dict[str, Any]:
    """Return what the page shows of a run of training's loop."""
    training = record["training"] if record else None
    sections: list[tuple[str, list[tuple[str, str, Any]]]] = []
    scored = [(line["step"], line["development"]) for line in log if "development" in line]
    if scored:
        measure = _measure(training)
        sections.append((f"Held-out {measure}", [("", "", curve(scored, scored, "step", measure))]))
    losses = losses_of(log).items()
    if losses:
        curves = [(name, _about(name), curve(points, _smooth(points), "step", "loss")) for name, points in losses]
        sections.append(("Loss by task", curves))
    if log:
        speed = [(line["step"], line["pairs"] / max(line["seconds"], 1e-6)) for line in log]
        rate = [(line["step"], line["learning_rate"]) for line in log]
        sections.append(("Speed", [("", "", curve(speed, _smooth(speed), "step", "pairs a second"))]))
        sections.append(("Learning rate", [("", "", curve(rate, rate, "step", "learning rate"))]))
    chosen: dict[str, Any] = {}
    if training:
        beside = {name: training[name] for name in ("steps", "kept", "best_step", "corpus")}
        chosen = {**training["options"], **training["settings"], **beside}
    return {
        "about": "Thin: each step. Bold: the mean of a twentieth of the run.",
        "verdict": run_verdict(record, log),
        "figures": _figures(log, training),
        "sections": sections,
        "options": _shown(chosen),
    }


def _without_steps(record: dict[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a model learned without training's loop: it has no curves and was not judged."""
    training = record["training"]
    counts = {"passages": training.get("passages"), "words and n-grams": training.get("features")}
    counts |= {f"pairs: {source}": count for source, count in training.get("pairs", {}).items()}
    return {
        "about": "",
        "verdict": f"A {record['kind']}, learned from the corpus alone; nothing was held out to judge it by.",
        "figures": [(f"{count:,}", name) for name, count in counts.items() if count is not None],
        "sections": [],
        "options": _shown({**training.get("options", {}), "corpus": training.get("corpus")}),
    }


def _about(task: str) -> str:
    """Return a task's short name in words: its sampler's name."""
    if task == "mlm":
        return "masked words"
    known = tasks().get(task)
    return known.draw.__name__.replace("_", " ") if known is not None and hasattr(known.draw, "__name__") else ""


def _figures(log: list[dict[str, Any]], training: dict[str, Any] | None) -> list[tuple[str, str]]:
    pairs, tokens, padded, seconds, idle = (
        sum(line[each] for line in log) for each in ("pairs", "tokens", "padded", "seconds", "idle")
    )
    figures = [(f"{len(log):,}", "steps"), (f"{pairs:,}", "pairs"), (f"{tokens:,}", "tokens")]
    if seconds:
        figures += [
            (f"{pairs / seconds:,.1f}", "pairs a second"),
            (f"{1 - tokens / padded:.0%}" if padded else "0 %", "of the tokens are padding"),
            (f"{idle / seconds:.1%}", "of the time waiting for input"),
        ]
    if training:
        figures += [
            (
                f"{score:.3f}",
                f"held-out {_measure(training)}, {'untrained' if share == '0' else f'{float(share):.0%} trained'}",
            )
            for share, score in training["development"].items()
        ]
    return figures


def _measure(training: dict[str, Any] | None) -> str:
    """Return the name of the held-out score; it is not known of an unfinished run."""
    return str(training["plan"].get("measure", "nDCG@10")) if training else "score"


def _smooth(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the mean of each point and those before it, over a window of the run."""
    window = max(1, int(_WINDOW * len(points)))
    sums = [0.0, *accumulate(value for _, value in points)]
    return [
        (step, (sums[end] - sums[max(0, end - window)]) / min(end, window)) for end, (step, _) in enumerate(points, 1)
    ]


def _shown(chosen: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (name, json.dumps(value, ensure_ascii=False))
        for name, value in sorted(chosen.items())
        if value not in (None, {}, [])
    ]
