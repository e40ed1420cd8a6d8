"""Evaluation: judgements, runs, measures, significance, reports."""
