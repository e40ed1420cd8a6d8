"""Training: Examples to rankers."""

from structformer.training.options import Listener, TrainingOptions, TrainingPlan, TrainingResult, TrainingStep
from structformer.training.trainer import train

__all__ = ["Listener", "TrainingOptions", "TrainingPlan", "TrainingResult", "TrainingStep", "train"]
