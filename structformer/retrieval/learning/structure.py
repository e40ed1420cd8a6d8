"""The static encoder of a corpus, learned from its own structure and kept as a model of the workspace."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer._version import __version__
from structformer.corpus import Corpus
from structformer.errors import ModelError, UsageError, WorkspaceError
from structformer.models.kinds import ranker_kind
from structformer.models.registry import ModelRecord, checked_model, read_record, trained_models, write_record
from structformer.retrieval.documents.units import IndexedDocuments, Units
from structformer.retrieval.learning.structure_pairs import structure_pairs, structure_sources
from structformer.retrieval.vectors.encoder_names import STRUCTURE
from structformer.retrieval.vectors.encoding import digest_path, digests_of, new_share
from structformer.retrieval.vectors.second_look import own_outlines
from structformer.sampling import needs_attention
from structformer.sampling.neighbourhood import WordWeights
from structformer.static_encoder import StaticEncoder
from structformer.static_encoder import encoder as static_encoder
from structformer.static_encoder.contrastive import LearningOptions, learn
from structformer.workspace import Workspace

_OF_OWN_OUTLINES = 0.25  # of the epochs, where all documents have outlines of their own
_MORE_EPOCHS = 2.0  # where it goes on from the vectors of an earlier corpus
_STALE = 0.2  # share of a corpus's texts that are new, from which on its encoder is learned again
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class StructureOptions:
    """How a corpus's static encoder is learned."""

    mix: Mapping[str, float] | None = None
    """Weights of the sources of pairs; None: the default ones."""
    dimensions: int = 256
    """Length of its vectors."""
    features: int = 100_000
    """At most so many words and n-grams have a vector."""
    learning: LearningOptions = field(default_factory=LearningOptions)
    alone: bool | None = None
    """Whether it searches without a pretrained encoder; None where its user decides how it is learned."""

    def __post_init__(self) -> None:
        if unknown := [name for name in self.mix or () if name not in structure_sources()]:
            raise UsageError(
                f"unknown source of pairs: {', '.join(unknown)}; known: {', '.join(sorted(structure_sources()))}"
            )
        if self.learning.seed < 0:
            raise UsageError(f"the seed {self.learning.seed}: write 0 or more")
        if self.learning.batch < 2:
            raise UsageError("a batch of one pair has nothing to learn from: write 2 or more")

    @property
    def repeatable(self) -> StructureOptions:
        """The same without sources that need a model's attention, which is not at hand when an index is made."""
        if self.mix is None:
            return self
        left = {source: weight for source, weight in self.mix.items() if not needs_attention([source])}
        return replace(self, mix=left or None)

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> StructureOptions:
        """From a model's record."""
        return cls(**{**value, "learning": LearningOptions(**value["learning"])})


@dataclass(frozen=True, slots=True)
class Learned:
    """A static encoder with what it was learned from."""

    encoder: StaticEncoder
    digests: npt.NDArray[np.uint8]
    """(units, 8) of the corpus's texts."""
    counts: dict[str, int]
    """Pairs, by source."""
    passages: int
    """Passages of the sample."""
    epochs: float
    """How often each pair was seen, on average."""
    seconds: float


