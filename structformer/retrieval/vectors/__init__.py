"""Encoders, and the vectors that they make."""
