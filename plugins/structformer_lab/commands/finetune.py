"""`structformer finetune`."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource
from structformer.cli import (
    BriefCommand,
    Output,
    check_corpus,
    chosen_options,
    common_options,
    default_option,
    of_first_process,
    path_option,
    print_result,
    save_config,
    training_flags,
    watched,
)


@click.command(
    "finetune",
    cls=BriefCommand,
    main="--queries --qrels --triples --model --name --base-model --max-time --set --resume --dry-run",
)
@path_option("--queries", "Queries: BEIR JSON lines, or lines of id, tab, text.")
@path_option("--qrels", "Judgements: BEIR's or TREC's lines.")
@path_option("--triples", "Instead: lines of a query, a text that answers it and one that does not, between tabs.")
@default_option("--model", "bi-encoder", "The trained model to start from.")
@default_option("--negatives", 7, "Of a query, from BM25's documents or from --candidates.", type=click.IntRange(1))
@default_option(
    "--of",
    "passages",
    "Learn from a relevant document's best passage, or from documents (title, address and text), as the papers do.",
    type=click.Choice(["passages", "documents"]),
)
@path_option("--candidates", "With --of documents: a TREC run file, of which each query's first 100 are candidates.")
@click.option("--resume", is_flag=True, help="Continue from the newest checkpoint of an unfinished run.")
@training_flags
@common_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    queries: Path | None,
    qrels: Path | None,
    triples: Path | None,
    model: str,
    negatives: int,
    of: str,
    candidates: Path | None,
    resume: bool,
    workspace: Path,
    out: Output,
    **flags: Any,
) -> None:
    """Train a model further on your own queries and judgements, the papers' second setting.

    A fifth of the queries, at most 500, is kept out to judge by, where there are twenty or more; of triples nothing is.
    Exit code 1 when judgements name documents that the corpus does not have."""
    chosen, settings = chosen_options(flags)
    if bool(queries) != bool(qrels) or bool(queries) == bool(triples):
        raise click.UsageError("give --queries and --qrels, or --triples")
    check_corpus(workspace, settings, resume=resume)
    from structformer.evaluation import read_queries
    from structformer.retrieval import read_qrels, read_run
    from structformer.training import RunMode, train_ranker, training_options
    from structformer.workspace import Workspace

    from structformer_lab.finetuning import DOCUMENTS, UNASKED, finetuning_options, judged_source, triples_source

    if candidates and of != DOCUMENTS:
        raise click.UsageError("--candidates goes with --of documents")
    several = ctx.get_parameter_source("negatives") is not ParameterSource.DEFAULT
    if triples and (several or of == DOCUMENTS):
        option = "--of documents" if of == DOCUMENTS else "--negatives"
        raise click.UsageError(f"--triples hold their texts: {option} goes with --queries and --qrels")
    judged = finetuning_options(Workspace(workspace), model, chosen)
    options = training_options(None, judged, settings)

    unknown: list[str] = []
    # The first of several processes writes for all.
    with Workspace(workspace).writing("structformer finetune") if of_first_process() else nullcontext():
        if queries and qrels:
            source, unknown = judged_source(
                Workspace(workspace),
                read_queries(queries),
                read_qrels(qrels),
                negatives=negatives,
                seed=options.seed,
                of=of,
                run=read_run(candidates)[1] if candidates else None,
            )
        else:
            assert triples is not None
            source = triples_source(Workspace(workspace), triples, seed=options.seed)
        with watched(out, out.verbose) as listener:
            mode = RunMode(resume=resume, force=flags["force"], listener=listener, unasked=UNASKED)
            result = train_ranker(workspace, options, mode, source=source)
    if of_first_process():
        save_config(ctx, result.folder)
    print_result(out, result, workspace, options.seed, False)
    if unknown:
        if of_first_process():
            some = f"{', '.join(unknown[:10])}{' ...' if len(unknown) > 10 else ''}"
            out.note(f"{len(unknown)} judged documents are not in the corpus: {some}")
        ctx.exit(1)
