"""A workspace's trained models: where they are, what they were made from, and how held-out questions judge them."""

import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from structformer.did_you_mean import nearest
from structformer.errors import ModelError
from structformer.models.kinds import ranker_kind
from structformer.storage.files import read_json, write_json
from structformer.storage.seal import SEAL, Sealed
from structformer.workspace import Workspace
from structformer.workspace.workspace import MODEL_RECORD

RECORD = MODEL_RECORD
PASSAGE_ENCODER = "passages"  # folder of what encodes passages, where queries' side alone was trained
_DIGEST = re.compile(r"[0-9a-f]{1,64}")
_SENTENCE_MODULES = "modules.json"
_SETTINGS = ("config.json", "adapter_config.json")
_NOT_LOADED = frozenset({"README.md", "training.jsonl", "command.json", "experiment.json"})
_TOLERATED = 0.01  # what queries' side may lose on held-out questions and be used


@dataclass(frozen=True, slots=True)
class Judged:
    """Trained weights against what the search has without them, on the same held-out questions."""

    by: str
    """The questions it is judged by, in words."""
    against: str
    """The weights or search it is compared with, in words."""
    questions: int
    untrained: float
    """Mean of `measure`; so is `trained`."""
    trained: float
    low: float
    """Lower end of the gain's 95 % interval."""
    high: float
    first_untrained: float
    """Share of questions whose document is found first (Success@1)."""
    first_trained: float
    first_low: float
    """Lower end of its gain's 95 % interval."""
    first_high: float
    measure: str = field(default="nDCG@10", kw_only=True)
    taught: tuple[int, float, float] | None = field(default=None, kw_only=True)
    """Held-out questions of documents that other questions taught: how many, `measure` untrained and trained."""
    site: bool = field(default=False, kw_only=True)
    """Whether pages have outlines of their own, as a site's: a trained query side is used on a shown gain alone."""

    @property
    def gain(self) -> float:
        """Of the measure."""
        return self.trained - self.untrained

    @property
    def is_gain(self) -> bool:
        """Whether trained weights did better on average, and no worse at rank 1; maybe by chance (see `is_shown`)."""
        return self.gain > 0 and self.first_high >= 0

    @property
    def is_shown(self) -> bool:
        """Whether a gain is more than chance explains: the lower end of its interval is above 0."""
        return self.is_gain and self.low > 0

    @property
    def is_loss(self) -> bool:
        """Whether the trained weights did worse by 0.01 or more, or by more than chance explains; or by 0.01 or more on
        questions of documents that they were taught."""
        _, untrained, trained = self.taught or (0, 0.0, 0.0)
        gain = min(self.gain, trained - untrained)
        return gain <= -_TOLERATED or self.high < 0 or self.first_high < 0

    def in_words(self) -> str:
        """Return the figures, in a sentence or two."""
        taught = ""
        if self.taught:
            count, untrained, trained = self.taught
            taught = f" On {count} others, of documents it learned from, {trained:.3f} ({trained - untrained:+.3f})."
        return (
            f"On {self.questions} {self.by} {self.measure} is {self.trained:.3f}, where {self.against} has "
            f"{self.untrained:.3f} ({self.gain:+.3f}, 95 % interval {self.low:+.3f} to {self.high:+.3f}); the right "
            f"document comes first for {self.first_trained:.0%}, where it did for {self.first_untrained:.0%}.{taught}"
        )


def is_used(judged: Judged | None, *, query_side: bool) -> bool:
    """Whether the search takes a trained model without being asked to. query_side: of queries' side alone, which is
    left out of manuals only where held-out questions saw a loss: they could not tell small gains from small losses, and
    training gained more often (docs/why-it-works.md). On sites it lost more often. Others are to be better.
    """
    if judged is None:
        return True
    if query_side:
        return judged.is_shown if judged.site else not judged.is_loss
    return judged.is_gain


def verdict(judged: Judged | None, *, by_itself: bool, query_side: bool) -> str:
    """Return what training came to, in words. by_itself: the search takes it unasked; query_side: see `is_used`."""
    often = "such training gained on most judged manuals"
    if judged is None:
        why = f", since {often}" if query_side else ""
        return "Not judged: the corpus has too few questions to hold any out." + (
            f" The search uses what was trained{why}; compare both with questions of your own." if by_itself else ""
        )
    if judged.is_shown:
        return f"{judged.in_words()} A gain" + (": the search uses what was trained." if by_itself else ".")
    if is_used(judged, query_side=query_side):
        why = often if query_side else "it did better on average"
        used = f": the search uses what was trained, since {why}." if by_itself else "."
        return f"{judged.in_words()} No gain shown (the interval includes 0){used}"
    shown = " shown" if judged.site and query_side and not judged.is_loss else ""
    return f"{judged.in_words()} No gain{shown}" + (": the search goes on without it." if by_itself else ".")


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """Record of a trained model."""

    kind: str
    base: str
    base_location: str
    fingerprint: str
    """A digest of its weights."""
    training: dict[str, Any] = field(default_factory=dict)
    """How it was trained."""
    base_revision: str = ""
    """The commit of a base from the hub; "" for others and in older records."""
    documents: str = ""
    """Encodes passages if training began from a query model; "": the base does."""
    documents_revision: str = ""

    @property
    def query_side(self) -> bool:
        """Whether queries' side alone was trained, so that passages are encoded by the base."""
        return self.training.get("side") == "query"

    @property
    def used(self) -> bool:
        """Whether the search uses it by itself."""
        return is_used(self.judged, query_side=self.query_side)

    @property
    def judged(self) -> Judged | None:
        """The verdict of held-out questions on it; None if there were too few."""
        judged = self.training.get("judged")
        return Judged(**judged) if judged else None

    @property
    def verdict(self) -> str:
        """The same in words."""
        by_itself = taken_by_itself(self.kind, self.training["settings"]["name"])
        return verdict(self.judged, by_itself=by_itself, query_side=self.query_side)


