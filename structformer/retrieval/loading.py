"""Loading what a search needs of models: encoders of queries, and rankers that score pairs."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from structformer.errors import ModelError, WorkspaceError
from structformer.extras import TORCH, are_installed, require
from structformer.models import registry
from structformer.models.base import resolve_base_model
from structformer.models.first_tokens import MAX_TOKENS
from structformer.models.kinds import RankerKind, RankerOptions, imported, ranker_kind
from structformer.models.onnx_encoder import OnnxEncoder, export_in, exported, torch_is_quicker, why_not
from structformer.models.precision import fast_bf16
from structformer.models.sentence_modules import OtherForm
from structformer.retrieval.index import Index
from structformer.retrieval.vectors.encoder_names import STRUCTURE, UNTRAINED, UNTRAINED_OF
from structformer.retrieval.vectors.encoder_places import encoder_kind, encoder_place, load_encoder
from structformer.workspace import Workspace

_ON_HUB = re.compile(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", re.ASCII)
_PAIRS = 10_000  # that rerankers read in a session: torch is loaded for them where it is quicker


class Scorer(Protocol):
    """A ranker as rerank uses it."""

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return (pairs,) float32 scores."""


class QueryEncoder(Protocol):
    """A bi-encoder as the search uses it."""

    def encode_queries(self, queries: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return (queries, dimensions) float32, unit length."""


def load_query_encoder(workspace: Workspace, name: str) -> QueryEncoder:
    """Load what encodes queries: an export, else the model by onnxruntime, else by torch. Raises ModelError."""
    kind, place = encoder_kind(workspace, name), encoder_place(workspace, name)
    if kind.exported:
        folder = query_encoder_folder(workspace, name)
        if name == UNTRAINED:  # others were compared
            registry.compare_model(workspace, folder, f"delete {folder}, or `structformer export base --onnx` again")
        if (path := exported(folder)) is not None:
            return OnnxEncoder(str(folder), path)
        if not are_installed(*TORCH) and export_in(folder) is not None:
            require(f"the exported encoder {name}", "onnxruntime")
    without = f"hybrid:{STRUCTURE}" if STRUCTURE in registry.trained_models(workspace) else "lexical"
    encoder: QueryEncoder = load_encoder(
        workspace, name, place.queries, f"(--pipeline {without} searches without it) the encoder"
    )
    return encoder


def query_encoder_folder(workspace: Workspace, name: str) -> Path:
    """The folder whose export encodes queries: the model's, or of an untrained one, which is not ours, in the cache."""
    place = encoder_place(workspace, name)
    return workspace.cache / "onnx" / place.vectors if name == UNTRAINED else Path(place.queries)


def searches_without_torch(workspace: Workspace, name: str) -> bool:
    """Whether the index has an encoder's vectors, and queries are encoded by an export, or need none."""
    try:
        if not Index(workspace).has_vectors(name):
            return False
    except WorkspaceError:
        return False
    kind = encoder_kind(workspace, name)
    if not kind.needs_torch or (kind.exported and exported(query_encoder_folder(workspace, name)) is not None):
        return True
    return kind.exported and why_not(encoder_place(workspace, name).queries) == ""


def model_fingerprint(workspace: Workspace, name: str) -> str:
    """Return the digest of a trained model's weights; "" of an untrained one's, which don't change."""
    return "" if name == UNTRAINED else registry.read_record(workspace, name).fingerprint


def untrained_scorer(location: str = "") -> Scorer:
    """Return a cross-encoder of a base model, "" for the default one, before any training: with its files' head, as a
    published reranker's, else with a random one, the same each time. Raises ModelError.
    """
    kind = ranker_kind("cross-encoder")
    if location and (scorer := _by_onnxruntime(kind, location)) is not None:
        return scorer
    require(f"reranking{f' by {location}' if location else ''}", *TORCH)
    import torch

    location = location or resolve_base_model("auto", kind.name).location
    if (ranker := _with_own_head(location)) is not None:
        return ranker
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return kind.start(location, RankerOptions(MAX_TOKENS))


def has_ranking_head(location: str) -> bool:
    """Whether a base model's scores before any training are not those of a random head."""
    return _with_own_head(location) is not None


def _with_own_head(location: str) -> Scorer | None:
    try:
        return ranker_kind("cross-encoder").load(location)
    except ModelError:
        return None


def _by_onnxruntime(kind: RankerKind, location: str) -> Scorer | None:
    """Return a scorer without torch; None where torch can and onnxruntime cannot, or where torch is quicker."""
    if not kind.exported or not are_installed("onnxruntime"):
        return None
    path = exported(Path(location))
    if path is None and kind.joint and torch_is_quicker(_PAIRS):
        return None
    try:
        scorer: Scorer = imported(kind.onnx)(location, path)
    except OtherForm:
        return None
    return scorer


def load_scorer(workspace: Workspace, name: str) -> Scorer:
    """Return a ranker of any kind: of the workspace, a folder, a name on a hub, or `untrained_scorer` for "base" and
    "base=LOCATION". Raises ModelError if unknown.
    """
    if name == UNTRAINED or name.startswith(UNTRAINED_OF):
        return untrained_scorer(name.removeprefix(UNTRAINED).removeprefix("="))
    if not registry.model_folder(workspace, name).exists() and _ON_HUB.fullmatch(name):
        return untrained_scorer(resolve_base_model(name, "cross-encoder").location)
    kind, location = ranker_kind(registry.model_kind(workspace, name)), str(registry.checked_model(workspace, name))
    if (scorer := _by_onnxruntime(kind, location)) is not None:
        return scorer
    if kind.needs_torch:
        require(f"the ranker {name}", *TORCH)
    ranker = kind.load(location)
    if kind.exported and kind.joint and fast_bf16():
        import torch

        ranker.model.to(torch.bfloat16)  # three times as fast as float32; scores move less than with 8-bit weights
    return ranker
