"""Learning from a corpus without labels: its static encoder; and how pseudo-queries are scored."""
