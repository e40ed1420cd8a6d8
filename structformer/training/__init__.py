"""Training: Examples to rankers."""

from __future__ import annotations

from structformer.training.candidates import candidate_documents
from structformer.training.checkpoint import Checkpoints, read_optimizer, read_state, read_weights
from structformer.training.finetuning import DOCUMENTS, PASSAGES, UNASKED, finetuning_options, judged_source
from structformer.training.judged_development import relevant_documents
from structformer.training.masked import IGNORED, MaskedHead, Masker
from structformer.training.objectives import Objective, ObjectiveOptions
from structformer.training.option_rules import DEVELOPMENT
from structformer.training.options import Listener, TrainingOptions, TrainingPlan, TrainingResult, TrainingStep
from structformer.training.out_of_memory import memory_errors
from structformer.training.recipes import read_recipe, recipe_names, training_options
from structformer.training.request import RunMode, Source
from structformer.training.schedule import learning_rate
from structformer.training.trainer import scratch_model, train_ranker
from structformer.training.unfinished import unfinished_options

__all__ = [
    "DEVELOPMENT",
    "DOCUMENTS",
    "IGNORED",
    "PASSAGES",
    "UNASKED",
    "Checkpoints",
    "Listener",
    "MaskedHead",
    "Masker",
    "Objective",
    "ObjectiveOptions",
    "RunMode",
    "Source",
    "TrainingOptions",
    "TrainingPlan",
    "TrainingResult",
    "TrainingStep",
    "candidate_documents",
    "finetuning_options",
    "judged_source",
    "learning_rate",
    "memory_errors",
    "read_optimizer",
    "read_recipe",
    "read_state",
    "read_weights",
    "recipe_names",
    "relevant_documents",
    "scratch_model",
    "train_ranker",
    "training_options",
    "unfinished_options",
]
