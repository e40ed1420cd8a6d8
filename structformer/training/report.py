"""A training run as one self-contained page: losses by task, the held-out score, speed, what was chosen."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from structformer.errors import ModelError
from structformer.ingest_page import escape, page
from structformer.models.registry import RECORD, model_folder
from structformer.storage.files import read_json, write_bytes
from structformer.training.logs import read_log
from structformer.workspace import Workspace

_WIDTH, _HEIGHT = 640.0, 200.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 10.0, 8.0, 22.0
_POINTS = 400
_LEAST_SPAN = 0.05  # of the values, that an axis shows
_WINDOW = 0.05  # of the run, over which the line is a mean
_CURVES = (
    ".raw{stroke:var(--mid);stroke-width:1;fill:none;opacity:.45}.line{stroke:var(--bar);stroke-width:2;fill:none}.grid{stroke:var(--line)}\
.dot{fill:var(--good)}h3{font-size:.95rem;font-weight:600;margin:1.2rem 0 .2rem}"
)


def write_report(workspace: str | Path | Workspace, model: str, target: Path | None = None) -> Path:
    """Write the page of a trained model, or of a run that isn't finished. Raises ModelError when there is neither."""
    workspace = Workspace(workspace)
    folder = model_folder(workspace, model)
    unfinished = folder if (folder / RECORD).exists() else workspace.checkpoints(model)
    if not (folder / RECORD).exists() and (unfinished / "training.jsonl").exists():
        return _write(target or unfinished / "report.html", model, read_log(unfinished / "training.jsonl"), None)
    if not (folder / RECORD).exists():
        raise ModelError(f"no model {model!r} in {workspace}, finished or not")
    return _write(target or folder / "report.html", model, read_log(folder / "training.jsonl"), read_json(folder / RECORD))


def _write(path: Path, model: str, log: list[dict[str, Any]], record: dict[str, Any] | None) -> Path:
    training = record["training"] if record else None
    names = sorted({name for line in log for name in line["losses"]})
    parts = [_cards(log, training)]
    scored = [(line["step"], line["development"]) for line in log if "development" in line]
    if scored:
        parts += ["<h2>Held-out nDCG@10</h2>", _plot(scored, scored)]
    if names:
        parts.append("<h2>Loss by task</h2>")
    for name in names:
        points = [(line["step"], line["losses"][name]) for line in log if name in line["losses"]]
        parts += [f"<h3>{escape(name)}</h3>", _plot(points, _smooth(points))]
    if log:
        speed = [(line["step"], line["pairs"] / max(line["seconds"], 1e-6)) for line in log]
        rate = [(line["step"], line["learning_rate"]) for line in log]
        parts += ["<h2>Pairs a second</h2>", _plot(speed, _smooth(speed)), "<h2>Learning rate</h2>", _plot(rate, rate)]
    if training:
        parts += ["<h2>What was chosen</h2>", _options(training)]
    state = "" if training else " This run is not finished."
    introduction = f"A training run of structformer.{state} Thin: each step. Bold: the mean of a twentieth of the run."
    write_bytes(path, page(model, introduction, parts, _CURVES))
    return path


def _cards(log: list[dict[str, Any]], training: dict[str, Any] | None) -> str:
    seconds = sum(line["seconds"] for line in log)
    cards = [
        ("steps", f"{len(log):,}"),
        ("pairs", f"{sum(line['pairs'] for line in log):,}"),
        ("tokens", f"{sum(line['tokens'] for line in log):,}"),
    ]
    if seconds:
        padded = sum(line["padded"] for line in log)
        cards += [
            ("pairs a second", f"{sum(line['pairs'] for line in log) / seconds:,.1f}"),
            ("of the tokens are padding", f"{1 - sum(line['tokens'] for line in log) / padded:.0%}" if padded else "0 %"),
            ("of the time waiting for input", f"{sum(line['idle'] for line in log) / seconds:.1%}"),
        ]
    if training:
        cards += [
            (f"held-out nDCG@10, {'untrained' if share == '0' else f'{float(share):.0%} trained'}", f"{score:.3f}")
            for share, score in training["development"].items()
        ]
    return (
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{value}</b><span>{escape(name)}</span></div>' for name, value in cards)
        + "</div>"
    )


def _smooth(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """The mean of each point and those before it, over a window of the run."""
    window = max(1, int(_WINDOW * len(points)))
    found: list[tuple[int, float]] = []
    total = 0.0
    for number, (step, value) in enumerate(points):
        total += value
        if number >= window:
            total -= points[number - window][1]
        found.append((step, total / min(number + 1, window)))
    return found


def _plot(points: list[tuple[int, float]], line: list[tuple[int, float]]) -> str:
    """A curve with its axes as SVG."""
    low, high = min(value for _, value in points), max(value for _, value in points)
    # A curve that hardly moves should look like one.
    missing = max(0.0, _LEAST_SPAN * max(abs(low), abs(high), 1e-9) - (high - low))
    low, high = low - missing / 2, high + missing / 2
    first, last = points[0][0], max(points[-1][0], points[0][0] + 1)

    def place(step: float, value: float) -> tuple[float, float]:
        across = _LEFT + (step - first) / (last - first) * (_WIDTH - _LEFT - _RIGHT)
        return across, _TOP + (high - value) / (high - low) * (_HEIGHT - _TOP - _BOTTOM)

    def path(values: list[tuple[int, float]]) -> str:
        step = max(1, len(values) // _POINTS)
        return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (place(*value) for value in [*values[:-1:step], values[-1]]))

    grid = []
    for number in range(4):
        value = low + (high - low) * number / 3
        y = place(first, value)[1]
        grid.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        grid.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3g}</text>')
    steps = dict.fromkeys((first, (first + last) // 2, last))
    grid += [f'<text x="{place(step, low)[0]:.1f}" y="{_HEIGHT - 4}" text-anchor="middle">{step}</text>' for step in steps]
    dots = (
        "".join(f'<circle class="dot" r="3" cx="{x:.1f}" cy="{y:.1f}"/>' for x, y in (place(*point) for point in points))
        if len(points) < 40
        else ""
    )
    raw = f'<path class="raw" d="{path(points)}"/>' if line != points else ""
    return f'<svg viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" role="img">{"".join(grid)}{raw}<path class="line" d="{path(line)}"/>{dots}</svg>'


def _options(training: dict[str, Any]) -> str:
    chosen = {
        **training["options"],
        **training["settings"],
        "steps": training["steps"],
        "kept": training["kept"],
        "best_step": training["best_step"],
    }
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td><code>{escape(json.dumps(value, ensure_ascii=False))}</code></td></tr>"
        for name, value in sorted(chosen.items())
        if value not in (None, {}, [])
    )
    return f"<table>{rows}</table>"
