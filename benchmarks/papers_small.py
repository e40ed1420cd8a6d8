"""The papers' zero-shot and fine-tuned tables in about an hour on one GPU: BERT-base learns from an encyclopedia and is
judged on another collection, with several seeds.

Measures a few steps of training first and says how long the work would take. Without a GPU it ends there, unless --run
is given. Where nothing can be fetched and no files are given, it measures on the pages of `structformer demo` and ends.
Below the tables stand the rows that were left out, and each training's speed, MFU and peak memory.

By default the encyclopedia is Simple English Wikipedia and the judged collection SciFact, each fetched once. What
`structformer ingest` reads, a dump or a folder, takes the place of the one, and any folder of BEIR's form, with
qrels/train.tsv and qrels/test.tsv, of the other.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import statistics
import subprocess
import sys
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from structformer.errors import ModelError
from structformer.evaluation.measures import holm, randomisation_test
from structformer.models.base import resolve_base_model
from structformer.models.registry import read_record
from structformer.training.report.logs import read_log

from structformer_demo.command import installed_pages
from structformer_lab.experiment import read_experiment

FOLDER = Path(os.environ.get("STRUCTFORMER_PAPERS", ".benchmarks/papers-small"))
WIKI = "https://dumps.wikimedia.org/simplewiki/latest/simplewiki-latest-pages-articles-multistream.xml.bz2"
JUDGED = "https://public.ukp.informatik.tu-darmstadt.de/thakur/BEIR/datasets/scifact.zip"
BERT = "google-bert/bert-base-uncased"
TABLES = ("zero-shot", "finetuned")
ROWS = {
    "zero-shot": "BM25,QL,BERT before pre-training,PROP,HARP,Wikiformer",
    "finetuned": "BM25,QL,BERT,PROP,HARP,Wikiformer",
}
TRAININGS = 7  # of a seed: three are pre-trained, and those and BERT are fine-tuned
AGAINST = "Wikiformer"
H200_PAIRS = 1380  # 344,000 tokens a second, measured (docs/reference/training.md); 250 tokens a pair
MEASURE = "structformer train --ranker cross-encoder --recipe wikiformer --batch 1 --max-time 5m --dry-run --json"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parsed(arguments)
    FOLDER.mkdir(parents=True, exist_ok=True)
    try:
        wiki, judged = prepared(options)
    except Unreachable as error:
        print(f"{error}: measuring on pages of installed packages. The tables need --wiki and --judged.")
        wiki, judged = demo_pages(), None
    gpu = has_gpu()
    base, there = base_model(options.base_model)
    settings = [part for each in (*base, *options.settings) for part in ("--set", each)]
    pairs_per_second = measured(wiki, settings)
    print(estimate(options.hours, pairs_per_second, gpu))
    if judged is None:
        print("Nothing was trained: these pages are neither an encyclopedia nor judged.")
        return 0
    if not gpu and not options.run:
        print("Nothing was trained: this machine has no GPU. --run trains here all the same.")
        return 0
    if not there:
        print(f"{options.base_model} is not in the reach of the hub: give --base-model a folder.")
        return 1
    reports: dict[str, list[Mapping[str, Any]]] = {table: [] for table in TABLES}
    trainings: dict[str, list[Training]] = {}
    for seed in range(options.seeds):
        for table in TABLES:  # what the first has pre-trained with this seed, the second fine-tunes
            reports[table].append(compared(table, seed, options, wiki, judged, settings))
        for label, training in trained():
            trainings.setdefault(label, []).append(training)
    for table in TABLES:
        print(f"\n{as_table(table, reports[table])}")
    print(f"\n{as_speeds(trainings)}")
    return 0


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wiki", type=Path, help="the encyclopedia, in the place of the one that is fetched")
    parser.add_argument("--judged", type=Path, help="a folder of BEIR's form, in the place of SciFact")
    parser.add_argument("--hours", type=float, default=1.0, help="time of all trainings together")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--base-model", default=BERT)
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--run", action="store_true", help="train on a machine without a GPU too")
    return parser.parse_args(arguments)


def prepared(options: argparse.Namespace) -> tuple[Path, Path]:
    """Return the workspace of the encyclopedia, and the judged collection's folder of BEIR's form."""
    wiki = options.wiki or fetched(WIKI)
    judged = options.judged
    if judged is None:
        with zipfile.ZipFile(fetched(JUDGED)) as packed:
            packed.extractall(FOLDER)
        judged = FOLDER / "scifact"
    call("ingest", wiki, "-w", FOLDER / "wiki", "-q")
    call("ingest", judged / "corpus.jsonl", "-w", FOLDER / "judged", "-q")
    call("index", "-w", FOLDER / "judged", "--encoder", "none", "-q")  # the rows' candidates are BM25's
    return FOLDER / "wiki", judged


class Unreachable(Exception):
    """An address that could not be fetched."""


def demo_pages() -> Path:
    """Return the workspace of what installed packages say about themselves."""
    pages = FOLDER / "demo-pages"
    pages.mkdir(exist_ok=True)
    for page in installed_pages(200):
        (pages / page.path).write_text(page.text, encoding="utf-8")
    call("ingest", pages, "-w", FOLDER / "demo", "-q")
    return FOLDER / "demo"


def fetched(address: str) -> Path:
    """Return the file of an address, fetched once. Raises Unreachable."""
    path = FOLDER / address.rpartition("/")[2]
    if not path.exists():
        print(f"Fetching {address}, once ...", flush=True)
        part = path.with_suffix(".part")
        try:
            urllib.request.urlretrieve(address, part)
        except OSError as error:
            raise Unreachable(f"{address} could not be fetched ({error})") from error
        part.replace(path)
    return path


def base_model(name: str) -> tuple[list[str], bool]:
    """Return settings for the base model, and whether it is there; else for one of its size, to measure with."""
    try:
        resolve_base_model(name, "cross-encoder")
    except ModelError:
        return ["base_model=scratch", "size=base"], False
    return [f"base_model={name}"], True


def has_gpu() -> bool:
    import torch

    return torch.cuda.is_available()


def measured(wiki: Path, settings: Sequence[str]) -> float:
    """Return pairs a second of Wikiformer's recipe on this machine."""
    found = call(*shlex.split(MEASURE)[1:], "-w", wiki, *settings)
    return float(json.loads(found)["plan"]["pairs_per_second"])


