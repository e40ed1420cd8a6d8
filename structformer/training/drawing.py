"""The Examples that a run learns from: those of the workspace, drawn first when there are none of this corpus, of a
task or with the options that are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.models.attention import AttentionWeights
from structformer.sampling import DEFAULT_TASKS, Samples, SamplingOptions, needs_attention, sample
from structformer.sampling.draw_examples import draw
from structformer.sampling.request import SampleRequest
from structformer.training.example_order import ExampleSource
from structformer.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Wanted:
    """Examples that a run wants. sampling: options that they must be drawn with; seed: to draw them with when there are
    none; attention: weights that some tasks need, None where none of these does.
    """

    tasks: list[str]
    sampling: dict[str, Any]
    seed: int
    attention: AttentionWeights | None


def current_samples(
    workspace: Workspace, corpus: Corpus, wanted: Wanted, folder: Path | None, say: Callable[[str], None]
) -> Samples:
    """The Examples. folder: where to draw them to in the place of the workspace, None for the workspace itself."""
    if not workspace.has("samples"):
        say("no Examples yet: drawing them (structformer sample)")
        tasks = list(dict.fromkeys((*DEFAULT_TASKS, *wanted.tasks)))
        return _draw(workspace, tasks, SamplingOptions(**wanted.sampling), wanted, folder)
    samples = Samples.open(workspace)
    manifest = samples.manifest
    drawn = list(manifest["tasks"])
    undrawn = [task for task in wanted.tasks if task not in drawn]
    other = {name: value for name, value in wanted.sampling.items() if manifest["options"].get(name) != value}
    same_attention = wanted.attention is None or manifest.get("attention") == wanted.attention.fingerprint
    if manifest["corpus"] == corpus.fingerprint and not undrawn and not other and same_attention:
        return samples
    if undrawn:
        say(f"drawing Examples of {', '.join(undrawn)} too")
    elif other:
        say(f"drawing the Examples again, with {', '.join(f'{name} {value}' for name, value in other.items())}")
    else:
        say("the Examples are of an earlier corpus or another model: drawing them again")
    if wanted.attention is None:
        drawn = [task for task in drawn if not needs_attention([task])]
    chosen = SamplingOptions(**{**manifest["options"], **wanted.sampling})
    return _draw(workspace, [*drawn, *undrawn], chosen, wanted, folder, manifest)


def _draw(
    workspace: Workspace,
    tasks: list[str],
    options: SamplingOptions,
    wanted: Wanted,
    folder: Path | None,
    earlier: dict[str, Any] | None = None,
) -> Samples:
    """Draw Examples. earlier: the manifest of those that they replace, whose seed and held-out documents stay."""
    seed, held_out = (earlier["seed"], earlier["held_out"]) if earlier else (wanted.seed, None)
    if folder is None:
        return sample(workspace, tasks, options=options, seed=seed, held_out=held_out, weights=wanted.attention)
    folder.mkdir()
    request = SampleRequest(tuple(tasks), options, seed, held_out=held_out, weights=wanted.attention)
    draw(request, workspace, folder)
    return Samples.at(folder)


def nothing_to_learn(mix: Collection[str], samples: ExampleSource, workspace: Workspace) -> str:
    """What to say where there are no Examples of any task of the mix."""
    dropped = samples.manifest["census"]["dropped"]
    reasons = "; ".join(f"{task}: {', '.join(dropped[task])}" for task in mix if dropped.get(task))
    return (
        f"no Examples of {', '.join(mix)} in {workspace}{f' ({reasons})' if reasons else ''}: the "
        "corpus has no structure to learn from. "
        "`structformer sample --min-words 5` lets shorter sections take part; `--task-mix ict` "
        "asks with sentences and needs no headings"
    )
