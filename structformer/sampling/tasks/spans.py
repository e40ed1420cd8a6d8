"""Two spans of one document, as coCondenser learns from (Gao and Callan, ACL 2022)."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from structformer.document import word_count
from structformer.sampling.example import Census, Example
from structformer.sampling.task import Task
from structformer.sampling.view import DocumentView, in_random_order
from structformer.text.passages import section_passages


def two_spans(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
    """Two random passages of the document, without their paths; the batch's other documents are what they differ from.

    Source: Gao and Callan, ACL 2022, section 3.2. One Example a document and draw.
    """
    found = [
        (number, passage.text)
        for number, section in enumerate(view.sections)
        for passage in section_passages(section)
        if word_count(passage.text) >= view.options.min_words
    ]
    if len(found) < 2:
        census.drop("spans", "fewer than two passages")
        return
    (_, first), (number, second) = (found[place] for place in in_random_order(rng, range(len(found)), 2))
    yield Example("spans", (first,), (second,), view.document.id, (number,))


TASKS = (
    Task(
        "spans",
        two_spans,
        "condenser",
        replaceable=False,
        long_query=True,
        source="Gao and Callan, coCondenser, ACL 2022, section 3.2",
    ),
)
