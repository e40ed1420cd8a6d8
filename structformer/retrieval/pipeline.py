"""Pipelines as values: a first stage, its encoder and a reranker, written `hybrid:bi-encoder >> rerank:cross-encoder@50`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from structformer.errors import UsageError

FIRST_STAGES = ("lexical", "dense", "hybrid")
UNTRAINED = "base"  # the encoder name that means: the untrained base model
_SPEC = re.compile(
    r"(?P<stage>\w+)(?::(?P<encoder>[\w./-]+))?(?:@(?P<k>\d+))?(?:\s*>>\s*rerank(?::(?P<reranker>[\w./-]+))?(?:@(?P<depth>\d+))?)?"
)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """first_stage: lexical, dense or hybrid (reciprocal rank fusion of both). encoder: a bi-encoder's name among the
    workspace's models, or "base" for the untrained one. k: units that the first stage gives. reranker: a ranker's name,
    "" for none; it orders the first `depth` units anew."""

    first_stage: str = "hybrid"
    encoder: str = "bi-encoder"
    k: int = 200
    reranker: str = ""
    depth: int = 50

    def __str__(self) -> str:
        first = self.first_stage if self.first_stage == "lexical" else f"{self.first_stage}:{self.encoder}"
        return first + (f" >> rerank:{self.reranker}@{self.depth}" if self.reranker else "")


def parse_pipeline(text: str) -> Pipeline:
    """A pipeline from its written form. Raises UsageError with the form."""
    found = _SPEC.fullmatch(text.strip())
    if found is None or found["stage"] not in FIRST_STAGES:
        raise UsageError(f"no pipeline {text!r}; write FIRST[:ENCODER][@K] [>> rerank[:MODEL][@K]], FIRST one of {', '.join(FIRST_STAGES)}")
    default = Pipeline()
    return Pipeline(
        first_stage=found["stage"],
        encoder=found["encoder"] or default.encoder,
        k=int(found["k"] or default.k),
        reranker=(found["reranker"] or "cross-encoder") if ">>" in text else "",
        depth=int(found["depth"] or default.depth),
    )