def estimate(hours: float, here: float, gpu: bool) -> str:
    """Return what the work is, and how long it would take here."""
    rate = f"{here:,.1f} pairs of query and document a second on this machine, measured over a few steps."
    if gpu:
        return f"{rate} The tables take {hours:g} h of training and less than that of judging."
    work = hours * H200_PAIRS / here
    return (
        f"{rate} An H200 sees some {H200_PAIRS:,}. The tables, which train for {hours:g} h there, "
        f"would take {work:,.0f} h here for as many pairs; in {hours:g} h here every ranker learns from "
        f"{here / H200_PAIRS:.2%} of them."
    )


def compared(
    table: str, seed: int, options: argparse.Namespace, wiki: Path, judged: Path, settings: Sequence[str]
) -> Mapping[str, Any]:
    """Return the report of a table with one seed."""
    seconds = max(1, round(options.hours * 3600 / (TRAININGS * options.seeds)))
    queries, output = judged / "queries.jsonl", FOLDER / "tables" / str(seed)
    call(
        *("experiment", table, "-w", FOLDER / "judged", "--train-from", wiki, "--rows", ROWS[table]),
        *("--queries", queries, "--qrels", judged / "qrels" / "test.tsv"),
        *("--train-queries", queries, "--train-qrels", judged / "qrels" / "train.tsv"),
        *("--max-time", f"{seconds}s", "--seed", seed, "--output", output, "--force", *settings),
    )
    report: Mapping[str, Any] = json.loads((output / table / "report.json").read_text())
    return report


