"""`structformer check`."""

from __future__ import annotations

from pathlib import Path

import click

from structformer.cli.common import common_options, output


@click.command("check")
@common_options
@click.pass_context
def command(ctx: click.Context, workspace: Path, quiet: bool, verbose: bool, as_json: bool) -> int:
    """Compare every file of the corpus and the index with its recorded checksum. Exit code 1 when one differs."""
    from structformer.corpus import Corpus
    from structformer.retrieval.index import check_index

    out = output(ctx)
    corpus = Corpus.open(workspace)
    problems = corpus.check()
    of_index = check_index(workspace)
    out.json({"documents": corpus.document_count, "sections": corpus.section_count, "problems": problems + of_index})
    for problem in problems + of_index:
        out.result(problem)
    if problems:
        out.note("ingest again with --fresh")
    if of_index:
        out.note("index again")
    if problems or of_index:
        return 1
    out.result(f"{corpus.document_count} documents, {corpus.section_count} sections in {len(corpus.shards)} shards: all as written")
    return 0
