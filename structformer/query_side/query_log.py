"""People's queries without judgements, which every site has: what they are like, and what answers some of them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from structformer.document import word_count
from structformer.errors import UsageError
from structformer.retrieval.learning.pseudo_query_scores import PseudoQueryScores, UntrainedSearch
from structformer.retrieval.questions.even_sample import EvenSample
from structformer.retrieval.questions.pseudo_queries import LOG, MOST_PSEUDO_QUERIES, PseudoQuery
from structformer.text.query_like import plain

_AGREEING = 3  # documents that dense and lexical search each find first, the hybrid's first among them
_LONGEST = 1000  # characters of a query; what is longer was pasted
_SHORTEST_RANGE = (2, 24)  # words: how far the log may move the lengths of questions
_FEWEST_FOR_STYLE = 20
_BATCH = 128


def read_query_log(path: Path) -> list[str]:
    """The distinct queries of a log, in order: a query a line, `id<TAB>query`, or JSON lines with "query" or "text".
    Raises UsageError, naming the line, if unreadable, and on a log without queries.
    """
    found: dict[str, str] = {}
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                text = _query(line.strip(), f"{path}, line {number}")
                if any(map(str.isalnum, text)) and len(text) <= _LONGEST:
                    found.setdefault(plain(text), text)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if not found:
        raise UsageError(f"{path} has no queries")
    return list(found.values())


def _query(line: str, place: str) -> str:
    if not line.startswith("{"):
        return " ".join(line.rpartition("\t")[2].split())
    try:
        value = json.loads(line)
        text = value["query"] if "query" in value else value["text"]
        return "" if text is None else " ".join(str(text).split())
    except (ValueError, KeyError, RecursionError):
        raise UsageError(f'{place}: not a JSON object with "query" or "text"') from None


def query_lengths(queries: Sequence[str]) -> tuple[int, int] | None:
    """(fewest, most) words of nine in ten of a log's queries; None of a log too small to tell."""
    if len(queries) < _FEWEST_FOR_STYLE:
        return None
    low, high = np.quantile([word_count(query) for query in queries], (0.05, 0.95)).round().astype(int)
    fewest, most = _SHORTEST_RANGE
    return max(fewest, int(low)), max(fewest + 2, min(most, int(high)))


def log_queries(
    queries: Sequence[str], search: UntrainedSearch, *, most: int = MOST_PSEUDO_QUERIES, seed: int = 0
) -> list[PseudoQuery]:
    """At most `most` queries whose first hybrid document is in the first three of dense and of lexical search."""
    sample = EvenSample(most, f"log/{seed}")
    for query in queries:
        sample.add(plain(query), query, 0, None)
    asked = PseudoQueryScores([PseudoQuery(each.text, 0, LOG) for each in sample.in_order()], search)
    found = []
    for start in range(0, len(asked), _BATCH):
        numbers = list(range(start, min(start + _BATCH, len(asked))))
        cosines, _, words, *_ = asked.parts(asked.vectors[numbers], numbers)
        firsts = asked.owners[asked.totals(asked.vectors[numbers], numbers).argmax(1)].tolist()
        for row, (number, first) in enumerate(zip(numbers, firsts, strict=True)):
            if all(first in _best(asked, scores[row]) for scores in (cosines, words)):
                found.append(PseudoQuery(asked.questions[number].text, first, LOG))
    return found


def _best(asked: PseudoQueryScores, scores: torch.Tensor) -> set[int]:
    """The documents found first by one score of the units; none by a score that is nowhere above 0."""
    by_document = torch.zeros(len(asked.overviews)).scatter_reduce(0, asked.owners, scores, "amax")
    best = torch.topk(by_document, min(_AGREEING, len(by_document)))
    return {document for document, score in zip(best.indices.tolist(), best.values.tolist(), strict=True) if score > 0}
