"""Trying encoders on a corpus: whether one reads it, and whether a base and a query model share a vector space."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from structformer.corpus import Corpus
from structformer.errors import ModelError
from structformer.graph import ReferenceGraph
from structformer.models.base import BaseModel, choose_base, chosen_base, keep_base, usable_pair
from structformer.retrieval.documents.units import Units, shard_units
from structformer.retrieval.vectors.encoder_names import UNTRAINED
from structformer.retrieval.vectors.encoder_places import load_encoder
from structformer.retrieval.words.lexical import LexicalIndex
from structformer.text.passages import sentences
from structformer.workspace import Workspace

_PASSAGES, _SHARDS = 64, 8
_CHARACTERS = 200  # of a passage: what a query model reads of a query
_LEAST = 0.5  # of two models without a common space 1 in 64 passages meets its own
# Of the mean reciprocal rank that words reach: MiniLM has .41 to .64 on English, French and Systemd's manuals, .44 on
# Turkish, where words and structure alone do better, and .03 on Hindi, where it does harm; E5 .48 (French) to .68. In a
# language that it has learned only a much lower one tells: FastAPI's .41 is of pages that say the same of other things,
# and all of MiniLM's weight gives .016 there, .008 on Prometheus (.47).
_NOTHING, _ALL, _ALL_OF_LEARNED = 0.1, 0.5, 0.3
# At most this of a language that it has not learned, whose words it knows by their pieces: French sentences find their
# passages as English ones do, people's questions do not. All of MiniLM's weight lost .042 on Vue's French pages, .6 of
# it .006; French manuals lose .001 by that, Portuguese pages nothing.
UNLEARNED = 0.6
_ASKED, _COMPARED, _FOUND = 100, 20_000, 50
_SHORTEST, _LONGEST = 25, 200  # characters of a sentence
_FEWEST_SENTENCES, _FEWEST_ASKED = 3, 10


def choose_encoders(workspace: Workspace, base_model: str, query_model: str) -> None:
    """Choose a workspace's base and query model, if given. A base alone encodes queries too; so with the query model
    "auto". Raises ModelError if the two share no vector space, and leaves the earlier choice.
    """
    pair = usable_pair(workspace, base_model, query_model)
    if pair is not None:
        check_pair(workspace, *pair)
        keep_base(workspace, *pair)
    elif base_model:
        choose_base(workspace, base_model)
    elif query_model and (base := chosen_base(workspace)) is not None:
        keep_base(workspace, base)


def check_pair(workspace: Workspace, base: BaseModel, queries: BaseModel) -> None:
    """Encode passages of the corpus by both. Raises ModelError where their vectors differ in length, or most of those
    by the query model are nearest to another passage than their own.
    """
    what = "a query model by"
    asking, reading = (load_encoder(workspace, UNTRAINED, each.location, what) for each in (queries, base))
    if asking.dimensions != reading.dimensions:
        raise ModelError(
            f"{queries.name} makes vectors of {asking.dimensions} numbers and {base.name} of {reading.dimensions}: "
            "a query model must share the vector space of its base"
        )
    every = list(dict.fromkeys(_passages(workspace)))
    texts = [every[number] for number in evenly(len(every), _PASSAGES)]
    if not texts:
        return
    nearest = (asking.encode_queries(texts) @ reading.encode_documents(texts).T).argmax(1)
    met = int((nearest == np.arange(len(texts))).sum())
    if met <= _LEAST * len(texts):
        raise ModelError(
            f"{queries.name} does not share the vector space of {base.name}: of {len(texts)} passages {met} are "
            "nearest to themselves; take the query model that was made for this base, or leave out --query-model"
        )


def _passages(workspace: Workspace) -> Iterator[str]:
    """Yield the beginnings of passages from several parts of the corpus."""
    corpus = Corpus.open(workspace)
    graph = ReferenceGraph.open(workspace, corpus)
    for shard in evenly(len(corpus.shards), _SHARDS).tolist():
        for _, units in islice(shard_units(corpus, graph, shard), _PASSAGES):
            yield from (unit.text[:_CHARACTERS] for unit in units if unit.text.strip())


def reading_share(
    units: Units,
    vectors: npt.NDArray[np.floating],
    encode: Callable[[Sequence[str]], npt.NDArray[np.float32]],
    lexical: LexicalIndex,
    *,
    learned: bool,
) -> float:
    """Return how much of its weight an encoder gets, between 0 and 1: 1 where its rank of a passage for one of the
    passage's own sentences is near to that of BM25, 0 where it finds next to nothing; at most UNLEARNED if it has not
    learned the language. vectors: (units, dimensions); encode: gives those of queries. A corpus that has too few
    passages of several sentences counts as read.
    """
    most, enough = (1.0, _ALL_OF_LEARNED) if learned else (UNLEARNED, _ALL)
    asked: list[tuple[int, str]] = []
    for number in evenly(len(units), 4 * _ASKED).tolist():
        fitting = [each for each in sentences(units[number].text) if _SHORTEST <= len(each) <= _LONGEST]
        if len(fitting) >= _FEWEST_SENTENCES:
            asked.append((number, fitting[len(fitting) // 2]))
    asked = asked[:: max(1, len(asked) // _ASKED)][:_ASKED]
    if len(asked) < _FEWEST_ASKED:
        return most
    compared = np.union1d(evenly(len(units), _COMPARED), [number for number, _ in asked])
    table = np.asarray(vectors[compared], np.float32)
    cosines = encode([sentence for _, sentence in asked]) @ table.T
    own = cosines[np.arange(len(asked)), np.searchsorted(compared, [number for number, _ in asked])]
    by_vectors = float(np.mean(1 / (1 + (cosines > own[:, None]).sum(1))))
    by_words = 0.0
    for number, sentence in asked:
        ranked = [unit for unit, _ in lexical.search(sentence, _FOUND)]
        by_words += 1 / (1 + ranked.index(number)) / len(asked) if number in ranked else 0.0
    share = (by_vectors / by_words - _NOTHING) / (enough - _NOTHING) if by_words else 1.0
    return round(float(np.clip(share, 0.0, most)), 3)


def evenly(count: int, most: int) -> npt.NDArray[np.int64]:
    """Return at most so many numbers below `count`, spread evenly."""
    return np.unique(np.linspace(0, count - 1, min(most, count)).astype(np.int64)) if count else np.empty(0, np.int64)
