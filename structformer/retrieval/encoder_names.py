"""The two encoders that every workspace may have: the one that was trained on it, and the one before any training."""

ENCODER = "bi-encoder"  # the name of the trained model
UNTRAINED = "base"
