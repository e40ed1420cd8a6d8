"""The Examples a run learns from: its sampling options' set, unnamed ones default, drawn first if missing."""

from collections.abc import Callable, Collection, Mapping
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
