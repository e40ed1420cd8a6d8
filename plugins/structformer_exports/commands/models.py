"""`structformer models`."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from structformer.cli import Output, common_options


@click.command("models")
@common_options
def command(workspace: Path, out: Output) -> None:
    """List sentence encoders on the hub that work well as `--base-model NAME`: megabytes of weights, dimensions,
    languages, license, a figure with its source if there is one, and the prompts that go before texts. Figures of
    different sources are of different tests. Any other that sentence-transformers loads works too. Then pairs: a
    query model that encodes queries into the vector space of a larger base; and rerankers,
    for `--pipeline "hybrid >> rerank:NAME"`. "no torch": onnxruntime runs it; "measured": here, in docs/benchmarks.md.
    """
    from structformer.models import KNOWN, PAIRS, RERANKERS

    smaller = {pair.documents: pair.queries for pair in PAIRS}
    encoders = [
        {**asdict(each), "kind": "encoder", "query_model": smaller.get(each.name, "")} for each in KNOWN.values()
    ]
    out.json([*encoders, *({**asdict(each), "kind": "reranker"} for each in RERANKERS)])
    width = max(map(len, KNOWN))
    all_sources = [*(each.source for each in KNOWN.values()), *(pair.source for pair in PAIRS)]
    sources = list(dict.fromkeys(filter(None, all_sources)))
    for each in KNOWN.values():
        figure = _figure(each.retrieval, sources, each.source)
        measured = "  measured" if each.measured else ""
        out.result(f"{each.name:{width}} {_facts(each, f'{each.dimensions:4}')}{measured}{figure}")
        if each.note:
            out.result(f"    {each.note}")
        prompts = {"queries": each.query, "passages": each.document}
        if before := ", ".join(f'{of} "{prompt}"' for of, prompt in prompts.items() if prompt):
            out.result(f"    before {before}")
    for pair in PAIRS:
        out.result(
            f"--base-model {pair.documents} --query-model {pair.queries}{_figure(pair.retrieval, sources, pair.source)}"
        )
    for reranker in RERANKERS:
        out.result(f"{'rerank:' + reranker.name:{width}} {_facts(reranker, '    ')}")
    out.say("\n" + "\n".join(f"[{number}] {source}" for number, source in enumerate(sources, 1)))


def _facts(model: Any, dimensions: str) -> str:
    """Size, languages, licence, and what runs a model here."""
    languages = "English" if model.languages == "en" else "many languages"
    runs = "no torch" if model.without_torch else "torch"
    return f"{model.megabytes:5} MB {dimensions}  {languages:14}  {model.licence:10}  {runs:8}"


def _figure(retrieval: float | None, sources: list[str], source: str) -> str:
    """Return a figure with the number of its source; "" without a figure. Those of several sources say nothing of each
    other.
    """
    return "" if retrieval is None else f"  {retrieval:.2f} [{1 + sources.index(source)}]"
