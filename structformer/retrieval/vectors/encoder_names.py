"""Encoders of every workspace: the trained, the untrained, and the static one learned from the corpus alone."""

ENCODER = "bi-encoder"  # the name of the trained model
UNTRAINED = "base"
UNTRAINED_OF = "base="  # and a location: a reranker of another base than the workspace's, before any training
STRUCTURE = "structure"  # the name of the static model
DEFAULT = "(default)"  # no model's name: of a stage that names none, which compares by the default search's encoder
