"""`structformer export`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import click

from structformer.cli.common import Output, OutputPath, common_options, force_option, output


@click.command("export")
@click.argument("model", required=False)
@click.option("--onnx", is_flag=True, help="Write onnx/model.onnx into MODEL's folder.")
@click.option(
    "--int8", is_flag=True, help="With --onnx: also write 8-bit weights: about twice as fast, scores within about 0.01."
)
@click.option(
    "--static",
    type=OutputPath(),
    help="Write MODEL, a static encoder such as structure, as a folder that needs no workspace; sentence-transformers "
    "loads it too.",
)
@click.option("--datasets", type=OutputPath(), help="Write the Examples as a folder for datasets.load_dataset.")
@click.option(
    "--training-rows",
    type=OutputPath(),
    help="Write the Examples as sentence-transformers' training rows.",
)
@click.option(
    "--qry-pos-neg",
    type=OutputPath(),
    help="Write the Examples as triples in three text files, qry.txt, pos.txt and neg.txt, where line n of each is "
    "of triple n.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="sample.KEY=VALUE",
    help="With --datasets, --training-rows and --qry-pos-neg: Examples drawn with this option, as for train.  "
    "[default: the defaults]",
)
@click.option("--write-beir", type=OutputPath(), help="Write the corpus as a BEIR folder.")
@click.option(
    "--queries",
    type=click.Path(path_type=Path),
    help="With --write-beir: queries to write there too, as BEIR and TREC have them.",
)
@click.option("--qrels", type=click.Path(path_type=Path), help="With --write-beir: their judgements.")
@click.option("--docsearch", type=OutputPath(), help="Write the corpus as DocSearch records, JSON lines.")
@click.option(
    "--base-url", default="", help="With --docsearch and --site: URL prefix of the documents whose pages are not known."
)
@click.option(
    "--write-word-vectors",
    type=OutputPath(),
    help="Learn word vectors from the corpus (word2vec) and write them as text.",
)
@click.option(
    "--site",
    type=OutputPath(),
    help="Write a search page that needs no server: a folder for any web server of files.",
)
@click.option("--title", default="", help="With --site: the page's title.  [default: the names of what was read]")
@click.option(
    "--engine",
    metavar="NAME:PLACE",
    help="Write the index to a search engine; `structformer plugins list` shows the engines and their addresses.",
)
@force_option("what an earlier export wrote, or over the file that is there")
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    model: str | None,
    onnx: bool,
    int8: bool,
    static: Path | None,
    datasets: Path | None,
    training_rows: Path | None,
    qry_pos_neg: Path | None,
    settings: tuple[str, ...],
    write_beir: Path | None,
    queries: Path | None,
    qrels: Path | None,
    docsearch: Path | None,
    base_url: str,
    write_word_vectors: Path | None,
    site: Path | None,
    title: str,
    engine: str | None,
    force: bool,
    workspace: Path,
    quiet: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Export MODEL (a name in the workspace, or base, the untrained encoder) for onnxruntime or as a folder of its own,
    the Examples, or the corpus.

    On a CPU the search uses a model's exported file from then on; that needs structformer[onnx].
    """
    from structformer.adapters.exporting import (
        export_beir,
        export_datasets,
        export_docsearch,
        export_qry_pos_neg,
        export_training_rows,
        export_word_vectors,
    )
    from structformer.evaluation.judgements import read_judgements
    from structformer.workspace import Workspace

    out = output(ctx)
    if (onnx or static is not None) != (model is not None):
        raise click.UsageError(
            "say what to export MODEL to: --onnx, --static" if model else "--onnx and --static export a model: name it"
        )
    if bool(queries) != bool(qrels) or (queries and not write_beir):
        raise click.UsageError("--queries and --qrels go together, with --write-beir")
    of_examples = datasets or training_rows or qry_pos_neg
    if settings and not of_examples:
        raise click.UsageError("--set goes with --datasets, --training-rows and --qry-pos-neg")
    if int8 and not onnx:
        raise click.UsageError("--int8 goes with --onnx")
    if not (onnx or static or of_examples or write_beir or docsearch or write_word_vectors or site or engine):
        raise click.UsageError(
            "say what to export: MODEL --onnx, MODEL --static, --datasets, --training-rows, --qry-pos-neg, "
            "--write-beir, --docsearch, --site, --write-word-vectors, --engine"
        )
    if model is not None and onnx:
        _onnx(out, workspace, model, int8)
    written: list[tuple[Path | str, int, str]] = []
    if model is not None and static:
        from structformer.adapters.static_embedding import export_static

        written.append((static, export_static(workspace, model, static, force=force), "words"))
    chosen = _named_set(out, workspace, settings) if of_examples else None
    if datasets:
        written.append((datasets, export_datasets(workspace, datasets, chosen=chosen, force=force), "Examples"))
    if training_rows:
        count = export_training_rows(workspace, training_rows, chosen=chosen, force=force)
        written.append((training_rows, count, "rows"))
    if qry_pos_neg:
        count = export_qry_pos_neg(workspace, qry_pos_neg, chosen=chosen, force=force)
        written.append((qry_pos_neg, count, "triples"))
    if write_beir:
        judged = read_judgements(queries, qrels) if queries and qrels else None
        written.append((write_beir, export_beir(workspace, write_beir, judged, force=force), "documents"))
        if judged is not None:
            written.append((write_beir, len(judged.queries), "queries"))
    if docsearch:
        told = export_docsearch(workspace, docsearch, base_url=base_url, force=force)
        written.append((docsearch, told.records, "records"))
        if told.bare:
            have = "1 document has" if told.bare == 1 else f"{told.bare:,} documents have"
            out.note(
                f"{have} no known address: the url of their records is a path; say what precedes it: --base-url URL"
            )
    if site:
        from structformer.static_site import export_site

        made = export_site(workspace, site, base_url=base_url, title=title, force=force)
        written.append((site, made.documents, "documents"))
        without = "words alone: the index has no vectors of the static encoder"
        how = f"words and meaning (vectors of {made.words} words)" if made.words else without
        out.note(f"{made.files} files, {made.bytes / 1e6:.1f} MB, searched by {how}")
    if write_word_vectors:
        count = export_word_vectors(workspace, write_word_vectors, force=force)
        written.append((write_word_vectors, count, "words"))
    if engine:
        from structformer.outputs import check_place
        from structformer.retrieval.retriever import Retriever
        from structformer.retrieval.vectors.encoder_places import default_encoders
        from structformer.search_engines import folder_of, open_engine, without_password, write_engine

        if (folder := folder_of(engine)) is not None:
            check_place(folder, workspace)

        # The one that the search uses, else one whose vectors are made now.
        used = Retriever.open(workspace).default_pipeline().encoder
        encoders = [used] if used else default_encoders(Workspace(workspace))
        if not encoders:
            raise click.UsageError("an engine's index needs vectors: run structformer index with an encoder")
        with closing(open_engine(engine)) as index:
            count = write_engine(workspace, index, encoders[0])
        written.append((without_password(engine), count, f"passages, with vectors of {encoders[0]}"))
    if written:
        out.json([{"path": str(path), "count": count, "what": what} for path, count, what in written])
    for path, count, what in written:
        out.result(f"{path}: {count} {what}")


