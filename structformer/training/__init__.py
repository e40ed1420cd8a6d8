"""Training: Examples to rankers."""

from structformer.training.options import Listener, TrainingOptions, TrainingPlan, TrainingResult, TrainingStep
from structformer.training.recipes import read_recipe, recipe_names, training_options
from structformer.training.request import RunMode, Source
from structformer.training.trainer import train_ranker
from structformer.training.unfinished import unfinished_options

__all__ = [
    "Listener",
    "RunMode",
    "Source",
    "TrainingOptions",
    "TrainingPlan",
    "TrainingResult",
    "TrainingStep",
    "read_recipe",
    "recipe_names",
    "train_ranker",
    "training_options",
    "unfinished_options",
]
