"""Rankers: models that score query-document pairs, where they start from, how they are saved and loaded."""

from __future__ import annotations

from structformer.models.kinds import Card, Defaults, Ranker, RankerKind, RankerOptions, ranker_kind, ranker_kinds
from structformer.models.registry import ModelRecord, read_record, trained_models

__all__ = [
    "Card",
    "Defaults",
    "ModelRecord",
    "Ranker",
    "RankerKind",
    "RankerOptions",
    "ranker_kind",
    "ranker_kinds",
    "read_record",
    "trained_models",
]
