"""Writing a workspace's index to a search engine, and the hybrid search from there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
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
    Retriever,
    document_text,
    in_order,
    load_query_encoder,
    model_fingerprint,
    scaled_weights,
    snippet_of,
)
from structformer.text import analyzer_of, query_terms, spaced
from structformer.workspace import Workspace

from structformer_engines.interface import BATCH, EngineDocument, EngineIndex, EngineUnit

_FOUND = 200  # units by words, and by meaning, as the workspace's own hybrid takes them
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
                np.asarray(its.vectors[number], np.float32)
                + np.float32(whole) * np.asarray(its.overviews[unit.document], np.float32)
                for its, whole in encoders.values()
            ]
            fields = {
                "document_id": unit.document_id,
                "section": unit.section,
                "title": unit.title,
                "path": list(unit.path),
                "anchor": unit.anchor,
                "text": unit.text,
                "metadata": opened.documents[unit.document].values(),
            }
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
    dimensions = sum(its.vectors.shape[1] for its, _ in encoders.values())
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
        its = [opened.units[unit] for unit in range(*opened.units_of(number))]
        yield opened.lexical.words(document_text(document.title, its))


class EngineRetriever:
    """The hybrid search from a search engine: words and meaning found there, weighed here."""

    def __init__(self, engine: EngineIndex, workspace: str | Path | Workspace) -> None:
        """workspace: where the encoders are. Raises WorkspaceError where the engine's index was written with other
        ones.
        """
        self.engine = engine
        self.facts = engine.facts()
        place = Workspace(workspace)
        if "encoders" not in self.facts:
            raise WorkspaceError("the engine's index is of another version: write it again with structformer export")
        for name, fingerprint in self.facts["encoders"]:
            if model_fingerprint(place, name) != fingerprint:
                raise WorkspaceError(
                    f"the engine's vectors are of another {name}: write them again with structformer export"
                )
        self.encoders: list[QueryEncoder] = [load_query_encoder(place, name) for name, _ in self.facts["encoders"]]
        self.weights = FusionWeights(**self.facts["weights"])
        self._analyzer = analyzer_of(self.facts["languages"])

    def search(self, query: str, k: int = 10) -> list[Hit]:
        """Up to k hits, best first. An encoder's two parts come as one, the inner product with a unit's vector by it;
        in all else it is the score of the workspace's own hybrid.
        """
        terms = query_terms(self._analyzer, query)
        vectors = [encoder.encode_queries([query])[0] for encoder in self.encoders]
        weights = self.weights.asked(query)
        counted = [_of_both(weights.dense, weights.overview), _of_both(weights.structure, weights.structure_overview)]
        by_words = dict(self.engine.by_words(terms, _FOUND))
        whole = dict(self.engine.by_words(terms, _FOUND, documents=True))
        asked = np.concatenate([weight * vector for weight, vector in zip(counted, vectors, strict=False)])
        by_meaning = self.engine.nearest(asked.astype(np.float32), _FOUND) if asked.any() else []
        kept = self.engine.units(sorted({*by_words, *(unit for unit, _ in by_meaning)}))
        ends = np.cumsum([len(vector) for vector in vectors])[:-1]
        scores: dict[int, dict[str, float]] = {}
        for unit, (document, of_unit, _) in kept.items():
            meant = zip(vectors, np.split(of_unit, ends), strict=True)
            scores[unit] = dict(zip(_PARTS, (float(vector @ its) for vector, its in meant), strict=False))
            scores[unit] |= {"lexical": by_words.get(unit, 0.0), "document": whole.get(document, 0.0)}
        table = np.array([[its.get(name, 0.0) for name in _PARTS] for its in scores.values()]).reshape(-1, len(_PARTS))
        scaled = scaled_weights(table, np.array([*counted, weights.lexical, weights.document]))
        totals = dict(zip(scores, (table @ scaled).tolist(), strict=True))
        matches = Matches(terms, lambda word: self._analyzer.analyze(spaced(word)))
        hits: dict[tuple[int, int], Hit] = {}
        for unit, total in in_order(totals.items()):
            document, _, fields = kept[unit]
            if (document, fields["section"]) not in hits and len(hits) < k:
                hits[document, fields["section"]] = _hit(fields, total, scores[unit], matches)
        return list(hits.values())


def _of_both(own: float, whole: float) -> float:
    """The weight of the sum of two parts that go half together."""
    return math.sqrt(own * own + whole * whole + own * whole)


def _hit(fields: dict[str, Any], total: float, scores: dict[str, float], matches: Matches) -> Hit:
    shown = snippet_of(fields["text"], matches)
    return Hit(
        fields["document_id"],
        fields["title"],
        tuple(fields["path"]),
        fields["anchor"],
        shown.text,
        fields["text"],
        total,
        scores,
        shown.highlights,
        fields["metadata"],
        section=fields["section"],
    )
