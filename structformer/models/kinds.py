"""Kinds of rankers: all that other code asks of one. Classes are named as "module:Class", so this loads no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from structformer.did_you_mean import did_you_mean
from structformer.errors import UsageError
from structformer.extras import needed_for
from structformer.lazy_names import named_object
from structformer.models.losses import LOSSES, Loss, Takes
from structformer.plugins import load_plugins
from structformer.workspace import checked_name

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

GROUP_LOSSES = ("softmax", "hinge", "softmax-hinge", "margin-mse", "kl")
_CONDENSER = "structformer.training.objectives.condenser:CondenserObjective"


class Ranker(Protocol):
    """Protocol of every ranker, whatever its kind."""

    model: Any
    """A torch module with a `config`."""
    tokenizer: Any
    """A tokenizer of transformers."""

    @property
    def kind(self) -> str:
        """The name of its RankerKind."""

    def save(self, folder: Any) -> None:
        """Write weights (safetensors), tokenizer and whatever loads it again."""

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return (pairs,) float32: the score of queries[i] and documents[i]."""

    def score_all(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """(queries, documents) float32: every query with every document; asked only of those that encode them apart."""


@dataclass(frozen=True, slots=True)
class RankerOptions:
    """Options of a ranker that training starts from. Each kind uses its own."""

    document_tokens: int
    similarity: str = "cosine"
    mean_max_sim: bool = False
    dimensions: int = 128
    sep_last: bool = False
    pooling: str | None = None


@dataclass(frozen=True, slots=True)
class Defaults:
    """Choices that training makes for a kind on a device."""

    groups: int
    """Examples at once."""
    learning_rate: float
    document_tokens: int
    """Documents are cut to this many tokens."""


@dataclass(frozen=True, slots=True)
class Card:
    """How a model card shows a kind's use."""

    loader: str
    """The class that loads it."""
    call: str
    tag: str
    """The hub's pipeline tag."""
    library: str = "sentence-transformers"
    module: str = "sentence_transformers"


@dataclass(frozen=True, slots=True)
class RankerKind:
    """A kind of ranker, by the name that `--ranker` and model records have."""

    name: str
    model: str
    """`module:Class` of a Ranker, with `load(location)` for a saved model and `start(location, kind, RankerOptions)`
    for a new training."""
    objective: str
    """`module:Class` of the Objective that trains it; "" with a trainer."""
    losses: tuple[str, ...]
    """Names of those that it knows, the default first."""
    mix: Mapping[str, float]
    """Weights of the tasks that it learns from."""
    cpu: Defaults
    gpu: Defaults
    card: Card
    task_loss: str = "mean"
    """ "sum" adds up the tasks' mean losses, "mean" averages over Examples."""
    joint: bool = False
    """Reads query and document together, so it reorders what other stages found."""
    first_stage: str = ""
    """The search stage that finds with it; "" for none."""
    sentence_encoder: bool = False
    """Starts best from a sentence encoder."""
    masked_words: bool = False
    """Can be trained on masked words too."""
    interpolates: bool = False
    """Weights between the base's and its own are worth trying."""
    frozen_words: bool = False
    """Word vectors may stay the base's."""
    pretrained: bool = True
    """Knows words from elsewhere than the corpus: its vectors weigh as such, and pages get descriptions."""
    gives_tokens: bool = False
    """Its encoder has `encode_documents_with_tokens` and `encode_queries_with_tokens`, for a second look."""
    languages: tuple[str, ...] = ()
    """Codes of the languages that it reads; (): what its base does."""
    runs_on: tuple[str, ...] = ()
    """Any one of these packages runs its class: "torch", "onnxruntime", "numpy". (): torch, or numpy with a trainer."""
    onnx: str = ""
    """`module:Class` that runs a saved model by onnxruntime, without torch: called with its folder or hub name, and an
    exported file that is run in the place of its weights, or None. Raises OtherForm on what it cannot run."""
    in_batch_negatives: bool = False
    word_vectors: bool = False
    """Can start from a file of word vectors too."""
    trainer: str = ""
    """`module:function` that trains it without torch or an objective: called with a workspace, a name, the options of
    StructureOptions, and `force`."""
    finetuning_rate: float | None = 2e-5
    """Peak learning rate on judged queries, by default a Transformer's; None: the rate of its training."""
    objectives: Mapping[str, str] = field(default_factory=dict)
    """By loss, for losses that have their own."""
    own_losses: tuple[Loss, ...] = ()
    """Those of `losses` that it declares itself."""
    options: tuple[str, ...] | None = None
    """Names of the training options that mean something to it and not to every ranker, beside those of its losses;
    None: its objective may use any."""

    def __post_init__(self) -> None:
        checked_name(self.name, "the ranker's name")
        if not self.losses:
            raise ValueError(f"the ranker {self.name} names no loss")
        for place in (self.model, self.trainer or self.objective):
            if ":" not in place:
                raise ValueError(f"{place!r}: write module:Class")

    @property
    def runtimes(self) -> tuple[str, ...]:
        """The packages of which any one runs its class."""
        return self.runs_on or (("numpy",) if self.trainer else ("torch",))

    @property
    def needs_torch(self) -> bool:
        """Whether its class, which `load` gives, needs torch."""
        return self.runtimes == ("torch",)

    @property
    def exported(self) -> bool:
        """Whether an ONNX file can replace the model."""
        return bool(self.onnx)

    def defaults(self, device: str) -> Defaults:
        """Return the choices for a device, "cpu" or "cuda"."""
        return self.gpu if device == "cuda" else self.cpu

    def loss(self, name: str | None = None) -> Loss:
        """Return the loss of that name, None for the default; one that nobody declared is its objective's own. Raises
        UsageError if the kind does not know it.
        """
        name = name or self.losses[0]
        if name not in self.losses:
            raise UsageError(f"a {self.name} has no loss {name!r}; {did_you_mean(name, self.losses)}")
        declared = {**LOSSES, **{loss.name: loss for loss in self.own_losses}}
        return declared.get(name) or Loss(name, Takes.TEXTS)

    def takes_option(self, option: str, loss: str | None = None) -> bool:
        """Whether a training option means something to it with a loss, None for the default."""
        return self.options is None or option in (*self.options, *self.loss(loss).options)

    def objective_of(self, loss: str) -> str:
        """Return the place of the class that minimises a loss."""
        return self.objectives.get(loss, self.objective)

    def load(self, location: str) -> Ranker:
        """Return a saved model of this kind. Raises ModelError."""
        ranker: Ranker = imported(self.model).load(location)
        return ranker

    def start(self, location: str, options: RankerOptions) -> Ranker:
        """Load what training starts from: a base model, or a saved model of this kind. Raises ModelError."""
        ranker: Ranker = imported(self.model).start(location, self.name, options)
        return ranker


def imported(place: str) -> Any:
    """Return the object that "module:name" names."""
    with needed_for(f"a {place.partition(':')[2]}"):
        return named_object(place)


# Sentences teach what a section and a document are about, paths where a section stands; the paper's four tasks weigh
# the same in its loss.
_DOCS_MIX = {"ict": 3.0, "ovs": 1.5, "srr": 1.0, "rwi": 0.25, "ati": 0.25}
# On a CPU, many more short passages than long ones are seen in the same minutes.
_BUILT_IN = (
    RankerKind(
        "bi-encoder",
        model="structformer.models.bi_encoder:BiEncoder",
        objective="structformer.training.objectives.objectives:BiEncoderObjective",
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
        options=("query_tokens", "pooling", "train_words", "group_size"),
        gives_tokens=True,
        onnx="structformer.models.onnx_encoder:OnnxEncoder",
        in_batch_negatives=True,
    ),
    RankerKind(
        "cross-encoder",
        model="structformer.models.cross_encoder:CrossEncoder",
        objective="structformer.training.objectives.objectives:CrossEncoderObjective",
        losses=(*GROUP_LOSSES, "pointwise"),
        mix={"srr": 1.0, "rwi": 1.0, "ati": 1.0, "ltm": 1.0},
        cpu=Defaults(4, 3e-5, 192),
        gpu=Defaults(32, 1e-5, 512),
        card=Card("CrossEncoder", 'model.predict([("how do I ...", "a passage")])', "text-ranking"),
        task_loss="sum",
        joint=True,
        masked_words=True,
        options=("pair_query_tokens", "mask_side", "group_size"),
        onnx="structformer.models.onnx_encoder:OnnxCrossEncoder",
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
        pretrained=False,
        runs_on=("numpy",),
        trainer="structformer.retrieval.indexing:train_structure",
    ),
)


def ranker_kinds() -> dict[str, RankerKind]:
    """Return all kinds of rankers by name: the built-in ones and those of plugins."""
    kinds = {kind.name: kind for kind in _BUILT_IN}
    supplied = load_plugins().supplied("structformer_rankers", "ranker", RankerKind, kinds)
    return {**kinds, **{name: kind for name, (kind, _) in supplied.items()}}


def ranker_kind(name: str) -> RankerKind:
    """Return a kind of ranker by its name. Raises UsageError naming those there are."""
    built_in = next((kind for kind in _BUILT_IN if kind.name == name), None)
    supplied = built_in or ranker_kinds().get(name)
    if supplied is None:
        raise UsageError(f"no ranker {name!r}; {did_you_mean(name, ranker_kinds())}")
    return supplied
