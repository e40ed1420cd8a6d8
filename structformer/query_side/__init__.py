"""Training the query side of a bi-encoder on the score that the search uses, without encoding the corpus again."""

from structformer.query_side.training import train

__all__ = ["train"]
