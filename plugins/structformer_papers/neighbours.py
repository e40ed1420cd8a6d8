"""Two neighbouring spans of one document, as CoT-MAE learns from (Wu et al., AAAI 2023)."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random

from structformer.sampling import Census, DocumentView, Example, Task


def neighbouring_spans(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
    """Two passages that follow each other within a section, or from one section to its next sibling. One Example a
    document and draw.

    Source: CoT-MAE, section 3.1, arXiv 2208.07670, whose spans are near, overlapping or random ones of the document:
    these are the near ones, which there may cross any heading, and `spans` has the random ones. Passages that are too
    short are passed over.
    """
    pairs = [
        (first, second)
        for first, second in pairwise(view.long_passages())
        if first[0] == second[0] or view.parents[first[0]] == view.parents[second[0]]
    ]
    if not pairs:
        census.drop("neighbours", "no two neighbouring passages")
        return
    (_, first), (number, second) = rng.choice(pairs)
    yield Example("neighbours", (first,), (second,), view.document.id, (number,))


TASK = Task(
    "neighbours",
    neighbouring_spans,
    "papers",
    replaceable=False,
    long_query=True,
    source="Wu et al., CoT-MAE, AAAI 2023, section 3.1",
)
