"""Examples to batches: the order they come in, their texts, the loader."""
