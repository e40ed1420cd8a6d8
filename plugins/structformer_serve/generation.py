"""One opened index with everything that is answered from it: it changes only in what is deleted, and goes when its
last request does.
"""

import json
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any
from weakref import WeakKeyDictionary

from structformer.corpus import Corpus
from structformer.did_you_mean import did_you_mean
from structformer.errors import ModelError, UsageError, WorkspaceError
from structformer.graph import ReferenceGraph, internal_links
from structformer.ingestion import Fate
from structformer.models import read_record
from structformer.retrieval import (
    ENCODER,
    Allowed,
    Facet,
    Filter,
    Pipeline,
    Retriever,
    as_pipeline,
    asked_in,
    curated_file,
    encoder_kind,
    open_facets,
    training_verdict,
)
from structformer.workspace import Workspace

from structformer_serve.batching import BatchedEncoder
from structformer_serve.comparison import other_search
from structformer_serve.links import LinkTable, visible_names
from structformer_serve.schemas import WhatWasRead
from structformer_serve.shelves import Shelves

_REASONS = 5  # of each kind of file that became no document


def what_was_read(workspace: Workspace) -> WhatWasRead | None:
    """Return what the last ingest read, None if it left no readable report."""
    try:
        report = json.loads((workspace.reports / "report.json").read_text(encoding="utf-8"))
        account, links = report["account"], report["links"]
        return WhatWasRead(
            documents=report["documents"],
            sections=report["sections"],
            files=account["seen"],
            read=account["documents"],
            parts=account["parts"],
            skipped=account["not_documents"],
            skipped_because=_reasons(account["named"], Fate.NONE),
            failed=account["failed"],
            failed_because=_reasons(account["named"], Fate.FAILED),
            links_resolved=sum(counts["resolved"] for counts in links.values()),
            links_within=internal_links(links)[0],
        )
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _reasons(named: list[dict[str, str]], fate: Fate) -> list[str]:
    """Return why files became no documents, the commonest reason first."""
    counts = Counter(each["why"] for each in named if each["became"] == fate and each["why"])
    return [why for why, _ in counts.most_common(_REASONS)]


def deleted_documents(before: Corpus, after: Corpus) -> frozenset[int]:
    """Numbers of the documents of one corpus that a later one does not have: neither their id nor the bytes of the file
    that they were read from, which may be called otherwise now. Shards that both have are not looked at.
    """
    old, new = {shard.key for shard in before.shards}, {shard.key for shard in after.shards}
    kept = {
        row["id"] for shard in after.shards if shard.key not in old for row in after.rows(shard, "documents", ["id"])
    }
    gone = {
        start + row["number"]: row["file"]
        for shard, start in zip(before.shards, before.starts, strict=False)
        if shard.key not in new
        for row in before.rows(shard, "documents", ["number", "id", "file"])
        if row["id"] not in kept
    }
    if not gone:
        return frozenset()
    pieces: dict[str, set[str]] = {file: set() for file in gone.values()}  # a dump is read in several
    for source in before.sources():
        if source["file"] in pieces:
            pieces[source["file"]].add(source["sha256"])
    there = {source["sha256"] for source in after.sources()}
    return frozenset(number for number, file in gone.items() if not pieces[file] <= there)


BEST, WORDS = "best", "words"
_DOCUMENTS = 64  # whole documents that are kept
_FILTERS, _FEWEST_FILTERS = 64, 8  # whose documents are kept,
_FILTER_BYTES = 64_000_000  # and how much they may take


def state_of(workspace: Workspace) -> str:
    """Return what the answers depend on, as a short text: it changes when there is something new to open. A corpus is
    not new before it has an index. Raises WorkspaceError.
    """
    current = workspace.state()["current"]
    # Only looked at: whose export it is was settled when the index was opened, which may ask a model hub.
    exports = [*(workspace.cache / "onnx").glob("base-*/onnx"), *workspace.models.glob(f"{ENCODER}/onnx")]
    try:
        model = read_record(workspace, ENCODER).fingerprint[:8]
    except (ModelError, WorkspaceError):
        model = ""
    by_hand = curated_file(workspace)
    changed = () if by_hand is None else (by_hand.stat().st_mtime_ns,)
    parts = (current.get("index", ""), model, len(exports), *changed)
    return "-".join(str(part) for part in parts)