def taken_by_itself(kind: str, name: str) -> bool:
    """Whether the search takes a model of that kind and name without being asked to, once it is better."""
    return name == kind and ranker_kind(kind).sentence_encoder


def model_folder(workspace: str | Path | Workspace, name: str) -> Path:
    """Return the folder of a model, named in the workspace, by a path in it, or by any path; for reading only."""
    workspace = Workspace(workspace)
    folder = workspace.models / name
    others = (workspace.path / name, Path(name))
    marks = (RECORD, *_SETTINGS)
    return folder if folder.exists() else next((at for at in others if any((at / m).exists() for m in marks)), folder)


def checked_model(workspace: str | Path | Workspace, name: str) -> Path:
    """The folder of a model, verified if ours. Raises ModelError if unknown, WorkspaceError if a file has changed."""
    folder = model_folder(workspace, name)
    if not folder.exists():
        read_record(workspace, name)
    compare_model(Workspace(workspace), folder, _advice(name))
    return folder


def _advice(name: str) -> str:
    return "run `structformer index` again" if name == "structure" else f"train {name} again"


def compare_model(workspace: Workspace, folder: Path, advice: str) -> None:
    """Raise WorkspaceError when a file of a sealed folder, from which a model is loaded, is not as it was written."""
    sealed = Sealed(folder, advice, workspace.stamps)
    if sealed.sealed:
        sealed.paths(file for file in sealed.names() if file not in _NOT_LOADED)


def write_record(folder: Path, record: ModelRecord) -> None:
    """Store a model's record beside its weights."""
    write_json(folder / RECORD, asdict(record))


def read_record(workspace: str | Path | Workspace, name: str) -> ModelRecord:
    """The record of a trained model. Raises ModelError on an unknown model, or a record structformer did not write."""
    folder = model_folder(workspace, name)
    sealed = Sealed(folder, _advice(name), Workspace(workspace).stamps)
    if not sealed.has(RECORD):
        models = trained_models(workspace)
        if meant := nearest(name, models):
            raise ModelError(f"no model {name!r} in {workspace}; did you mean {meant}?")
        there = ", ".join(models) or "none"
        raise ModelError(
            f"no model {name!r} in {workspace} (there: {there}); `structformer train --help` says how to train one"
        )
    return _record(sealed.json(RECORD) if sealed.sealed else read_json(folder / RECORD), folder / RECORD)


def _record(value: Any, path: Path) -> ModelRecord:
    """Raises ModelError when it is not a record: anybody can write a seal, and the digests become files' names."""
    try:
        record = ModelRecord(**value)
        revisions = (each or record.fingerprint for each in (record.base_revision, record.documents_revision))
        digests = (record.fingerprint, *revisions)
        texts = (record.kind, record.base, record.base_location, record.documents, *digests)
        if all(isinstance(text, str) for text in texts) and all(map(_DIGEST.fullmatch, digests)):
            return record
    except TypeError:
        pass
    raise ModelError(f"{path} is not a model's record: train the model again")


def model_kind(workspace: str | Path | Workspace, name: str) -> str:
    """The kind of a model: by its record. One from elsewhere that lists no modules of a sentence encoder is taken for a
    cross-encoder, which does not load without a head that ranks. Raises ModelError when there is no such model.
    """
    folder = model_folder(workspace, name)
    settings = next((folder / each for each in _SETTINGS if (folder / each).exists()), None)
    if (folder / RECORD).exists() or settings is None:
        return read_record(workspace, name).kind
    architectures = read_json(settings).get("architectures") or [""]
    is_classifier = architectures[0].endswith("ForSequenceClassification")
    return "cross-encoder" if is_classifier or not (folder / _SENTENCE_MODULES).exists() else "bi-encoder"


def trained_models(workspace: str | Path | Workspace) -> list[str]:
    """The workspace's trained models, no replaced ones; one without its record too, so that its loss is reported."""
    models = Workspace(workspace).models
    names = {path.parent.name for name in (RECORD, SEAL) for path in models.glob(f"*/{name}")}
    return sorted(name for name in names if not name.startswith("."))
