"""The objective that each kind of ranker minimizes on a step's Examples: one value per Example, weighed and summed."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

import torch

from structformer.errors import UsageError
from structformer.models.bi_encoder import BiEncoder
from structformer.models.cross_encoder import CrossEncoder
from structformer.models.first_tokens import LONG_QUERY_TOKENS, QUERY_TOKENS
from structformer.models.kinds import ranker_kind
from structformer.models.losses import Takes
from structformer.models.sentence_encoder import Prompt
from structformer.models.sentence_modules import DOCUMENT, QUERY
from structformer.sampling import Example
from structformer.sampling.tasks import has_long_queries
from structformer.training.data.batching import Batching, Prepared, Reading, TokenBatch, in_order, token_batches
from structformer.training.objectives.losses import and_others, batch_documents, group_softmax, negatives_allowed
from structformer.training.objectives.masked import MASKED_SHARE, MaskedHead, Masker

SCALE = 20.0  # cosines are multiplied by this before a softmax: a temperature of 0.05
Teacher = Callable[[Sequence[str], Sequence[str]], torch.Tensor]


@dataclass(frozen=True, slots=True)
class ObjectiveOptions:
    """Options of an objective. Every kind gets all of them and uses its own."""

    loss: str
    group_size: int = 8
    query_tokens: int = 48
    pair_query_tokens: int = QUERY_TOKENS
    document_tokens: int = 256
    hard_negatives: int = 0
    margin: float = 1.0
    whole_words: bool = False
    document_masks: bool = False
    batching: Batching = field(default_factory=lambda: Batching("cpu"))


class Objective(torch.nn.Module, ABC):
    """A ranker with its loss. `forward` gives (Examples,) float losses and, with a head for masked words, as many of
    theirs. With `read` and `combined` it learns a chunk batch by batch if memory is short; with its own `forward`
    whole.
    """

    processes = 1  # that take their steps together, once a run has begun
    guessed = MASKED_SHARE  # of the tokens, by the head for masked words; one that is guessed twice counts twice
    chance: torch.Tensor | None = None  # (Examples,) what equal scores lose of what was read last; None: unknown
    taught = ""  # the kind of ranker whose losses it knows; "" for its ranker's

    def __init__(
        self, ranker: Any, options: ObjectiveOptions, *, head: MaskedHead | None = None, teacher: Teacher | None = None
    ) -> None:
        """head: learns masked words too; teacher: for losses that distil. Raises UsageError on an unknown loss."""
        super().__init__()
        kind = ranker_kind(ranker.kind)
        self.minimised = ranker_kind(self.taught or ranker.kind).loss(options.loss)
        if self.minimised.needs_teacher and teacher is None:
            raise UsageError(f"the loss {options.loss} needs a teacher: see `structformer distill`")
        self.model = ranker.model
        self.head = head
        self.ranker = ranker
        self.options = options
        self.loss = options.loss
        self.group_size = options.group_size
        self.teacher = teacher
        self.batching = options.batching
        self._masker = (
            Masker(ranker.tokenizer, whole_words=options.whole_words, document_alone=options.document_masks)
            if head is not None
            else None
        )
        if not kind.joint:
            # BERT's own pooling of [CLS] takes no part, and several processes wait for every gradient that there may
            # be.
            encoders = [ranker.model, getattr(ranker.model, "encoder", None)]
            for pooler in filter(None, (getattr(encoder, "pooler", None) for encoder in encoders)):
                pooler.requires_grad_(False)

    @abstractmethod
    def prepare(self, examples: Sequence[Example], rng: Random) -> Prepared:
        """Return the Examples as tokens; needs no model, so that other processes can do it ahead of time."""

    def read(self, prepared: Prepared, name: str, batch: TokenBatch) -> Reading:
        """Return one batch through the model: a row of each of its texts, and their masked words' losses."""
        raise NotImplementedError(f"{type(self).__name__} has neither read nor forward")

    def combined(self, prepared: Prepared, rows: dict[str, list[torch.Tensor]]) -> torch.Tensor:
        """Return (Examples,) losses from the batches' rows, which no weight takes part in any more."""
        raise NotImplementedError(f"{type(self).__name__} has neither combined nor forward")

    def forward(self, prepared: Prepared) -> Reading:
        batches = prepared.all_batches
        if prepared.only is not None:
            return self.read(prepared, *batches[prepared.only])
        read = [*prepared.known, *(self.read(prepared, *each) for each in batches[len(prepared.known) :])]
        rows: dict[str, list[torch.Tensor]] = {name: [] for name in prepared.batches}
        for (name, _), (row, _) in zip(batches, read, strict=True):
            rows[name].append(row)
        losses = self.combined(prepared, rows)
        if self.minimised.relative:
            with torch.no_grad():
                equal = {name: [torch.zeros_like(row) for row in parts] for name, parts in rows.items()}
                self.chance = self.combined(prepared, equal)
        masked = [each for _, each in read if each is not None]
        if not masked:
            return losses, None
        texts, owners = [batch for _, batch in batches], prepared.places["owners"]
        return losses, self._masked(texts, masked, owners, len(prepared.examples))

    def take_up(self, location: str) -> None:
        """Go on with what `kept` saved where training starts from. Raises ModelError if it cannot be read or fit."""

    def kept(self, weights: Mapping[str, torch.Tensor]) -> dict[str, dict[str, torch.Tensor]]:
        """Return the tensors to save beside the ranker, of the objective's trained weights, by their file's name."""
        return {}

    def beside(self, prepared: Prepared, others: Sequence[Sequence[Example]]) -> None:
        """Take other processes' documents as negatives of a prepared chunk. Raises UsageError if impossible."""
        raise UsageError(f"gather means nothing to the loss {self.loss} of a {self.ranker.kind}")

    @property
    def longest(self) -> int:
        """The tokens that texts are cut to."""
        return max(self.options.query_tokens, self.options.document_tokens)

    def _batches(self, encoded: Any, rng: Random) -> list[TokenBatch]:
        return token_batches(encoded, self.ranker.tokenizer, self.batching, self._masker, rng)

    def _size(self, example: Example) -> int:
        return min(self.group_size, len(example.queries))

    def _pairs(self, examples: Sequence[Example]) -> tuple[list[str], list[str], list[int]]:
        queries = [query for example in examples for query in example.queries[: self.group_size]]
        documents = [document for example in examples for document in example.documents[: self.group_size]]
        return queries, documents, [self._size(example) for example in examples]

    def _group_losses(self, scores: torch.Tensor, prepared: Prepared) -> torch.Tensor:
        """Return (Examples,) from the (pairs,) scores of their groups."""
        given: dict[str, Any] = {"margin": self.options.margin} if self.minimised.has_margin else {}
        if self.minimised.needs_teacher:
            assert self.teacher is not None
            queries, documents, _ = self._pairs(prepared.examples)
            given["teacher"] = self.teacher(queries, documents).to(scores.device)
        losses: torch.Tensor = self.minimised.function(scores, group_sizes=prepared.sizes, **given)
        return losses

    def _masked(
        self, batches: Sequence[TokenBatch], hidden: Sequence[torch.Tensor], owners: torch.Tensor, count: int
    ) -> torch.Tensor:
        """(Examples,): mean loss of masked words over each one's texts. owners: each text's Example, -1 for none."""
        rows = in_order(batches, hidden)
        owners = owners.to(rows.device)
        known = owners >= 0
        sums = torch.zeros(count, device=rows.device).index_add(0, owners[known], rows[known])
        counts = torch.zeros(count, device=rows.device).index_add(0, owners[known], torch.ones_like(rows[known]))
        return sums / counts.clamp(min=1)


