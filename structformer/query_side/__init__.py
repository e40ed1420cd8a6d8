"""Training on the scores of the search: the query side of its encoder, or one encoder in place of all its parts."""

from structformer.query_side.training import distil_search, train

__all__ = ["distil_search", "train"]
