"""`structformer models`."""

from dataclasses import asdict
from pathlib import Path

import click
from structformer.cli import Output, common_options


@click.command("models")
@common_options
def command(workspace: Path, out: Output) -> None:
    """Sentence encoders that are known to serve well as `--base-model NAME`, from the hub: megabytes of weights,
    dimensions, languages, licence, a figure with its source where one is known, and the prompts that go before texts.
    Figures of other sources are of other tests. Any other that sentence-transformers loads
    will do too. Then pairs: a query model that encodes queries into the vector space of a larger base.
    """
    from structformer.models import KNOWN, PAIRS

    smaller = {pair.documents: pair.queries for pair in PAIRS}
    out.json([{**asdict(each), "query_model": smaller.get(each.name, "")} for each in KNOWN.values()])
    width = max(map(len, KNOWN))
    said = [*(each.source for each in KNOWN.values()), *(pair.source for pair in PAIRS)]
    sources = list(dict.fromkeys(filter(None, said)))
    for each in KNOWN.values():
        languages = "English" if each.languages == "en" else "many languages"
        figure = _figure(each.retrieval, sources, each.source)
        out.result(
            f"{each.name:{width}} {each.megabytes:5} MB {each.dimensions:4}  {languages:14}  {each.licence:10}{figure}"
        )
        prompts = {"queries": each.query, "passages": each.document}
        if before := ", ".join(f'{of} "{prompt}"' for of, prompt in prompts.items() if prompt):
            out.result(f"    before {before}")
    for pair in PAIRS:
        out.result(
            f"--base-model {pair.documents} --query-model {pair.queries}{_figure(pair.retrieval, sources, pair.source)}"
        )
    out.say("\n" + "\n".join(f"[{number}] {source}" for number, source in enumerate(sources, 1)))


def _figure(retrieval: float | None, sources: list[str], source: str) -> str:
    """A figure with the number of its source; "" without a figure. Those of several sources say nothing of each
    other.
    """
    return "" if retrieval is None else f"  {retrieval:.2f} [{1 + sources.index(source)}]"
