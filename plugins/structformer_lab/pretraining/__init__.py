"""Pre-training on many structured corpora: a list of them, pairs by their structure, a low-rank adapter."""
