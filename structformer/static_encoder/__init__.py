"""A static encoder, learned from a corpus's own structure alone: sums of vectors of words, and of words' n-grams.

Nothing here loads torch or a pretrained model."""

from structformer.static_encoder.encoder import StaticEncoder

__all__ = ["StaticEncoder"]
