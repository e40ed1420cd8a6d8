"""A training run in a notebook: its verdict, the held-out score and the losses by task."""

from pathlib import Path
from typing import Any

from structformer.models.registry import RECORD, ModelRecord
from structformer.notebook import box, note
from structformer.pages import curve
from structformer.storage.files import read_json
from structformer.training.report.logs import ended_with, losses_of, read_log


def run_html(folder: Path, measure: str) -> str:
    """Return the run in a model's folder. measure: of the held-out score."""
    log = read_log(folder / "training.jsonl")
    record = folder / RECORD
    verdict = run_verdict(read_json(record) if record.exists() else None, log)
    scored = [(line["step"], line["development"]) for line in log if "development" in line]
    parts = [str(curve(scored, scored, "step", f"held-out {measure}"))] if scored else []
    parts += [str(curve(points, points, "step", f"loss, {name}")) for name, points in losses_of(log).items()]
    return box(f"Training run {folder.name}", note(verdict), *parts)


def run_verdict(record: dict[str, Any] | None, log: list[dict[str, Any]]) -> str:
    """Return the verdict on a run, and the losses that it ended with."""
    verdict = "This run is not finished." if record is None else ModelRecord(**record).verdict
    last = ended_with(log)
    return f"{verdict} {last[0].upper()}{last[1:]}." if last else verdict
