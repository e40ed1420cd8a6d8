"""`structformer merge`."""

from pathlib import Path

import click

from structformer.cli.common import Output, common_options, engine_option


@click.command("merge")
@click.option("--rest", is_flag=True, help="Do the missing parts here, instead of only naming them.")
@click.option("--drop", is_flag=True, help="Delete the results of the parts so far.")
@click.option("--workers", type=click.IntRange(1), help="Worker processes.  [default: one per core]")
@engine_option
@common_options
@click.pass_context
def command(
    ctx: click.Context, rest: bool, drop: bool, workers: int | None, engine: str, workspace: Path, out: Output
) -> int:
    """Merge the results of --part runs of ingest, sample or index.

    The result is the same as that of a single run, byte for byte except for the last bits of vectors."""
    from structformer.cli.index import show_index
    from structformer.cli.ingest import show_report
    from structformer.cli.sample import show_samples
    from structformer.engines.job_parts import PartsFolder
    from structformer.ingestion.ingesting import COMMAND as INGEST
    from structformer.ingestion.ingesting import merge_ingest
    from structformer.retrieval.indexing import COMMAND as INDEX
    from structformer.retrieval.indexing import merge_index
    from structformer.sampling.draw_examples import COMMAND as SAMPLE
    from structformer.sampling.draw_examples import merge_samples
    from structformer.workspace import Workspace

    place = Workspace(workspace)
    there = [name for name in (INGEST, SAMPLE, INDEX) if PartsFolder(place, name).begun]
    if not there:
        raise click.UsageError(f"no parts in {workspace}: make them with ingest, sample or index --part I/N")
    if drop:
        with place.writing("structformer merge --drop"):
            for name in there:
                PartsFolder(place, name).drop()
        out.json({"dropped": there})
        out.result(f"dropped: parts of {', '.join(there)}")
        return 0
    code = 0
    if INGEST in there:
        with out.stages() as progress:
            report = merge_ingest(place, rest=rest, workers=workers, engine=engine, progress=progress)
        code = show_report(ctx, out, report, workspace, only=None)
    if SAMPLE in there:
        with out.progress("sampling") as drawing:
            samples = merge_samples(place, rest=rest, workers=workers, engine=engine, progress=drawing)
        show_samples(ctx, out, samples, workspace)
    if INDEX in there:
        with out.stages() as progress:
            manifest = merge_index(place, rest=rest, progress=progress)
        show_index(ctx, out, manifest, workspace)
    return code
