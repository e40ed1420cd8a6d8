"""The ways to choose section titles; the command line lists them without importing the agent."""

CHOICES = ("first", "embedding", "texts", "classifier", "titles")
