"""Training on the scores of the search: the query side of its encoder, on questions that are drawn from the corpus."""

from structformer.query_side.training import LEARNING_RATE, drawn_questions, train
from structformer.query_side.training_queries import Judge

__all__ = ["LEARNING_RATE", "Judge", "drawn_questions", "train"]
