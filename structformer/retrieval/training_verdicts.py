"""Outcome of training on the documents, in the words that the commands report it in."""

from dataclasses import dataclass

from structformer.errors import ModelError, WorkspaceError
from structformer.models.registry import read_record, trained_models
from structformer.retrieval.vectors.encoder_names import ENCODER
from structformer.workspace import Workspace


@dataclass(frozen=True, slots=True)
class TrainingVerdict:
    """Verdict on a training."""

    conclusion: str
    """Whether a gain was shown, and what the search makes of it."""
    figures: str
    """Figures that the conclusion rests on; "" if nothing was held out."""
    used: bool
    """Whether the search would use the trained model."""

    def __str__(self) -> str:
        return f"{self.figures} {self.conclusion}".strip()


def training_verdict(workspace: Workspace) -> TrainingVerdict | None:
    """That of the workspace's trained encoder; None where there is none, or it is not one that training judges."""
    try:
        if ENCODER not in trained_models(workspace):
            return None
        record = read_record(workspace, ENCODER)
    except (ModelError, WorkspaceError):  # it is just being replaced
        return None
    if "settings" not in record.training:
        return None
    figures = record.judged.in_words() if record.judged else ""
    return TrainingVerdict(record.verdict.removeprefix(figures).strip(), figures, record.used)
