"""Saving a trained ranker as a model of the workspace, with its record, its log and its card."""

import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import torch
from safetensors.torch import save_file

from structformer._version import __version__
from structformer.corpus import Corpus
from structformer.errors import ModelError, WorkspaceError
from structformer.models.base import BaseModel
from structformer.models.kinds import Ranker
from structformer.models.registry import ModelRecord, write_record
from structformer.models.scratch import weights_digest
from structformer.training.options import BOTH, TrainingOptions, TrainingResult
from structformer.training.report.card import write_card
from structformer.training.run.checkpoint import Checkpoints
from structformer.training.run.memory import peak_memory
from structformer.training.run.option_defaults import ResolvedOptions
from structformer.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Trained:
    """A trained ranker, and what its record says of how it came to be."""

    ranker: Ranker
    base: BaseModel
    options: TrainingOptions
    settings: ResolvedOptions
    learned_from: str
    """Fingerprint of the corpus that its Examples are of."""
    result: TrainingResult
    documents: BaseModel | None = None
    """Encodes passages; None: the base does."""
    beside: Mapping[str, Mapping[str, torch.Tensor]] = field(default_factory=dict)
    """Tensors that another training continues from, by the name of their file."""


def save_model(
    workspace: Workspace, trained: Trained, corpus: Corpus, checkpoints: Checkpoints, *, force: bool
) -> None:
    """Save the model and drop the run's checkpoints. force: replace a model of the same name instead of keeping it.
    Raises ModelError where it cannot be written; the checkpoints are kept then.
    """
    ranker, base = trained.ranker, trained.base
    try:
        with workspace.replacing_model(trained.settings.name, keep=not force) as temporary:
            ranker.model.to("cpu")
            ranker.save(temporary)
            for name, tensors in trained.beside.items():
                save_file({each: value.cpu().contiguous() for each, value in tensors.items()}, temporary / name)
            if (log := checkpoints.folder / "training.jsonl").exists():
                shutil.copy(log, temporary / "training.jsonl")
            digest = weights_digest(str(temporary))
            documents = trained.documents or BaseModel("", "")
            record = ModelRecord(
                ranker.kind,
                base.name,
                base.location,
                digest,
                _training(trained),
                base.revision,
                documents.name,
                documents.revision,
            )
            write_record(temporary, record)
            read_from = Workspace(trained.options.train_from) if trained.options.train_from else workspace
            write_card(temporary, record, corpus, read_from.title)
    except WorkspaceError as error:
        steps = checkpoints.steps()
        again = f"; step {steps[-1]} is kept: `structformer train --resume` saves it then" if steps else ""
        raise ModelError(f"the model could not be saved: {error}{again}") from error
    checkpoints.clear()


def _training(trained: Trained) -> dict[str, Any]:
    """Return what the record says of the training."""
    options, result = trained.options, trained.result
    return {
        "tool_version": __version__,
        "corpus": trained.learned_from,
        "side": options.side or BOTH,
        "options": {**asdict(options), "report_to": list(options.report_to)},
        "settings": asdict(trained.settings),
        "plan": asdict(result.plan),
        "steps": result.steps,
        "best_step": result.best_step,
        "seconds": round(result.seconds, 1),
        "peak_memory": peak_memory(),
        "processes": result.plan.processes,
        "development": {f"{share:g}": score for share, score in result.development.items()},
        "kept": result.kept,
        "judged": None if result.judged is None else asdict(result.judged),
    }
