"""`structformer export`."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import click
from structformer.cli import Output, OutputPath, common_options, force_option, fresh_index, path_option, several_option
from structformer.workspace import Workspace

from structformer_exports.export_forms import FORMS, Form


def _form_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an option for each form, and its place."""
    for form in reversed(FORMS):
        kind: dict[str, Any] = {"is_flag": True} if form.in_model else {"type": OutputPath()}
        function = click.option(form.option, form.name.replace("-", "_"), help=form.help, **kind)(function)
    return function


@click.command("export")
@click.argument("model", required=False)
@_form_options
@click.option("--int8", is_flag=True, help="With --onnx: 8-bit weights too, twice as fast, scores within about 0.01.")
@several_option("--set", "sample.KEY=VALUE", "Draw the Examples with this option, as for train.", name="settings")
@path_option("--queries", "With --write-beir: queries to write there too, as BEIR and TREC have them.")
@path_option("--qrels", "With --write-beir: their judgements.")
@click.option(
    "--base-url", default="", help="With --docsearch and --site: the site's address.  [default: from its settings]"
)
@click.option("--title", default="", help="With --site: the page's title.  [default: the site's name]")
@click.option(
    "--language", default="", metavar="CODE", help="With --site: its language.  [default: that of most documents]"
)
@click.option(
    "--engine",
    metavar="NAME:PLACE",
    help="Write the index to a search engine; `structformer plugins list` shows the engines and their addresses.",
)
@force_option("an earlier export, or an existing file")
@common_options
def command(
    model: str | None,
    settings: tuple[str, ...],
    queries: Path | None,
    qrels: Path | None,
    engine: str | None,
    force: bool,
    workspace: Path,
    out: Output,
    **given: Any,
) -> None:
    """Export MODEL (a name in the workspace, or base, the untrained encoder) for onnxruntime or as a folder of its own,
    the Examples, or the corpus.

    On a CPU the search uses a model's exported file from then on; that needs structformer[onnx].
    """
    from structformer.evaluation import read_judgements

    targets = {form.name: given.pop(form.name.replace("-", "_")) for form in FORMS}
    asked_for = [form for form in FORMS if targets[form.name]]
    _check(asked_for, model, engine, {"int8": given["int8"], "chosen": settings, "judgements": queries or qrels})
    if bool(queries) != bool(qrels):
        raise click.UsageError("--queries and --qrels go together, with --write-beir")
    place = Workspace(workspace)
    judged = read_judgements(queries, qrels) if queries and qrels else None
    chosen = _named_set(out, workspace, settings) if any("chosen" in form.takes for form in asked_for) else None
    if engine or targets["site"]:
        fresh_index(out, workspace)
    given |= {"model": model, "judgements": judged, "chosen": chosen}
    written: list[tuple[str, int, str]] = []  # where, how many, of what
    for form in asked_for:
        target = place.path if form.in_model else targets[form.name]
        made = form.export(place, target, given, force=force)
        if form.in_model:
            _show_model(out, workspace, str(model), made.path)
            continue
        written.append((str(made.path), made.count, made.what))
        if judged is not None and "judgements" in form.takes:
            written.append((str(target), len(judged.queries), "queries"))
        if made.remark:
            out.note(made.remark)
    if engine:
        written.append(_to_engine(workspace, engine))
    if written:
        out.json([{"path": path, "count": count, "what": what} for path, count, what in written])
    for path, count, what in written:
        out.result(f"{path}: {count} {what}")


def _check(asked_for: list[Form], model: str | None, engine: str | None, given: dict[str, Any]) -> None:
    """Raise UsageError on what does not go together."""

    def options(field: str, between: str) -> str:
        *before, last = [form.option for form in FORMS if field in form.takes]
        return f"{', '.join(before)}{between if before else ''}{last}"

    if any("model" in form.takes for form in asked_for) != (model is not None):
        raise click.UsageError(
            f"say what to export MODEL to: {options('model', ', ')}"
            if model
            else f"{options('model', ' and ')} export a model: name it"
        )
    flags = {"int8": "--int8 goes", "chosen": "--set goes", "judgements": "--queries and --qrels go together,"}
    for field, value in given.items():
        if value and not any(field in form.takes for form in asked_for):
            raise click.UsageError(f"{flags[field]} with {options(field, ' and ')}")
    if not asked_for and not engine:
        every = ", ".join(f"MODEL {form.option}" if "model" in form.takes else form.option for form in FORMS)
        raise click.UsageError(f"say what to export: {every}, --engine")


def _to_engine(workspace: Path, engine: str) -> tuple[str, int, str]:
    """Write the index to a search engine."""
    from structformer.retrieval import Retriever, default_encoders
    from structformer.workspace import check_place

    from structformer_engines import folder_of, open_engine, without_password, write_engine

    if (folder := folder_of(engine)) is not None:
        check_place(folder, workspace)
    # The one that the search uses, else one whose vectors are made now.
    used = Retriever.open(workspace).default_pipeline().encoder
    encoders = [used] if used else default_encoders(Workspace(workspace))
    if not encoders:
        raise click.UsageError("an engine's index needs vectors: run structformer index with an encoder")
    with closing(open_engine(engine)) as index:
        count = write_engine(workspace, index, encoders[0])
    return without_password(engine), count, f"passages, with vectors of {encoders[0]}"


def _named_set(out: Output, workspace: Path, settings: tuple[str, ...]) -> dict[str, Any]:
    """Return the options of the set of Examples that is exported, said where there are others."""
    from structformer.sampling import Samples, other_flags
    from structformer.training import training_options

    if wrong := [setting for setting in settings if not setting.startswith("sample.")]:
        raise click.UsageError(f"--set {wrong[0]}: only options of sampling mean something here, sample.KEY=VALUE")
    chosen = training_options(None, {}, settings).sampling
    flags, beside = other_flags(workspace, Samples.open(workspace, chosen=chosen).manifest)
    if beside:
        listed = ", ".join(each or "the default options" for each in beside)
        out.note(f"the Examples are those drawn with {flags or 'the default options'}, not those with {listed}")
    return chosen


def _show_model(out: Output, workspace: Path, model: str, path: Path) -> None:
    from structformer.models import model_kind

    out.json({"file": str(path), "bytes": path.stat().st_size})
    of = f" ({model_kind(workspace, model)})" if model != "base" else ""
    out.result(f"{path}, {path.stat().st_size / 1e6:.0f} MB{of}; the search uses it on a CPU: it starts sooner")
