"""Rankers: models that score query-document pairs, where they start from, how they are saved and loaded."""
