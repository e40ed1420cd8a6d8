"""What late interaction learns on a step's Examples."""

from collections.abc import Sequence
from functools import partial
from random import Random

import torch
from structformer.models import Takes
from structformer.sampling import Example
from structformer.training import (
    Objective,
    Prepared,
    Reading,
    TokenBatch,
    batch_documents,
    grouped,
    in_order,
    negatives_allowed,
)

from structformer_colbert.ranker import LateInteraction, TokenVectors


def target_mse(scores: torch.Tensor, group_sizes: Sequence[int]) -> torch.Tensor:
    """(groups,): squared distance of scores from 1 for the positive and 0 for the others, averaged over the group."""
    table, real = grouped(scores.float(), group_sizes)
    targets = torch.zeros_like(table)
    targets[:, 0] = 1.0
    return (table - targets).square().masked_fill(~real, 0.0).sum(1) / real.sum(1)


class LateInteractionObjective(Objective):
    """MaxSim scores under one of the losses of the FANDOM study: the group softmax over N_q S, a negative query for the
    same document, or squared distance from 1 and 0; or InfoNCE with the batch's documents, or a teacher's scores.
    """

    ranker: LateInteraction

    def prepare(self, examples: Sequence[Example], rng: Random) -> Prepared:
        places: dict[str, torch.Tensor] = {}
        takes = self.minimised.takes
        if takes is Takes.BATCH:
            queries, sizes = [example.queries[0] for example in examples], [1] * len(examples)
            documents, owners = batch_documents(examples, self.options.hard_negatives)
            places["allowed"] = negatives_allowed(examples, documents, owners, own=self.options.hard_negatives)
        elif takes is Takes.TWO_QUERIES:
            size = 2 if len(examples) > 1 else 1
            sizes = [size] * len(examples)
            queries = [query for number in range(len(examples)) for query in _with_negative_query(examples, number)]
            documents = [example.documents[0] for example in examples for _ in range(size)]
        else:
            queries, documents, sizes = self._pairs(examples)
        batches: dict[str, list[TokenBatch]] = {}
        asked = self.ranker.encode_query_tokens
        read = partial(self.ranker.encode_document_tokens, max_tokens=self.options.document_tokens)
        for name, texts, encode in (("queries", queries, asked), ("documents", documents, read)):
            rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
            places[name] = torch.tensor([rows[text] for text in texts])
            ids = encode(list(rows))
            batches[name] = self._batches({"input_ids": ids, "attention_mask": [[1] * len(row) for row in ids]}, rng)
        return Prepared(list(examples), sizes, batches, places, len(queries))

    def read(self, prepared: Prepared, name: str, batch: TokenBatch) -> Reading:
        return self.ranker.normalised(self.model(**batch.to(self.model.device).features)), None

    def combined(self, prepared: Prepared, rows: dict[str, list[torch.Tensor]]) -> torch.Tensor:
        queries, documents = (_token_vectors(prepared.batches[name], rows[name]) for name in ("queries", "documents"))
        # The study's softmax is over N_q S; a sum over query tokens is that already.
        scale: float = self.ranker.options.query_tokens if self.ranker.options.mean else 1
        device = queries.mask.device
        of_queries, of_documents = (prepared.places[name].to(device) for name in ("queries", "documents"))
        if self.minimised.takes is Takes.BATCH:
            scores = self.ranker.similarity(queries[of_queries], documents)[:, of_documents]
            losses: torch.Tensor = self.minimised.function(scores * scale, prepared.places["allowed"].to(scores.device))
            return losses
        scores = self.ranker.pair_similarity(queries[of_queries], documents[of_documents])
        if self.loss == "mse":  # whose targets are cosines
            scale = 1 if self.ranker.options.mean else 1 / self.ranker.options.query_tokens
        return self._group_losses(scores * scale, prepared)


def _token_vectors(batches: Sequence[TokenBatch], rows: Sequence[torch.Tensor]) -> TokenVectors:
    """Return all texts' token vectors in their order, as long as the longest text."""
    longest = max(row.shape[1] for row in rows)
    vectors = [torch.nn.functional.pad(row, (0, 0, 0, longest - row.shape[1])) for row in rows]
    masks = [batch.features["attention_mask"].bool() for batch in batches]
    padded = [torch.nn.functional.pad(mask, (0, longest - mask.shape[1])).to(rows[0].device) for mask in masks]
    return TokenVectors(in_order(batches, vectors), in_order(batches, padded))


def _with_negative_query(examples: Sequence[Example], number: int) -> list[str]:
    """Return a query with one that its document does not answer: its own negative, or another document's Example's."""
    example = examples[number]
    if len(examples) == 1:
        return [example.queries[0]]
    own = next((query for query in example.queries[1:] if query != example.queries[0]), None)
    following = [*examples[number + 1 :], *examples[:number]]
    other = next((each for each in following if each.document_id != example.document_id), following[0])
    return [example.queries[0], own if own is not None else other.queries[0]]
