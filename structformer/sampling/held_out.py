"""Held-out structure: queries that the structure of documents kept out of the Examples answers by itself."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

from structformer.corpus import Corpus
from structformer.document import word_count
from structformer.graph import ReferenceGraph
from structformer.sampling.example import SamplingOptions
from structformer.sampling.neighbourhood import sentence_spans
from structformer.sampling.view import DocumentView
from structformer.text.passages import Passage, as_typed, section_passages, sentences, with_path

_MIN_WORDS = 5
_HELD_OUT = "queries of held-out documents"
_FEWEST_QUERIES = 20  # that judge a training
_SMALLEST_TO_HOLD_OUT = 40
_MAX_HELD_OUT = 300


def is_held_out(document_id: str, seed: int, share: float) -> bool:
    """Whether a document is held out; depends on nothing but its id, the seed and the share."""
    digest = hashlib.sha256(f"held-out/{seed}/{document_id}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:6], "big") < share * 2**48


def held_out_share(document_count: int) -> float:
    """The default share of held-out documents: a tenth, none in a corpus under 40 documents, about 300 at most."""
    return 0.0 if document_count < _SMALLEST_TO_HOLD_OUT else min(0.1, _MAX_HELD_OUT / document_count)


@dataclass(frozen=True, slots=True)
class HeldOutQuery:
    """A query with the one document that answers it."""

    kind: str
    """One of "path" and "link"."""
    text: str
    document_id: str
    exclude: str = ""
    """A document that holds the query's own text and so must not count; "" for none."""


def held_out_queries(
    corpus: Corpus, graph: ReferenceGraph, *, seed: int, share: float, limit: int = 500
) -> list[HeldOutQuery]:
    """Queries from held-out documents, up to `limit` of each kind. path: titles down to a section. link: the sentence
    in which another document, left out of the ranking, links to it. Every search finds a title alone.
    """
    chosen: dict[int, str] = {}
    paths: list[HeldOutQuery] = []
    for number, document in enumerate(corpus.documents()):
        if not is_held_out(document.id, seed, share):
            continue
        chosen[number] = document.id
        view = DocumentView(document, SamplingOptions())
        paths += [
            HeldOutQuery("path", view.path_text(section), document.id)
            for section in range(1, len(view.sections))
            if word_count(view.content(section)) >= _MIN_WORDS and view.sections[section].title
        ]
    links = list(islice(_link_queries(corpus, graph, chosen), 4 * limit))
    rng = Random(f"held-out queries/{seed}")
    return [query for kind in (paths, links) for query in rng.sample(kind, min(limit, len(kind)))]


def _link_queries(corpus: Corpus, graph: ReferenceGraph, chosen: dict[int, str]) -> Iterator[HeldOutQuery]:
    wanted: dict[int, list[tuple[int, int, int]]] = {}
    for edge in graph.edges():
        source, target = edge["source_document"], edge["target_document"]
        if target in chosen and source != target and edge["end"] > edge["start"]:
            wanted.setdefault(source, []).append((edge["source_section"], edge["start"], target))
    for number, document in enumerate(corpus.documents()):
        if number not in wanted:
            continue
        texts = [section.text for section in document.sections()]
        for section, start, target in wanted[number]:
            sentence = sentence_at(texts[section], start)
            if _MIN_WORDS <= word_count(sentence) <= 60:
                yield HeldOutQuery("link", as_typed(sentence), chosen[target], exclude=document.id)


def sentence_at(text: str, position: int) -> str:
    """Return the sentence of a text that holds a character position."""
    begin = text.rfind("\n", 0, position) + 1
    line = text[begin:].partition("\n")[0]
    return next((line[start:end] for start, end in sentence_spans(line) if begin + end >= position), line)


@dataclass(frozen=True, slots=True)
class DevelopmentSet:
    """A small retrieval task for use while training."""

    queries: list[str]
    passages: list[str]
    relevant: list[frozenset[int]]
    """For each query the numbers of passages; any of them answers it."""
    asked: str = _HELD_OUT
    """Source of the queries, in words."""

    def reduced(self, share: float) -> DevelopmentSet:
        """About that share of the queries, their passages, and that share of the others."""
        kept = max(1, min(len(self.queries), round(share * len(self.queries))))
        needed = sorted({number for numbers in self.relevant[:kept] for number in numbers})
        wanted = {number for numbers in self.relevant for number in numbers}
        others = [number for number in range(len(self.passages)) if number not in wanted]
        chosen = needed + others[: round(share * len(others))]
        places = {number: place for place, number in enumerate(chosen)}
        return DevelopmentSet(
            self.queries[:kept],
            [self.passages[number] for number in chosen],
            [frozenset(places[number] for number in numbers) for numbers in self.relevant[:kept]],
            self.asked,
        )


def development_set(
    corpus: Corpus, *, seed: int, share: float, queries: int = 150, pool: int = 400, openings: bool = False
) -> DevelopmentSet | None:
    """Return sentences and paths of held-out documents against their passages, among other passages of the corpus.

    A sentence is taken out of its passage, and a passage that a path asks for has no path in front, so that no query
    is answered by its own words. openings: documents' first sentences alone, which are most like what people ask, or
    where there are too few all sentences: a ranker that reads both would know what a path asks for by the path that is
    missing. None when fewer than 20 queries can be made.
    """
    rng = Random(f"development/{seed}")
    cases: list[tuple[str, str]] = []
    first: list[tuple[str, str]] = []
    others: list[str] = []
    seen = 0
    for document in corpus.documents():
        held_out = is_held_out(document.id, seed, share)
        view = DocumentView(document, SamplingOptions())
        opened = False
        for number, section in enumerate(view.sections):
            for passage in section_passages(section):
                path, piece = view.path_text(number), passage.text
                if held_out:
                    if path and not openings and word_count(piece) >= _MIN_WORDS:
                        cases.append((path, piece))
                    if asked := _askable(passage):
                        cases.append(_without(path, piece, rng.choice(asked)))
                        if not opened:
                            opened = True
                            first.append(_without(path, piece, asked[0]))
                    continue
                # Reservoir sampling: an even choice in constant memory.
                seen += 1
                if len(others) < pool:
                    others.append(with_path(path, piece))
                elif (place := rng.randrange(seen)) < pool:
                    others[place] = with_path(path, piece)
    if openings := openings and len(first) >= _FEWEST_QUERIES:
        cases = first
    cases = rng.sample(cases, min(queries, len(cases)))
    if len(cases) < _FEWEST_QUERIES:
        return None
    taken = [passage for _, passage in cases]
    return DevelopmentSet(
        [query for query, _ in cases],
        taken + others[: max(0, pool - len(taken))],
        [frozenset({number}) for number in range(len(cases))],
        "openings of held-out documents" if openings else _HELD_OUT,
    )


def _askable(passage: Passage) -> list[str]:
    """Return a passage's sentences that may be queries."""
    typed = map(as_typed, sentences(passage.prose))
    return [query for query in typed if _MIN_WORDS <= word_count(query) <= 40]


def _without(path: str, piece: str, sentence: str) -> tuple[str, str]:
    """Return a sentence and the passage that it is taken out of."""
    return sentence, with_path(path, piece.replace(sentence, " ", 1).strip())