def as_table(title: str, reports: Sequence[Mapping[str, Any]]) -> str:
    """Means and standard deviations over the seeds, and p of each row against Wikiformer: the paired randomisation test
    on every query's mean over the seeds, Holm-corrected."""
    measures = reports[0]["measures"]
    labels = [label for label in reports[0]["per_query"] if all(label in each["per_query"] for each in reports)]
    scores = {
        label: {measure: [mean(each["per_query"][label][measure].values()) for each in reports] for measure in measures}
        for label in labels
    }
    tested = [label for label in labels if label != AGAINST and AGAINST in labels]
    first = measures[0]
    p_values = holm(
        [randomisation_test(of_queries(reports, label, first), of_queries(reports, AGAINST, first)) for label in tested]
    )
    p_of = dict(zip(tested, p_values, strict=True))
    lines = [f"{title}, {len(reports)} seeds", "", f"| | {' | '.join(measures)} | p ({first}, against {AGAINST}) |"]
    lines.append("|---" * (len(measures) + 2) + "|")
    for label in labels:
        cells = [f"{mean(values):.4f} ± {statistics.pstdev(values):.4f}" for values in scores[label].values()]
        lines.append(f"| {label} | {' | '.join(cells)} | {f'{p_of[label]:.4f}' if label in p_of else ''} |")
    lines += [f"| {label} | left out: {why} |" for label, why in left_out(title, reports).items()]
    (FOLDER / "tables" / f"{title}.md").write_text("\n".join(lines) + "\n")
    return "\n".join(lines)


def left_out(table: str, reports: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the rows that a report lacks, with what it says of them."""
    found = {}
    for report in reports:
        lines = [line.partition(" left out: ") for line in report["caveat"].splitlines()]
        reasons = {label: why for label, between, why in lines if between}
        missing = [label for label in ROWS[table].split(",") if label not in report["per_query"]]
        found.update({label: reasons.get(label, "its report does not say why") for label in missing})
    return found


class Training(NamedTuple):
    """What a training took of its machine. mfu: None where the device's peak is not known; memory: bytes, None where
    the system does not tell.
    """

    tokens_per_second: float
    mfu: float | None
    memory: int | None


def trained() -> Iterator[tuple[str, Training]]:
    """Yield the trainings of the tables' rows that there are, the last ones of each."""
    rows = [row for table in TABLES for row in read_experiment(table).narrowed(rows=ROWS[table]).rows]
    names = {
        name: f"{row.label}{end}"
        for row in rows
        for name, end in ((row.model, ""), (f"{row.model}-finetuned", ", fine-tuned"))
    }
    for name, label in names.items():
        folder = FOLDER / "judged" / "models" / name
        if folder.exists() and (steps := read_log(folder / "training.jsonl")):
            used = [step["mfu"] for step in steps if "mfu" in step]
            speed = sum(step["tokens"] for step in steps) / sum(step["seconds"] for step in steps)
            memory = read_record(FOLDER / "judged", name).training["peak_memory"]
            yield label, Training(speed, mean(used) if used else None, memory)


def as_speeds(trainings: Mapping[str, Sequence[Training]]) -> str:
    """Return means over the seeds, and the most memory. Without a GPU the memory is the process's, of all its rows."""
    lines = ["| training | tokens a second | MFU | peak memory, GB |", "|---|---|---|---|"]
    for label, its in trainings.items():
        used = [each.mfu for each in its if each.mfu is not None]
        taken = [each.memory for each in its if each.memory is not None]
        cells = [f"{mean(each.tokens_per_second for each in its):,.0f}", f"{mean(used):.1%}" if used else "not known"]
        lines.append(f"| {label} | {' | '.join(cells)} | {f'{max(taken) / 1e9:.2f}' if taken else 'not known'} |")
    (FOLDER / "tables" / "trainings.md").write_text("\n".join(lines) + "\n")
    return "\n".join(lines)


def of_queries(reports: Sequence[Mapping[str, Any]], label: str, measure: str) -> list[float]:
    """Return every query's mean over the seeds."""
    found = [each["per_query"][label][measure] for each in reports]
    return [mean([each[query] for each in found]) for query in found[0]]


def mean(values: Any) -> float:
    return statistics.fmean(values)


def call(*arguments: object) -> str:
    """Run a command, showing it, and give what it printed."""
    words = [str(each) for each in arguments]
    print(f"$ structformer {shlex.join(words)}", flush=True)
    command = [sys.executable, "-m", "structformer", *words]
    completed = subprocess.run(command, check=False, stdout=subprocess.PIPE, text=True)
    if completed.returncode:
        sys.exit(f"that ended with {completed.returncode}")
    return completed.stdout


if __name__ == "__main__":
    sys.exit(main())