class StructureLessons:
    """Examples that static encoders of the indexed texts learn from, drawn once. weights: the attention that some tasks
    draw words by. Raises ModelError, when learning, on a corpus without a text to learn from.
    """

    def __init__(
        self,
        workspace: Workspace,
        units: Units,
        documents: IndexedDocuments,
        options: StructureOptions,
        *,
        weights: WordWeights | None = None,
    ) -> None:
        self.options = options
        self._units = units
        self._begun = time.monotonic()
        seed = options.learning.seed
        self._drawn = structure_pairs(workspace, units, documents, mix=options.mix, seed=seed, weights=weights)

    @cached_property
    def _features(self) -> tuple[static_encoder.Features, static_encoder.Table]:
        features = static_encoder.chosen_features(self._drawn.passages, self._drawn.words, most=self.options.features)
        if not len(features):
            raise ModelError("the corpus has no word that two of its passages share: there is nothing to learn from")
        return features, features.table(self._drawn.words)

    @cached_property
    def _share(self) -> float:
        """Share of the epochs: long training helps manuals of one outline but, used alone, hurts other sites."""
        return 1 - (1 - _OF_OWN_OUTLINES) * own_outlines(self._units) if self.options.alone else 1.0

    def learned(
        self,
        *,
        start: StaticEncoder | None = None,
        asking: Callable[[int], bool] | None = None,
        mix: Mapping[str, float] | None = None,
        progress: Progress | None = None,
    ) -> Learned:
        """Learn an encoder, the same for the same index, options and start. start: an earlier one, learned on for a
        quarter of the epochs; else the SVD of the passages. asking: whether a document's text is asked with, by number.
        mix: weights of the drawn sources to learn from.
        """
        features, table = self._features
        drawn = self._drawn if asking is None else self._drawn.asking(asking)
        if mix is not None:
            drawn = drawn.of(mix)
        learning = self.options.learning
        if learning.epochs is None:
            learning = replace(learning, epochs=drawn.pairs.epochs(learning) * self._share)
        if start is not None and start.dimensions == self.options.dimensions:
            vectors = _carried_over(start, features.names)
            learning = replace(learning, epochs=min(_MORE_EPOCHS, drawn.pairs.epochs(learning)))
        else:
            vectors = self._singular_vectors.copy()
        steps = (lambda done, of: progress("structure", done, of)) if progress else None
        with np.errstate(over="ignore", invalid="ignore"):
            learn(vectors, table, drawn.pairs, learning, steps)
            if not np.isfinite(np.vdot(vectors, vectors)):
                rate = learning.learning_rate
                raise UsageError(f"the learning rate {rate:g} is too high: the vectors grow without end")
        return Learned(
            StaticEncoder(features, vectors),
            digests_of(unit.ranker_text for unit in self._units),
            drawn.counts,
            int(drawn.passages.shape[0]),
            drawn.pairs.epochs(learning),
            time.monotonic() - self._begun,
        )

    @cached_property
    def _singular_vectors(self) -> npt.NDArray[np.float32]:
        passages, (_, table) = self._drawn.passages, self._features
        options = self.options
        return static_encoder.starting_vectors(
            passages, table[: passages.shape[1]], options.dimensions, seed=options.learning.seed
        )


def _carried_over(start: StaticEncoder, names: list[str]) -> Any:
    """Return (features, dimensions) the vectors that an earlier encoder has of these features, zeros for others."""
    vectors = np.zeros((len(names), start.dimensions), np.float32)
    _, ours, theirs = np.intersect1d(names, start.features.names, return_indices=True)
    vectors[ours] = start.vectors[theirs]
    # As long as the vectors that an SVD gives, which the learning rate is made for.
    return vectors / (np.sqrt((vectors**2).sum(0).mean()) or 1.0)


def save_structure(
    workspace: Workspace, learned: Learned, options: StructureOptions, corpus: Corpus, name: str, *, keep: bool = False
) -> ModelRecord:
    """Save an encoder as the model of that name; returns its record. keep: move an earlier one to models/earlier."""
    with workspace.replacing_model(name, keep=keep) as folder:
        learned.encoder.save(folder)
        np.save(digest_path(folder / static_encoder.VECTORS), learned.digests)
        digest = hashlib.sha256()
        for file in (static_encoder.FEATURES, static_encoder.VECTORS):
            digest.update((folder / file).read_bytes())
        training = {
            "tool_version": __version__,
            "corpus": corpus.fingerprint,
            "options": asdict(options),
            "pairs": learned.counts,
            "passages": learned.passages,
            "features": len(learned.encoder.features),
            "epochs": round(learned.epochs, 2),
            "seconds": round(learned.seconds, 1),
        }
        record = ModelRecord(static_encoder.KIND, "", "", digest.hexdigest()[:16], training)
        write_record(folder, record)
        _write_card(folder, record, name, corpus)
    return record


