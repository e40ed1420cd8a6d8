"""The rules that plugins keep, as checks: `structformer plugins check`, or pytest; and the package of a new plugin."""

from __future__ import annotations

from structformer.checks.formats import RULES, Broken, Sample, check_format

__all__ = ["RULES", "Broken", "Sample", "check_format"]
