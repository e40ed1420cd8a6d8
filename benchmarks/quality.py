"""Is the trained search better? Public commands only, on judged corpora: ingest, index, train, evaluate, with the
defaults and several seeds.

    python benchmarks/quality.py SHARED [--sets git docker npm ...] [--seeds 3] [--work DIR]

SHARED holds corpora/NAME.tar.xz and eval/NAME/{queries.jsonl,qrels.tsv}. Prints every command with its time, the table
of every set, all rows from one run, and at last a summary: nDCG@10 of the best baseline, of the untrained hybrid, and
of the trained one as the mean over the seeds, both with the static encoder that `index` learns; and what each training
said of itself: a keep where people's queries lost, or a refusal where they gained, is a false verdict, and counted. A
workspace that is there already keeps its vectors."""

from __future__ import annotations

import argparse
import json
import platform
import shlex
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from statistics import mean
from typing import Any

from structformer.models.registry import read_record
from structure import CORPORA

BASE = "hybrid:base"


def run(*arguments: object) -> str:
    """Run a structformer command, show it with its time, and give its output."""
    command = ["structformer", *map(str, arguments)]
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    print(f"$ {shlex.join(command)}   # {time.monotonic() - begun:.0f} s", flush=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def models(seeds: int) -> list[str]:
    """A name for the model of each seed; the first is the one that the search takes."""
    return ["bi-encoder", *(f"seed-{seed}" for seed in range(1, seeds))]


def measured(shared: Path, name: str, work: Path, seeds: int) -> dict[str, Any]:
    """One set's evaluation, as `evaluate --json` gives it."""
    corpus, workspace = work / name / "corpus", work / name / "workspace"
    if not corpus.exists():
        with tarfile.open(shared / "corpora" / f"{CORPORA[name]}.tar.xz") as tar:
            tar.extractall(corpus, filter="data")
    run("ingest", corpus, "-w", workspace)
    run("index", "--encoder", "structure", "--encoder", "base", "-w", workspace)
    for seed, model in enumerate(models(seeds)):
        print(run("train", "--seed", seed, "--name", model, "-w", workspace), flush=True)
    folder = shared / "eval" / name
    judged = ("--queries", folder / "queries.jsonl", "--qrels", folder / "qrels.tsv")
    found = json.loads(run("evaluate", *judged, "--against", BASE, "--json", "-w", workspace))
    result: dict[str, Any] = found["results"][0]
    records = [read_record(workspace, model) for model in models(seeds)]
    result["verdicts"] = [
        (record.judged.gain if record.judged else None, record.judged is None or record.judged.is_gain)
        for record in records
    ]
    print((Path(found["folder"]) / "report.md").read_text(), flush=True)
    return result


def summary(results: dict[str, dict[str, Any]], seeds: int) -> str:
    """A Markdown table: a line for each set, and the means."""
    lines = [
        "| set | best baseline | untrained | trained | dense: untrained | trained | over baseline | by training | p |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    rows = []
    for name, result in results.items():
        scores = {row["pipeline"]: row["scores"]["nDCG@10"] for row in result["rows"]}
        p = [row["against"]["vs hybrid untrained"]["p"] for row in result["rows"] if row["pipeline"] in _hybrids(seeds)]
        best = next(row["scores"]["nDCG@10"] for row in result["rows"] if row["label"] == result["baseline"])
        trained = mean(scores[each] for each in _hybrids(seeds))
        dense = mean(scores[each.replace("hybrid", "dense")] for each in _hybrids(seeds))
        values = (best, scores[BASE], trained, scores["dense:base"], dense, trained - best, trained - scores[BASE])
        rows.append(values)
        lines.append(f"| {name} | {_cells(values)} | {', '.join(f'{each:.4f}' for each in p)} |")
    lines.append(f"| mean | {_cells([mean(column) for column in zip(*rows, strict=True)])} | |")
    return "\n".join([*lines, "", *_verdicts(results, seeds)])


def _verdicts(results: dict[str, dict[str, Any]], seeds: int) -> Iterator[str]:
    """What each training said of itself beside what people's queries say of it."""
    false_keeps = false_refusals = 0
    yield "| set | seed | held-out questions | kept | people's queries |"
    yield "|---|---|---|---|---|"
    for name, result in results.items():
        scores = {row["pipeline"]: row["scores"]["nDCG@10"] for row in result["rows"]}
        for seed, (pipeline, (said, kept)) in enumerate(zip(_hybrids(seeds), result["verdicts"], strict=True)):
            gain = scores[pipeline] - scores[BASE]
            false_keeps += kept and gain < 0
            false_refusals += not kept and gain > 0
            judged = "not judged" if said is None else f"{said:+.3f}"
            yield f"| {name} | {seed} | {judged} | {'yes' if kept else 'no'} | {gain:+.3f} |"
    yield f"\n{false_keeps} false keeps, {false_refusals} false refusals of {len(results) * seeds}"


def _hybrids(seeds: int) -> list[str]:
    return ["hybrid:bi-encoder", *(f"hybrid:{name}" for name in models(seeds)[1:])]


def _cells(values: Any) -> str:
    return " | ".join(f"{value:+.3f}" if place > 4 else f"{value:.3f}" for place, value in enumerate(values))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--work", type=Path, default=Path(".benchmarks"))
    arguments = parser.parse_args()
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "tantivy"))
    print(f"{platform.machine()}, Python {platform.python_version()}, {packages}\n")
    results = {name: measured(arguments.shared, name, arguments.work, arguments.seeds) for name in arguments.sets}
    print(summary(results, arguments.seeds))


if __name__ == "__main__":
    main()
