"""A training run as a notebook shows it: the verdict, and its curves."""

from __future__ import annotations

from pathlib import Path

from structformer.models.registry import RECORD, ModelRecord
from structformer.notebook_html import box, note
from structformer.pages import curve
from structformer.storage.files import read_json
from structformer.training.logs import read_log


def run_html(folder: Path, measure: str) -> str:
    """The run in a model's folder. measure: of the held-out score."""
    log = read_log(folder / "training.jsonl")
    record = folder / RECORD
    verdict = ModelRecord(**read_json(record)).verdict if record.exists() else "This run is not finished."
    scored = [(line["step"], line["development"]) for line in log if "development" in line]
    parts = [str(curve(scored, scored, "step", f"held-out {measure}"))] if scored else []
    for name in sorted({name for line in log for name in line["losses"]}):
        points = [(line["step"], line["losses"][name]) for line in log if name in line["losses"]]
        parts.append(str(curve(points, points, "step", f"loss, {name}")))
    return box(f"Training run {folder.name}", note(verdict), *parts)
