"""Kinds of rankers: everything that the rest of the code asks of one, in one place. Importing this loads no torch.

A kind's classes are named as "module:Class" and imported when they are first needed.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from structformer.did_you_mean import did_you_mean
from structformer.errors import UsageError
from structformer.extras import needed_for
from structformer.plugins import load_plugins
from structformer.workspace import checked_name

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

DISTILLING = ("margin-mse", "kl")
GROUP_LOSSES = ("softmax", "hinge", "softmax-hinge", *DISTILLING)
_CONDENSER = "structformer.training.condenser:CondenserObjective"


class Ranker(Protocol):
    """What every ranker offers, whatever its kind. model: a torch module with a `config`; tokenizer: of
    transformers.
    """

    model: Any
    tokenizer: Any

    @property
    def kind(self) -> str:
        """The name of its RankerKind."""
        ...

    def save(self, folder: Any) -> None:
        """Write weights (safetensors), tokenizer and whatever loads it again."""
        ...

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """(pairs,) float32: the score of queries[i] and documents[i]."""
        ...

    def score_all(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """(queries, documents) float32: every query with every document; asked only of those that encode them apart."""
        ...


@dataclass(frozen=True, slots=True)
class RankerOptions:
    """What a ranker that training starts from is made with; each kind takes what concerns it."""

    document_tokens: int
    similarity: str = "cosine"
    mean_max_sim: bool = False
    dimensions: int = 128
    sep_last: bool = False
    pooling: str | None = None


@dataclass(frozen=True, slots=True)
class Defaults:
    """Choices that training makes for a kind on a device. groups: Examples at once; document_tokens: documents are cut
    to these.
    """

    groups: int
    learning_rate: float
    document_tokens: int


@dataclass(frozen=True, slots=True)
class Card:
    """How a model card shows a kind's use: the class that loads it, of which library, an example call, and the hub's
    pipeline tag.
    """

    loader: str
    call: str
    tag: str
    library: str = "sentence-transformers"
    module: str = "sentence_transformers"


@dataclass(frozen=True, slots=True)
class RankerKind:
    """A kind of ranker, by the name that `--ranker` and model records have.

    model: the class, with `load(location)` for a saved model, `start(location, kind, RankerOptions)` for what training
    begins with, and the Ranker protocol. objective: the class of structformer.training.objectives.Objective that trains
    it; objectives: those of losses that have one of their own. losses: those it knows, the default one first. mix:
    weights of tasks. task_loss: "sum" of the tasks' mean losses, or "mean" over Examples. joint: reads query and
    document together, so it reorders what others found.
    first_stage: the search stage that finds with it, "" for none. token_vectors: keeps a vector of each token, searched
    in an index of them. sentence_encoder: starts best from a sentence encoder. masked_words: can be trained on masked
    words too. interpolates: half-way to the base is worth trying. frozen_words: word vectors may stay the base's.
    exported: an ONNX file can replace the model. word_vectors: starts from a file of them too. trainer: what trains it,
    "module:function" of a workspace, a name, the options of StructureOptions and `force`, where neither training's loop
    nor an objective does; it needs no torch then. finetuning_rate: peak learning rate on judged queries, a
    Transformer's; None for that of its training."""

    name: str
    model: str
    objective: str  # "" with a trainer
    losses: tuple[str, ...]
    mix: Mapping[str, float]
    cpu: Defaults
    gpu: Defaults
    card: Card
    task_loss: str = "mean"
    joint: bool = False
    first_stage: str = ""
    token_vectors: bool = False
    sentence_encoder: bool = False
    masked_words: bool = False
    interpolates: bool = False
    frozen_words: bool = False
    exported: bool = False
    in_batch_negatives: bool = False
    word_vectors: bool = False
    trainer: str = ""
    finetuning_rate: float | None = 2e-5
    objectives: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked_name(self.name, "the ranker's name")
        if not self.losses:
            raise ValueError(f"the ranker {self.name} names no loss")
        for place in (self.model, self.trainer or self.objective):
            if ":" not in place:
                raise ValueError(f"{place!r}: write module:Class")

    @property
    def needs_torch(self) -> bool:
        """Whether nothing of it works without torch."""
        return not self.trainer

    def defaults(self, device: str) -> Defaults:
        """The choices for a device, "cpu" or "cuda"."""
        return self.gpu if device == "cuda" else self.cpu

    def objective_of(self, loss: str) -> str:
        """The place of the class that minimises a loss."""
        return self.objectives.get(loss, self.objective)

    def load(self, location: str, *, model: Any = None) -> Ranker:
        """A saved model of this kind. model: of an `exported` kind, used in the place of the saved one. Raises
        ModelError.
        """
        given = {} if model is None else {"model": model}
        ranker: Ranker = imported(self.model).load(location, **given)
        return ranker

    def start(self, location: str, options: RankerOptions) -> Ranker:
        """What training starts from: a base model, or a saved model of this kind. Raises ModelError."""
        ranker: Ranker = imported(self.model).start(location, self.name, options)
        return ranker


