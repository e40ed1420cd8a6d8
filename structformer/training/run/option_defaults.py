"""The choices that the options leave open, made by ranker and machine; and the ranker with its objective."""

import json
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch

from structformer.errors import ModelError
from structformer.models.first_tokens import longest_input
from structformer.models.kinds import Ranker, RankerOptions, imported, ranker_kind
from structformer.models.precision import default_precision
from structformer.training.data.batching import COMPILED_MULTIPLE, Batching
from structformer.training.objectives.masked import MaskedHead
from structformer.training.objectives.objectives import Objective, ObjectiveOptions, Teacher
from structformer.training.options import DOCUMENT_TEXT, FREE_ON_RESUME, TrainingOptions


@dataclass(frozen=True, slots=True)
class ResolvedOptions:
    """The run's choices for what the options left open."""

    mix: dict[str, float]
    loss: str
    task_loss: str
    groups: int
    learning_rate: float
    document_tokens: int
    precision: str
    train_words: bool
    name: str


def resolve(options: TrainingOptions, device: str) -> ResolvedOptions:
    """Make the choices that the options leave to the machine. device: "cpu" or "cuda"."""
    on_gpu = device == "cuda"
    kind = ranker_kind(options.ranker)
    defaults = kind.defaults(device)
    return ResolvedOptions(
        mix=options.mix or dict(kind.mix),
        loss=options.loss or kind.losses[0],
        task_loss=options.task_loss or kind.task_loss,
        groups=options.groups or defaults.groups,
        learning_rate=options.learning_rate or defaults.learning_rate,
        document_tokens=options.document_tokens or defaults.document_tokens,
        precision=options.precision or default_precision(on_gpu=on_gpu),
        train_words=on_gpu or options.base_model == "scratch" or bool(options.mlm)
        if options.train_words is None
        else options.train_words,
        name=options.name or kind.name,
    )


def identity(options: TrainingOptions, settings: ResolvedOptions, samples: str) -> dict[str, Any]:
    """Return what must be the same for a run to be resumed."""
    chosen = {name: value for name, value in asdict(options).items() if name not in FREE_ON_RESUME}
    return dict(json.loads(json.dumps({**chosen, **asdict(settings), "samples": samples})))


def _shared(kind: type, options: TrainingOptions) -> dict[str, Any]:
    """Return the options that a dataclass has by the same names."""
    return {each.name: getattr(options, each.name) for each in fields(kind) if hasattr(options, each.name)}


def load_ranker(options: TrainingOptions, location: str, settings: ResolvedOptions) -> Ranker:
    """The ranker that training starts from. Raises ModelError, also if it cannot read texts as long as asked for."""
    chosen = RankerOptions(**_shared(RankerOptions, options) | {"document_tokens": settings.document_tokens})
    ranker = ranker_kind(options.ranker).start(location, chosen)
    longest = longest_input(ranker.model)
    if longest is not None and max(settings.document_tokens, options.query_tokens) > longest:
        raise ModelError(
            f"{location} reads at most {longest} tokens: use --max-tokens {longest}, or another --base-model"
        )
    return ranker


def make_objective(
    ranker: Ranker,
    options: TrainingOptions,
    settings: ResolvedOptions,
    location: str,
    device: str,
    teacher: Teacher | None = None,
) -> Objective:
    """The ranker's objective, going on with what an earlier training left in `location`. Raises UsageError on a loss
    that the ranker does not have, ModelError on what does not fit.
    """
    kind = ranker_kind(options.ranker)
    if kind.frozen_words:
        ranker.model.get_input_embeddings().weight.requires_grad_(settings.train_words)
    resolved = {
        "loss": settings.loss,
        "document_tokens": settings.document_tokens,
        "document_masks": options.mask_side == DOCUMENT_TEXT,
        "batching": Batching(device, options.batch_tokens, COMPILED_MULTIPLE if options.compile else 1),
    }
    chosen = ObjectiveOptions(**_shared(ObjectiveOptions, options) | resolved)
    head = MaskedHead.of(ranker.model, location) if options.mlm else None
    objective: Objective = imported(kind.objective_of(settings.loss))(ranker, chosen, head=head, teacher=teacher)
    objective.take_up(location)
    return objective


def checkpoint_layers(ranker: Ranker) -> None:
    """Keep layers' inputs alone for the gradient."""
    encoder = getattr(ranker.model, "encoder", ranker.model) if hasattr(ranker.model, "projection") else ranker.model
    # transformers renames it from version 6 on.
    getattr(encoder, "activation_checkpointing_enable", encoder.gradient_checkpointing_enable)()


def device_name() -> str:
    """Return the kind of device that training runs on."""
    return "cuda" if torch.cuda.is_available() else "cpu"
