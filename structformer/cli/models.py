"""`structformer models`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from structformer.cli.common import common_options, output


@click.command("models")
@common_options
@click.pass_context
def command(ctx: click.Context, workspace: Path, quiet: bool, verbose: bool, as_json: bool) -> None:
    """Sentence encoders that are known to serve well as `--base-model NAME`, from the hub: megabytes of weights,
    dimensions, languages, licence, and a figure where its source is known. Any other that sentence-transformers loads
    will do too. Then pairs: a query model that encodes queries into the vector space of a larger base.
    """
    from structformer.models.known import KNOWN, PAIRS

    out = output(ctx)
    smaller = {pair.documents: pair.queries for pair in PAIRS}
    out.json([{**asdict(each), "query_model": smaller.get(each.name, "")} for each in KNOWN.values()])
    width = max(map(len, KNOWN))
    for each in KNOWN.values():
        languages = "English" if each.languages == "en" else "many languages"
        figure = f"  {each.retrieval:.1f}" if each.retrieval is not None else ""
        out.result(
            f"{each.name:{width}} {each.megabytes:5} MB {each.dimensions:4}  {languages:14}  {each.licence:10}{figure}"
        )
    for pair in PAIRS:
        out.result(f"--base-model {pair.documents} --query-model {pair.queries}  {pair.retrieval:.1f} ({pair.source})")
    sources = dict.fromkeys(each.source for each in KNOWN.values() if each.source)
    out.say("\n" + "\n".join(f"the figure: {source}" for source in sources))
