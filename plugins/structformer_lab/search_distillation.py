"""Distillation of the search into one bi-encoder, whose vectors then find alone what the search finds by its parts.

A question of the corpus brings the search's first passage and some of its next ones. Over all passages of a step, the
encoder's softmax of cosines is drawn to the search's (KL divergence, as Hinton et al., 2015, equation 1). Passages that
hold the question word for word take no part.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random

import torch
from structformer.models import BiEncoder, Ranker
from structformer.query_side import LEARNING_RATE, Judge, drawn_questions
from structformer.retrieval import ALL_SOURCES, NOTHING, PseudoQueryScores, Units, document_ranks
from structformer.sampling import Example
from structformer.training import (
    BOTH,
    SCALE,
    Batching,
    BiEncoderObjective,
    ObjectiveOptions,
    Prepared,
    Ranks,
    RunMode,
    Source,
    TrainingOptions,
    TrainingResult,
    device_name,
    in_order,
    resolve,
    train_ranker,
)
from structformer.workspace import Workspace

_LISTS = 16  # questions of a step, each with four passages
_FIRST = 50  # passages of the search's list that a question learns from
_TAKEN = 4  # of them in a step: the first one and others at random
_SHARPNESS = 1.3  # the search's scores, in standard deviations, are multiplied by this before the softmax
_MOST_JUDGED = 60  # held-out questions: each brings the passages that the encoder is judged over
_JUDGED_OVER = 10  # first passages of the search, and as many of the base's vectors, for each of them


def distil_search(workspace: str | Path, options: TrainingOptions, mode: RunMode | None = None) -> TrainingResult:
    """Train both sides of a bi-encoder to find by its vectors alone what the search finds, on questions drawn from the
    corpus, from its headings and anchors too, and on those of a query log. For stores of vectors that hold no words.

    Makes an index with the untrained encoder's vectors first if it is missing. mode: see `train_ranker`. Raises what
    `train_ranker` raises, and ModelError if no question can be drawn.
    """
    mode = mode or RunMode()
    drawn = drawn_questions(Workspace(workspace), options, mode, ALL_SOURCES, None)
    lists = SearchLists(drawn.asked, drawn.search.units)
    chosen = replace(
        options,
        side=BOTH,
        groups=options.groups or _LISTS,
        learning_rate=options.learning_rate or LEARNING_RATE,
        query_log=None,
        questions=TrainingOptions().questions,
    )
    document_tokens = resolve(chosen, device_name()).document_tokens
    batching = Batching(device_name(), options.batch_tokens)
    objective = ObjectiveOptions(
        "infonce", query_tokens=options.query_tokens, document_tokens=document_tokens, batching=batching
    )
    source = Source(
        drawn.samples,
        DenseJudge(lists, drawn.held) if drawn.held else None,
        "held-out questions, by vectors alone",
        objective=partial(SearchObjective, lists=lists, options=objective),
        mix=drawn.samples.mix(options.mix),
        shares=(0.5, 1.0),
        taught=DenseJudge(lists, drawn.taught) if drawn.taught else None,
    )
    return train_ranker(workspace, chosen, mode, source=source)


class SearchLists:
    """The search's scores of all passages for each of its questions."""

    def __init__(self, asked: PseudoQueryScores, units: Units) -> None:
        self.asked, self._units = asked, units

    def scores(self, numbers: Sequence[int]) -> torch.Tensor:
        """Return (questions, units) scores, NOTHING for passages that take no part."""
        totals = self.asked.totals(self.asked.vectors[list(numbers)], numbers)
        right, wrong = self.asked.allowed(numbers)
        return totals.masked_fill(~(right | wrong), NOTHING)

    def texts(self, places: Sequence[int]) -> list[str]:
        """Return the passages' texts, as they are encoded."""
        return [self._units[int(self.asked.units[place])].ranker_text for place in places]


class SearchObjective(BiEncoderObjective):
    """KL divergence of the encoder's softmax over a step's passages from the search's."""

    def __init__(self, ranker: BiEncoder, lists: SearchLists, options: ObjectiveOptions) -> None:
        super().__init__(ranker, options)
        self._lists = lists

    def prepare(self, examples: Sequence[Example], rng: Random) -> Prepared:
        numbers = [example.sections[0] for example in examples]
        scores = self._lists.scores(numbers)
        listed = torch.topk(scores, min(_FIRST, scores.shape[1])).indices.tolist()
        chosen = {place for row in listed for place in (row[0], *rng.sample(row[1:], min(_TAKEN - 1, len(row) - 1)))}
        places = sorted(chosen)
        passages = (self._lists.texts(places), [-1] * len(places))
        questions = ([example.queries[0] for example in examples], list(range(len(examples))))
        taught = {"taught": scores[:, places]}
        return self._prepared(examples, [1] * len(examples), questions, passages, rng, taught, len(examples))

    def combined(self, prepared: Prepared, rows: dict[str, list[torch.Tensor]]) -> torch.Tensor:
        vectors = in_order(prepared.batches["texts"], rows["texts"])
        places = {name: place.to(vectors.device) for name, place in prepared.places.items()}
        allowed = places["taught"] > NOTHING / 2
        cosines = vectors[places["queries"]] @ vectors[places["documents"]].T
        learned = (SCALE * cosines).masked_fill(~allowed, NOTHING).log_softmax(1)
        taught = (_SHARPNESS * places["taught"]).masked_fill(~allowed, NOTHING).log_softmax(1)
        losses: torch.Tensor = torch.nn.functional.kl_div(learned, taught, log_target=True, reduction="none").sum(1)
        return losses


class DenseJudge(Judge):
    """Judges an encoder by its vectors alone: ranks of documents for held-out questions, over the passages that the
    search and the base's vectors rank first for any of them."""

    def __init__(self, lists: SearchLists, numbers: Sequence[int]) -> None:
        super().__init__(lists.asked, numbers[:_MOST_JUDGED])
        scores = lists.scores(self.numbers)
        near = (self.asked.vectors[self.numbers] @ self.asked.passages.T).masked_fill(scores < NOTHING / 2, NOTHING)
        count = min(_JUDGED_OVER, scores.shape[1])
        self._places = torch.unique(torch.cat([torch.topk(each, count).indices.flatten() for each in (scores, near)]))
        self._texts = lists.texts(self._places.tolist())
        self._right, self._wrong = (each[:, self._places] for each in self.asked.allowed(self.numbers))

    def ranks(self, ranker: Ranker) -> Ranks:
        """Return (questions,) the rank of each one's document by the best of its passages; ties count against it."""
        assert isinstance(ranker, BiEncoder)
        texts = [self.asked.questions[number].text for number in self.numbers]
        cosines = torch.from_numpy(ranker.encode_queries(texts) @ ranker.encode_documents(self._texts).T)
        best = cosines.masked_fill(~self._right, NOTHING).amax(1)
        wrong = cosines.masked_fill(~self._wrong, NOTHING)
        return document_ranks(best, wrong, self.asked.owners[self._places], len(self.asked.overviews))
