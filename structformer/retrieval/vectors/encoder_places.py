"""The encoders of a workspace by their names: where their parts are, which of them search, and loading them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structformer.errors import ModelError, WorkspaceError
from structformer.extras import TORCH, are_installed, require
from structformer.models.base import BaseModel, chosen_base, chosen_query_model, resolve_base_model
from structformer.models.kinds import RankerKind, imported, ranker_kind
from structformer.models.onnx_encoder import torch_is_quicker, why_not
from structformer.models.registry import PASSAGE_ENCODER, model_folder, read_record, trained_models
from structformer.models.sentence_modules import modules_mark
from structformer.retrieval.vectors.encoder_names import ENCODER, UNTRAINED
from structformer.workspace import Workspace

if TYPE_CHECKING:
    from structformer.models.bi_encoder import BiEncoder


def default_encoders(workspace: Workspace) -> list[str]:
    """The trained bi-encoder unless held-out questions show a loss, else the base if at hand, else the trained one."""
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
class TrainingVerdict:
    """Verdict on a training."""

    conclusion: str
    """Whether a gain was shown, and what the search makes of it."""
    figures: str
    """Figures that the conclusion rests on; "" if nothing was held out."""
    used: bool
    """Whether the search would use the trained model."""

    def __str__(self) -> str:
        return f"{self.figures} {self.conclusion}".strip()


def training_verdict(workspace: Workspace) -> TrainingVerdict | None:
    """That of the workspace's trained encoder; None where there is none, or it is not one that training judges."""
    try:
        if ENCODER not in trained_models(workspace):
            return None
        record = read_record(workspace, ENCODER)
    except (ModelError, WorkspaceError):  # it is just being replaced
        return None
    if "settings" not in record.training:
        return None
    figures = record.judged.in_words() if record.judged else ""
    return TrainingVerdict(record.verdict.removeprefix(figures).strip(), figures, record.used)


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
            if folders := sorted((workspace.cache / "onnx").glob("base-*")):
                return EncoderPlace(UNTRAINED, str(folders[0]), str(folders[0]), folders[0].name, True)
            raise
    record = read_record(workspace, encoder)
    folder = model_folder(workspace, encoder)
    if record.query_side:
        passages = str(folder / PASSAGE_ENCODER)
        own = record.base, record.base_revision
        began = (record.documents, record.documents_revision) if record.documents else own
        asked = _asked_by(*own, str(folder)) if record.documents else ""
        return EncoderPlace(encoder, str(folder), passages, _base_vectors(*began, passages) + asked, True, *began)
    return EncoderPlace(encoder, str(folder), str(folder), record.fingerprint, False, record.base, record.base_revision)


def base_place(base: BaseModel, queries: BaseModel | None = None) -> EncoderPlace:
    """Return where an untrained encoder's parts are. queries: the query model beside it."""
    vectors = _base_vectors(base.name, base.revision, base.location)
    if queries is not None:  # what is kept beside the vectors, and an export, are the query model's too
        vectors += _asked_by(queries.name, queries.revision, queries.location)
    asking = (queries or base).location
    return EncoderPlace(UNTRAINED, asking, base.location, vectors, True, base.name, base.revision)


def _asked_by(queries: str, revision: str, location: str) -> str:
    """Return the end of a vectors' name that tells the query model."""
    return "--asked-by-" + _base_vectors(queries, revision, location).removeprefix("base-")


def _base_vectors(base: str, revision: str, location: str) -> str:
    """Return the name of an untrained encoder's vectors, which differs by commit and prompt."""
    parts = ("base-" + re.sub(r"[/\\]", "--", base), revision[:12], modules_mark(location))
    return "--".join(filter(None, parts))


def encoder_kind(workspace: Workspace, name: str) -> RankerKind:
    """Return the kind of an encoder by its name. Raises ModelError on an unknown one."""
    return ranker_kind("bi-encoder" if name == UNTRAINED else read_record(workspace, name).kind)


def load_encoder(
    workspace: Workspace, name: str, location: str, what: str, *, passages: str = "", texts: int = 0
) -> Any:
    """An encoder of texts: by onnxruntime if possible, unless torch is sooner. what: its use, for a message. passages:
    its encoder of documents, if another. texts: how many it will read. Raises ModelError, MissingPackage.
    """
    kind = encoder_kind(workspace, name)
    why = ""
    if kind.exported and not torch_is_quicker(texts):
        why = why_not(location) or (why_not(passages) if passages else "")
        if not why:
            return imported(kind.onnx)(location, passages=passages)
    needed = [package for package in kind.runtimes if are_installed(package)]
    if not needed or kind.needs_torch:
        require(f"{what} {name}{why and f' ({why})'}", *(TORCH if kind.needs_torch else kind.runtimes[:1]))
    encoder: Any = kind.load(location)
    if passages:
        encoder.passages = kind.load(passages)
    return encoder


def load_untrained(place: EncoderPlace) -> BiEncoder:
    """Return an untrained encoder by torch, with its encoder of passages if that is another one."""
    from structformer.models.bi_encoder import BiEncoder

    encoder = BiEncoder.load(place.queries)
    if place.queries != place.passages:
        encoder.passages = BiEncoder.load(place.passages)
    return encoder


def load_passage_encoder(workspace: Workspace, place: EncoderPlace, texts: int) -> Any:
    """Return the encoder that makes the passages' vectors. texts: how many. Raises ModelError, MissingPackage."""
    what = "making vectors by the encoder"
    if place.name == UNTRAINED and place.queries != place.passages:
        return load_encoder(workspace, place.name, place.queries, what, passages=place.passages, texts=texts)
    return load_encoder(workspace, place.name, place.passages, what, texts=texts)


def runs_here(workspace: Workspace, name: str) -> bool:
    """Whether an encoder can make vectors with what is installed. Raises ModelError on an unknown one."""
    kind = encoder_kind(workspace, name)
    if are_installed(*TORCH) or not kind.needs_torch:
        return True
    return kind.exported and why_not(encoder_place(workspace, name).passages) == ""