class Generation:
    """An opened index. id: names it in answers. pipelines: by name; "best" is the retriever's own choice, "words" BM25.
    other: the name of the one that "best" is compared with, "" where there is none. verdict: what training came to.
    what_was_read: by the ingest, None where that left no report. deleted: its documents that the corpus has no more,
    which nobody sees. static: its encoders that were learned from the corpus alone.

    Raises WorkspaceError where there is no index that belongs to the corpus, UsageError on a pipeline that cannot be
    parsed."""

    def __init__(self, workspace: Workspace, pipelines: Mapping[str, str] | None = None) -> None:
        self.id = state_of(workspace)
        self.retriever = Retriever.open(workspace)
        self.corpus = self.retriever.opened.index.corpus
        self.deleted: frozenset[int] = frozenset()
        self._compared: object = None  # the number of the corpus in which deleted documents were last looked for
        self.links = LinkTable(ReferenceGraph.open(workspace, self.corpus))
        own = {name: self.retriever.pipeline(text) for name, text in (pipelines or {}).items()}
        best = own.get(BEST) or self.retriever.default_pipeline()
        compared = other_search(self.retriever.opened, best) if BEST not in own else {}
        # A pipeline of the server's own goes before one that is here to be compared with.
        self.other = next((name for name in compared if name not in own), "")
        self.pipelines: dict[str, Pipeline] = {BEST: best, WORDS: as_pipeline("lexical"), **compared, **own}
        self.verdict = training_verdict(workspace)
        self.what_was_read = what_was_read(workspace)
        index = self.retriever.opened.index
        self.facets: list[Facet] = open_facets(index.folder, index.manifest["facets"])
        self._languages = [str(index.manifest["language"]), *index.manifest["languages"][1:]]
        self._offered: WeakKeyDictionary[Allowed, tuple[list[Facet], str]] = WeakKeyDictionary()
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self.document = lru_cache(_DOCUMENTS)(self.corpus.document_at)  # whole, by its number
        self._allowed: OrderedDict[tuple[Any, ...], Allowed] = OrderedDict()
        self._encoders: dict[str, BatchedEncoder] = {}
        self._hidden = self.retriever.opened.curated.hide  # a file with a mistake is said now
        self._warm()
        # Found now: the models may be others by the time that an answer says how it was found.
        names = {pipeline.encoder for pipeline in self.pipelines.values()} - {""}
        self.static = frozenset(name for name in names if not encoder_kind(workspace, name).pretrained)
        self.hide_deleted(workspace)

    def _warm(self) -> None:
        """Load what the first request would wait for, but for what is only compared with."""
        for name, pipeline in self.pipelines.items():
            if name != self.other:
                self.open_encoders(pipeline)
        ranking = self.retriever.rank(["warm"], self.pipelines[BEST])[0]
        self.retriever.hits(ranking, 1, group=True)
        asked_in(ranking.query, self.retriever.opened.translations.languages)

    def open_encoders(self, pipeline: Pipeline) -> None:
        """Load a pipeline's encoders, which gather the queries of several requests."""
        for name in _encoders_of(pipeline):
            if name not in self._encoders:
                with self._opening:
                    if name not in self._encoders:
                        encoder, index, weights = self.retriever.opened.encoder(name)
                        batched = BatchedEncoder(encoder, look=index.look)
                        self.retriever.opened.use_encoder(name, batched, index, weights)
                        self._encoders[name] = batched

    def encoders(self, pipeline: Pipeline) -> list[BatchedEncoder]:
        """Return those of a pipeline's encoders that are loaded."""
        return [self._encoders[name] for name in _encoders_of(pipeline) if name in self._encoders]

    @cached_property
    def shelves(self) -> Shelves:
        """All documents by their folders."""
        ids = chain.from_iterable(each.to_pylist() for each in self.retriever.documents.column_batches("id"))
        return Shelves(ids, self.corpus.navigation.ranks)

    def offered(self, seen: Allowed) -> tuple[list[Facet], str]:
        """Return the facets that tell apart the documents that somebody may see, and the language of most of these."""
        if seen.whole:
            return self.facets, self._languages[0]
        if seen not in self._offered:
            matching, mask = self.retriever.opened.metadata.matching, seen.documents
            facets = [facet for facet in self.facets if facet.tells(mask)]
            # Where a corpus has several languages, the index says each document's.
            several = self._languages if len(self._languages) > 1 else []
            counts = {code: int((mask & matching((), {"language": code})).sum()) for code in several}
            self._offered[seen] = facets, max(counts, key=counts.__getitem__, default=self._languages[0])
        return self._offered[seen]

    @property
    def searches_by_meaning(self) -> bool:
        """Whether the best pipeline uses vectors."""
        return bool(self.pipelines[BEST].encoder)

    @property
    def learned_alone(self) -> bool:
        """Whether the best pipeline's encoder was learned from the documents alone, with nothing pretrained."""
        return self.pipelines[BEST].encoder in self.static

    def pipeline(self, name: str) -> Pipeline:
        """Return a pipeline by its name. Raises UsageError."""
        if name not in self.pipelines:
            raise UsageError(f"no pipeline {name!r}; {did_you_mean(name, self.pipelines)}")
        return self.pipelines[name]

    def seen(self, access: Filter, asked: Filter | None = None) -> Allowed:
        """The documents that somebody may see, that are not deleted, and that what is asked for lets through. What they
        are called counts only by links of documents that may be seen.
        """
        deleted = self.deleted
        allowed = self._kept((deleted, access.key), lambda: self._seen(access, deleted))
        return self._kept((deleted, access.key, asked.key), lambda: self._among(allowed, asked)) if asked else allowed

    def searched(self, seen: Allowed, asked: Filter | None = None) -> Allowed:
        """Return the documents among these that are asked for, without those hidden from searches by hand."""
        key = (seen, asked.key if asked else ())
        allowed = self._kept(key, lambda: self._among(seen, asked)) if asked else seen
        if not self._hidden:
            return allowed
        return self._kept((*key, self._hidden), lambda: self.retriever.opened.shown(allowed) or allowed)

    def _seen(self, access: Filter, deleted: frozenset[int]) -> Allowed:
        opened = self.retriever.opened
        mask = opened.metadata.matching(access.paths, access.metadata)
        mask[list(deleted)] = False
        if mask.all():
            return Allowed(mask, opened.owners)
        return Allowed(mask, opened.owners, visible_names(self.links, mask, opened.owners, opened.sections), mask)

    def _among(self, seen: Allowed, where: Filter) -> Allowed:
        opened = self.retriever.opened
        matching = opened.metadata.matching(where.paths, where.metadata)
        return Allowed(seen.documents & matching, opened.owners, seen.names, seen.sources)

    def _kept(self, key: tuple[Any, ...], make: Callable[[], Allowed]) -> Allowed:
        with self._lock:
            if key in self._allowed:
                self._allowed.move_to_end(key)
                return self._allowed[key]
        allowed = make()
        with self._lock:
            self._allowed[key] = allowed
            most = _FILTER_BYTES // (1 + len(allowed.documents) + len(self.retriever.units))
            while len(self._allowed) > max(_FEWEST_FILTERS, min(_FILTERS, most)):
                self._allowed.popitem(last=False)
        return allowed

    def hide_deleted(self, workspace: Workspace) -> None:
        """Let nobody see the documents that the workspace's newest corpus does not have."""
        if (newest := workspace.state()["current"].get("corpus")) != self._compared:
            self.deleted, self._compared = deleted_documents(self.corpus, Corpus.open(workspace)), newest

    def number(self, document_id: str) -> int | None:
        """Return the number of a document by its id, None where there is none."""
        return self.retriever.opened.document_number(document_id)

    def __del__(self) -> None:
        """End the encoders' threads: nobody asks any more."""
        for encoder in getattr(self, "_encoders", {}).values():
            encoder.close()


def _encoders_of(pipeline: Pipeline) -> dict[str, None]:
    """Return the names of a pipeline's encoders of queries."""
    return dict.fromkeys(stage.model for stage in pipeline.stages if stage.kind.vectors)
