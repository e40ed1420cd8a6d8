"""`structformer.export`: what other programs read, from Python."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from structformer.did_you_mean import checked_options, did_you_mean
from structformer.errors import UsageError
from structformer.evaluation import Judgements
from structformer.workspace import Workspace

_FORMS = ("site", "docsearch", "beir", "datasets", "training-rows", "qry-pos-neg", "word-vectors", "static", "onnx")
_OF_A_MODEL = ("static", "onnx")
_WITH_ADDRESSES = ("site", "docsearch")


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written: where, and how many of what."""

    path: Path
    count: int
    what: str


@checked_options(to="target", folder="target", path="target", kind="form", format="form")
def export(
    form: str,
    target: str | Path | None = None,
    workspace: str | Path | Workspace = ".structformer",
    *,
    model: str | None = None,
    base_url: str = "",
    title: str = "",
    judgements: Judgements | None = None,
    int8: bool = False,
    force: bool = False,
) -> Exported:
    """Write the corpus, the Examples or a model in a form that other programs read.

    form: "site", a search page that needs no server; "docsearch", records as JSON lines; "beir", with `judgements` as
    BEIR has them; "datasets", "training-rows" and "qry-pos-neg", the Examples; "word-vectors"; or, of a `model`,
    "static", a folder of its own, and "onnx", beside the model, with `int8` also in 8 bits. target: the folder or file
    to write. base_url: of "site" and "docsearch", what precedes the ids of documents whose addresses are not known.
    force: also over an earlier export.

    Raises UsageError on an unknown form, an option that does not go with it, and a target that must not be written;
    WorkspaceError without what is exported."""
    if form not in _FORMS:
        raise UsageError(f"no form {form!r}; {did_you_mean(form, _FORMS)}")
    _check(form, target, model, base_url, title, judgements, int8)
    place = Workspace(workspace)
    if model is not None and form == "onnx":
        from structformer_exports.onnx_models import export_model

        return Exported(export_model(place.path, model, int8=int8), 1, "model")
    assert target is not None  # as _check has seen to
    path = Path(target)
    if model is not None:
        from structformer_exports.static_embedding import export_static

        return Exported(path, export_static(place, model, path, force=force), "words")
    if form == "site":
        from structformer_serve.static_site import export_site

        made = export_site(place.path, path, base_url=base_url, title=title, force=force)
        return Exported(path, made.documents, "documents")
    from structformer_exports import exporting

    if form == "docsearch":
        told = exporting.export_docsearch(place.path, path, base_url=base_url, force=force)
        return Exported(path, told.records, "records")
    if form == "beir":
        return Exported(path, exporting.export_beir(place.path, path, judgements, force=force), "documents")
    if form == "datasets":
        return Exported(path, exporting.export_datasets(place.path, path, force=force), "Examples")
    if form == "training-rows":
        return Exported(path, exporting.export_training_rows(place.path, path, force=force), "rows")
    if form == "qry-pos-neg":
        return Exported(path, exporting.export_qry_pos_neg(place.path, path, force=force), "triples")
    return Exported(path, exporting.export_word_vectors(place.path, path, force=force), "words")


def _check(
    form: str,
    target: str | Path | None,
    model: str | None,
    base_url: str,
    title: str,
    judgements: Judgements | None,
    int8: bool,
) -> None:
    """Raise UsageError on what does not go together."""
    if form in _OF_A_MODEL and model is None:
        raise UsageError(f"{form!r} exports a model: name it with model=NAME")
    if form == "onnx" and target is not None:
        raise UsageError("'onnx' is written into the model's folder: leave target out")
    if form != "onnx" and target is None:
        raise UsageError(f"{form!r} is written to a target: name the folder or file")
    goes_with = {
        "model": (model, _OF_A_MODEL),
        "base_url": (base_url, _WITH_ADDRESSES),
        "title": (title, ("site",)),
        "int8": (int8, ("onnx",)),
        "judgements": (judgements, ("beir",)),
    }
    for name, (value, forms) in goes_with.items():
        if value and form not in forms:
            raise UsageError(f"{name} goes with {' and '.join(forms)}, not with {form!r}")