def imported(place: str) -> Any:
    """The object that "module:name" names."""
    module, _, name = place.partition(":")
    with needed_for(f"a {name}"):
        return getattr(importlib.import_module(module), name)


# Sentences teach what a section and a document are about, paths where a section stands; the paper's four tasks weigh
# the same in its loss.
_DOCS_MIX = {"ict": 3.0, "ovs": 1.5, "srr": 1.0, "rwi": 0.25, "ati": 0.25}
# On a CPU, many more short passages than long ones are seen in the same minutes.
_BUILT_IN = (
    RankerKind(
        "bi-encoder",
        model="structformer.models.bi_encoder:BiEncoder",
        objective="structformer.training.objectives:BiEncoderObjective",
        losses=("infonce", *GROUP_LOSSES, "condenser", "cocondenser"),
        objectives={"condenser": _CONDENSER, "cocondenser": _CONDENSER},
        mix=_DOCS_MIX,
        cpu=Defaults(32, 5e-5, 160),
        gpu=Defaults(256, 5e-5, 256),
        card=Card("SentenceTransformer", 'model.encode_query(["how do I ..."])', "sentence-similarity"),
        first_stage="dense",
        sentence_encoder=True,
        masked_words=True,
        interpolates=True,
        frozen_words=True,
        exported=True,
        in_batch_negatives=True,
    ),
    RankerKind(
        "cross-encoder",
        model="structformer.models.cross_encoder:CrossEncoder",
        objective="structformer.training.objectives:CrossEncoderObjective",
        losses=(*GROUP_LOSSES, "pointwise"),
        mix={"srr": 1.0, "rwi": 1.0, "ati": 1.0, "ltm": 1.0},
        cpu=Defaults(4, 3e-5, 192),
        gpu=Defaults(32, 1e-5, 512),
        card=Card("CrossEncoder", 'model.predict([("how do I ...", "a passage")])', "text-ranking"),
        task_loss="sum",
        joint=True,
        masked_words=True,
        exported=True,
    ),
    RankerKind(
        "late-interaction",
        model="structformer.models.late_interaction:LateInteraction",
        objective="structformer.training.objectives:LateInteractionObjective",
        losses=("infonce", *GROUP_LOSSES, "negative-query", "mse"),
        mix={"ict": 3.0, "srr": 1.0, "ati": 0.25},
        cpu=Defaults(16, 5e-5, 160),
        gpu=Defaults(128, 2e-5, 256),
        card=Card("MultiVectorEncoder", 'model.encode_query(["how do I ..."])', "sentence-similarity"),
        first_stage="late",
        token_vectors=True,
        in_batch_negatives=True,
    ),
    RankerKind(
        "static-encoder",
        model="structformer.static_encoder.encoder:StaticEncoder",
        objective="",
        losses=("infonce",),
        mix={"passage": 1.0, "opening": 1.0, "link": 1.0, "sentence": 1.0},
        cpu=Defaults(512, 1e-3, 160),
        gpu=Defaults(512, 1e-3, 160),
        card=Card(
            "StaticEncoder",
            'model.encode_queries(["how do I ..."])',
            "sentence-similarity",
            "structformer",
            "structformer.static_encoder",
        ),
        first_stage="dense",
        in_batch_negatives=True,
        trainer="structformer.retrieval.structure_training:train_structure",
    ),
)

RANKERS = tuple(kind.name for kind in _BUILT_IN)  # without those of plugins, ours or others'


def ranker_kinds() -> dict[str, RankerKind]:
    """All kinds of rankers by name: the built-in ones and those of plugins."""
    found = {kind.name: kind for kind in _BUILT_IN}
    supplied = load_plugins().supplied("structformer_rankers", "ranker", RankerKind, found)
    return {**found, **{name: kind for name, (kind, _) in supplied.items()}}


def ranker_kind(name: str) -> RankerKind:
    """A kind of ranker by its name. Raises UsageError naming those there are."""
    built_in = next((kind for kind in _BUILT_IN if kind.name == name), None)
    found = built_in or ranker_kinds().get(name)
    if found is None:
        raise UsageError(f"no ranker {name!r}; {did_you_mean(name, ranker_kinds())}")
    return found
