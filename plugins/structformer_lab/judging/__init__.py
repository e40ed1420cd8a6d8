"""Judgements by a language model: pool, grades, and how far they agree with people's."""
