"""The choices that the options leave open, made by ranker and machine; and the ranker with its objective."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

import torch

from structformer.errors import ModelError
from structformer.models.bi_encoder import BiEncoder
from structformer.models.cross_encoder import MAX_TOKENS, CrossEncoder
from structformer.models.kernel import KINDS as KERNELS
from structformer.models.kernel import KernelRanker
from structformer.models.late_interaction import LateInteraction, LateInteractionOptions
from structformer.models.precision import fast_bf16
from structformer.training.inputs import COMPILED_MULTIPLE, Batching
from structformer.training.masked import MaskedHead
from structformer.training.objectives import (
    BiEncoderObjective,
    CrossEncoderObjective,
    LateInteractionObjective,
    Objective,
    Ranker,
    Teacher,
)
from structformer.training.options import DEFAULT_LOSSES, DEFAULT_MIXES, FREE_ON_RESUME, TrainingOptions

# On a CPU, on a GPU.
_GROUPS = {"bi-encoder": (32, 256), "cross-encoder": (4, 32), "late-interaction": (16, 128), **dict.fromkeys(KERNELS, (16, 64))}
_LEARNING_RATES = {
    "bi-encoder": (5e-5, 5e-5),
    "cross-encoder": (3e-5, 1e-5),
    "late-interaction": (5e-5, 2e-5),
    **dict.fromkeys(KERNELS, (1e-3, 1e-3)),
}
# A CPU sees many more short passages than long ones in the same minutes.
_DOCUMENT_TOKENS = {
    "bi-encoder": (160, 256),
    "cross-encoder": (192, MAX_TOKENS),
    "late-interaction": (160, 256),
    **dict.fromkeys(KERNELS, (192, 256)),
}


@dataclass(frozen=True, slots=True)
class Settings:
    """The choices that the options left open, made."""

    mix: dict[str, float]
    loss: str
    task_loss: str
    groups: int
    learning_rate: float
    document_tokens: int
    precision: str
    train_words: bool
    name: str


def settle(options: TrainingOptions, device: str) -> Settings:
    """Make the choices that the options leave to the machine. device: "cpu" or "cuda"."""
    on_gpu = device == "cuda"
    ranker = options.ranker
    return Settings(
        mix=options.mix or DEFAULT_MIXES[ranker],
        loss=options.loss or DEFAULT_LOSSES[ranker],
        task_loss=options.task_loss or ("sum" if ranker == "cross-encoder" else "mean"),
        groups=options.groups or _GROUPS[ranker][on_gpu],
        learning_rate=options.learning_rate or _LEARNING_RATES[ranker][on_gpu],
        document_tokens=options.document_tokens or _DOCUMENT_TOKENS[ranker][on_gpu],
        precision=options.precision or ("bf16" if on_gpu or fast_bf16() else "no"),
        train_words=on_gpu or options.base_model == "scratch" or bool(options.mlm) if options.train_words is None else options.train_words,
        name=options.name or ranker,
    )


def identity(options: TrainingOptions, settings: Settings, samples: str) -> dict[str, Any]:
    """What must be the same for a run to be resumed."""
    chosen = {name: value for name, value in asdict(options).items() if name not in FREE_ON_RESUME}
    found: dict[str, Any] = json.loads(json.dumps({**chosen, **asdict(settings), "samples": samples}))
    return found


def load_ranker(options: TrainingOptions, location: str, settings: Settings) -> Ranker:
    """The ranker that training starts from. Raises ModelError, also when the model cannot read texts as long as asked for."""
    ranker = _load(options, location, settings)
    longest = int(getattr(ranker.model.config, "max_position_embeddings", settings.document_tokens))
    if max(settings.document_tokens, options.query_tokens) > longest:
        raise ModelError(f"{location} reads at most {longest} tokens: use --max-tokens {longest}, or another --base-model")
    return ranker


def _load(options: TrainingOptions, location: str, settings: Settings) -> Ranker:
    if options.ranker == "bi-encoder":
        return BiEncoder.load(location)
    if options.ranker in KERNELS:
        return KernelRanker.load(location, settings.document_tokens, options.ranker)
    if options.ranker == "cross-encoder":
        return CrossEncoder.load(location, settings.document_tokens)
    chosen = LateInteractionOptions(similarity=options.similarity, mean=options.mean_max_sim, dimensions=options.dimensions)
    return LateInteraction.load(location, chosen)


def make_objective(
    ranker: Ranker, options: TrainingOptions, settings: Settings, location: str, device: str, teacher: Teacher | None = None
) -> Objective:
    """The ranker's objective. Raises UsageError on a loss that it doesn't have."""
    batching = Batching(device, options.batch_tokens, COMPILED_MULTIPLE if options.compile else 1)
    head = MaskedHead.of(ranker.model, location) if options.mlm else None
    common: dict[str, Any] = {
        "group_size": options.group_size, "margin": options.margin, "head": head, "teacher": teacher, "batching": batching,
    }  # fmt: skip
    if isinstance(ranker, CrossEncoder):
        return CrossEncoderObjective(ranker, settings.loss, **common)
    documents = {"document_tokens": settings.document_tokens, "hard_negatives": options.hard_negatives}
    if isinstance(ranker, BiEncoder):
        ranker.model.get_input_embeddings().weight.requires_grad_(settings.train_words)
        return BiEncoderObjective(ranker, settings.loss, query_tokens=options.query_tokens, **documents, **common)
    return LateInteractionObjective(ranker, settings.loss, **documents, **common)


def prepare_model(ranker: Ranker, options: TrainingOptions) -> None:
    """Gradient checkpointing and compiling, where asked for."""
    if options.gradient_checkpointing:
        encoder = ranker.model.encoder if isinstance(ranker, LateInteraction) else ranker.model
        # transformers renames it from version 6 on.
        getattr(encoder, "activation_checkpointing_enable", encoder.gradient_checkpointing_enable)()
    if options.compile:
        ranker.model.compile(dynamic=True)


def device_name() -> str:
    """The kind of device that training runs on."""
    return "cuda" if torch.cuda.is_available() else "cpu"
