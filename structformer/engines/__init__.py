"""Execution of the same steps on one machine or many."""
