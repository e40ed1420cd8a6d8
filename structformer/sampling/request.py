"""Request for Examples, as one value that drawing a whole corpus and drawing in parts take."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from structformer.errors import UsageError
from structformer.sampling.example import SamplingOptions, SetOptions
from structformer.sampling.neighbourhood import WordWeights


@dataclass(frozen=True, slots=True)
class SampleRequest:
    """Which Examples are drawn."""

    tasks: tuple[str, ...]
    """By name."""
    options: SamplingOptions = field(default_factory=SamplingOptions)
    seed: int = 0
    epoch: int = 0
    """Another one gives other random choices of the same seed."""
    held_out: float | None = None
    """Share of documents kept out for evaluation; None: chosen by the corpus's size."""
    weights: WordWeights | None = None
    """The attention that HARP's tasks draw words by."""
    drawn_by: str | None = None
    """Fingerprint of the weights if they are not at hand and their Examples were drawn before."""

    @property
    def attention(self) -> str | None:
        """The fingerprint of the weights, None without any."""
        return self.drawn_by or getattr(self.weights, "fingerprint", None)

    @classmethod
    def of_set(
        cls, tasks: Sequence[str], chosen: Mapping[str, Any], weights: WordWeights | None = None
    ) -> SampleRequest:
        """Tasks of the set that the chosen options ask for, names and values of SetOptions. Raises UsageError."""
        asked = asdict(SetOptions(**chosen))
        seed, epoch, held_out = (asked.pop(name) for name in ("seed", "epoch", "held_out"))
        return cls(tuple(tasks), SamplingOptions(**asked), seed, epoch, held_out, weights)

    def chosen(self) -> dict[str, Any]:
        """Return the options that name the set, which `of_set` takes."""
        return {**asdict(self.options), "seed": self.seed, "epoch": self.epoch, "held_out": self.held_out}

    def description(self) -> dict[str, Any]:
        """Return the request in JSON's types. Parts of one request have the same."""
        return {"tasks": list(self.tasks), "chosen": self.chosen(), "attention": self.attention}

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> SampleRequest:
        """Return the request that `description` gave, without its weights."""
        return replace(cls.of_set(description["tasks"], description["chosen"]), drawn_by=description["attention"])


def parse_mix(text: str) -> dict[str, float]:
    """Return a task mix from "srr=1,ict=2"; a task without a number weighs 1. Raises UsageError."""
    mix: dict[str, float] = {}
    for part in text.split(","):
        task, _, weight = part.strip().partition("=")
        try:
            mix[task] = float(weight or 1)
        except ValueError:
            raise UsageError(f"task mix {text!r}: {weight!r} is not a number; write for example srr=1,ict=2") from None
        if not task or not 0 < mix[task] < 1e6:
            raise UsageError(f"task mix {text!r}: write for example srr=1,ict=2, weights above 0")
    return mix
