"""Resolving a shard's links: each raw target to a section of the corpus, or to why there is none; and the links that
lead to each section, gathered where the links are and written where they lead.

Every shard's edges are left by groups of target shards; then every group's are put together, in order of their targets.
What links say of a section, and from where they come, is so read shard by shard, and never held whole. The names that
redirect to a document follow the links to it; nothing is their source."""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from structformer.corpus import Corpus
from structformer.corpus.shards import ShardInfo, read_table
from structformer.corpus.site import Site
from structformer.document import Document, Link, LinkKind
from structformer.errors import UsageError, WorkspaceError
from structformer.formats.builder import without_garbage_collection
from structformer.formats.link_names import is_external, normalize, path_candidates
from structformer.formats.protocol import Format
from structformer.graph.name_tables import NameTables, partition_count
from structformer.plugins import load_plugins
from structformer.storage.files import read_errors
from structformer.storage.parquet import numbers, parquet_writer
from structformer.text.id_marks import language_marks
from structformer.text.languages import ENGLISH

log = logging.getLogger(__name__)
_EXAMPLES = 5
_ROWS_AT_ONCE = 20_000
FAILURES = ("unresolved", "ambiguous", "dead_anchor")
_OUTCOMES = ("resolved", "external", "file", *FAILURES)
FOUND_BY = {
    "by_letters": "matched without punctuation",
    "untranslated": "found in the language without translation",
}
EDGES = pa.schema(
    [
        ("source_document", pa.int32()),
        ("source_section", pa.int32()),
        ("target_document", pa.int32()),
        ("target_section", pa.int32()),
        ("kind", pa.string()),
        ("text", pa.string()),  # the anchor text
        ("start", pa.int32()),  # its span in the source section's text
        ("end", pa.int32()),
    ]
)
NOWHERE = -1  # the source of a redirect's name


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of neighbouring target shards."""

    first_shards: tuple[int, ...]
    """The number of each group's first shard."""
    bounds: tuple[int, ...]
    """The number of each group's first document."""

    @classmethod
    def of(cls, corpus: Corpus) -> Groups:
        """As many groups as the names have tables, or as there are shards."""
        shards = len(corpus.shards)
        count = max(1, min(shards, partition_count(corpus)))
        firsts = tuple(number * shards // count for number in range(count))
        return cls(firsts, tuple(corpus.starts[first] for first in firsts))

    def of_shard(self, shard: int) -> tuple[int, int]:
        """Return (a shard's group, its place in it)."""
        group = bisect_right(self.first_shards, shard) - 1
        return group, shard - self.first_shards[group]


@dataclass(frozen=True, slots=True)
class IncomingTask:
    """A worker's task: the links to one group."""

    gathered: tuple[str, ...]
    group: int
    starts: tuple[int, ...]
    """The number of the first document of each of the group's shards."""
    output: str


def gather(edges: pa.Table, path: Path, bounds: Sequence[int]) -> None:
    """Write edges between documents by target group, in order. bounds: the number of each group's first document."""
    elsewhere = np.flatnonzero(numbers(edges["source_document"]) != numbers(edges["target_document"]))
    _write(path, edges.take(pa.array(elsewhere)), bounds)


def write_incoming(task: IncomingTask, started: Callable[[str], None]) -> None:
    """Write the links to one group, a row group for each of its shards, in order of their sources. A worker's job."""
    tables = [EDGES.empty_table()]
    for path in task.gathered:
        with pq.ParquetFile(path) as file:
            tables.append(file.read_row_group(task.group))
    table = pa.concat_tables(tables)
    order = np.lexsort((numbers(table["target_section"]), numbers(table["target_document"])))
    _write(Path(task.output), table.take(pa.array(order)), task.starts)


def _write(path: Path, table: pa.Table, bounds: Sequence[int]) -> None:
    """A row group for the targets from each of these documents on."""
    part = np.searchsorted(np.array(bounds), numbers(table["target_document"]), side="right") - 1
    order = np.argsort(part, kind="stable")
    ends = np.searchsorted(part[order], np.arange(len(bounds)), side="right")
    table = table.take(pa.array(order))
    with parquet_writer(path, EDGES) as writer:
        start = 0
        for end in ends.tolist():
            writer.write_table(table.slice(start, end - start), row_group_size=max(1, end - start))
            start = end


def read_incoming(path: Path, place: int) -> pa.Table:
    """Return links to the shard at a place of its group, rows of EDGES by target. Raises WorkspaceError."""
    again = ": run `structformer ingest` again"
    with read_errors(path, OSError, pa.ArrowException, advice=again), pq.ParquetFile(path) as file:
        return file.read_row_group(place)


def incoming_texts(table: pa.Table) -> dict[tuple[int, int], list[str]]:
    """Return the anchor texts of links by (target document, target section), each once, in order of the sources."""
    by_section: dict[tuple[int, int], dict[str, None]] = {}
    columns = (table[name].to_pylist() for name in ("target_document", "target_section", "text"))
    for document, section, text in zip(*columns, strict=True):
        if text:
            by_section.setdefault((document, section), {})[text] = None
    return {target: list(texts) for target, texts in by_section.items()}


@dataclass(slots=True)
class Resolution:
    """The outcomes of links, per kind: resolved (of these, dead_anchor: the page is there, the anchor isn't), external,
    file (there, but no document: an image, a folder), unresolved, ambiguous; with a few examples of each failure as
    (document id, target)."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    examples: defaultdict[str, list[tuple[str, str]]] = field(default_factory=lambda: defaultdict(list))

    def count(self, kind: str, outcome: str, document_id: str, target: str) -> None:
        """Count one link's outcome and keep it as an example while there are few."""
        self.counts[kind, outcome] += 1
        if outcome in FAILURES and len(self.examples[outcome]) < _EXAMPLES:
            self.examples[outcome].append((document_id, target))

    def add(self, other: Resolution) -> None:
        """Merge another part's counts and examples."""
        self.counts.update(other.counts)
        for outcome, examples in other.examples.items():
            self.examples[outcome] += examples[: _EXAMPLES - len(self.examples[outcome])]

    def as_dict(self) -> dict[str, Any]:
        """Return the counts and examples as JSON types."""
        kinds = sorted({kind for kind, _ in self.counts})
        links = {kind: {each: self.counts[kind, each] for each in _OUTCOMES} for kind in kinds}
        return {"links": links, "examples": {each: [*map(list, self.examples[each])] for each in FAILURES}}


@dataclass(frozen=True, slots=True)
class ResolveTask:
    """One worker's task: resolve the links of one shard."""

    shard: ShardInfo
    shards: str  # the folder of all shards
    start: int  # number of its first document
    names: str
    site: Site
    bounds: tuple[int, ...]  # of the groups of targets
    edges: str
    incoming: tuple[str, str]  # the links to other documents, and the names of redirects, by target


def internal_links(links: Mapping[str, Mapping[str, int]]) -> tuple[int, int]:
    """Return how many links stay within the corpus and how many of these lead nowhere, from the outcomes by kind."""
    total = sum(map(Counter, links.values()), Counter())
    return sum(total[name] for name in ("resolved", "unresolved", "ambiguous")), sum(total[name] for name in FAILURES)


def resolve_shard(task: ResolveTask, started: Callable[[str], None]) -> Resolution:
    """Write one shard's edges, and what they say of their targets; return the outcomes of links. A worker's job."""
    corpus = Corpus(Path(), Path(task.shards), [task.shard])
    names = NameTables(Path(task.names))
    resolution = Resolution()
    rows: list[dict[str, Any]] = []
    with closing(names), without_garbage_collection(), parquet_writer(Path(task.edges), EDGES) as writer:
        for number, document in enumerate(corpus.shard_documents(0), task.start):
            started(document.id)
            rows += _document_edges(number, document, names, task.site, resolution)
            if len(rows) > _ROWS_AT_ONCE:
                writer.write_table(pa.Table.from_pylist(rows, schema=EDGES))
                rows = []
        writer.write_table(pa.Table.from_pylist(rows, schema=EDGES))
        redirects = list(_redirected(corpus, task.shard, names))
    anchors, aliases = (Path(path) for path in task.incoming)
    gather(read_table(Path(task.edges)), anchors, task.bounds)
    gather(pa.Table.from_pylist(redirects, schema=EDGES), aliases, task.bounds)
    return resolution


def _redirected(corpus: Corpus, shard: ShardInfo, names: NameTables) -> Iterator[dict[str, Any]]:
    """Yield the names that a shard's sources redirect to a document, as rows among the links to it."""
    for row in corpus.rows(shard, "sources", ["aliases"]):
        for alias in row["aliases"] or ():
            documents = names.documents(normalize(alias["target"].partition("#")[0]))
            if documents and not names.has(normalize(alias["name"])):
                name = alias["name"].rpartition(":")[2]  # without the wiki and the namespace
                yield dict(zip(EDGES.names, (NOWHERE, NOWHERE, documents[0], 0, "redirect", name, 0, 0), strict=True))


def _document_edges(
    number: int, document: Document, names: NameTables, site: Site, resolution: Resolution
) -> Iterator[dict[str, Any]]:
    resolved: dict[tuple[str, str], tuple[str, int, int]] = {}
    read_by = format_of(document)
    for section_number, section in enumerate(document.sections()):
        for link in section.links:
            key = (link.kind.value if link.kind is LinkKind.CITATION else "", link.target)
            if key not in resolved:
                resolved[key] = resolve_link(read_by, link, document, number, names, site)
            outcome, target, target_section = resolved[key]
            if outcome == "dead_anchor":
                resolution.count(link.kind.value, "dead_anchor", document.id, link.target)
            if outcome == "dead_anchor" or outcome in FOUND_BY:
                outcome = "resolved"
            resolution.count(link.kind.value, outcome, document.id, link.target)
            if outcome == "resolved":
                ends = number, section_number, target, target_section
                yield dict(zip(EDGES.names, (*ends, link.kind.value, link.text, link.start, link.end), strict=True))


def resolve_link(
    read_by: Format, link: Link, document: Document, number: int, names: NameTables, site: Site
) -> tuple[str, int, int]:
    """(outcome, target document, target section), the numbers -1 without a target. read_by: knows the names that the
    link may mean. The outcome is one of `FOUND_BY` where a rule found what no name says as it is written.
    """
    tried: list[str] = []
    as_site = _names_on_site(document.id, link.target)
    resolved = _by_names(chain(as_site, _noted(read_by, link, document, tried)), document, number, names)
    if resolved[0] == "dead_anchor" and link.target.startswith("#") and _leads_outside(link.target, site):
        return "external", -1, -1
    if resolved[0] != "unresolved":
        return resolved
    if (tried and tried[0].startswith("//")) or is_external(link.target) or _leads_outside(link.target, site):
        return "external", -1, -1
    paths = list(path_candidates(document.source.path, link.target)) if names.has_files else []
    if any(names.is_file(path) for path in (*paths, *_untranslated(paths, document.id))):
        return "file", -1, -1
    outcome, *target = _by_names(_untranslated(tried, document.id), document, number, names)
    if outcome in ("resolved", "by_letters"):
        return "untranslated", target[0], target[1]
    if site.is_beside(link.target):
        first, above = link.target.strip("/").partition("/")[0], PurePosixPath(document.source.path).parents
        if not any(names.is_file(normalize(str(folder / first))) for folder in above):
            return "external", -1, -1
    return outcome, target[0], target[1]


def _names_on_site(document_id: str, target: str) -> Iterator[str]:
    """Return the names that site generators give pages, as a link's target may be one."""
    path, separator, anchor = target.partition("#")
    for generator in load_plugins().site_generators.values():
        if path and generator.names is not None:
            yield from (normalize(name) + separator + anchor for name in generator.names(document_id, path))


def _leads_outside(target: str, site: Site) -> bool:
    """Whether a target that is no page's name is written as a site generator's links to other sites are."""
    prefix, colon, _ = target.lstrip("#").partition(":")
    generators = load_plugins().site_generators.values()
    return (bool(colon) and prefix in site.outside) or any(
        each.external is not None and each.external.fullmatch(target) is not None for each in generators
    )


def _noted(read_by: Format, link: Link, document: Document, tried: list[str]) -> Iterator[str]:
    try:
        for name in read_by.resolve(link, document):
            tried.append(name)
            yield name
    except Exception as error:  # a plugin's mistake, or an address that nobody has thought of, costs this link alone
        log.warning("%s: the link %r has no name (%s: %s)", document.id, link.target, type(error).__name__, error)


def _untranslated(names: Iterable[str], document_id: str) -> Iterator[str]:
    """Return names without their page's mark of language, or with English's: sites show the original for these."""
    languages = _languages(document_id)
    for name in names if languages else ():
        path, separator, anchor = name.partition("#")
        for mark in language_marks(path):
            if mark.language in languages:
                for original in (*mark.origins, mark.family.replace("\0", ENGLISH)):
                    yield original + separator + anchor


@lru_cache(maxsize=1024)
def _languages(document_id: str) -> frozenset[str]:
    return frozenset(mark.language for mark in language_marks(document_id))


def _by_names(candidates: Iterable[str], document: Document, number: int, names: NameTables) -> tuple[str, int, int]:
    """Return the outcome, document and section of the first name that leads anywhere. A place that this document lacks
    and several others have is ambiguous, not a dead anchor.
    """
    is_ambiguous = False
    without_anchor: list[tuple[int, str]] = []
    for candidate in candidates:
        name, _, anchor = candidate.partition("#")
        documents: Sequence[int] = [number] if name == document.id else names.documents(name)
        are_several = len(documents) > 1
        is_ambiguous |= are_several
        if are_several:
            documents = names.nearest(name, number)
        if len(documents) != 1:
            continue
        if not anchor or anchor.lower() == "top":
            return "resolved", documents[0], 0
        section = names.section(documents[0], anchor)
        if section is not None:
            return "resolved", documents[0], section
        if not are_several:
            without_anchor.append((documents[0], anchor))
    for page, anchor in without_anchor:
        if (section := names.section_by_letters(page, anchor)) is not None:
            return "by_letters", page, section
    if is_ambiguous and all(page == number for page, _ in without_anchor):
        return "ambiguous", -1, -1
    return ("dead_anchor", without_anchor[0][0], 0) if without_anchor else ("unresolved", -1, -1)


def format_of(document: Document) -> Format:
    """Return the format that a document was read by. Raises WorkspaceError when it is installed no more."""
    try:
        return load_plugins().format(document.source.format)
    except UsageError as error:
        raise WorkspaceError(
            f"{document.id} was read by the format {document.source.format!r}, whose plugin is gone"
        ) from error
