"""The forms of export, each declared once: the command's options and `structformer.export` are made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structformer.did_you_mean import checked_options, did_you_mean
from structformer.errors import UsageError
from structformer.models import imported
from structformer.workspace import Workspace

if TYPE_CHECKING:
    from structformer.evaluation import Judgements


@dataclass(frozen=True, slots=True)
class Exported:
    """Result of an export."""

    path: Path
    count: int
    what: str
    """Name of the things that were counted, as "documents"."""
    remark: str = ""
    """A remark for the user."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form of export."""

    option: str
    """On the command line."""
    help: str
    write: Callable[..., Exported]
    """Takes the workspace, the target (any for the form in the model's folder), and by name `force` and `takes`."""
    takes: tuple[str, ...] = ()
    """The options that mean something to it. One that a form does not take is refused with it."""
    in_model: bool = False
    """Whether it is written into the model's folder, and takes no target."""

    @property
    def name(self) -> str:
        """In Python."""
        return self.option.removeprefix("--").removeprefix("write-")

    def export(self, workspace: Workspace, target: Path, options: Mapping[str, Any], *, force: bool) -> Exported:
        """Write it. options: by name, those of this form among them."""
        return self.write(workspace, target, force=force, **{name: options[name] for name in self.takes})


def _counted(option: str, help: str, what: str, *takes: str) -> Form:
    """Return a form that dataset_files.py has a function for, which returns how many it wrote."""

    def write(workspace: Workspace, target: Path, **given: Any) -> Exported:
        export = imported(f"structformer_exports.dataset_files:export_{form.name.replace('-', '_')}")
        return Exported(target, export(workspace.path, target, **given), what)

    form = Form(option, help, write, takes)
    return form


def _onnx(workspace: Workspace, target: Path, *, model: str, int8: bool, force: bool) -> Exported:
    from structformer_exports.onnx_models import export_model

    return Exported(export_model(workspace, model, int8=int8), 1, "model")


def _static(workspace: Workspace, target: Path, *, model: str, force: bool) -> Exported:
    from structformer_exports.static_embedding import export_static

    return Exported(target, export_static(workspace, model, target, force=force), "words")


def _docsearch(workspace: Workspace, target: Path, **given: Any) -> Exported:
    from structformer_exports.dataset_files import export_docsearch

    records, bare = export_docsearch(workspace.path, target, **given)
    have = "1 document has" if bare == 1 else f"{bare:,} documents have"
    remark = f"{have} no known address: the url of their records is a path; say what precedes it: --base-url URL"
    return Exported(target, records, "records", remark if bare else "")


def _site(workspace: Workspace, target: Path, *, language: str, **given: Any) -> Exported:
    from structformer_serve import export_site

    made = export_site(workspace.path, target, code=language, **given)
    without = "words alone: the index has no vectors of the static encoder"
    how = f"words and meaning (vectors of {made.words} words)" if made.words else without
    remark = f"{made.files} files, {made.bytes / 1e6:.1f} MB, searched by {how}"
    return Exported(target, made.documents, "documents", remark)


FORMS = (
    Form("--onnx", "Write onnx/model.onnx into MODEL's folder.", _onnx, ("model", "int8"), in_model=True),
    Form(
        "--static",
        "Write MODEL, a static encoder such as structure, as a folder that needs no workspace; sentence-transformers "
        "loads it too.",
        _static,
        ("model",),
    ),
    _counted("--datasets", "Write the Examples as a folder for datasets.load_dataset.", "Examples", "chosen"),
    _counted("--training-rows", "Write the Examples as sentence-transformers' training rows.", "rows", "chosen"),
    _counted(
        "--qry-pos-neg",
        "Write the Examples as triples in three text files, qry.txt, pos.txt and neg.txt, where line n of each is of "
        "triple n.",
        "triples",
        "chosen",
    ),
    _counted("--write-beir", "Write the corpus as a BEIR folder.", "documents", "judgements"),
    Form(
        "--site",
        "Write a search page that needs no search server: a folder for any web host.",
        _site,
        ("base_url", "title", "language"),
    ),
    Form("--docsearch", "Write the corpus as DocSearch records, JSON lines.", _docsearch, ("base_url",)),
    _counted("--write-word-vectors", "Learn word vectors from the corpus (word2vec) and write them as text.", "words"),
)


@checked_options(to="target", folder="target", path="target", kind="form", format="form")
def export(
    form: str,
    target: str | Path | None = None,
    workspace: str | Path | Workspace = ".structformer",
    *,
    model: str | None = None,
    base_url: str = "",
    title: str = "",
    language: str = "",
    judgements: Judgements | None = None,
    int8: bool = False,
    force: bool = False,
) -> Exported:
    """Write the corpus, the Examples or a model in a form that other programs read.

    form: "site", a search page that needs no server; "docsearch", records as JSON lines; "beir", with `judgements` as
    BEIR has them; "datasets", "training-rows" and "qry-pos-neg", the Examples; "word-vectors"; or, of a `model`,
    "static", a folder of its own, and "onnx", beside the model, with `int8` also in 8 bits. target: the folder or file
    to write. base_url: of "site" and "docsearch", where the site is, whatever its own settings say.
    language: of "site", the code of the page's own language, as de. force: also over an earlier export.

    Raises UsageError on an unknown form, an option that does not go with it, and a target that must not be written;
    WorkspaceError without what is exported."""
    chosen = next((each for each in FORMS if each.name == form), None)
    if chosen is None:
        raise UsageError(f"no form {form!r}; {did_you_mean(form, [each.name for each in FORMS])}")
    if "model" in chosen.takes and model is None:
        raise UsageError(f"{form!r} exports a model: name it with model=NAME")
    if chosen.in_model and target is not None:
        raise UsageError(f"{form!r} is written into the model's folder: leave target out")
    if not chosen.in_model and target is None:
        raise UsageError(f"{form!r} is written to a target: name the folder or file")
    given: dict[str, Any] = {"model": model, "base_url": base_url, "title": title, "language": language, "int8": int8}
    given["judgements"] = judgements
    if wrong := next((name for name, value in given.items() if value and name not in chosen.takes), None):
        forms = " and ".join(each.name for each in FORMS if wrong in each.takes)
        raise UsageError(f"{wrong} goes with {forms}, not with {form!r}")
    place = Workspace(workspace)
    return chosen.export(place, Path(target or place.path), {**given, "chosen": None}, force=force)