def _named_set(out: Output, workspace: Path, settings: tuple[str, ...]) -> dict[str, Any]:
    """The options of the set of Examples that is exported, said where there are others."""
    from structformer.sampling import Samples
    from structformer.sampling.sets import other_flags
    from structformer.training.recipes import training_options

    if wrong := [setting for setting in settings if not setting.startswith("sample.")]:
        raise click.UsageError(f"--set {wrong[0]}: only options of sampling mean something here, sample.KEY=VALUE")
    chosen = training_options(None, {}, settings).sampling
    flags, beside = other_flags(workspace, Samples.open(workspace, chosen=chosen).manifest)
    if beside:
        listed = ", ".join(each or "the default options" for each in beside)
        out.note(f"the Examples are those drawn with {flags or 'the default options'}, not those with {listed}")
    return chosen


def _onnx(out: Output, workspace: Path, model: str, int8: bool) -> None:
    from structformer.models.registry import model_kind
    from structformer.retrieval.exporting import export_model

    path = export_model(workspace, model, int8=int8)
    out.json({"file": str(path), "bytes": path.stat().st_size})
    of = f" ({model_kind(workspace, model)})" if model != "base" else ""
    out.result(f"{path}, {path.stat().st_size / 1e6:.0f} MB{of}; the search uses it on a CPU: it starts sooner")
