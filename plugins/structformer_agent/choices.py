"""The ways to choose section titles; the command line lists them without importing the agent."""

from __future__ import annotations

CHOICES = ("first", "embedding", "texts", "classifier", "titles")
