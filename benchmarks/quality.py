"""What is the whole search worth, trained and untrained, and does training tell the truth about itself?

    python benchmarks/quality.py SHARED [--sets git docker npm ...] [--seeds 3] [--work DIR] [--kept FILE]

SHARED holds corpora/NAME.tar.xz and eval/NAME/{queries.jsonl,qrels.tsv}. Everything runs with its defaults; a seed is
that of the static encoder and of the training. Prints nDCG@10 of documents, all rows of a set from one run, means over
the seeds: BM25 of sections and of documents, MiniLM, reciprocal rank fusion, the hybrid without structure; the search
with nothing pretrained; the whole score before training, after it, and as the search uses it, which is the trained one
unless held-out questions saw a loss; the latter without the second look, and with each part of the score left out. For
every row the mean over the sets, how many sets are worse by 0.005, and one randomisation test of all queries of all
sets together.

Then what each training said of itself beside people's queries: a keep where they lost, or a refusal where they gained,
is a false verdict, and counted.

With --kept: every query's scores are kept in FILE, and a set that it holds is not measured again, so that a stopped run
goes on. A file of a run with other options is refused; one of another version of the code is not noticed."""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from structformer.errors import StructformerError
from structformer.evaluation.judgements import Judgements
from structformer.models.registry import read_record
from structformer.query_side import train
from structformer.retrieval.indexing import build_index, train_structure
from structformer.retrieval.learning.structure import StructureOptions
from structformer.retrieval.vectors.encoder_names import ENCODER, UNTRAINED
from structformer.static_encoder.contrastive import LearningOptions
from structformer.storage.files import write_bytes
from structformer.training.options import TrainingOptions
from structformer.workspace import Workspace
from structure import (
    BASELINES,
    BEFORE,
    CORPORA,
    LEFT_OUT,
    Scores,
    kept_before,
    mean,
    over_seeds,
    prepared,
    scored,
    table,
)

NOTHING, NO_LOOK = "nothing pretrained", "without the second look"
BEFORE_TRAINING, TRAINED, SEARCH = "the whole score, untrained", "the whole score, trained", "the search"
Set = dict[str, Any]  # scores by row and query; verdicts, by seed; seconds


def measured(workspace: Workspace, judgements: Judgements, seeds: int) -> Set:
    """Return a set's scores, and what each training said."""
    begun = time.monotonic()
    shutil.rmtree(workspace.models / ENCODER, ignore_errors=True)
    found = scored(workspace, judgements, {**BASELINES, BEFORE: f"hybrid:{UNTRAINED}"})
    runs, verdicts, seconds = [], [], []
    for seed in range(seeds):
        learning = StructureOptions(learning=LearningOptions(seed=seed))
        train_structure(workspace, "structure", replace(learning, alone=True), force=True)
        nothing = scored(workspace, judgements, {NOTHING: "hybrid:structure"})
        train_structure(workspace, "structure", learning, force=True)
        build_index(workspace, encoders=["structure", UNTRAINED])
        training = time.monotonic()
        train(workspace, TrainingOptions(seed=seed), force=True)
        seconds.append(time.monotonic() - training)
        record = read_record(workspace, ENCODER)
        used = ENCODER if record.used else UNTRAINED
        rows = {BEFORE_TRAINING: UNTRAINED, TRAINED: ENCODER, SEARCH: used}
        run = nothing | scored(workspace, judgements, {row: f"hybrid:{encoder}" for row, encoder in rows.items()})
        run |= scored(workspace, judgements, {NO_LOOK: f"hybrid:{used}[look=none]"})
        for row, without in LEFT_OUT.items():
            run |= scored(workspace, judgements, {row: f"hybrid:{used}"}, without, encoder=used)
        runs.append(run)
        verdicts.append(
            {
                "said": [record.judged.gain, record.judged.low, record.judged.high] if record.judged else None,
                "used": record.used,
                "untrained": mean(run[BEFORE_TRAINING]),
                "trained": mean(run[TRAINED]),
            }
        )
    return {
        "scores": found | over_seeds(runs),
        "verdicts": verdicts,
        "training seconds": seconds,
        "seconds": time.monotonic() - begun,
    }


def of_rows(results: dict[str, Set], rows: Collection[str]) -> dict[str, Scores]:
    """Return the sets' scores of some rows."""
    return {name: {row: its["scores"][row] for row in rows} for name, its in results.items()}


def verdicts(results: dict[str, Set]) -> Iterator[str]:
    """Yield a Markdown table of what each training said beside what people's queries say, and the false ones."""
    false_keeps = false_refusals = trainings = 0
    yield "| set | seed | held-out questions [95 %] | used | people's queries |"
    yield "|---|---|---|---|---|"
    for name, result in results.items():
        for seed, its in enumerate(result["verdicts"]):
            gain = its["trained"] - its["untrained"]
            false_keeps += its["used"] and gain < 0
            false_refusals += not its["used"] and gain > 0
            trainings += 1
            said = "{:+.3f} [{:+.3f}, {:+.3f}]".format(*its["said"]) if its["said"] else "not judged"
            yield f"| {name} | {seed} | {said} | {'yes' if its['used'] else 'no'} | {gain:+.4f} |"
    yield f"\n{false_keeps} false keeps, {false_refusals} false refusals of {trainings}"


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--work", type=Path, default=Path(".benchmarks"))
    parser.add_argument("--kept", type=Path)
    arguments = parser.parse_args()
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "tantivy"))
    print(f"{platform.machine()}, Python {platform.python_version()}, {packages}\n")
    options: dict[str, object] = {"seeds": arguments.seeds}
    try:
        kept: dict[str, Any] = dict(kept_before(arguments.kept, options)) if arguments.kept else {}
    except StructformerError as error:
        parser.error(str(error))
    for name in arguments.sets:
        if name not in kept:
            kept[name] = measured(*prepared(arguments.shared, name, arguments.work), arguments.seeds)
            if arguments.kept:
                write_bytes(arguments.kept, json.dumps({"options": options, "sets": kept}).encode())
        rows = {row: round(mean(values), 4) for row, values in kept[name]["scores"].items()}
        seconds = " ".join(f"{each:.0f}" for each in kept[name]["training seconds"])
        print(f"{name} {json.dumps(rows)} {kept[name]['seconds']:.0f} s; trainings: {seconds} s", flush=True)
    results = {name: kept[name] for name in arguments.sets}
    print("\n" + table(of_rows(results, [*BASELINES, BEFORE, NOTHING, BEFORE_TRAINING, TRAINED, SEARCH]), BEFORE))
    print("\n" + table(of_rows(results, [BEFORE_TRAINING, TRAINED, SEARCH]), BEFORE_TRAINING))
    print("\n" + table(of_rows(results, [SEARCH, NO_LOOK, *LEFT_OUT]), SEARCH))
    print("\n" + "\n".join(verdicts(results)))


if __name__ == "__main__":
    main()
