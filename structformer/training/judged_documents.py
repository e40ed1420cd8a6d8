"""Examples of judged queries over whole documents, as Wikiformer and HARP are fine-tuned: the negatives are drawn from
the documents that were found for the query.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from random import Random

from structformer.sampling import Example
from structformer.training.document_texts import DocumentTexts


@dataclass(frozen=True, slots=True)
class JudgedGroup:
    """A query with the numbers of a relevant document and of the negatives drawn for it. origin: the document's id."""

    query: str
    origin: str
    positive: int
    negatives: tuple[int, ...]


def judged_groups(
    asked: Mapping[str, str],
    relevant: Mapping[str, Set[str]],
    numbers: Mapping[str, int],
    found: Mapping[str, Sequence[int]],
    *,
    negatives: int,
    seed: int,
) -> list[JudgedGroup]:
    """A group of each relevant document of each query, with negatives drawn at random from its candidates that are not
    relevant; of a query without such candidates there is none. found: candidates by query.
    """
    groups = []
    for name, query in asked.items():
        right = {numbers[document] for document in relevant[name]}
        others = [number for number in found[name] if number not in right]
        for document in sorted(relevant[name]) if others else ():
            drawn = Random(f"judged negatives/{seed}/{name}/{document}").sample(others, min(negatives, len(others)))
            groups.append(JudgedGroup(query, document, numbers[document], tuple(drawn)))
    return groups


def judged_examples(task: str, groups: Sequence[JudgedGroup], texts: DocumentTexts) -> Iterator[Example]:
    """The groups as Examples, the positive first. A negative that says what the positive says is left out."""
    for group in groups:
        positive = texts[group.positive]
        others = (texts[number] for number in group.negatives)
        documents = (positive, *dict.fromkeys(other for other in others if other != positive))
        yield Example(task, (group.query,) * len(documents), documents, group.origin, (-1,) * len(documents))
