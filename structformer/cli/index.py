"""`structformer index`."""

from __future__ import annotations

from pathlib import Path

import click

from structformer.cli.common import common_options, output, save_config


@click.command("index")
@click.option(
    "--encoder",
    "encoders",
    multiple=True,
    metavar="NAME",
    help="A trained bi-encoder, base (untrained), or none; may be repeated.  [default: the "
    "trained one if it is better than its base, else base]",
)
@click.option(
    "--language",
    default="auto",
    show_default=True,
    help="Whose stemmer the lexical index uses; auto: most documents' own, else en.",
)
@click.option(
    "--vector-bits",
    type=click.Choice(["16", "32"]),
    default="32",
    show_default=True,
    help="Width of a vector's numbers; 16 takes half of the room.",
)
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    encoders: tuple[str, ...],
    language: str,
    vector_bits: str,
    workspace: Path,
    quiet: bool,
    verbose: bool,
    as_json: bool,
) -> None:
    """Index the corpus's sections for lexical (BM25) and dense search.

    Texts that were indexed before keep their vectors; a run that was stopped is gone on with. The hybrid's weights are
    learned from the corpus's own opening sentences."""
    from structformer.retrieval.index import build_index, reads_english_only
    from structformer.workspace import Workspace

    out = output(ctx)
    chosen = None if not encoders else [encoder for encoder in encoders if encoder != "none"]
    stages: dict[str, None] = {}
    with out.progress("indexing") as progress:

        def tell(stage: str, done: int, total: int) -> None:
            stages[stage] = None
            progress(done, total)

        manifest = build_index(
            workspace, encoders=chosen, language=language, vector_bits=int(vector_bits), progress=tell
        )
    save_config(ctx, Workspace(workspace).folder("index"))
    out.json(manifest)
    vectors = ", ".join(manifest["encoders"])
    out.result(
        f"{manifest['units']} passages indexed" + (f", with vectors of: {vectors}" if vectors else ", lexical only")
    )
    if reads_english_only(Workspace(workspace), manifest["encoders"], manifest["language"]):
        out.note(
            f"the texts are mostly in {manifest['language']!r} and MiniLM reads English: train from a multilingual "
            "base (--base-model FOLDER or a hub name), or search with --pipeline lexical"
        )
    out.say(f'\nnext: structformer search -w {workspace} "your question"')
