"""Training: Examples to rankers."""

from typing import TYPE_CHECKING

from structformer.lazy_names import lazy_names

if TYPE_CHECKING:
    from structformer.training.data.batching import Batching, Prepared, Reading, TokenBatch, in_order
    from structformer.training.judged.development import (
        DocumentTexts,
        JudgedCandidates,
        candidate_documents,
        judged_candidates,
        relevant_documents,
    )
    from structformer.training.judged.judging import Ranks
    from structformer.training.objectives.condenser import CondenserObjective, fresh_bert
    from structformer.training.objectives.losses import (
        and_others,
        batch_documents,
        grouped,
        info_nce,
        negatives_allowed,
    )
    from structformer.training.objectives.masked import IGNORED, MaskedHead, Masker
    from structformer.training.objectives.objectives import SCALE, BiEncoderObjective, Objective, ObjectiveOptions
    from structformer.training.options import (
        BOTH,
        Listener,
        TrainingOptions,
        TrainingPlan,
        TrainingResult,
        learning_rate,
    )
    from structformer.training.recipes import read_recipe, recipe_names, training_options
    from structformer.training.report.logs import ended_with, losses_of, read_log, run_verdict
    from structformer.training.request import RunMode, Source
    from structformer.training.run.checkpoint import Checkpoints, read_optimizer, read_state, read_weights
    from structformer.training.run.memory import memory_errors
    from structformer.training.run.option_defaults import device_name, resolve
    from structformer.training.run.option_rules import DEVELOPMENT
    from structformer.training.run.process_turns import made_by_first
    from structformer.training.run.trainer import scratch_model, train_ranker

__getattr__ = lazy_names(__name__)
__all__ = [
    "BOTH", "DEVELOPMENT", "IGNORED", "SCALE", "Batching", "BiEncoderObjective", "Checkpoints", "CondenserObjective",
    "DocumentTexts", "JudgedCandidates", "Listener", "MaskedHead", "Masker", "Objective", "ObjectiveOptions",
    "Prepared", "Ranks", "Reading", "RunMode", "Source", "TokenBatch", "TrainingOptions", "TrainingPlan",
    "TrainingResult", "and_others", "batch_documents", "candidate_documents", "device_name", "ended_with", "fresh_bert",
    "grouped", "in_order", "info_nce", "judged_candidates", "learning_rate", "losses_of", "made_by_first",
    "memory_errors", "negatives_allowed", "read_log", "read_optimizer", "read_recipe", "read_state", "read_weights",
    "recipe_names", "relevant_documents", "resolve", "run_verdict", "scratch_model", "train_ranker", "training_options",
]  # fmt: skip
