"""Questions drawn from a corpus, and asked of it."""
