"""Writing a workspace's index to a search engine, and the hybrid search from there."""

import math
import unicodedata
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from structformer.errors import WorkspaceError
from structformer.retrieval import (
    STRUCTURE,
    FusionWeights,
    Hit,
    Matches,
    OpenedIndex,
    QueryEncoder,
    Ranked,
    Retriever,
    curated_file,
    document_text,
    in_order,
    load_query_encoder,
    model_fingerprint,
    read_curated,
    scaled_weights,
    snippet_of,
)
from structformer.text import analyzer_of, query_terms, spaced
from structformer.workspace import Workspace

from structformer_engines.interface import BATCH, EngineDocument, EngineIndex, EngineUnit, Kept

_FOUND = 200  # units by words, and by meaning, as the workspace's own hybrid takes them
_WITH_HIDDEN = 4 * _FOUND  # as many where some of them may be hidden
_PARTS = ("meaning", "structure", "lexical", "document")


def write_engine(workspace: str | Path | Workspace, engine: EngineIndex, encoder: str = "base") -> int:
    """Write the workspace's index to an engine, in place of what we wrote there before; returns the number of units.

    encoder: whose vectors are written; the static encoder's follow where the index has them. A unit's vector is by each
    encoder its own, plus that of its document's overview by its weight. Raises WorkspaceError without an index.
    """
    opened = Retriever.open(workspace).opened
    _, index, weights = opened.encoder(encoder)
    weights = replace(weights, described=0.0)  # an engine has passages, and no sentences beside them
    encoders = {encoder: (index, weights.overview / weights.dense)}
    if encoder != STRUCTURE and weights.with_structure:
        encoders[STRUCTURE] = opened.encoder(STRUCTURE)[1], weights.structure_overview / weights.structure
    of_units = [len(terms) for terms in _unit_terms(opened)]
    of_documents = [len(terms) for terms in _document_terms(opened)]

    def units() -> Iterator[EngineUnit]:
        for number, (unit, terms) in enumerate(zip(opened.units, _unit_terms(opened), strict=True)):
            parts = [
                np.asarray(dense.vectors[number], np.float32)
                + np.float32(whole) * np.asarray(dense.overviews[unit.document], np.float32)
                for dense, whole in encoders.values()
            ]
            fields = {name: getattr(unit, name) for name in ("document_id", "section", "title", "anchor", "text")}
            fields |= {"path": list(unit.path), "metadata": opened.documents[unit.document].values()}
            yield EngineUnit(number, unit.document, np.concatenate(parts), terms, fields)

    documents = (EngineDocument(number, terms) for number, terms in enumerate(_document_terms(opened)))
    facts = {
        "encoders": [[name, model_fingerprint(opened.workspace, name)] for name in encoders],
        "corpus": opened.index.manifest["corpus"],
        "languages": opened.index.manifest["languages"],
        "weights": replace(weights, look=0.0).counted | {"static_alone": weights.static_alone},
        "units": len(of_units),
        "terms_of_a_unit": sum(of_units) / max(1, len(of_units)),
        "terms_of_a_document": sum(of_documents) / max(1, len(of_documents)),
    }
    dimensions = sum(dense.vectors.shape[1] for dense, _ in encoders.values())
    engine.write(_batches(units()), _batches(documents), dimensions, facts)
    return len(of_units)


def _batches(items: Iterator[Any]) -> Iterator[list[Any]]:
    while batch := list(islice(items, BATCH)):
        yield batch


def _unit_terms(opened: OpenedIndex) -> Iterator[list[str]]:
    for unit in opened.units:
        yield opened.lexical.words("\n".join((" ".join(unit.path), unit.text, unit.incoming)))


def _document_terms(opened: OpenedIndex) -> Iterator[list[str]]:
    for number, document in enumerate(opened.documents):
        units = [opened.units[unit] for unit in range(*opened.units_of(number))]
        yield opened.lexical.words(document_text(document.title, units))


