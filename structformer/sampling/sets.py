"""Sets of Examples side by side in a workspace, each known by the digest of what decides it: the corpus, the sampling
options, the seed, what is held out. What was drawn before so never decides what is trained on.

Tasks that are drawn at once are a generation; a set has several where tasks were drawn later. Sets of an earlier
corpus go when new Examples are published, and of this corpus's the oldest beyond MOST_SETS.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.errors import UsageError, WorkspaceError
from structformer.sampling.example import SamplingOptions, SetOptions
from structformer.sampling.held_out import held_out_share
from structformer.sampling.neighbourhood import WordWeights
from structformer.sampling.tasks import needs_attention
from structformer.workspace import Workspace

MOST_SETS = 8
_PART = "samples"


@dataclass(frozen=True, slots=True)
class Generation:
    """Examples that were drawn at once."""

    name: str
    """The generation in the workspace."""
    manifest: Mapping[str, Any]
    digest: str
    """Digest of its set."""

    def has(self, task: str, attention: str | None) -> bool:
        """Whether a task was drawn, with these weights if it needs any."""
        by_attention = needs_attention([task])
        return task in self.manifest["tasks"] and (not by_attention or self.manifest.get("attention") == attention)


def set_digest(corpus: Corpus, chosen: Mapping[str, Any]) -> str:
    """The digest of the corpus's set of Examples of these options, others by default. chosen: names and values of
    SetOptions.
    """
    options = SetOptions(**chosen)
    share = held_out_share(corpus.document_count) if options.held_out is None else options.held_out
    decided = {"corpus": corpus.fingerprint, **asdict(options), "held_out": share}
    if options.stop_words:
        decided["stop_words"] = _content(Path(options.stop_words))
    return hashlib.sha256(json.dumps(decided, sort_keys=True).encode()).hexdigest()[:16]


def _content(path: Path) -> str:
    """Return the digest of a file, as another list of the same name is another set; its path if unreadable."""
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return str(path)


def published(workspace: Workspace) -> list[Generation]:
    """The workspace's generations of Examples, the oldest first. Raises WorkspaceError when a manifest has changed."""
    return [_generation(workspace, folder.name) for folder in workspace.beside(_PART)]


def _generation(workspace: Workspace, name: str) -> Generation:
    sealed, _ = workspace.sealed(_PART, name)
    manifest = sealed.json("manifest.json")
    return Generation(name, manifest, manifest["set"])


def chosen_set(workspace: Workspace, chosen: Mapping[str, Any] | None = None) -> list[str]:
    """The generations of the set that the chosen options ask for. Without chosen options: of the only set, else of the
    set with the default options, else of the one that was drawn last. Raises WorkspaceError if the set was not drawn.
    """
    there = published(workspace)
    if chosen:
        digest = set_digest(Corpus.open(workspace), chosen)
        if not (names := [each.name for each in there if each.digest == digest]):
            raise WorkspaceError(f"no Examples drawn with {as_flags(chosen) or 'the default options'} in {workspace}")
        return names
    if len({each.digest for each in there}) <= 1:
        return [each.name for each in there]
    default = set_digest(Corpus.open(workspace), {})
    wanted = default if any(each.digest == default for each in there) else there[-1].digest
    return [each.name for each in there if each.digest == wanted]


def others(workspace: Workspace, digest: str, corpus: Corpus) -> list[str]:
    """Return what the other sets of a corpus were drawn with."""
    there = {each.digest: each for each in published(workspace) if each.manifest["corpus"] == corpus.fingerprint}
    return [drawn_with(each.manifest, corpus) for each in there.values() if each.digest != digest]


def other_flags(workspace: str | Path | Workspace, manifest: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return what Examples of a manifest were drawn with, and the other sets of the workspace's corpus."""
    workspace = Workspace(workspace)
    corpus = Corpus.open(workspace)
    return drawn_with(manifest, corpus), others(workspace, manifest["set"], corpus)


def drawn_with(manifest: Mapping[str, Any], corpus: Corpus) -> str:
    """Return the options of Examples that are not the defaults, as flags of `train`; "" for none."""
    share = held_out_share(corpus.document_count)
    drawn = {**manifest["options"], "seed": manifest["seed"], "epoch": manifest["epoch"]}
    drawn["held_out"] = None if manifest["held_out"] == share else manifest["held_out"]
    return as_flags(drawn)


def as_flags(chosen: Mapping[str, Any]) -> str:
    """Sampling options that are not the defaults, as flags of `train`; "" if all are."""
    defaults = {field.name: field.default for field in fields(SetOptions)}
    return " ".join(
        f"--set sample.{name}={_written(name, value)}"
        for name, value in chosen.items()
        if name in defaults and value != defaults[name]
    )


def _written(name: str, value: Any) -> str:
    if value is None:
        return "all" if name == "negatives" else "none"
    return json.dumps(value) if isinstance(value, bool) else str(value)


def staying(workspace: Workspace, corpus: Corpus, digest: str, added: Sequence[str] | None) -> list[str]:
    """The generations that stay beside a new one of a set: of other sets of this corpus, and of its own set those with
    tasks that are not drawn again. added: the tasks that are drawn; None: the set keeps no others.
    """
    there: list[Generation] = []
    for folder in workspace.beside(_PART):
        try:
            generation = _generation(workspace, folder.name)
        except WorkspaceError:  # it has changed since it was written, and so is no longer used
            continue
        if generation.manifest["corpus"] == corpus.fingerprint:
            there.append(generation)
    latest = list(dict.fromkeys(each.digest for each in reversed(there) if each.digest != digest))[: MOST_SETS - 1]
    return [
        each.name
        for each in there
        if each.digest in latest
        or (each.digest == digest and added is not None and not set(each.manifest["tasks"]) <= set(added))
    ]


def drawn_already(
    generations: Iterable[Generation], tasks: Iterable[str], attention: str | None
) -> dict[str, Generation]:
    """Return the generation of each task that was drawn, the newest where there are several."""
    newest = list(generations)[::-1]
    drawn = ((task, next((each for each in newest if each.has(task, attention)), None)) for task in tasks)
    return {task: generation for task, generation in drawn if generation is not None}


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
