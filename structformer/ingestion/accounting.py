"""Account of every file that an ingest saw: a document, part of one, no document, or a failure. An archive's
members are counted, it itself only if damaged or without any; a dump or a file of records once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from typing import Any

from structformer.corpus.rows import Row
from structformer.ingestion.looking import FOLDER, SurveyedFile
from structformer.ingestion.reading import ARCHIVE, Status
from structformer.ingestion.survey import Ignored
from structformer.text.visible_text import visible

_SHOWN = 5  # names of folders in a line
MAX_NAMED = 200  # of each fate; report.jsonl has all


class Fate(StrEnum):
    """Outcomes of a file in the account."""

    DOCUMENT = "document"
    PART = "part"
    NONE = "no document"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Accounted:
    """A file, what became of it, and why it is not a document."""

    path: str
    fate: Fate
    why: str = ""
    damaged: bool = False
    """Whether it is a document of which only a part was read."""


@dataclass(slots=True)
class Account:
    """How many files there are of each fate, and the first that are not documents."""

    counts: Counter[Fate] = field(default_factory=Counter)
    named: list[Accounted] = field(default_factory=list)
    closed: list[str] = field(default_factory=list)
    """Folders that were not opened; nobody has seen their files."""
    damaged: int = 0
    """Files with documents that were read in part."""

    def add(self, file: Accounted) -> None:
        """Count a file."""
        self.counts[file.fate] += 1
        self.damaged += file.damaged
        if file.fate is not Fate.DOCUMENT and self.counts[file.fate] <= MAX_NAMED:
            self.named.append(file)

    @property
    def folders(self) -> int:
        """The number of folders that were not opened."""
        return len(self.closed)

    @property
    def seen(self) -> int:
        """All files."""
        return self.counts.total()

    def as_dict(self) -> dict[str, Any]:
        """Return the account as JSON types."""
        return {
            "seen": self.seen,
            "documents": self.counts[Fate.DOCUMENT],
            "parts": self.counts[Fate.PART],
            "not_documents": self.counts[Fate.NONE],
            "failed": self.counts[Fate.FAILED],
            "damaged": self.damaged,
            "folders_not_opened": self.folders,
            "named": [{"file": file.path, "became": file.fate.value, "why": file.why} for file in self.named],
        }

    def __str__(self) -> str:
        counts = self.counts
        text = (
            f"{self.seen} seen: {counts[Fate.DOCUMENT]} read, {counts[Fate.PART]} included by others, "
            f"{counts[Fate.NONE]} skipped, {counts[Fate.FAILED]} failed"
        )
        if self.damaged:
            text += f"; {self.damaged} damaged, read in part"
        names = ", ".join([*map(visible, self.closed[:_SHOWN]), *["..."] * (len(self.closed) > _SHOWN)])
        return f"{text}; folders not opened: {self.folders} ({names})" if self.closed else text


def by_file(rows: Iterable[Row]) -> Iterator[list[Row]]:
    """Return a corpus's rows of each file together: of its pieces, or of an archive and its members."""
    return (list(group) for _, group in groupby(rows, key=lambda row: row["file"]))


def of_ignored(ignored: Ignored) -> Iterator[Accounted]:
    """Account for the files that are not read, with why."""
    return (Accounted(path, Fate.NONE, why) for path, why in ignored.files)


def of_surveyed(files: Iterable[SurveyedFile]) -> Iterator[Accounted]:
    """Account for files that are not read yet, as far as can be told."""
    for file in files:
        if file.is_read:
            yield Accounted(file.path, Fate.DOCUMENT)
        elif file.place:
            yield Accounted(file.path, Fate.PART if file.part_of else Fate.NONE, file.place)
        elif file.why != FOLDER:
            yield Accounted(file.path, Fate.FAILED if file.unreadable else Fate.NONE, file.problem)


def of_file(rows: list[Row]) -> Iterator[Accounted]:
    """Account for a file, or an archive's members, by its rows."""
    own = [row for row in rows if row["path"] == row["file"]]
    members = [row for row in rows if row["path"] != row["file"]]
    if own[0]["format"] == ARCHIVE:
        yield from (_of_rows([row]) for row in members)
        if not members or own[0]["status"] == Status.FAILED:
            yield _of_rows([{**own[0], "documents": 0}])
    elif own[0]["why"] != FOLDER:
        yield _of_rows(own)


def _of_rows(rows: list[Row]) -> Accounted:
    """Of one file, or of the pieces of one."""
    path, statuses = rows[0]["path"], {row["status"] for row in rows}
    if any(row["documents"] for row in rows):
        return Accounted(path, Fate.DOCUMENT, damaged=Status.DAMAGED in statuses)
    reason = next((row["messages"][-1] for row in rows if row["messages"]), "") or rows[0]["why"]
    if Status.PART in statuses:
        return Accounted(path, Fate.PART, rows[0]["why"])
    if Status.FAILED in statuses or (Status.SKIPPED in statuses and rows[0]["piece"] >= 0):
        return Accounted(path, Fate.FAILED, reason)
    if Status.READ in statuses and any(row["aliases"] for row in rows):
        return Accounted(path, Fate.NONE, "redirects only")
    return Accounted(path, Fate.NONE, reason)
