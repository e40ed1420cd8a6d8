"""Evaluation: judgements, runs, measures, significance, reports."""

from __future__ import annotations

from structformer.evaluation.comparison import Evaluation, evaluate, held_out_judgements
from structformer.evaluation.judgements import Judgements, read_judgements
from structformer.evaluation.measures import Measure

__all__ = ["Evaluation", "Judgements", "Measure", "evaluate", "held_out_judgements", "read_judgements"]
