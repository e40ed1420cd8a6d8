"""`structformer check`."""

from contextlib import suppress
from pathlib import Path

import click

from structformer.cli.common import Output, common_options
from structformer.errors import StructformerError


@click.command("check")
@common_options
def command(workspace: Path, out: Output) -> int:
    """Check that no file in the workspace was damaged: corpus, graph, Examples, index, models, checkpoints, caches.

    Exit code 1 if one was.
    """
    from structformer.corpus import Corpus
    from structformer.corpus.checking import check_workspace
    from structformer.retrieval.index import Index
    from structformer.workspace import Workspace

    problems = check_workspace(workspace)
    try:
        corpus = Corpus.open(workspace)
    except StructformerError:
        if not problems:
            raise
        corpus = None
    counts = {"documents": corpus.document_count, "sections": corpus.section_count} if corpus else {}
    bases: dict[str, str] = {}
    with suppress(StructformerError):  # of an index that cannot be opened nothing is said here
        bases = Index(Workspace(workspace)).bases()
    out.json(
        {**counts, "vectors": bases, "problems": [{"problem": each.text, "advice": each.advice} for each in problems]}
    )
    for problem in problems:
        out.result(problem.text)
    for advice in dict.fromkeys(problem.advice for problem in problems):
        out.note(advice)
    if problems or corpus is None:
        return 1
    out.result(
        f"{corpus.document_count} documents, {corpus.section_count} sections in "
        f"{len(corpus.shards)} shards: all as written"
    )
    for base in dict.fromkeys(bases.values()):
        out.result(f"the index has vectors by {base}")
    return 0