class EngineRetriever:
    """The hybrid search from a search engine: words and meaning found there, weighed here."""

    def __init__(self, engine: EngineIndex, workspace: str | Path | Workspace) -> None:
        """workspace: where the encoders and `search.toml` are. Raises WorkspaceError where the engine's index was
        written with other encoders, UsageError where `search.toml` is not as it should be.
        """
        self.engine = engine
        self.facts = engine.facts()
        self.workspace = place = Workspace(workspace)
        if "encoders" not in self.facts:
            raise WorkspaceError("the engine's index is of another version: write it again with structformer export")
        for name, fingerprint in self.facts["encoders"]:
            if model_fingerprint(place, name) != fingerprint:
                raise WorkspaceError(
                    f"the engine's vectors are of another {name}: write them again with structformer export"
                )
        self.encoders: list[QueryEncoder] = [load_query_encoder(place, name) for name, _ in self.facts["encoders"]]
        self.weights = FusionWeights(**self.facts["weights"])
        self.curated = read_curated(curated_file(place))
        self._analyzer = analyzer_of(self.facts["languages"])

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Up to k hits, best first, as `search.toml` says. The score is that of the workspace's own hybrid without
        its descriptions, a second look, words as they are typed and the texts of links; an encoder's two parts come as
        one, the inner product with a unit's vector by it.
        """
        pinned, query = self.curated.pinned(query), self.curated.expanded(query)
        terms = query_terms(self._analyzer, query)
        vectors = [encoder.encode_queries([query])[0] for encoder in self.encoders]
        weights = self.weights.asked(query)
        counted = [_of_both(weights.dense, weights.overview), _of_both(weights.structure, weights.structure_overview)]
        most = _WITH_HIDDEN if self.curated.hide else _FOUND
        words = self.engine.by_words(terms, most)
        whole = dict(self.engine.by_words(terms, most, documents=True))
        asked = np.concatenate([weight * vector for weight, vector in zip(counted, vectors, strict=False)])
        nearest = self.engine.nearest(asked.astype(np.float32), most) if asked.any() else []
        kept = self._shown(words, nearest)
        by_words = {unit: score for unit, score in words if unit in kept}
        ends = np.cumsum([len(vector) for vector in vectors])[:-1]
        scores: dict[int, dict[str, float]] = {}
        for unit, (document, of_unit, _) in kept.items():
            meant = zip(vectors, np.split(of_unit, ends), strict=True)
            scores[unit] = dict(zip(_PARTS, (float(vector @ part) for vector, part in meant), strict=False))
            scores[unit] |= {"lexical": by_words.get(unit, 0.0), "document": whole.get(document, 0.0)}
        table = np.array([[row.get(name, 0.0) for name in _PARTS] for row in scores.values()]).reshape(-1, len(_PARTS))
        scaled = scaled_weights(table, np.array([*counted, weights.lexical, weights.document]))
        totals = dict(zip(scores, (table @ scaled).tolist(), strict=True))
        matches = Matches(terms, lambda word: self._analyzer.analyze(spaced(word)))
        ranked = in_order(totals.items())
        if pinned:
            ranked = self._with_first(pinned, ranked, kept)
        hits: dict[tuple[int, int], Hit] = {}
        for unit, total in ranked:
            document, _, fields = kept[unit]
            if (document, fields["section"]) not in hits and len(hits) < k:
                hits[document, fields["section"]] = _hit(fields, total, scores.get(unit, {}), matches)
        return list(hits.values())

    def _shown(self, *rankings: Ranked) -> dict[int, Kept]:
        """Return the first units of rankings whose documents are not hidden."""
        kept = self.engine.units(sorted({unit for ranked in rankings for unit, _ in ranked}))
        if not self.curated.hide:
            return kept
        seen = {unit: hit for unit, hit in kept.items() if not self._hides(hit[2]["document_id"])}
        first = {unit for ranked in rankings for unit in [unit for unit, _ in ranked if unit in seen][:_FOUND]}
        return {unit: hit for unit, hit in seen.items() if unit in first}

    def _hides(self, document: str) -> bool:
        name = unicodedata.normalize("NFC", document)
        return any(fnmatchcase(name, unicodedata.normalize("NFC", pattern)) for pattern in self.curated.hide)

    def _with_first(self, document: str, ranked: Ranked, kept: dict[int, Kept]) -> Ranked:
        """A ranking with a document's best unit first, or the first of those that it has; `kept` gets that one."""
        first = next((unit for unit, _ in ranked if kept[unit][2]["document_id"] == document), None)
        if first is None and not self._hides(document) and (opened := self._opened) is not None:
            number = opened.document_number(document)
            units = self.engine.units([] if number is None else [opened.units_of(number)[0]])
            kept |= {unit: hit for unit, hit in units.items() if hit[2]["document_id"] == document}
            first = next((unit for unit in units if unit in kept), None)
        if first is None:
            return ranked
        best = ranked[0][1] if ranked else 0.0
        return [(first, best + 1.0), *(each for each in ranked if each[0] != first)]

    @cached_property
    def _opened(self) -> OpenedIndex | None:
        """The workspace's index, which knows where a page is; None where it is not what the engine's was made from."""
        try:
            opened = Retriever.open(self.workspace).opened
        except WorkspaceError:  # the engine's is enough for all else
            return None
        return opened if opened.index.manifest["corpus"] == self.facts["corpus"] else None


def _of_both(own: float, whole: float) -> float:
    """Return the weight of the sum of two parts that go half together."""
    return math.sqrt(own * own + whole * whole + own * whole)


def _hit(fields: dict[str, Any], total: float, scores: dict[str, float], matches: Matches) -> Hit:
    shown = snippet_of(fields["text"], matches)
    own = {**fields, "path": tuple(fields["path"])}
    return Hit(**own, snippet=shown.text, score=total, scores=scores, highlights=shown.highlights)
