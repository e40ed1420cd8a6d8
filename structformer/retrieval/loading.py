"""Loading what a search needs of models: encoders of queries, and rankers that score pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from structformer.errors import ModelError
from structformer.extras import TORCH, are_installed, require
from structformer.models.kinds import RankerOptions, ranker_kind
from structformer.models.onnx_encoder import OnnxQueryEncoder, export_in, exported
from structformer.models.registry import checked_model, compare_model, model_kind, read_record, trained_models
from structformer.retrieval.index import has_vectors
from structformer.retrieval.vectors.encoder_names import STRUCTURE, UNTRAINED
from structformer.retrieval.vectors.encoder_places import encoder_kind, encoder_place
from structformer.workspace import Workspace


class Scorer(Protocol):
    """A ranker as rerank uses it."""

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """(pairs,) float32 scores."""
        ...


class QueryEncoder(Protocol):
    """A bi-encoder as the search uses it."""

    def encode_queries(self, queries: Sequence[str]) -> npt.NDArray[np.float32]:
        """(queries, dimensions) float32, unit length."""
        ...


def load_query_encoder(workspace: Workspace, name: str) -> QueryEncoder:
    """What encodes queries: the exported model where there is one, which needs no torch and starts sooner, else the
    torch model. Raises ModelError.
    """
    kind = encoder_kind(workspace, name)
    if not kind.needs_torch:
        encoder: QueryEncoder = kind.load(encoder_place(workspace, name).queries)  # type: ignore[assignment]
        return encoder
    folder = query_encoder_folder(workspace, name)
    if name == UNTRAINED:  # others were compared
        compare_model(workspace, folder, f"delete {folder}, or `structformer export base --onnx` again")
    if (path := exported(folder)) is not None:
        return OnnxQueryEncoder(folder, path)
    if not are_installed(*TORCH) and export_in(folder) is not None:
        require(f"the exported encoder {name}", "onnxruntime")
    without = f"hybrid:{STRUCTURE}" if STRUCTURE in trained_models(workspace) else "lexical"
    require(
        f"the encoder {name}, which is not exported (structformer export {name} --onnx, where torch is installed; "
        f"--pipeline {without} searches without it),",
        *TORCH,
    )
    from structformer.models.bi_encoder import BiEncoder

    return BiEncoder.load(encoder_place(workspace, name).queries)


def query_encoder_folder(workspace: Workspace, name: str) -> Path:
    """The folder whose export encodes queries: the model's; for an untrained encoder, whose own files are not ours to
    add to, one in the workspace's cache.
    """
    place = encoder_place(workspace, name)
    return workspace.cache / "onnx" / place.vectors if name == UNTRAINED else Path(place.queries)


def searches_without_torch(workspace: Workspace, name: str) -> bool:
    """Whether the index has an encoder's vectors, and queries are encoded by an export, or need none."""
    if not has_vectors(workspace, [name]):
        return False
    needless = not encoder_kind(workspace, name).needs_torch
    return needless or exported(query_encoder_folder(workspace, name)) is not None


def model_fingerprint(workspace: Workspace, name: str) -> str:
    """The digest of a trained model's weights; "" of an untrained one's, which don't change."""
    return "" if name == UNTRAINED else read_record(workspace, name).fingerprint


def untrained_scorer(location: str = "") -> Scorer:
    """A cross-encoder of a base model, "" for the default one, before any training: with the head that its files have,
    as BERT's for the next sentence, else with a random one, the same each time. Raises ModelError.
    """
    require("reranking", *TORCH)
    import torch

    from structformer.models.base import resolve_base_model
    from structformer.models.cross_encoder import MAX_TOKENS

    location = location or resolve_base_model("auto", "cross-encoder").location
    if (ranker := _with_own_head(location)) is not None:
        return ranker
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return ranker_kind("cross-encoder").start(location, RankerOptions(MAX_TOKENS))


def has_ranking_head(location: str) -> bool:
    """Whether a base model's scores before any training are not those of a random head."""
    return _with_own_head(location) is not None


def _with_own_head(location: str) -> Scorer | None:
    try:
        return ranker_kind("cross-encoder").load(location)
    except ModelError:
        return None


def load_scorer(workspace: Workspace, name: str) -> Scorer:
    """A ranker of any kind that scores query-document pairs. Raises ModelError on an unknown model."""
    kind, location = ranker_kind(model_kind(workspace, name)), str(checked_model(workspace, name))
    if kind.needs_torch:
        require(f"the ranker {name}", *TORCH)
    if not kind.exported:
        return kind.load(location)
    from structformer.models.onnx import load_for_search

    return load_for_search(kind, location)
