"""Site generators: one file and one object each."""
