"""Example: one training group of query-document pairs, the positive first; and the options all samplers share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from structformer.did_you_mean import checked_fields
from structformer.errors import UsageError

DEFAULT_NEGATIVES = 7
INNER = ("auto", "own", "subtree")
FROM_PASSAGES = ("random", "lexical")  # of the whole corpus
NEGATIVES_FROM = ("document", "siblings", *FROM_PASSAGES)
COMPAT = ("paper", "released-code")
MOST_HELD_OUT = 0.9


@dataclass(frozen=True, slots=True)
class Example:
    """A training group. queries[i] and documents[i] are the texts of pair i; pair 0 is the positive."""

    task: str
    queries: tuple[str, ...]
    documents: tuple[str, ...]
    document_id: str
    sections: tuple[int, ...]
    """For each pair the number of the section that its document's text was drawn from; -1: of another document."""

    def __post_init__(self) -> None:
        if not self.queries or not len(self.queries) == len(self.documents) == len(self.sections):
            raise ValueError("an Example needs as many queries as documents and sections, and at least one")


@checked_fields()
@dataclass(frozen=True, slots=True)
class SamplingOptions:
    """Options common to all tasks."""

    min_words: int = 20
    """Leave out texts with fewer words, as positives and negatives."""
    min_document_words: int = 0
    """Documents with fewer words take no part (HARP: 100)."""
    negatives: int | None = DEFAULT_NEGATIVES
    """Negatives per group (at least one), or all."""
    inner: str = "auto"
    """An inner section's content: its own text, its whole subtree, or auto: its own where it has min_words."""
    separator: str = " "
    """Joins the titles of a path."""
    every_child: bool = True
    """SRR: an Example for every child; otherwise for one random child of each parent."""
    draws: int = 1
    """How many times each document is drawn from, with new random choices; duplicate Examples are dropped."""
    stop_words: str | None = None
    """HARP's, PROP's and ARES's tasks: a file of words, one a line, that are not drawn, or a language's code; else the
    function words of the corpus's language."""
    min_frequency: int = 1
    """PROP's and ARES's tasks: rarer words are not drawn (PROP: 10)."""
    keep_short: float = 1.0
    """PROP's and ARES's tasks: share of the documents under 100 tokens that take part, B-PROP's of those under 200
    (PROP: 0.2)."""
    word_vectors: str | None = None
    """ARES's tasks: a file of word vectors (GloVe, word2vec); else learned from the corpus."""
    max_characters: int = 6000
    """Texts are kept up to this length."""
    negatives_from: str = "document"
    """document: siblings, then the rest of the document (the papers'); siblings alone; random passages of other
    documents; lexical, those that BM25 ranks highest for the query."""
    compat: str = "paper"
    """paper, or released-code: what the papers' published code does."""

    @property
    def wanted_negatives(self) -> int:
        """Negatives to look for where "all there are" would be the whole corpus."""
        return DEFAULT_NEGATIVES if self.negatives is None else self.negatives

    def __post_init__(self) -> None:
        for name, allowed in (("inner", INNER), ("negatives_from", NEGATIVES_FROM), ("compat", COMPAT)):
            if getattr(self, name) not in allowed:
                raise UsageError(f"{name} {getattr(self, name)!r}: choose {', '.join(allowed)}")
        for name in ("min_words", "negatives", "draws", "min_frequency", "max_characters"):
            if (value := getattr(self, name)) is not None and value < 1:
                raise UsageError(f"{name} must be at least 1")
        if not 0 <= self.keep_short <= 1:
            raise UsageError("keep_short must be a share from 0 to 1")


@dataclass(frozen=True, slots=True)
class SetOptions(SamplingOptions):
    """What decides a set of Examples of a corpus: the options common to all tasks, and what is chosen at random."""

    seed: int = 0
    """The random choices, held-out documents among them. Not the seed of a training."""
    epoch: int = 0
    """Other random choices of the same seed."""
    held_out: float | None = None
    """Share of documents kept out for evaluation; none chooses by the corpus's size."""

    def __post_init__(self) -> None:
        SamplingOptions.__post_init__(self)  # slots made a new class, and super() looks for the old one
        if self.held_out is not None and not 0 <= self.held_out <= MOST_HELD_OUT:
            raise UsageError(f"held_out must be between 0 and {MOST_HELD_OUT}")


@dataclass(slots=True)
class Census:
    """How many Examples each task gave, and how many were dropped for which reason."""

    examples: Counter[str] = field(default_factory=Counter)
    dropped: Counter[tuple[str, str]] = field(default_factory=Counter)

    def drop(self, task: str, reason: str) -> None:
        """Count one Example that could not be made."""
        self.dropped[task, reason] += 1

    def add(self, other: Census) -> None:
        """Count another part's Examples and drops too."""
        self.examples.update(other.examples)
        self.dropped.update(other.dropped)

    def of_tasks(self, names: Collection[str]) -> Census:
        """Return the census of some tasks."""
        return Census(
            Counter({task: count for task, count in self.examples.items() if task in names}),
            Counter({(task, why): count for (task, why), count in self.dropped.items() if task in names}),
        )

    def as_dict(self) -> dict[str, dict[str, int] | dict[str, dict[str, int]]]:
        """Return the census as JSON types."""
        reasons: dict[str, dict[str, int]] = {}
        for (task, reason), count in sorted(self.dropped.items()):
            reasons.setdefault(task, {})[reason] = count
        return {"examples": dict(sorted(self.examples.items())), "dropped": reasons}

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> Census:
        """Return the census that `as_dict` gave."""
        dropped = {(task, why): count for task, reasons in value["dropped"].items() for why, count in reasons.items()}
        return cls(Counter(value["examples"]), Counter(dropped))
