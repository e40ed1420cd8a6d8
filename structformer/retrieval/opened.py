"""An index opened for search, with the models and vectors that stages ask for, loaded when first needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from structformer.errors import UsageError, WorkspaceError
from structformer.models.registry import checked_model, trained_models
from structformer.retrieval import loading
from structformer.retrieval.curated import Curated, curated_file, read_curated
from structformer.retrieval.documents.copies import Copies
from structformer.retrieval.documents.document_filter import Allowed, Mask
from structformer.retrieval.documents.metadata import MetadataTable
from structformer.retrieval.documents.release_logs import release_logs
from structformer.retrieval.documents.translations import CorpusLanguages, Translations
from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.hits import Filter
from structformer.retrieval.index import Index
from structformer.retrieval.query_parts import is_called, parts_of, put_first, put_named_first
from structformer.retrieval.rankings.doubt import PARTS_OF_A_NAME
from structformer.retrieval.rankings.hybrid_score import FusionWeights, fusion_weights
from structformer.retrieval.rankings.ranking import Ranking
from structformer.retrieval.stage import Pipeline, Stage
from structformer.retrieval.vectors.encoder_names import DEFAULT, ENCODER, STRUCTURE, UNTRAINED
from structformer.retrieval.vectors.encoder_places import encoder_kind, encoder_place, trained_encoder
from structformer.retrieval.words.lexical import LexicalIndex
from structformer.text.stop_words import function_words
from structformer.text.words import spaced
from structformer.workspace import Workspace

if TYPE_CHECKING:
    from structformer.retrieval.vectors.dense import DenseIndex
    from structformer.retrieval.vectors.second_look import EncodedQuery


T = TypeVar("T")
# The file of an encoder's vectors in an index, by the encoder's name.
VectorsOf = Callable[[Index, str], Path]
SECTIONS, DOCUMENTS = "sections", "documents"  # what a stage scores
_ENCODER = "encoder"  # kept by its name
_BATCHES_KEPT = 16  # of 256 queries: 6 MB
WHOLE = 1_000_000  # characters of a document that are counted


class OpenedIndex:
    """An opened index, which the stages of a pipeline search in."""

    def __init__(self, workspace: Workspace, vectors: VectorsOf = Index.vectors) -> None:
        """vectors: what looks up an encoder's vectors; `made_vectors` makes those that the index lacks. Raises
        WorkspaceError when there is no index, or it is not what was written for this corpus.
        """
        self.workspace = workspace
        self._vectors = vectors
        self.index = Index(workspace)
        for gone in {*self.index.manifest.get("models", ())} - {*trained_models(workspace)}:
            raise WorkspaceError(f"{workspace.model(gone)} is missing: run `structformer index` again")
        folder = self.index.folder
        self.units = Units(folder / "units.arrow")
        self.documents = IndexedDocuments(folder / "documents.arrow")
        # (units,) each unit's document, and its section in that.
        self.owners, self.sections = self.units.columns_of_numbers("document", "section")
        self.copies = Copies.of(self.units)
        self.release_logs = release_logs(self.units)
        self.translations = Translations.of(self.units, self.index.manifest["translations"])
        self.languages = CorpusLanguages(tuple(self.index.manifest["languages"]))
        self.lexical = LexicalIndex(folder / "lexical", self.languages.codes)
        self._kept: dict[tuple[str, str], Any] = {}
        self._asked_before: dict[tuple[int, tuple[str, ...]], Sequence[EncodedQuery]] = {}
        self._had_encoder = False
        self._loading = RLock()  # several threads may search; what is large is loaded once

    @cached_property
    def stop_terms(self) -> frozenset[str]:
        """The function words of all the corpus's languages, as terms of the lexical index."""
        return frozenset[str]().union(*map(self.stop_terms_of, self.languages.codes))

    def stop_terms_of(self, language: str) -> frozenset[str]:
        """Return the same of one language."""

        def read(language: str) -> frozenset[str]:
            # Of scripts without spaces a long word is several terms, each of them part of other words too.
            words = [word for word in function_words([language]) if len(spaced(word).split()) == 1]
            return frozenset(term for word in words for term in self.lexical.words(word))

        return self.kept("stop terms", language, read)

    def page(self, document: int) -> int:
        """The number of the page that a document is a copy or a translation of, or a copy of such a translation."""
        return self.translations.first(self.copies.first(document))

    def kept(self, what: str, name: str, make: Callable[[str], T]) -> T:
        """Return what `make` gives for a name, made by the first thread that asks. what: its kind, as a stage."""
        key = what, name
        if key not in self._kept:
            with self._loading:
                if key not in self._kept:
                    self._kept[key] = make(name)
        made: T = self._kept[key]
        return made

    def run(
        self,
        queries: Sequence[str],
        pipeline: Pipeline,
        documents: Collection[int] | None = None,
        names: Sequence[str] = (),
    ) -> list[Ranking]:
        """Every query's ranking. documents: numbers of those that may be found, None for all. names: the queries' ids,
        where they have any. What `curated` says is done here and nowhere else.
        """
        documents = self.shown(None if documents is None else Allowed.of(documents, len(self.documents), self.owners))
        pipeline = self.with_encoders_named(pipeline)
        for stage in pipeline.stages:
            if stage.kind.needs is not None:
                stage.kind.needs(self, stage)
        parts = [parts_of(self, self.expanded(query), documents) for query in queries]
        rankings = [
            Ranking(each.text, name=name, absent_phrases=each.absent)
            for each, name in zip(parts, names or [""] * len(parts), strict=True)
        ]
        plain = [ranking for ranking, each in zip(rankings, parts, strict=True) if each.units is None]
        self._run_stages(pipeline, plain, documents)
        for ranking, each in zip(rankings, parts, strict=True):
            if each.units is not None:
                self._run_among(pipeline, ranking, each.units, documents)
        for ranking, query in zip(rankings, queries, strict=True):
            ranking.absent_name = self.lexical.names.absent(ranking.query)
            if ranking.absent_name and ranking.likely is not None:
                ranking.likely *= PARTS_OF_A_NAME
            put_named_first(self, ranking, query, documents)
            self.pin(ranking, query, documents)
        return rankings

    def is_title_of(self, query: str, name: str) -> bool:
        """Whether a query is the title of the document of this id, which puts that before others."""
        number = self.document_number(name)
        return number is not None and is_called(self, number, query)

    @cached_property
    def curated(self) -> Curated:
        """The corpus's `search.toml`, as it was when the index was opened. Raises UsageError."""
        return read_curated(curated_file(self.workspace))

    def expanded(self, query: str) -> str:
        """Return a query with the synonyms that `curated` has for its words."""
        return self.curated.expanded(query, lambda words: all(map(self.lexical.holds, words.split())))

    @cached_property
    def _not_hidden(self) -> Mask:
        return ~self.metadata.matching(self.curated.hide, {})

    def shown(self, seen: Allowed | None) -> Allowed | None:
        """Return the documents that may be found, without those that `curated` hides. None: all."""
        if not self.curated.hide:
            return seen
        if seen is None:
            return Allowed(self._not_hidden, self.owners)
        return Allowed(seen.documents & self._not_hidden, self.owners, seen.names, seen.sources)

    def pin(self, ranking: Ranking, query: str, documents: Allowed | None) -> None:
        """Put the document first that `curated` pins to a query, if it may be found."""
        name = self.curated.pinned(query)
        number = self.document_number(name) if name else None
        if number is None or (documents is not None and number not in documents):
            return
        first = next((unit for unit, _ in ranking.ranked if self.owners[unit] == number), self.units_of(number)[0])
        put_first(ranking, [first])
        ranking.likely = 1.0

    def _run_stages(self, pipeline: Pipeline, rankings: list[Ranking], documents: Allowed | None) -> None:
        for stage in pipeline.stages if rankings else ():
            stage.kind.run(self, self._wide(stage), rankings, documents)
        if len(pipeline.stages) == 1 and (likely := pipeline.stages[0].kind.likely) is not None:
            for ranking in rankings:
                ranking.likely = likely(self, pipeline.stages[0], ranking)

    def _wide(self, stage: Stage) -> Stage:
        """Raise k so that copies do not crowd out pages."""
        if not stage.kind.finds or "k" in dict(stage.options) or self.copies.of_a_page < 2:
            return stage
        return replace(stage, options=(*stage.options, ("k", stage.k * self.copies.of_a_page)))

    def _run_among(self, pipeline: Pipeline, ranking: Ranking, units: Mask, documents: Allowed | None) -> None:
        """Rank the units that have all phrases, of documents without what is not wanted."""
        left = np.zeros(len(self.documents), bool)
        left[self.owners[units]] = True
        hidden = (documents.names, documents.sources) if documents is not None else (None, None)
        self._run_stages(pipeline, [ranking], Allowed(left, self.owners, *hidden))
        ranking.ranked = [(unit, score) for unit, score in ranking.ranked if units[unit]]

    @property
    def default_encoder(self) -> str:
        """The encoder that the default search compares by: the trained bi-encoder, or the untrained one whose vectors
        there are, else the static one; "" without any. A trained one that is not better than its base comes after it.
        """
        bi_encoders = (ENCODER, UNTRAINED) if trained_encoder(self.workspace) else (UNTRAINED, ENCODER)
        for encoder in (*bi_encoders, STRUCTURE):
            if self.index.has_vectors(encoder):
                self._had_encoder = True
                return encoder
        if self._had_encoder:  # a search by words alone would be another one, without a word
            raise WorkspaceError(f"the models of {self.workspace} are gone since its index was opened")
        return ""

    def with_encoders_named(self, pipeline: Pipeline) -> Pipeline:
        """Fill in the default encoder where a stage names none. Raises WorkspaceError if the index has words alone."""
        unnamed = [stage for stage in pipeline.stages if stage.model == DEFAULT]
        if not unnamed:
            return pipeline
        encoder = self.default_encoder
        if not encoder:
            raise WorkspaceError(
                f"{unnamed[0].name} compares vectors, and the index in {self.workspace} has words alone: "
                f"run `structformer index -w {self.workspace}`"
            )

        def named(stage: Stage) -> Stage:
            return replace(stage, model=encoder) if stage.model == DEFAULT else stage

        return Pipeline(tuple(map(named, pipeline.stages)))

    def encoder(self, name: str) -> tuple[loading.QueryEncoder, DenseIndex, FusionWeights]:
        """Return an encoder of queries, with its vectors of this index and its fusion weights."""
        return self.kept(_ENCODER, name, self._open_encoder)

    def query_vectors(self, name: str, queries: Sequence[str]) -> npt.NDArray[np.float32]:
        """(queries, dimensions) by an encoder. The last batches are kept: an evaluation asks them in many ways."""
        return np.stack([vector for vector, _ in self._query_forms(name, queries)])

    def query_tokens(self, name: str, queries: Sequence[str]) -> list[npt.NDArray[np.float32] | None]:
        """Return each query's (tokens, axes) vectors for a second look by an encoder; None where it takes none."""
        return [tokens for _, tokens in self._query_forms(name, queries)]

    def _query_forms(self, name: str, queries: Sequence[str]) -> Sequence[EncodedQuery]:
        from structformer.retrieval.vectors.second_look import encoded_queries

        encoder, index, _ = self.encoder(name)
        key = id(encoder), tuple(queries)
        forms = self._asked_before.get(key)
        if forms is None:
            together = getattr(encoder, "encoded_queries", None)  # of one that many requests share
            forms = together(queries) if together else encoded_queries(encoder, index.look, queries)
            with self._loading:  # several threads may search
                while len(self._asked_before) >= _BATCHES_KEPT:
                    del self._asked_before[next(iter(self._asked_before))]
                self._asked_before[key] = forms
        return forms

    @property
    def has_structure(self) -> bool:
        """Whether the static encoder is there, with its vectors of this index, or a place to make them. Once opened it
        stays: another one may be learned in its place while this index is searched.
        """
        if (_ENCODER, STRUCTURE) in self._kept:
            return True
        if STRUCTURE not in trained_models(self.workspace):
            return False
        return self.index.has_vectors(STRUCTURE) or os.access(self.index.folder, os.W_OK)

    def use_encoder(self, name: str, encoder: loading.QueryEncoder, index: DenseIndex, weights: FusionWeights) -> None:
        """Put another encoder of queries in the place of the one that was opened."""
        self._kept[_ENCODER, name] = encoder, index, weights

    def _open_encoder(self, name: str) -> tuple[loading.QueryEncoder, DenseIndex, FusionWeights]:
        from structformer.retrieval.vectors.dense import DenseIndex

        if name != UNTRAINED:
            checked_model(self.workspace, name)
        vectors = self._vectors(self.index, name)
        place = encoder_place(self.workspace, name)
        fingerprint = loading.model_fingerprint(self.workspace, name)
        encoder = loading.load_query_encoder(self.workspace, name)
        if loading.model_fingerprint(self.workspace, name) != fingerprint or vectors.stem != place.vectors:
            raise WorkspaceError(f"the model {name} was trained again while it was loaded: search again")
        nearest, descriptions = self.index.nearest(vectors), self.index.descriptions(vectors)
        made = self.index.made(vectors)
        kind = encoder_kind(self.workspace, name)
        look = self.index.look(vectors) if kind.gives_tokens else None
        weights = fusion_weights(
            pretrained=kind.pretrained,
            structure=self.index.has_vectors(STRUCTURE),
            described=descriptions is not None,
            reads=float(made.get("reads", 1.0)),
            own_outlines=float(made.get("own_outlines", 1.0)),
            look=look.weight if look else 0.0,
        )
        return encoder, DenseIndex(vectors, self.owners, nearest, descriptions, look), weights

    def document_text(self, document: int, characters: int) -> str:
        """Return a document's title and the beginning of its text, titles of sections in it."""
        parts = [self.documents[document].title]
        length = len(parts[0])
        section = 0
        for number in range(*self.units_of(document)):
            unit = self.units[number]
            parts += [unit.title, unit.text] if unit.section != section else [unit.text]
            section = unit.section
            length += len(unit.text) + 1
            if length >= characters:
                break
        return "\n".join(parts)[:characters]

    def units_of(self, document: int) -> tuple[int, int]:
        """Return the numbers of a document's units, [first, last)."""
        first, last = np.searchsorted(self.owners, [document, document + 1])
        return int(first), int(last)

    @cached_property
    def metadata(self) -> MetadataTable:
        """Documents by their ids and their metadata."""
        return MetadataTable(self.index.folder, self.documents)

    def document_number(self, name: str) -> int | None:
        """Return the number of the document of an id."""
        return self.metadata.number(name)

    def allowed(self, where: Filter | None) -> Allowed | None:
        """Return the documents that a filter lets through; None for all. Raises UsageError on what is no Filter."""
        if not isinstance(where, Filter | None):
            raise UsageError(f"where is a Filter, not {type(where).__name__}")
        return Allowed(self.metadata.matching(where.paths, where.metadata), self.owners) if where else None

    def reranker(self, name: str) -> loading.Scorer:
        """A ranker of any kind by its name in the workspace or its path; "base" is a cross-encoder before any training,
        and "base=LOCATION" that of another base model. Raises ModelError, UsageError.
        """
        return self.kept("reranker", name, lambda name: loading.load_scorer(self.workspace, name))
