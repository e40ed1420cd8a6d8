"""A static encoder, learned from a corpus alone: sums of vectors of words and n-grams. No torch is loaded."""

from structformer.static_encoder.encoder import LONGEST, OF_UNSPACED, SATURATION, StaticEncoder, signed, unit, words_of

__all__ = ["LONGEST", "OF_UNSPACED", "SATURATION", "StaticEncoder", "signed", "unit", "words_of"]
