"""Verdict of held-out questions on a trained ranker: the figures of its record, and the words for them."""

from dataclasses import dataclass, field

_TOLERATED = 0.01  # what queries' side may lose on held-out questions and be used


@dataclass(frozen=True, slots=True)
class Judged:
    """Trained weights against what the search has without them, on the same held-out questions."""

    by: str
    """The questions it is judged by, in words."""
    against: str
    """The weights or search it is compared with, in words."""
    questions: int
    untrained: float
    """Mean of `measure`; so is `trained`."""
    trained: float
    low: float
    """Lower end of the gain's 95 % interval."""
    high: float
    first_untrained: float
    """Share of questions whose document is found first (Success@1)."""
    first_trained: float
    first_low: float
    """Lower end of its gain's 95 % interval."""
    first_high: float
    measure: str = field(default="nDCG@10", kw_only=True)
    taught: tuple[int, float, float] | None = field(default=None, kw_only=True)
    """Held-out questions of documents that other questions taught: how many, `measure` untrained and trained."""
    site: bool = field(default=False, kw_only=True)
    """Whether pages have outlines of their own, as a site's: a trained query side is used on a shown gain alone."""

    @property
    def gain(self) -> float:
        """Of the measure."""
        return self.trained - self.untrained

    @property
    def is_gain(self) -> bool:
        """Whether trained weights did better on average, and no worse at rank 1; maybe by chance (see `is_shown`)."""
        return self.gain > 0 and self.first_high >= 0

    @property
    def is_shown(self) -> bool:
        """Whether a gain is more than chance explains: the lower end of its interval is above 0."""
        return self.is_gain and self.low > 0

    @property
    def is_loss(self) -> bool:
        """Whether the trained weights did worse by 0.01 or more, or by more than chance explains; or by 0.01 or more on
        questions of documents that they were taught."""
        _, untrained, trained = self.taught or (0, 0.0, 0.0)
        gain = min(self.gain, trained - untrained)
        return gain <= -_TOLERATED or self.high < 0 or self.first_high < 0

    def in_words(self) -> str:
        """Return the figures, in a sentence or two."""
        taught = ""
        if self.taught:
            count, untrained, trained = self.taught
            taught = f" On {count} others, of documents it learned from, {trained:.3f} ({trained - untrained:+.3f})."
        return (
            f"On {self.questions} {self.by} {self.measure} is {self.trained:.3f}, where {self.against} has "
            f"{self.untrained:.3f} ({self.gain:+.3f}, 95 % interval {self.low:+.3f} to {self.high:+.3f}); the right "
            f"document comes first for {self.first_trained:.0%}, where it did for {self.first_untrained:.0%}.{taught}"
        )


def is_used(judged: Judged | None, *, query_side: bool) -> bool:
    """Whether the search takes a trained model without being asked to. query_side: of queries' side alone, which is
    left out of manuals only where held-out questions saw a loss: they could not tell small gains from small losses, and
    training gained more often (docs/why-it-works.md). On sites it lost more often. Others are to be better.
    """
    if judged is None:
        return True
    if query_side:
        return judged.is_shown if judged.site else not judged.is_loss
    return judged.is_gain


def verdict(judged: Judged | None, *, by_itself: bool, query_side: bool) -> str:
    """Return what training came to, in words. by_itself: the search takes it unasked; query_side: see `is_used`."""
    often = "such training gained on most judged manuals"
    if judged is None:
        why = f", since {often}" if query_side else ""
        return "Not judged: the corpus has too few questions to hold any out." + (
            f" The search uses what was trained{why}; compare both with questions of your own." if by_itself else ""
        )
    if judged.is_shown:
        return f"{judged.in_words()} A gain" + (": the search uses what was trained." if by_itself else ".")
    if is_used(judged, query_side=query_side):
        why = often if query_side else "it did better on average"
        used = f": the search uses what was trained, since {why}." if by_itself else "."
        return f"{judged.in_words()} No gain shown (the interval includes 0){used}"
    shown = " shown" if judged.site and query_side and not judged.is_loss else ""
    return f"{judged.in_words()} No gain{shown}" + (": the search goes on without it." if by_itself else ".")
