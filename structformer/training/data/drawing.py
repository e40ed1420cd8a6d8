"""The Examples a run learns from: its sampling options' set, unnamed ones default, drawn first if missing."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.models.attention import AttentionWeights
from structformer.sampling import Samples, default_tasks, needs_attention
from structformer.sampling.draw_examples import draw, draw_samples
from structformer.sampling.request import SampleRequest
from structformer.sampling.sets import Generation, as_flags, drawn_already, others, published, set_digest
from structformer.training.data.example_order import ExampleOrder, ExampleSource
from structformer.workspace import Workspace

_NAMED = 3  # other sets that a message names
_LOOKED_AT = 16  # Examples of a task, for negatives
_WAIT_SECONDS = 600.0  # for another training that draws from the same workspace


@dataclass(frozen=True, slots=True)
class Wanted:
    """Examples that a run wants."""

    tasks: list[str]
    sampling: Mapping[str, Any]
    """Options of their set, by the names of SetOptions."""
    attention: AttentionWeights | None
    """Weights that some tasks draw words by; None if none of these tasks does."""


def current_samples(
    workspace: Workspace, corpus: Corpus, wanted: Wanted, folder: Path | None, say: Callable[[str], None]
) -> Samples:
    """Return the Examples. folder: where to draw them to; None: the workspace."""
    digest = set_digest(corpus, wanted.sampling)
    attention = wanted.attention.fingerprint if wanted.attention else None
    there = published(workspace)
    own = [each for each in there if each.digest == digest]
    earlier = drawn_already(own, wanted.tasks, attention)
    missing = [task for task in wanted.tasks if task not in earlier]
    beside = others(workspace, digest, corpus)
    by_task = {task: Samples.open(workspace, generation=each.name) for task, each in earlier.items()}
    if not missing:
        if beside:
            say(f"the Examples are those drawn with {_named(wanted)}, not those with {_listed(beside)}")
        return Samples.joined(by_task)
    tasks = missing
    if not own and not as_flags(wanted.sampling):
        tasks = list(dict.fromkeys((*default_tasks(), *missing)))
    say(_drawing(wanted, missing, own, there, beside))
    weights = wanted.attention if needs_attention(tasks) else None
    request = SampleRequest.of_set(tasks, wanted.sampling, weights)
    if folder is None:
        drawn = draw_samples(request, workspace, add=True, wait=_WAIT_SECONDS)
    else:
        folder.mkdir()
        draw(request, workspace, folder)
        drawn = Samples.at(folder)
    return Samples.joined({**by_task, **dict.fromkeys(missing if by_task else tasks, drawn)})


def _drawing(
    wanted: Wanted, missing: list[str], own: list[Generation], there: list[Generation], beside: list[str]
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
    return f"drawing Examples with {_named(wanted)}, beside those with {_listed(beside)}"


def _named(wanted: Wanted) -> str:
    return as_flags(wanted.sampling) or "the default options"


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
