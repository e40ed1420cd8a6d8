"""The commands `export`, `push` and `pull`."""
