"""The ingest report: counts, and one line for every file with something to say.

The account has every file that an ingest saw: a document, part of one, no document, or a failure. An archive's
members are counted, it itself only if damaged or without any; a dump or a file of records once."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from enum import StrEnum
from itertools import groupby
from typing import Any

from structformer.corpus import Corpus
from structformer.corpus.rows import Row
from structformer.corpus.site import Site
from structformer.ingestion.looking import FOLDER, Ignored, SurveyedFile
from structformer.ingestion.losses import lost_words
from structformer.ingestion.reading import ARCHIVE, Status
from structformer.ingestion.walk import path_order
from structformer.text.visible_text import visible

MAX_MESSAGES = 200  # held in memory; report.jsonl has all
_INSIDE = ("seconds", "settings_above")  # what the report as JSON has elsewhere, or not at all
_MOST_LOSSY = 20
OUTSIDE = " is not included: it is outside of the ingested folder"  # as formats say it
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


@dataclass(slots=True)
class IngestReport:
    """Report of an ingest: counts, and the messages about files."""

    documents: int = 0
    sections: int = 0
    files: int = 0
    parsed: int = 0
    unchanged: int = 0
    ignored: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    formats: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    ignored_suffixes: Counter[str] = field(default_factory=Counter)
    messages: list[tuple[str, str]] = field(default_factory=list)
    message_count: int = 0
    not_followed: int = 0
    """Inclusions of files that lie outside of what was read."""
    lossy: list[tuple[str, str]] = field(default_factory=list)
    """The files most of whose words are in no document, the worst first, each with the message that says so."""
    lossy_files: int = 0
    bytes: int = 0
    characters: int = 0
    seconds: float = 0.0
    links: dict[str, dict[str, int]] = field(default_factory=dict)
    """For each kind of link the number of each outcome."""
    see_also_edges: int = 0
    """See-also edges of the graph."""
    account: Account = field(default_factory=Account)
    """Account of every file that was seen."""
    site: Site = field(default_factory=Site)
    """Where the pages are read."""
    settings_above: list[str] = field(default_factory=list)
    """Settings files above the given folders that were read to identify the site."""

    def as_dict(self) -> dict[str, Any]:
        """Return the report as JSON types."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name not in _INSIDE}
        site = {"base_url": self.site.base_url, "said_by": self.site.said_by, "read_above": self.settings_above}
        return values | {
            **{name: dict(sorted(values[name].items())) for name in ("statuses", "formats", "reasons")},
            "ignored_suffixes": dict(self.ignored_suffixes.most_common(20)),
            "messages": [{"file": path, "message": message} for path, message in self.messages],
            "lossy": [{"file": path, "message": message} for path, message in self.lossy],
            "account": self.account.as_dict(),
            "site": site,
        }


def complete(report: IngestReport, corpus: Corpus, ignored: Ignored) -> list[dict[str, str]]:
    """Fill in what the finished corpus says, and what was not read. Return a line for every message about a file, for
    each file that is not a document, and for each unopened folder.
    """
    report.documents, report.sections, report.files = corpus.document_count, corpus.section_count, 0
    report.ignored, report.ignored_suffixes = ignored.count, ignored.suffixes
    report.account = Account(closed=[path for path, _ in ignored.folders])
    lines: list[dict[str, str]] = []
    silent: list[Accounted] = []
    for rows in by_file(corpus.sources()):
        files = list(of_file(rows))
        fates = {each.path: {"became": each.fate.value} for each in files}
        with_messages = {row["path"] for row in rows if row["messages"]}
        for row in rows:
            _count(report, row)
            fields_of_file = {"file": row["path"], **fates.get(row["path"], {})}
            lines += [{**fields_of_file, "message": message} for message in row["messages"]]
        for each in files:
            report.account.add(each)
        silent += (each for each in files if each.fate is not Fate.DOCUMENT and each.path not in with_messages)
    for each in of_ignored(ignored):
        report.account.add(each)
        silent.append(each)
    report.formats = Counter({name: count for name, count in report.formats.items() if count})
    silent.sort(key=lambda each: path_order(each.path))
    lines += [{"file": each.path, "became": each.fate.value, "message": each.why} for each in silent]
    return lines + [{"folder": path, "message": f"not opened: {why}"} for path, why in ignored.folders]


def _count(report: IngestReport, row: Row) -> None:
    if row["path"] == row["file"] and row["piece"] <= 0:
        report.files += 1
        report.statuses[row["status"]] += 1
    if row["format"] != ARCHIVE:
        report.formats[row["format"]] += row["documents"]
        if row["status"] in (Status.READ, Status.DAMAGED):
            report.reasons[f"{row['format']}: {row['why']}"] += 1
    worst = max(row["messages"] or [""], key=lost_words)
    if lost_words(worst):
        report.lossy_files += 1
        report.lossy.append((row["path"], worst))
        report.lossy.sort(key=lambda lossy: -lost_words(lossy[1]))
        del report.lossy[_MOST_LOSSY:]
    report.bytes += row["bytes"]
    report.characters += row["characters"]
    for message in row["messages"]:
        report.message_count += 1
        report.not_followed += OUTSIDE in message
        if len(report.messages) < MAX_MESSAGES:
            report.messages.append((row["path"], message))
