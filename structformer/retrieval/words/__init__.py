"""Scoring by words."""
