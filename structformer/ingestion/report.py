"""The ingest report: counts, and one line for every file with something to say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from structformer.corpus import Corpus
from structformer.ingestion.reading import ARCHIVE, Status

MAX_MESSAGES = 200  # held in memory; report.jsonl has all


@dataclass(slots=True)
class IngestReport:
    """What an ingest read: counts, and the messages about files. links: outcomes by kind of link; see_also_edges: of
    the graph.
    """

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
    bytes: int = 0
    characters: int = 0
    seconds: float = 0.0
    links: dict[str, dict[str, int]] = field(default_factory=dict)
    see_also_edges: int = 0

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON types."""
        return {
            "documents": self.documents,
            "sections": self.sections,
            "files": self.files,
            "parsed": self.parsed,
            "unchanged": self.unchanged,
            "ignored": self.ignored,
            "statuses": dict(sorted(self.statuses.items())),
            "formats": dict(sorted(self.formats.items())),
            "reasons": dict(sorted(self.reasons.items())),
            "ignored_suffixes": dict(self.ignored_suffixes.most_common(20)),
            "bytes": self.bytes,
            "characters": self.characters,
            "messages": [{"file": path, "message": message} for path, message in self.messages],
            "message_count": self.message_count,
            "links": self.links,
            "see_also_edges": self.see_also_edges,
        }


def corpus_messages(corpus: Corpus) -> Iterator[tuple[str, str]]:
    """(path, message) of every source with something to say."""
    for row in corpus.sources():
        for message in row["messages"]:
            yield row["path"], message


def without_document(corpus: Corpus) -> Iterator[str]:
    """Paths of sources that hold no document: empty ones, and members of archives that no format reads."""
    for row in corpus.sources():
        if row["status"] in (Status.EMPTY, Status.OTHER):
            yield row["path"]


def complete(report: IngestReport, corpus: Corpus) -> None:
    """Fill in what the finished corpus says."""
    report.documents, report.sections, report.files = corpus.document_count, corpus.section_count, 0
    for row in corpus.sources():
        own = row["path"] == row["file"]
        if own and row["piece"] <= 0:
            report.files += 1
            report.statuses[row["status"]] += 1
        if row["format"] != ARCHIVE:
            report.formats[row["format"]] += row["documents"]
            if row["status"] == Status.READ:
                report.reasons[f"{row['format']}: {row['why']}"] += 1
        report.bytes += row["bytes"]
        report.characters += row["characters"]
        for message in row["messages"]:
            report.message_count += 1
            if len(report.messages) < MAX_MESSAGES:
                report.messages.append((row["path"], message))
    report.formats = Counter({name: count for name, count in report.formats.items() if count})
