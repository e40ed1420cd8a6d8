"""The record of a run's steps, as JSON lines."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any


class StepLog:
    """A file of JSON lines, one a step and one of its score, that a resumed run takes up at its checkpoint."""

    def __init__(self, path: Path, *, steps: int) -> None:
        """steps: how many steps the checkpoint holds; what the killed run had written beyond them goes."""
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = [json.dumps(line) + "\n" for line in read_log(path) if line["step"] <= steps] if steps else []
        path.write_text("".join(kept), encoding="utf-8")
        self._path = path

    def add(self, **values: Any) -> None:
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")


def read_log(path: Path) -> list[dict[str, Any]]:
    """A run's steps; half a line that a killed run left is passed over."""
    steps: dict[int, dict[str, Any]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                values = json.loads(line)
                steps.setdefault(values["step"], {}).update(values)
    return list(steps.values())


def losses_of(log: list[dict[str, Any]]) -> dict[str, list[tuple[int, float]]]:
    """(step, loss) of all steps that have one, by its name."""
    found: dict[str, list[tuple[int, float]]] = {}
    for line in log:
        for name, value in line["losses"].items():
            found.setdefault(name, []).append((line["step"], value))
    return dict(sorted(found.items()))
