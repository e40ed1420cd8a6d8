"""Weights of the hybrid, learned without labels: what a page says of itself first is what people ask it for.

The opening sentence of a document is a pseudo-query whose relevant document is known. In half of the documents it is
taken out: people's queries use a page's own words about as often as not, and with all openings taken out words would
count for too little. Of the kinds of pseudo-queries tried (any sentence, openings of sections, sentences with links),
openings of documents predicted best which weights serve people's queries; docs/evaluation.md has the figures."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from structformer.corpus import Corpus
from structformer.models.bi_encoder import BiEncoder
from structformer.retrieval.fusion import DEFAULT_WEIGHTS, Floats, FusionWeights, learn_weights
from structformer.retrieval.lexical import LexicalIndex, document_text
from structformer.retrieval.units import IndexedDocuments, Unit, Units, document_units
from structformer.text.overview import overview
from structformer.text.passages import query_like, sentences

_MAX_QUERIES = 200
_FEWEST_QUERIES = 20
_MIN_WORDS, _MAX_WORDS = 4, 30
_CANDIDATES = 60  # units a query
_OWN_UNITS = 8  # of a query's document: its first, of which one is most likely its best
_LENGTH_SAMPLE = 500  # units whose lengths are averaged


@dataclass(frozen=True, slots=True)
class PseudoQuery:
    """A document's opening sentence, and the document as it is searched for: in half of the cases without the sentence.
    document: its number; units, overview, document_text: of the document.
    """

    text: str
    document: int
    units: tuple[Unit, ...]
    overview: str
    document_text: str


def opening_queries(corpus: Corpus, *, seed: int = 0, most: int = _MAX_QUERIES) -> list[PseudoQuery]:
    """Up to `most` documents' opening sentences, in document order; which ones depends on nothing but their ids and the
    seed.
    """
    chosen = heapq.nsmallest(most, _openings(corpus, seed), key=lambda each: each[0])
    return sorted((query for _, query in chosen), key=lambda query: query.document)


def _openings(corpus: Corpus, seed: int) -> Iterator[tuple[bytes, PseudoQuery]]:
    for number, document in enumerate(corpus.documents()):
        units = list(document_units(document, number))
        query = next(filter(None, (_opening(unit.text) for unit in units)), None)
        if query is None:
            continue
        key = hashlib.blake2b(f"opening/{seed}/{document.id}".encode("utf-8", "surrogatepass"), digest_size=8).digest()
        taken = "" if key[-1] % 2 else query
        left = (
            tuple(replace(unit, text=unit.text.replace(taken, " ").strip()) for unit in units)
            if taken
            else tuple(units)
        )
        yield (
            key,
            PseudoQuery(query, number, left, overview(document, without=taken), document_text(document.title, left)),
        )


def _opening(text: str) -> str | None:
    queries = (query_like(sentence) for sentence in sentences(text))
    return next((query for query in queries if _MIN_WORDS <= len(query.split()) <= _MAX_WORDS), None)


def learned_weights(
    corpus: Corpus,
    units: Units,
    documents: IndexedDocuments,
    lexical: LexicalIndex,
    base: BiEncoder,
    owners: npt.NDArray[np.int64],
) -> FusionWeights:
    """The hybrid's weights for this corpus; the defaults where it has too few opening sentences.

    base: the untrained encoder. A trained one has read the openings as Examples, so that its own scores on them say too
    much: with weights learned from these the Docker manual lost 0.04 nDCG@10."""
    groups = [rows for _, rows, _ in query_groups(opening_queries(corpus), units, documents, lexical, base, owners)]
    return learn_weights(groups) if len(groups) >= _FEWEST_QUERIES else DEFAULT_WEIGHTS


def query_groups(
    queries: Sequence[PseudoQuery],
    units: Units,
    documents: IndexedDocuments,
    lexical: LexicalIndex,
    encoder: BiEncoder,
    owners: npt.NDArray[np.int64],
) -> Iterator[tuple[PseudoQuery, Floats, list[int]]]:
    """For each query the (units, 4) features of its own document's units, likeliest first, then of other documents',
    and the documents' numbers. The first row is the relevant one.

    The others are units that share the most words with the query or another query's document, so that what is encoded
    stays within some thousands of texts however large the corpus is. Documents that hold the query word for word are
    left out: in manuals one sentence opens several pages."""
    some = [units[number] for number in range(0, len(units), max(1, len(units) // _LENGTH_SAMPLE))]
    average = lexical.average_words(some)
    words_per_document = average["text"] * len(units) / max(1, len(documents))
    found = [lexical.search(query.text, _CANDIDATES) for query in queries]
    pool = sorted({unit for ranked in found for unit, _ in ranked})
    pool_owners = owners[pool]
    seen = sorted({int(owner) for owner in pool_owners})
    places = {owner: place for place, owner in enumerate(seen)}
    of_pool = np.array([places[int(owner)] for owner in pool_owners], np.int64)
    vectors = encoder.encode_queries([query.text for query in queries])
    texts = [unit.ranker_text for query in queries for unit in query.units[:_OWN_UNITS]]
    own_vectors = encoder.encode_documents([*texts, *(query.overview for query in queries)])
    unit_vectors = encoder.encode_documents(units.ranker_texts(pool))
    overviews = encoder.encode_documents([documents[owner].overview for owner in seen])
    plain_texts = [_plain(units[unit].text) for unit in pool]
    prior = DEFAULT_WEIGHTS.as_array()
    start = 0
    for number, query in enumerate(queries):
        mine = query.units[:_OWN_UNITS]
        vector, of_mine = vectors[number], own_vectors[start : start + len(mine)]
        start += len(mine)
        plain = _plain(query.text)
        banned = {
            query.document,
            *(int(owner) for owner, text in zip(pool_owners, plain_texts, strict=True) if plain in text),
        }
        kept = np.array([int(owner) not in banned for owner in pool_owners], bool)
        by_unit, by_document = dict(found[number]), dict(lexical.search_documents(query.text, _CANDIDATES))
        lexical_own = [lexical.score_unit(query.text, unit, average) for unit in mine]
        document_own = lexical.score_document(query.text, query.document_text, words_per_document)
        highest = max(
            [score for unit, score in found[number] if int(owners[unit]) not in banned] + lexical_own + [1e-9]
        )
        highest_document = max(
            [score for document, score in by_document.items() if document not in banned] + [document_own, 1e-9]
        )
        rows = np.stack(
            [
                unit_vectors[kept] @ vector,
                (overviews @ vector)[of_pool[kept]],
                np.array([by_unit.get(unit, 0.0) for unit, keep in zip(pool, kept, strict=True) if keep]) / highest,
                np.array([by_document.get(int(owner), 0.0) for owner in pool_owners[kept]]) / highest_document,
            ],
            axis=1,
        ).astype(np.float64)
        overview_own = float(own_vectors[len(texts) + number] @ vector)
        positives = np.stack(
            [
                of_mine @ vector,
                np.full(len(mine), overview_own),
                np.array(lexical_own) / highest,
                np.full(len(mine), document_own / highest_document),
            ],
            axis=1,
        ).astype(np.float64)
        best = np.argsort(-(rows @ prior), kind="stable")[:_CANDIDATES]
        if len(best):
            relevant = positives[int(np.argmax(positives @ prior))]
            yield (
                query,
                np.concatenate([relevant[None], rows[best]]),
                [query.document, *map(int, pool_owners[kept][best])],
            )


def _plain(text: str) -> str:
    return " ".join(text.lower().split())
