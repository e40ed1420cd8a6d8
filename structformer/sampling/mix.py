"""Mixes of tasks and other sources, as people write them."""

from __future__ import annotations

from structformer.errors import UsageError


def parse_mix(text: str) -> dict[str, float]:
    """A task mix from "srr=1,ict=2"; a task without a number weighs 1. Raises UsageError."""
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
