"""Saving a trained ranker as a model of the workspace, with its record, its log and its card."""

import shutil
from collections.abc import Mapping
from dataclasses import asdict

import torch
from safetensors.torch import save_file

from structformer._version import __version__
from structformer.errors import ModelError, WorkspaceError
from structformer.models.base import BaseModel
from structformer.models.kinds import Ranker
from structformer.models.registry import ModelRecord, write_record
from structformer.models.scratch import weights_digest
from structformer.training.options import BOTH, TrainingOptions, TrainingResult
from structformer.training.report.card import write_card
from structformer.training.run.loop import Ground
from structformer.training.run.memory import peak_memory
from structformer.workspace import Workspace


def save_model(
    workspace: Workspace,
    ground: Ground,
    ranker: Ranker,
    base: BaseModel,
    options: TrainingOptions,
    result: TrainingResult,
    *,
    learned_from: str,
    documents: BaseModel | None,
    beside: Mapping[str, Mapping[str, torch.Tensor]],
    force: bool,
) -> None:
    """Save the model and drop the run's checkpoints. Raises ModelError where it cannot be written; the checkpoints are
    kept then.

    learned_from: fingerprint of the corpus that its Examples are of. documents: encodes passages; None: the base does.
    beside: tensors that another training continues from, by the name of their file. force: replace a model of the same
    name instead of keeping it.
    """
    checkpoints, settings = ground.checkpoints, ground.settings
    try:
        with workspace.replacing_model(settings.name, keep=not force) as temporary:
            ranker.model.to("cpu")
            ranker.save(temporary)
            for name, tensors in beside.items():
                save_file({each: value.cpu().contiguous() for each, value in tensors.items()}, temporary / name)
            if (log := checkpoints.folder / "training.jsonl").exists():
                shutil.copy(log, temporary / "training.jsonl")
            training = {
                "tool_version": __version__,
                "corpus": learned_from,
                "side": options.side or BOTH,
                "options": {**asdict(options), "report_to": list(options.report_to)},
                "settings": asdict(settings),
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
            passages = documents or BaseModel("", "")
            record = ModelRecord(
                ranker.kind,
                base.name,
                base.location,
                weights_digest(str(temporary)),
                training,
                base.revision,
                passages.name,
                passages.revision,
            )
            write_record(temporary, record)
            read_from = Workspace(options.train_from) if options.train_from else workspace
            write_card(temporary, record, ground.corpus, read_from.title)
    except WorkspaceError as error:
        steps = checkpoints.steps()
        again = f"; step {steps[-1]} is kept: `structformer train --resume` saves it then" if steps else ""
        raise ModelError(f"the model could not be saved: {error}{again}") from error
    checkpoints.clear()
