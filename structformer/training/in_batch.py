"""Negatives from the batch: other Examples' documents, but those that may answer the query too."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from structformer.sampling import Example
from structformer.sampling.view import nearly_equal, word_set


def batch_documents(examples: Sequence[Example], own: int) -> tuple[list[str], list[str]]:
    """The Examples' positives, then `own` negatives of each; and the document that each text is of, "" where it is
    another's.
    """
    documents = [example.documents[0] for example in examples]
    owners = [example.document_id for example in examples]
    for example in examples:
        extra = example.documents[1 : 1 + own]
        documents += extra
        owners += ["" if section < 0 else example.document_id for section in example.sections[1 : 1 + len(extra)]]
    return documents, owners


def negatives_allowed(
    examples: Sequence[Example], documents: Sequence[str], owners: Sequence[str], *, own: int
) -> torch.Tensor:
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
