"""The Examples a run learns from, and which of them a step sees: a pure function of the seed and the step."""

import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

from structformer.corpus import Corpus
from structformer.models.attention import AttentionWeights
from structformer.sampling import Example, Samples, default_tasks, needs_attention
from structformer.sampling.draw_examples import draw, draw_samples
from structformer.sampling.sets import Generation, SampleRequest, as_flags, drawn_already, others, published, set_digest
from structformer.workspace import Workspace

_MOST_REPEATED = 4
# Examples that are read together: in sixteen stretches of the corpus, some fifty megabytes of a task.
BLOCK, STRETCH = 16_384, 1_024
_NAMED = 3  # other sets that a message names
_LOOKED_AT = 16  # Examples of a task, for negatives
_WAIT_SECONDS = 600.0  # for another training that draws from the same workspace


class ExampleSource(Protocol):
    """Where Examples come from: structformer.sampling.Samples, or what offers the same."""

    counts: dict[str, int]
    manifest: dict[str, Any]

    @property
    def fingerprint(self) -> str:
        """A digest of them all."""

    def example(self, task: str, number: int) -> Example:
        """Return the number-th Example of a task."""


def permuted(index: int, size: int, key: str) -> int:
    """Return where `index` goes under a pseudo-random permutation of range(size), in constant time and memory.

    A four-round Feistel network over the next even power of two, walked until the result is in range
    (Black and Rogaway, "Ciphers with Arbitrary Finite Domains", CT-RSA 2002, section 3).
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    while True:
        left, right = index >> half, index & mask
        for step in range(4):
            digest = hashlib.blake2b(f"{key}/{step}/{right}".encode(), digest_size=8).digest()
            left, right = right, left ^ (int.from_bytes(digest, "big") & mask)
        index = left << half | right
        if index < size:
            return index


def shuffled(place: int, size: int, key: str) -> int:
    """The Example at a place of a task's random order: beyond a block, sixteen random stretches of the corpus pass at a
    time, so that Examples larger than the memory are read once an epoch.
    """
    block = place // BLOCK * BLOCK
    place = block + permuted(place - block, min(BLOCK, size - block), f"{key}/{block}" if block else key)
    if size <= BLOCK:
        return place
    stretch, inside = divmod(place, STRETCH)
    if stretch < (whole := size // STRETCH):
        stretch = permuted(stretch, whole, f"{key}/stretches")
    # Stretches begin elsewhere each epoch, so that it is not always the same Examples that come last.
    return (stretch * STRETCH + inside + permuted(0, size, f"{key}/begin")) % size


class ExampleOrder:
    """The groups of every step, in a new random order each epoch, in shares fixed by the mix; a small task's Examples
    come at most _MOST_REPEATED times as often as the average.
    """

    def __init__(self, samples: ExampleSource, mix: Mapping[str, float], groups_per_step: int, seed: int) -> None:
        self._samples = samples
        self._seed = seed
        self.mix = {task: weight for task, weight in mix.items() if samples.counts.get(task)}
        self.missing = [task for task in mix if task not in self.mix]
        self.counts = {task: samples.counts[task] for task in self.mix}
        self._total = sum(self.counts.values())
        total = sum(Fraction(weight) for weight in self.mix.values())
        most = {task: Fraction(_MOST_REPEATED * count, self._total) for task, count in self.counts.items()}
        self._shares = {task: min(Fraction(weight) / total, most[task]) for task, weight in self.mix.items()}
        self.groups_per_step = groups_per_step

    def places(self, step: int) -> list[tuple[str, int]]:
        """Return (task, Example number) of every group of a step, counted from 0."""
        before, after = (self._of_tasks(steps * self.groups_per_step) for steps in (step, step + 1))
        return [
            (task, shuffled(position % size, size, f"{self._seed}/{task}/{position // size}"))
            for task, size in self.counts.items()
            for position in range(before[task], after[task])
        ]

    def _of_tasks(self, groups: int) -> dict[str, int]:
        """Return how many of a run's first `groups` groups are each task's; together they are always `groups`."""
        counts: dict[str, int] = {}
        weight = sum(self._shares.values(), Fraction())
        for task, share in self._shares.items():
            counts[task] = int(groups * share / weight)
            groups -= counts[task]
            weight -= share
        return counts

    def chunk(self, step: int, number: int, chunks: int) -> list[tuple[str, int]]:
        """The `number`-th of a step's `chunks`, which one device sees at once, tasks spread evenly. Rank r of a run
        with accumulation a has the chunks r a .. r a + a - 1, so that two processes see what one with twice a does.
        """
        return self.places(step)[number::chunks]

    def examples(self, places: Sequence[tuple[str, int]]) -> list[Example]:
        """Return the Examples at these places."""
        return [self._samples.example(task, number) for task, number in places]

    def epochs(self, steps: int) -> float:
        """Return how often an Example is seen in so many steps, on average."""
        return steps * self.groups_per_step / max(1, self._total)


def current_samples(
    workspace: Workspace,
    corpus: Corpus,
    tasks: list[str],
    sampling: Mapping[str, Any],
    weights: AttentionWeights | None,
    folder: Path | None,
    say: Callable[[str], None],
) -> Samples:
    """Return the Examples of tasks. sampling: options of their set, by the names of SetOptions. weights: those that
    some tasks draw words by; None if none of these does. folder: where to draw them to; None: the workspace.
    """
    digest = set_digest(corpus, sampling)
    attention = weights.fingerprint if weights else None
    there = published(workspace)
    own = [each for each in there if each.digest == digest]
    earlier = drawn_already(own, tasks, attention)
    missing = [task for task in tasks if task not in earlier]
    beside = others(workspace, digest, corpus)
    by_task = {task: Samples.open(workspace, generation=each.name) for task, each in earlier.items()}
    if not missing:
        if beside:
            say(f"the Examples are those drawn with {_named(sampling)}, not those with {_listed(beside)}")
        return Samples.joined(by_task)
    drawing = missing
    if not own and not as_flags(sampling):
        drawing = list(dict.fromkeys((*default_tasks(), *missing)))
    say(_drawing(sampling, missing, own, there, beside))
    request = SampleRequest.of_set(drawing, sampling, weights if needs_attention(drawing) else None)
    if folder is None:
        drawn = draw_samples(request, workspace, add=True, wait=_WAIT_SECONDS)
    else:
        folder.mkdir()
        draw(request, workspace, folder)
        drawn = Samples.at(folder)
    return Samples.joined({**by_task, **dict.fromkeys(missing if by_task else drawing, drawn)})


def _drawing(
    sampling: Mapping[str, Any], missing: list[str], own: list[Generation], there: list[Generation], beside: list[str]
) -> str:
    """Return what to say before Examples are drawn."""
    if not there:
        return "no Examples yet: drawing them (structformer sample)"
    if own:
        drawn = {task for each in own for task in each.manifest["tasks"]}
        of_another = " by this model's attention" if drawn & set(missing) else ""
        return f"drawing Examples of {', '.join(missing)} too{of_another}"
    if not beside:
        return "the Examples are of an earlier corpus: drawing them again"
    return f"drawing Examples with {_named(sampling)}, beside those with {_listed(beside)}"


def _named(sampling: Mapping[str, Any]) -> str:
    return as_flags(sampling) or "the default options"


def _listed(beside: list[str]) -> str:
    named = [each or "the default options" for each in beside[:_NAMED]]
    more = len(beside) - len(named)
    return ", with ".join(named) + (f" and {more} more" if more else "")


def nothing_to_learn(mix: Collection[str], samples: ExampleSource, workspace: Workspace) -> str:
    """Return what to say if no task of the mix has Examples."""
    dropped = samples.manifest["census"]["dropped"]
    reasons = "; ".join(f"{task}: {', '.join(dropped[task])}" for task in mix if dropped.get(task))
    return (
        f"no Examples of {', '.join(mix)} in {workspace}{f' ({reasons})' if reasons else ''}: the "
        "corpus has no structure to learn from. "
        "`structformer sample --min-words 5` lets shorter sections take part; `--task-mix ict` "
        "asks with sentences and needs no headings"
    )


def without_negatives(order: ExampleOrder) -> str:
    """Return what to say of tasks whose Examples have no negatives, if a ranker needs them; "" for none."""
    alone = [
        task
        for task, count in order.counts.items()
        if all(len(each.queries) == 1 for each in order.examples([(task, n) for n in range(min(count, _LOOKED_AT))]))
    ]
    if not alone:
        return ""
    return (
        f"the Examples of {', '.join(alone)} have no negatives, so that little or nothing is learned from them: "
        "--set sample.negatives_from=lexical takes some from other documents"
    )
