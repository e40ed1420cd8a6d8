"""The retriever: runs pipelines over a workspace's index and gives hits with breadcrumbs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from structformer.corpus.checking import damage
from structformer.did_you_mean import checked_options
from structformer.errors import StructformerError, UsageError
from structformer.retrieval.documents.copies import Sayings
from structformer.retrieval.documents.document_filter import Allowed
from structformer.retrieval.documents.translations import asked_in
from structformer.retrieval.hits import Filter, Hit, Hits, Place, Translation, Witness
from structformer.retrieval.index import Index
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.pipeline import as_pipeline, hybrid, lexical
from structformer.retrieval.rankings.hybrid_score import FusionWeights
from structformer.retrieval.rankings.ranking import Ranked, Ranking, best_of
from structformer.retrieval.snippet import Matches, snippet
from structformer.retrieval.stage import Pipeline, Stage
from structformer.retrieval.vectors.descriptions import ITSELF
from structformer.text.id_marks import Order, version_names, version_of
from structformer.text.languages import declared_code
from structformer.text.lexical_analysis import lone_characters
from structformer.text.words import names_of, signs_in, spaced
from structformer.workspace import Workspace

__all__ = ["Hit", "Retriever"]
AnyPipeline = str | Pipeline | Stage


class Retriever:
    """Searches a workspace's index. Models are loaded when a pipeline first needs them; threads may share it."""

    def __init__(self, workspace: str | Path | Workspace = ".structformer", opened: OpenedIndex | None = None) -> None:
        """Open a workspace's index, as `open` does. opened: the index, if it is open already."""
        self.workspace = Workspace(workspace)
        self.opened = opened or OpenedIndex(self.workspace, _made_vectors)
        self.units = self.opened.units
        self.documents = self.opened.documents

    @classmethod
    def open(cls, workspace: str | Path | Workspace = ".structformer") -> Retriever:
        """Open a workspace's index. Raises WorkspaceError when it is missing, changed or older than the corpus."""
        return cls(workspace)

    @classmethod
    def of(cls, opened: OpenedIndex) -> Retriever:
        """Return a retriever over an opened index."""
        return cls(opened.workspace, opened)

    def default_pipeline(self) -> Pipeline:
        """Hybrid with `OpenedIndex.default_encoder`; lexical where the index has words alone."""
        encoder = self.opened.default_encoder
        return as_pipeline(hybrid(encoder) if encoder else lexical())

    @checked_options(n="k", top_k="k", limit="k", size="k", text="query", q="query", filter="where", filters="where")
    def search(
        self,
        query: str,
        k: int = 10,
        pipeline: AnyPipeline | None = None,
        *,
        where: Filter | None = None,
        group: bool = False,
    ) -> Hits:
        """Up to k sections, best first; with `group` up to k documents, each by its best section with the others in
        `Hit.sections`. `Hits.likely` says how likely the first is right. Raises UsageError on a query without a word,
        and on k below 1.
        """
        if not isinstance(k, int | np.integer) or k < 1:
            raise UsageError(f"k={k!r}: ask for 1 hit or more")
        query, used = checked_query(query), self.pipeline(pipeline)
        try:
            ranking = self.rank([query], used, where=where)[0]
            hits = self.hits(ranking, k, group=group)
        except BaseException as error:  # a library's, of a file that it cannot read; tantivy's panics are no Exceptions
            foreseen = isinstance(error, (StructformerError, KeyboardInterrupt, MemoryError))
            if not foreseen and (problem := damage(self.workspace)) is not None:
                raise problem from error
            raise
        return Hits(
            hits,
            query=query,
            pipeline=str(used),
            likely=ranking.likely,
            absent_phrases=ranking.absent_phrases,
            absent_name=ranking.absent_name,
        )

    async def asearch(
        self,
        query: str,
        k: int = 10,
        pipeline: AnyPipeline | None = None,
        *,
        where: Filter | None = None,
        group: bool = False,
    ) -> Hits:
        """`search` without holding up the event loop: it runs in a thread, and several may run at once."""
        return await asyncio.to_thread(self.search, query, k, pipeline, where=where, group=group)

    @property
    def is_stale(self) -> bool:
        """Whether a newer corpus waits for `structformer.index`; this one answers from the last whole index."""
        return self.opened.index.is_stale

    def __reduce__(self) -> tuple[Any, ...]:
        """Let a copy, in another process too, open the index by itself."""
        return Retriever.open, (self.workspace.absolute,)

    def __repr__(self) -> str:
        return f"Retriever({str(self.workspace)!r}, {len(self.documents)} documents, {self.default_pipeline()})"

    def hits(self, ranking: Ranking, k: int, *, group: bool = False, sections: int | None = None) -> list[Hit]:
        """A ranking's first sections as hits, or with `group` its first documents. Copies, versions and translations of
        a hit are not hits of their own. sections: how many of a document, at most; None: all.
        """
        seen: set[tuple[int, int]] = set()
        groups: dict[Any, dict[int, Ranked]] = {}  # by what they say, then by what says it: a document, or a unit
        owners, section_of, page = self.opened.owners, self.opened.sections, cache(self.opened.page)
        sayings = Sayings(self.units, self.opened.copies)
        for number, score in ranking.ranked:
            place = int(owners[number]), int(section_of[number])
            if place in seen:
                continue
            seen.add(place)
            key = place[0] if group else number
            says = page(key) if group else sayings.of(number)
            if says not in groups and len(groups) >= k:
                if group:
                    continue
                break
            groups.setdefault(says, {}).setdefault(key, []).append((number, score))
        last = None if sections is None else sections + 1
        lexical, ways = self.opened.lexical, self.opened.lexical.names.spellings(ranking.query)
        terms = lexical.terms(" ".join([ranking.query, *(way for way in ways if not names_of(way))]))
        signs = [*signs_in(ranking.query), *filter(names_of, ways)]

        @cache
        def matches(language: str) -> Matches:
            unsaid = self.opened.stop_terms_of(language)  # "the" shows nothing
            telling = [term for term in terms if term not in unsaid] or terms
            lone = frozenset(lone_characters(ranking.query)).intersection(telling)
            return Matches(telling, lexical.word_terms, lone, signs)

        # The languages of what was found: what may not be seen changes nothing.
        several = [docs for docs in groups.values() if group and len(docs) > 1]
        language = asked_in(ranking.query, {self._language(each) for docs in several for each in docs})
        hits: list[Hit] = []
        for alike in groups.values():
            shown = self._shown(alike, language, ranking.query)
            first, *others = (self._hit(number, score, ranking, matches) for number, score in alike.pop(shown)[:last])
            elsewhere = self._elsewhere(shown, alike) if group else (self._places(alike), ())
            hits.append(replace(first, sections=tuple(others), also_at=elsewhere[0], also_in=elsewhere[1]))
        return hits

    def _shown(self, alike: Mapping[int, Ranked], language: str, query: str) -> int:
        """Which of a page's copies, versions and translations is shown, or of sections that say the same: of those in
        the query's language, else of all, the version that the query names, else the newest that has what was found in
        the best one at the same place; of several the best. alike: their units by documents, or by their first unit.
        """
        if len(alike) == 1:
            return next(iter(alike))
        of = {each: self.units[units[0][0]] for each, units in alike.items()}
        in_language = [each for each in of if language and declared_code(self._language(of[each].document)) == language]
        best, *rest = in_language or of
        words = {word.strip("?!.,;:()'\"") for word in query.lower().split()}
        places = {of[best].anchor, of[best].path[1:]} - {""}

        def preferred(number: int) -> tuple[bool, bool, Order]:
            unit = of[number]
            at_place = number == best or bool(places & {unit.anchor, unit.path[1:]})
            return not words.isdisjoint(version_names(unit.document_id)), at_place, version_of(unit.document_id)[1]

        return max((best, *rest), key=preferred)

    def _language(self, document: int) -> str:
        return self.opened.translations.language(self.opened.copies.first(document))

    def _places(self, units: Iterable[int]) -> tuple[Place, ...]:
        units_there = (self.units[number] for number in units)
        return tuple(dict.fromkeys(Place(unit.document_id, unit.anchor) for unit in units_there))

    def _elsewhere(self, shown: int, others: Iterable[int]) -> tuple[tuple[Place, ...], tuple[Translation, ...]]:
        """Return a document's copies, the newest version first, and its translations among others."""
        copies = self.opened.copies
        also_at, also_in = [], []
        ids = {document: self.documents[document].id for document in others}
        for document in sorted(ids, key=lambda each: version_of(ids[each])[1], reverse=True):
            identifier = ids[document]
            if copies.first(document) == copies.first(shown):
                also_at.append(Place(identifier))
            else:
                also_in.append(Translation(identifier, language=self._language(document)))
        return tuple(also_at), tuple(also_in)

    def rank(
        self,
        queries: Sequence[str],
        pipeline: AnyPipeline | None = None,
        *,
        where: Filter | None = None,
        names: Sequence[str] = (),
    ) -> list[Ranking]:
        """Each query's ranked units with all stages' scores. names: the queries' ids, which `run:FILE` asks for."""
        return self.opened.run(queries, self.pipeline(pipeline), self.opened.allowed(where), names)

    def rank_documents(
        self,
        queries: Sequence[str],
        pipeline: AnyPipeline | None = None,
        k: int = 100,
        *,
        where: Filter | None = None,
        names: Sequence[str] = (),
    ) -> list[list[tuple[str, float]]]:
        """For each query up to k (document id, score), a document scoring as its best unit."""
        return [
            self.documents_of(ranking.ranked, k) for ranking in self.rank(queries, pipeline, where=where, names=names)
        ]

    def rank_sections(
        self, queries: Sequence[str], pipeline: AnyPipeline | None = None, k: int = 100, *, names: Sequence[str] = ()
    ) -> list[list[tuple[str, float]]]:
        """Each query's (document id#anchor, score), up to k, by the best passage; no anchor above the first heading."""
        ranked = (ranking.ranked for ranking in self.rank(queries, pipeline, names=names))
        return [list(best_of(each, k, lambda number: self.units[number].section_id).items()) for each in ranked]

    def documents_of(self, ranked: Ranked, k: int) -> list[tuple[str, float]]:
        """Return up to k (document id, score) of ranked units, a document scoring as its best unit."""
        owners = self.opened.owners
        best = best_of(ranked, k, lambda number: int(owners[number]))
        return [(self.documents[document].id, score) for document, score in best.items()]

    def pipeline(self, pipeline: AnyPipeline | None) -> Pipeline:
        """A pipeline from any form, encoders filled in; None: the default. Raises WorkspaceError without vectors."""
        return self.default_pipeline() if pipeline is None else self.opened.with_encoders_named(as_pipeline(pipeline))

    def weights(self, pipeline: Pipeline) -> FusionWeights | None:
        """Return the weights of a pipeline's fusion, None where it has no such stage."""
        pipeline = self.pipeline(pipeline)
        fused = next((stage for stage in pipeline.stages if stage.kind.fuses), None)
        return self.opened.encoder(fused.model)[2] if fused is not None and fused.is_weighed else None

    def witnesses(
        self, query: str, pipeline: Pipeline, among: Allowed | None = None
    ) -> Callable[[str], Witness | None]:
        """A function from a document's id to the sentence that describes it best for a query; None without one, or if
        the pipeline ignores descriptions. among: the documents that the asker may see; others' words do not count.
        """
        pipeline = self.pipeline(pipeline)
        weights = self.weights(pipeline)
        encoder, index, _ = self.opened.encoder(pipeline.encoder) if weights and weights.described else (None,) * 3
        if encoder is None or index is None or index.descriptions is None:
            return lambda document: None
        kept = index.descriptions
        values, best = kept.best(encoder.encode_queries([query])[0], kept.hidden(among.sources if among else None))
        triples = zip(kept.documents, best, np.isfinite(values), strict=True)
        places = {int(document): int(number) for document, number, counts in triples if counts}

        def witness(document: str) -> Witness | None:
            number = self.opened.document_number(document)
            place = places.get(-1 if number is None else number)
            if place is None:
                return None
            told_by = int(kept.told_by[place])
            return Witness(kept.text(place), "" if told_by == ITSELF else self.documents[told_by].id)

        return witness

    def _hit(self, number: int, score: float, ranking: Ranking, matches: Callable[[str], Matches]) -> Hit:
        unit = self.units[number]
        scores = {stage: by_unit[number] for stage, by_unit in ranking.scores.items() if number in by_unit}
        document = self.documents[unit.document]
        shown = snippet(unit.text, matches(self.opened.languages.read_in(document)), unit.stretches)
        metadata = document.values()
        return Hit(
            unit.document_id,
            unit.title,
            unit.path,
            unit.anchor,
            shown.text,
            unit.text,
            score,
            scores,
            shown.highlights,
            metadata,
            section=unit.section,
            is_code=shown.is_code,
            stretches=unit.stretches,
        )


def _made_vectors(index: Index, encoder: str) -> Path:
    """Return an encoder's vectors; only where the index lacks them does a search bring in what makes them."""
    if index.has_vectors(encoder):
        return index.vectors(encoder)
    from structformer.retrieval.vector_making import made_vectors

    return made_vectors(index, encoder)


def checked_query(query: str) -> str:
    """The query as UTF-8, U+FFFD for bytes that are not. Raises UsageError without words and signs, or no text."""
    if not isinstance(query, str):
        raise UsageError(f"a query is text, not {type(query).__name__}")
    query = query.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    if not spaced(query) and not names_of(query):
        raise UsageError("the query has no words")
    return query
