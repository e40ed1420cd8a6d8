"""Objectives of a training step: losses, masked words, a teacher's scores."""
