"""`structformer index`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from structformer.cli import common
from structformer.workspace import Workspace


@click.command("index")
@common.several_option(
    "--encoder",
    "NAME",
    "structure (learned from the corpus here), a trained bi-encoder, base (untrained), or none; may be repeated.  "
    "[default: structure, and the trained one where held-out questions show no loss, else base if it is here]",
    name="encoders",
)
@common.default_option(
    "--language", "auto", "Language of the stemmer for words; auto: that of most documents, else en."
)
@common.default_option(
    "--vector-bits", 32, "Bits of each number in a vector; 16 takes half the space.", type=click.Choice([16, 32])
)
@common.default_option(
    "--nearest",
    "auto",
    "Search all vectors, or an approximate index of them; auto: approximate from half a million passages on, "
    "if structformer[approximate] is installed.",
    type=click.Choice(["auto", "exact", "approximate"]),
)
@click.option(
    "--base-model",
    metavar="NAME",
    default="",
    help="The pretrained encoder that base names from now on: a folder, a name on the hub (`structformer models` "
    "lists some), or auto.",
)
@click.option(
    "--query-model",
    metavar="NAME",
    default="",
    help="A smaller encoder for queries, which shares the vector space of --base-model; auto: none.",
)
@common.part_option
@common.threads_option
@common.common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    encoders: tuple[str, ...],
    part: str | None,
    workspace: Path,
    out: common.Output,
    **request: Any,
) -> int:
    """Index the corpus's sections for search by words (BM25) and by meaning.

    The encoder `structure` is learned from the corpus itself, in seconds to a minute, with nothing pretrained; a
    pretrained one's vectors are added, and count as much as that encoder understands these documents. Unchanged texts
    keep their vectors, and an interrupted run resumes."""
    from structformer.engines.job_parts import Part
    from structformer.retrieval.curated import curated_file, read_curated
    from structformer.retrieval.indexing import build_index, index_part

    read_curated(curated_file(Workspace(workspace)))  # a mistake in it is said before the work
    request["encoders"] = [encoder for encoder in encoders if encoder != "none"] if encoders else None
    _choose_encoder(out, request, Workspace(workspace))
    with out.stages() as progress:
        if part is not None:
            chosen = Part.parse(part)
            encoded = index_part(chosen, workspace, **request, progress=progress)
            return common.say_part(out, chosen, f"{encoded} texts encoded", workspace)
        manifest = build_index(workspace, **request, progress=progress, say=lambda message: None)
    show_index(ctx, out, manifest, workspace)
    return 0


def _choose_encoder(out: common.Output, request: dict[str, Any], workspace: Workspace) -> None:
    """Name the base, and warn before minutes of work if it does not read the documents; `up` warns by itself."""
    from structformer.corpus import Corpus
    from structformer.models.known_encoders import another_encoder
    from structformer.retrieval.indexing import encoders_advice, encoders_to_index
    from structformer.retrieval.vectors.encoder_checks import choose_encoders

    corpus = Corpus.open(workspace)
    choose_encoders(workspace, request.pop("base_model"), request.pop("query_model"))
    encoders = encoders_to_index(workspace) if request["encoders"] is None else request["encoders"]
    command = another_encoder("index", workspace)
    advice = encoders_advice(workspace, corpus, encoders, command, request["language"])
    if advice and common.PROGRESS_LINES not in os.environ:
        out.note(advice)


def show_index(ctx: click.Context, out: common.Output, manifest: dict[str, Any], workspace: Path) -> None:
    """Say what was indexed."""
    from structformer.corpus import Corpus
    from structformer.models.base import pretrained_offer
    from structformer.retrieval.curated import FILE, curated_file, read_curated, unused_files
    from structformer.retrieval.vectors.encoder_names import STRUCTURE

    common.save_config(ctx, Workspace(workspace).folder("index"))
    out.json(manifest)
    vectors = ", ".join(manifest["encoders"])
    out.result(
        f"{manifest['units']} passages indexed" + (f", with vectors of: {vectors}" if vectors else ", lexical only")
    )
    if largest := manifest["largest"]:
        out.say(
            f"{largest['document']} has {largest['share']:.0%} of them. A changelog, or news of that size, crowds out "
            "other pages: `structformer ingest --exclude` leaves it out"
        )
    for encoder, share in manifest["reads"].items():
        if share < 1:
            out.say(f"{encoder} reads these documents in part: it counts {share:.0%} of its weight")
    if by_hand := curated_file(Workspace(workspace)):
        out.say(str(curated := read_curated(by_hand)))
        for each in curated.unmet(Corpus.open(workspace).document_ids()):
            out.note(f"{by_hand}: {each}")
    for place in unused_files(Workspace(workspace)):
        out.say(f"{place} is not used: where several folders are read, {FILE} belongs into {workspace}")
    if ctx.params.get("encoders") == () and manifest["encoders"] == [STRUCTURE]:
        out.note(pretrained_offer())
    out.say(f'\nnext: structformer search -w {workspace} "your question"')
