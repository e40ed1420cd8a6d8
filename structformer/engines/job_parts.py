"""Parts: a command's work in N parts that know nothing of each other, for job arrays and for machines that share
nothing but a folder.

`structformer ingest FOLDER --part 3/8` does the third of eight parts and leaves what it made in the workspace's
`parts/`, under names that say what went in; the plan beside them says what the command was asked for, and each part
that has ended leaves a mark. `structformer merge` runs the command itself, which finds what is made.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from structformer.errors import UsageError, WorkspaceError
from structformer.storage.files import read_json, remove, write_json
from structformer.workspace import Workspace

_PLAN = "plan.json"
_MOST = 100_000
_WAIT_SECONDS = 600.0  # for another part that makes the same workspace
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part:
    """The `number`th of `of` parts, from 1 on."""

    number: int
    of: int

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    @classmethod
    def parse(cls, text: str) -> Part:
        """Return a part from "3/8". Raises UsageError."""
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text.strip())
        number, of = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= number <= of <= _MOST:
            raise UsageError(f"{text!r} is not a part: write 3/8 for the third of eight")
        return cls(number, of)

    def of_tasks(self, tasks: Iterable[T]) -> Iterator[T]:
        """Return this part's tasks."""
        return islice(tasks, self.number - 1, None, self.of)


WHOLE = Part(1, 1)


class PartsFolder:
    """Results of one command's parts, kept in a workspace."""

    def __init__(self, workspace: Workspace, command: str) -> None:
        self.command = command
        self.folder = workspace.parts / command
        self._workspace = workspace

    def begin(self, part: Part, plan: Mapping[str, Any]) -> None:
        """Note what is asked for; all parts must be asked for the same. Raises UsageError."""
        wanted = json.loads(json.dumps({**plan, "parts": part.of}))
        with self._workspace.writing(f"structformer {self.command}", wait=_WAIT_SECONDS):
            if not self.begun:
                write_json(self.folder / _PLAN, wanted)
            elif self.plan() != wanted:
                raise UsageError(
                    f"parts of another `structformer {self.command}` are in {self.folder}: "
                    "`structformer merge` puts them together, `structformer merge --drop` deletes them"
                )

    def plan(self) -> dict[str, Any]:
        """Return what the parts were asked for. Raises WorkspaceError."""
        plan: dict[str, Any] = read_json(self.folder / _PLAN)
        return plan

    @property
    def begun(self) -> bool:
        """Whether there are any."""
        return (self.folder / _PLAN).exists()

    def end(self, part: Part) -> None:
        """Mark a part as done."""
        write_json(self._mark(part.number), {"part": str(part)})

    def to_merge(self, *, rest: bool) -> dict[str, Any]:
        """Return what the parts were asked for, if all have ended or with `rest`. Raises WorkspaceError."""
        plan = self.plan()
        missing = [number for number in range(1, plan["parts"] + 1) if not self._mark(number).exists()]
        if missing and not rest:
            listed = ", ".join(map(str, missing[:20])) + (", ..." if len(missing) > 20 else "")
            raise WorkspaceError(
                f"of {plan['parts']} parts of `structformer {self.command}` these have not ended: {listed}; "
                "run them again with the same --part, or let this machine do the rest: structformer merge --rest"
            )
        return plan

    def drop(self) -> None:
        """Delete what the parts have made so far."""
        remove(self.folder)

    def _mark(self, number: int) -> Path:
        return self.folder / "done" / f"{number:06}.json"
