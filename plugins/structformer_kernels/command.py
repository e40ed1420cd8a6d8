"""`structformer ngraphs`."""

from pathlib import Path

import click
from structformer.cli import Output, OutputPath, common_options, default_option, force_option

from structformer_kernels.ngraphs import NGRAPHS


@click.command("ngraphs")
@click.argument("target", metavar="FILE", type=OutputPath())
@default_option("--size", NGRAPHS, "How many n-graphs to take, the most common first.", type=click.IntRange(1))
@force_option("an existing file")
@common_options
def command(target: Path, size: int, force: bool, workspace: Path, out: Output) -> int:
    """Write the corpus's most common n-graphs, which DUET reads.

    They go to FILE, for train --ranker duet --base-model FILE. An n-graph is one to five letters in a row of a word.
    The file is of the form of the list that DUET's authors have published."""
    from structformer.corpus import Corpus
    from structformer.workspace import new_file

    from structformer_kernels.ngraphs import commonest_ngraphs, count_ngraphs, write_ngraphs

    corpus = Corpus.open(workspace)
    with new_file(target, workspace, force=force) as made:
        sections = (section for document in corpus.documents() for section in document.sections())
        texts = (f"{section.title}\n{section.text}" for section in sections)
        ngraphs = commonest_ngraphs(count_ngraphs(texts), size)
        write_ngraphs(made, ngraphs)
    out.json({"file": str(target), "ngraphs": len(ngraphs)})
    out.result(f"{target}: the {len(ngraphs)} commonest n-graphs of the corpus")
    out.say(f"next: structformer train --ranker duet --base-model {target} -w {workspace}")
    return 0
