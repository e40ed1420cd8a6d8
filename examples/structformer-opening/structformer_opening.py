"""A sampling task of one's own: a section's first sentence asks for the rest of it, among the rests of the document's
other sections.

Install it beside structformer (`pip install examples/structformer-opening`), then `structformer sample --tasks opening
--show 2`."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from structformer.plugins import hookimpl
from structformer.sampling import Census, Example, Task
from structformer.sampling.view import DocumentView
from structformer.text.passages import sentences


def opening(view: DocumentView, rng: Random, census: Census) -> Iterator[Example]:
    """Draw one Example per section whose text goes on after its first sentence.

    view: the document's sections by number; rng: this document's own random source, so that the same seed draws the
    same Examples."""
    rests: dict[int, tuple[str, str]] = {}
    for number, section in enumerate(view.sections):
        first = next(sentences(section.text), "")
        rest = section.text[len(first) :].strip()
        if len(rest.split()) >= view.options.min_words:
            rests[number] = first, rest
        elif section.text:
            census.drop("opening", "nothing after the first sentence")
    for number, (first, rest) in rests.items():
        others = [other for other in rests if not view.kin(other, number)]
        negatives = rng.sample(others, min(len(others), view.options.negatives or len(others)))
        if not negatives:
            census.drop("opening", "no other section")
            continue
        texts = (rest, *(rests[other][1] for other in negatives))
        yield Example("opening", (first,) * len(texts), texts, view.document.id, (number, *negatives))


@hookimpl
def structformer_tasks() -> list[Task]:
    return [Task("opening", opening)]
