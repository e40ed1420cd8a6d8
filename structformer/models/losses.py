"""The losses that rankers are trained with, each declared once. Importing this loads no torch."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from structformer.lazy_names import named_object

_LOSSES = "structformer.training.objectives.losses"


class Takes(Enum):
    """Arguments of a loss."""

    GROUPS = "the scores of each Example's own pairs"
    BATCH = "each query's scores of all documents of the batch"
    TWO_QUERIES = "each document's scores for its query and for a negative one"
    TEXTS = "texts, which an objective of its own reads"


@dataclass(frozen=True, slots=True)
class Loss:
    """A loss, by the name that `--loss` has."""

    name: str
    takes: Takes = Takes.GROUPS
    compute: str = ""
    """`module:function`, which returns one float for each Example: of `scores` (pairs,) and `group_sizes`, with
    `margin` and `teacher` (pairs,) if it has these; with Takes.BATCH of (queries, documents) scores and of the
    (queries, documents) truth of what may be a negative."""
    needs_teacher: bool = False
    has_margin: bool = False
    gathers: bool = False
    """Can take negatives from the other devices too, with one vector a text."""
    relative: bool = False
    """Depends on the differences of scores alone, so that what equal scores lose is what chance loses."""

    def pairs(self, group_size: int) -> int:
        """Return how many pairs of an Example are scored."""
        return {Takes.BATCH: 1, Takes.TWO_QUERIES: 2}.get(self.takes, group_size)

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the training options that mean something with it and not with every loss."""
        taken = {
            "margin": self.has_margin,
            "teacher": self.needs_teacher,
            "gather": self.gathers,
            "hard_negatives": self.takes is Takes.BATCH,
            "group_size": self.takes is Takes.GROUPS,
        }
        return tuple(name for name, holds in taken.items() if holds)

    @property
    def function(self) -> Callable[..., Any]:
        """The function that computes it, imported when it is first needed."""
        function: Callable[..., Any] = named_object(self.compute)
        return function


LOSSES = {
    loss.name: loss
    for loss in (
        Loss("infonce", Takes.BATCH, f"{_LOSSES}:info_nce", gathers=True, relative=True),
        Loss("softmax", compute=f"{_LOSSES}:group_softmax", relative=True),
        Loss("hinge", compute=f"{_LOSSES}:pairwise_hinge", has_margin=True, relative=True),
        Loss("softmax-hinge", compute=f"{_LOSSES}:softmax_hinge", has_margin=True, relative=True),
        Loss("margin-mse", compute=f"{_LOSSES}:margin_mse", needs_teacher=True),
        Loss("kl", compute=f"{_LOSSES}:distilled_kl", needs_teacher=True),
        Loss("pointwise", compute=f"{_LOSSES}:pointwise"),
        Loss("condenser", Takes.TEXTS),
        Loss("cocondenser", Takes.TEXTS, "structformer.training.objectives.condenser:span_contrast"),
    )
}
