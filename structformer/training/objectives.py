"""What each kind of ranker minimises on a step's Examples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import torch

from structformer.models.bi_encoder import BiEncoder
from structformer.models.cross_encoder import LONG_QUERY_TOKENS, QUERY_TOKENS, CrossEncoder
from structformer.sampling import Example
from structformer.sampling.content import nearly_equal, word_set
from structformer.training.losses import group_softmax, info_nce

SCALE = 20.0  # cosines are multiplied by this before the softmax: a temperature of 0.05


class BiEncoderObjective:
    """InfoNCE with the batch's documents and `hard_negatives` of each group's own as negatives.

    A document does not count as negative for a query when it is of the same document or has nearly the same text as
    the positive, or when it holds the query word for word: in a manual, one option's description stands on many pages.
    A group of many queries for one document (RWI) is a softmax over its queries.
    """

    def __init__(self, ranker: BiEncoder, *, query_tokens: int, document_tokens: int, hard_negatives: int) -> None:
        self.ranker = ranker
        self._query_tokens = query_tokens
        self._document_tokens = document_tokens
        self._hard_negatives = hard_negatives

    def losses(self, examples: Sequence[Example]) -> dict[str, torch.Tensor]:
        """The step's loss by name; their sum is minimised."""
        of_queries = [example for example in examples if len(set(example.queries)) > 1]
        of_documents = [example for example in examples if len(set(example.queries)) == 1]
        found: dict[str, torch.Tensor] = {}
        if of_documents:
            found["in_batch"] = self._in_batch(of_documents)
        if of_queries:
            found["queries"] = self._over_queries(of_queries) * (len(of_queries) / len(examples))
        return found

    def pairs(self, examples: Sequence[Example]) -> int:
        """Positive pairs of a step."""
        return len(examples)

    def _in_batch(self, examples: Sequence[Example]) -> torch.Tensor:
        documents = [example.documents[0] for example in examples]
        owners = [example.document_id for example in examples]
        for example in examples:
            extra = example.documents[1 : 1 + self._hard_negatives]
            documents += extra
            owners += ["" if section < 0 else example.document_id for section in example.sections[1 : 1 + len(extra)]]
        queries = self.ranker.embed([example.queries[0] for example in examples], self._query_tokens)
        vectors = self.ranker.embed(documents, self._document_tokens)
        allowed = negatives_allowed(examples, documents, owners, own=self._hard_negatives)
        return info_nce(queries @ vectors.T * SCALE, allowed.to(queries.device))

    def _over_queries(self, examples: Sequence[Example]) -> torch.Tensor:
        queries = self.ranker.embed([query for example in examples for query in example.queries], self._query_tokens)
        vectors = self.ranker.embed([example.documents[0] for example in examples], self._document_tokens)
        sizes = [len(example.queries) for example in examples]
        repeated = vectors.repeat_interleave(torch.tensor(sizes, device=vectors.device), 0)
        return group_softmax((queries * repeated).sum(-1) * SCALE, sizes)


def negatives_allowed(examples: Sequence[Example], documents: Sequence[str], owners: Sequence[str], *, own: int) -> torch.Tensor:
    """(examples, documents) bool: whether a document may be a negative of an Example's query.

    documents: the positives in order, then each Example's `own` negatives one after another (fewer where it has fewer).
    """
    words = [word_set(document) for document in documents]
    plain = [" ".join(document.lower().split()) for document in documents]
    allowed = torch.ones(len(examples), len(documents), dtype=torch.bool)
    start = len(examples)
    for number, example in enumerate(examples):
        end = start + min(own, len(example.documents) - 1)
        query = " ".join(example.queries[0].lower().split())
        for other in range(len(documents)):
            same = owners[other] == example.document_id and not start <= other < end
            if same or (" " in query and query in plain[other]) or nearly_equal(words[number], words[other]):
                allowed[number, other] = False
        start = end
    return allowed


class CrossEncoderObjective:
    """Wikiformer's loss (eq. 3-7): the sum over tasks of the mean group softmax of the step's groups of that task."""

    def __init__(self, ranker: CrossEncoder, *, group_size: int) -> None:
        self.ranker = ranker
        self._group_size = group_size

    def losses(self, examples: Sequence[Example]) -> dict[str, torch.Tensor]:
        """The step's loss by task; their sum is minimised."""
        by_task: dict[str, list[Example]] = defaultdict(list)
        for example in examples:
            by_task[example.task].append(example)
        found: dict[str, torch.Tensor] = {}
        for task, group in by_task.items():
            sizes = [min(self._group_size, len(example.queries)) for example in group]
            queries = [query for example, size in zip(group, sizes, strict=True) for query in example.queries[:size]]
            documents = [document for example, size in zip(group, sizes, strict=True) for document in example.documents[:size]]
            tokens = min(LONG_QUERY_TOKENS, self.ranker.max_tokens // 2 - 1) if task == "ltm" else QUERY_TOKENS
            found[task] = group_softmax(self.ranker.logits(queries, documents, query_tokens=tokens), sizes)
        return found

    def pairs(self, examples: Sequence[Example]) -> int:
        """Pairs scored in a step."""
        return sum(min(self._group_size, len(example.queries)) for example in examples)
