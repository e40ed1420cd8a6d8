"""Judged queries: learned from, and judging a training by them or by held-out structure."""
