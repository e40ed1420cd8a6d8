"""A run: what its options come to, the loop, memory, checkpoints, saving."""
