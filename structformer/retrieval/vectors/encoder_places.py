"""The encoders of a workspace by their names: where their parts are, which of them search, and loading them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structformer.errors import ModelError
from structformer.extras import TORCH, require
from structformer.models.base import BaseModel, resolve_base_model
from structformer.models.chosen_base import chosen_base, chosen_query_model
from structformer.models.kinds import RankerKind, ranker_kind
from structformer.models.registry import PASSAGE_ENCODER, model_folder, read_record, trained_models
from structformer.models.sentence_modules import modules_mark
from structformer.retrieval.vectors.encoder_names import ENCODER, UNTRAINED
from structformer.workspace import Workspace

if TYPE_CHECKING:
    from structformer.models.bi_encoder import BiEncoder


def default_encoders(workspace: Workspace) -> list[str]:
    """The trained bi-encoder if held-out questions show no loss, else the untrained base if one is at hand, else the
    trained one all the same, if there is one.
    """
    if trained_encoder(workspace):
        return [ENCODER]
    try:
        encoder_place(workspace, UNTRAINED)
    except ModelError:
        return [ENCODER] if ENCODER in trained_models(workspace) else []
    return [UNTRAINED]


def trained_encoder(workspace: Workspace, name: str = ENCODER) -> bool:
    """Whether the search uses a trained model of that name by itself: held-out questions show no loss."""
    return name in trained_models(workspace) and read_record(workspace, name).used


@dataclass(frozen=True, slots=True)
class EncoderPlace:
    """Where an encoder's parts are."""

    name: str
    """ "base", or the trained model's name."""
    queries: str
    """Folder or hub name of the encoder of queries."""
    passages: str
    """The same of passages: another one only where the query side alone was trained, or a query model was chosen."""
    vectors: str
    """Name of the files of the passages' vectors."""
    untrained: bool
    """Whether the base encodes passages."""
    base: str = ""
    """Name of the encoder of passages, or of the one that its training began with."""
    revision: str = ""
    """Commit of a base that comes from a hub, else ""."""


def encoder_place(workspace: Workspace, encoder: str) -> EncoderPlace:
    """Where an encoder's parts are. "base" is the one that was chosen for the workspace, else the base of the trained
    bi-encoder, else the default. Raises ModelError on an unknown name.
    """
    if encoder == UNTRAINED:
        if (base := chosen_base(workspace)) is not None:
            return base_place(base, chosen_query_model(workspace))
        if ENCODER in trained_models(workspace):
            record = read_record(workspace, ENCODER)
            if record.base_location:
                return base_place(BaseModel(record.base, record.base_location, revision=record.base_revision))
        try:
            return base_place(resolve_base_model("auto", "bi-encoder"))
        except ModelError:
            # Where a search is served without the base at hand, what it was exported to stands for it.
            if found := sorted((workspace.cache / "onnx").glob("base-*")):
                return EncoderPlace(UNTRAINED, str(found[0]), str(found[0]), found[0].name, True)
            raise
    record = read_record(workspace, encoder)
    folder = model_folder(workspace, encoder)
    if record.query_side:
        passages = str(folder / PASSAGE_ENCODER)
        own = record.base, record.base_revision
        if record.documents:
            asked = _asked_by(*own, str(folder))
            vectors = _base_vectors(record.documents, record.documents_revision, passages) + asked
        else:
            vectors = _base_vectors(*own, passages)
        began = (record.documents, record.documents_revision) if record.documents else own
        return EncoderPlace(encoder, str(folder), passages, vectors, True, *began)
    its = str(folder)
    return EncoderPlace(encoder, its, its, record.fingerprint, False, record.base, record.base_revision)


def base_place(base: BaseModel, queries: BaseModel | None = None) -> EncoderPlace:
    """Where an untrained encoder's parts are. queries: the query model beside it."""
    vectors = _base_vectors(base.name, base.revision, base.location)
    if queries is None:
        return EncoderPlace(UNTRAINED, base.location, base.location, vectors, True, base.name, base.revision)
    # What is kept beside the vectors, and an export, are the query model's too.
    vectors += _asked_by(queries.name, queries.revision, queries.location)
    return EncoderPlace(UNTRAINED, queries.location, base.location, vectors, True, base.name, base.revision)


def _asked_by(queries: str, revision: str, location: str) -> str:
    """The end of a vectors' name that tells the query model."""
    return "--asked-by-" + _base_vectors(queries, revision, location).removeprefix("base-")


def _base_vectors(base: str, revision: str, location: str) -> str:
    """The name of an untrained encoder's vectors, which differs by commit and prompt."""
    parts = ("base-" + re.sub(r"[/\\]", "--", base), revision[:12], modules_mark(location))
    return "--".join(filter(None, parts))


def encoder_kind(workspace: Workspace, name: str) -> RankerKind:
    """The kind of an encoder by its name. Raises ModelError on an unknown one."""
    return ranker_kind("bi-encoder" if name == UNTRAINED else read_record(workspace, name).kind)


def load_encoder(workspace: Workspace, name: str, location: str, what: str) -> Any:
    """An encoder of texts. what: its use, for the message that torch is missing. Raises ModelError, MissingPackage."""
    kind = encoder_kind(workspace, name)
    if kind.needs_torch:
        require(f"{what} {name}", *TORCH)
    return kind.load(location)


def load_untrained(place: EncoderPlace) -> BiEncoder:
    """An untrained encoder, with its encoder of passages if that is another one."""
    from structformer.models.bi_encoder import BiEncoder

    encoder = BiEncoder.load(place.queries)
    if place.queries != place.passages:
        encoder.passages = BiEncoder.load(place.passages)
    return encoder


def load_passage_encoder(workspace: Workspace, place: EncoderPlace) -> Any:
    """The encoder that makes the passages' vectors. Raises ModelError, MissingPackage."""
    what = "making vectors by the encoder"
    if place.name == UNTRAINED and place.queries != place.passages:
        require(f"{what} {place.name}", *TORCH)
        return load_untrained(place)
    return load_encoder(workspace, place.name, place.passages, what)