class CrossEncoderObjective(Objective):
    """Scores every pair of every group jointly: softmax is Wikiformer's loss (eq. 3-7), the hinge HARP's and PROP's."""

    ranker: CrossEncoder

    def prepare(self, examples: Sequence[Example], rng: Random) -> Prepared:
        queries, documents, sizes = self._pairs(examples)
        owners = _repeated(range(len(examples)), sizes)
        longest = min(LONG_QUERY_TOKENS, self.ranker.max_tokens // 2 - 1)
        short = min(self.options.pair_query_tokens, longest)
        limits = [longest if has_long_queries(examples[number].task) else short for number in owners]
        encoded = self.ranker.encode_pairs(queries, documents, limits, cut_documents=True)
        places = {"owners": torch.tensor(owners)}
        return Prepared(list(examples), sizes, {"pairs": self._batches(encoded, rng)}, places, len(queries))

    def read(self, prepared: Prepared, name: str, batch: TokenBatch) -> Reading:
        moved = batch.to(self.model.device)
        result = self.model(**moved.features, output_hidden_states=self.head is not None)
        scores = result.logits.squeeze(-1)
        if self.head is None or moved.labels is None:
            return scores, None
        return scores, self.head(result.hidden_states[-1], moved.labels)

    def combined(self, prepared: Prepared, rows: dict[str, list[torch.Tensor]]) -> torch.Tensor:
        return self._group_losses(in_order(prepared.batches["pairs"], rows["pairs"]), prepared)


class BiEncoderObjective(Objective):
    """InfoNCE over the batch's documents (and `hard_negatives` of each group's own), or a loss over the groups alone.

    A document does not count as negative for a query when it is of the same document or has nearly the same text as
    the positive, or when it holds the query word for word: in a manual, one option's description is on many pages.
    A group of many queries for one document (RWI) is a softmax over its queries.
    """

    ranker: BiEncoder

    def prepare(self, examples: Sequence[Example], rng: Random) -> Prepared:
        if self.minimised.takes is not Takes.BATCH:
            queries, documents, sizes = self._pairs(examples)
            owners = _repeated(range(len(examples)), sizes)
            return self._prepared(examples, sizes, (queries, owners), (documents, owners), rng, {}, len(queries))
        single = [number for number, example in enumerate(examples) if len(set(example.queries)) == 1]
        several = [number for number, example in enumerate(examples) if len(set(example.queries)) > 1]
        in_batch, over_queries = [examples[number] for number in single], [examples[number] for number in several]
        documents, document_ids = batch_documents(in_batch, self.options.hard_negatives)
        sizes = [self._size(example) for example in over_queries]
        repeated = _repeated(several, sizes)
        queries = [example.queries[0] for example in in_batch]
        queries += [query for example in over_queries for query in example.queries[: self.group_size]]
        asked = (queries, [*single, *repeated])
        answering = [*single, *[-1] * (len(documents) - len(single)), *repeated]
        answers = (documents + [examples[number].documents[0] for number in repeated], answering)
        places = {
            "in_batch": torch.tensor(single, dtype=torch.long),
            "over_queries": torch.tensor(several, dtype=torch.long),
        }
        if in_batch:
            places["allowed"] = negatives_allowed(in_batch, documents, document_ids, own=self.options.hard_negatives)
        return self._prepared(examples, sizes, asked, answers, rng, places, len(examples))

    def _prepared(
        self,
        examples: Sequence[Example],
        sizes: list[int],
        queries: tuple[list[str], list[int]],
        documents: tuple[list[str], list[int]],
        rng: Random,
        places: dict[str, torch.Tensor],
        pairs: int,
    ) -> Prepared:
        """queries, documents: texts and their Examples; each is encoded once, unless their prompts differ."""
        distinct: dict[tuple[str, int, Prompt], int] = {}
        owners: dict[int, int] = {}
        for (texts, examples_of), limit, name, side in (
            (queries, self.options.query_tokens, "queries", QUERY),
            (documents, self.options.document_tokens, "documents", DOCUMENT),
        ):
            prompt = self.ranker.prompts[side]
            # Queries that are documents themselves, as LTM's are.
            limits = [
                self.options.document_tokens if number >= 0 and has_long_queries(examples[number].task) else limit
                for number in examples_of
            ]
            numbers = [
                distinct.setdefault((text, tokens, prompt), len(distinct))
                for text, tokens in zip(texts, limits, strict=True)
            ]
            places[name] = torch.tensor(numbers, dtype=torch.long)
            owners.update(zip(numbers, examples_of, strict=True))
        places["owners"] = torch.tensor([owners[number] for number in range(len(distinct))], dtype=torch.long)
        prompts = [prompt for _, _, prompt in distinct]
        places["skipped"] = torch.tensor([prompt.skipped for prompt in prompts], dtype=torch.long)
        tokens_of = [tokens for _, tokens, _ in distinct]
        encoded = self.ranker.encode_tokens([text for text, _, _ in distinct], tokens_of, prompts)
        return Prepared(list(examples), sizes, {"texts": self._batches(encoded, rng)}, places, pairs)

    def beside(self, prepared: Prepared, others: Sequence[Sequence[Example]]) -> None:
        if self.minimised.takes is not Takes.BATCH:
            super().beside(prepared, others)
        # Examples with one query and several documents; those with several queries have no documents to tell apart.
        own, *rest = (
            [each for each in examples if len(set(each.queries)) == 1] for examples in (prepared.examples, *others)
        )
        documents, owners = batch_documents(own, self.options.hard_negatives)
        prepared.places["gathered"] = torch.tensor(len(documents))
        for examples in rest:
            texts, ids = batch_documents(examples, self.options.hard_negatives)
            documents, owners = documents + texts, owners + ids
        if own:
            prepared.places["allowed"] = negatives_allowed(own, documents, owners, own=self.options.hard_negatives)

    def read(self, prepared: Prepared, name: str, batch: TokenBatch) -> Reading:
        moved = batch.to(self.model.device)
        hidden = self.model(**moved.features).last_hidden_state
        mask, skipped = moved.features["attention_mask"], prepared.places["skipped"][moved.numbers]
        # Rankers of plugins pool what there is, and need not know of prompts.
        vectors = self.pool(hidden, mask, skipped.to(hidden.device)) if skipped.any() else self.pool(hidden, mask)
        return vectors, None if self.head is None or moved.labels is None else self.head(hidden, moved.labels)

    def combined(self, prepared: Prepared, rows: dict[str, list[torch.Tensor]]) -> torch.Tensor:
        vectors = in_order(prepared.batches["texts"], rows["texts"])
        places = {name: place.to(vectors.device) for name, place in prepared.places.items()}
        queries, documents = vectors[places["queries"]], vectors[places["documents"]]
        if self.minimised.takes is Takes.BATCH:
            return self._over_batch(queries, documents, places, prepared)
        return self._group_losses((queries * documents).sum(-1) * SCALE, prepared)

    def pool(self, hidden: torch.Tensor, mask: torch.Tensor, skipped: torch.Tensor | None = None) -> torch.Tensor:
        """(texts, dimensions) from (texts, tokens, dimensions) and the (texts, tokens) mask; what the ranker's `encode`
        does. skipped: (texts,) tokens of prompts that take no part; None without prompts.
        """
        return self.ranker.pool(hidden, mask, skipped)

    def _over_batch(
        self, queries: torch.Tensor, documents: torch.Tensor, places: dict[str, torch.Tensor], prepared: Prepared
    ) -> torch.Tensor:
        count, candidates = len(places["in_batch"]), places["allowed"].shape[1] if "allowed" in places else 0
        negatives = documents[:candidates]
        if "gathered" in places:
            candidates = int(places["gathered"])
            negatives = and_others(documents[:candidates])  # all processes ask, also one without a query of this kind
        parts: list[torch.Tensor] = []
        if count:
            scores = queries[:count] @ negatives.T * SCALE
            parts.append(self.minimised.function(scores, places["allowed"]))
        if len(places["over_queries"]):
            parts.append(group_softmax((queries[count:] * documents[candidates:]).sum(-1) * SCALE, prepared.sizes))
        return torch.cat(parts)[torch.argsort(torch.cat([places["in_batch"], places["over_queries"]]))]


def _repeated(numbers: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Return each number as often as its size says."""
    return [number for number, size in zip(numbers, sizes, strict=True) for _ in range(size)]