def asking(document: int) -> bool:
    """Whether a document is in the half that the first of two cross-fitted static encoders learns from."""
    return document % 2 == 0


def make_structure(
    workspace: Workspace,
    units: Units,
    documents: IndexedDocuments,
    progress: Progress | None = None,
    *,
    alone: bool = False,
) -> bool:
    """Make the workspace's static encoder of texts that are being indexed if it is missing or damaged. Learn it again,
    from its vectors and with its options, if more than a fifth of the texts are new; from the start, if a pretrained
    encoder has been added or taken away. False if there is nothing to learn from.

    Raises UsageError where another kind of model has its name.
    """
    corpus = Corpus.open(workspace)
    alone = alone and own_outlines(units) > 0
    options, start, other, folder = StructureOptions(alone=alone), None, False, None
    if STRUCTURE in trained_models(workspace):
        with suppress(WorkspaceError):  # damaged: it goes to models/earlier
            folder = checked_model(workspace, STRUCTURE)
    if folder is not None:
        record = read_record(workspace, STRUCTURE)
        if ranker_kind(record.kind).pretrained:
            raise UsageError(f"{workspace.model(STRUCTURE)} is a {record.kind}: give it another name")
        options = StructureOptions.of(record.training["options"]).repeatable
        other = options.alone is not None and options.alone != alone
        if not other and new_share((unit.ranker_text for unit in units), folder / static_encoder.VECTORS) <= _STALE:
            return True
        options = replace(options, alone=alone) if other else options
        start = None if other else StaticEncoder.load(folder)
    try:
        learned = StructureLessons(workspace, units, documents, options).learned(start=start, progress=progress)
    except ModelError:
        return False
    save_structure(workspace, learned, options, corpus, STRUCTURE, keep=start is None and not other)
    return True


def structure_halves(
    workspace: Workspace, units: Units, documents: IndexedDocuments
) -> tuple[StaticEncoder, StaticEncoder] | None:
    """Return two encoders learned like the workspace's own, one from documents with even numbers, one from those with
    odd numbers, so that each can be asked what the other's documents say. None if there is nothing left to learn from.
    """
    options = StructureOptions.of(read_record(workspace, STRUCTURE).training["options"]).repeatable
    try:
        lessons = StructureLessons(workspace, units, documents, options)
        even = lessons.learned(asking=asking).encoder
        return even, lessons.learned(asking=lambda document: not asking(document)).encoder
    except ModelError:
        return None


def _write_card(folder: Path, record: ModelRecord, name: str, corpus: Corpus) -> None:
    """The model's README.md."""
    training = record.training
    options = training["options"]
    rows = "\n".join(f"| {source} | {count} |" for source, count in training["pairs"].items())
    (folder / "README.md").write_text(
        f"""---
library_name: structformer
pipeline_tag: sentence-similarity
tags:
- structformer
- {record.kind}
---
# {name}

A static encoder of {options["dimensions"]} dimensions, learned by structformer {training["tool_version"]} from the
structure of a corpus alone: no labels, no pretrained weights. A text is the sum of the vectors of its words, each the
sum of those of its n-grams of letters.

## Use

```python
from structformer.static_encoder import StaticEncoder

encoder = StaticEncoder.load("path/to/{name}")
encoder.encode_queries(["how do I ..."]) @ encoder.encode_documents(["a passage"]).T
```

## Corpus

{corpus.document_count} documents, {training["passages"]} passages learned from (fingerprint `{training["corpus"]}`).
Pairs:

| source | pairs |
|---|---|
{rows}

{training["features"]} words and n-grams; {training["epochs"]:.1f} epochs, temperature
{options["learning"]["temperature"]:g}, batches of {options["learning"]["batch"]}, learning rate
{options["learning"]["learning_rate"]:g}, seed {options["learning"]["seed"]}; {training["seconds"]:.0f} s.

The weights derive from the corpus, whose license applies.
""",
        encoding="utf-8",
    )
