"""What is an adapter of `structformer pretrain` worth beside its base, on corpora that it never saw?

    python benchmarks/adapters.py SHARED ADAPTER... [--base minilm] [--sets ruff vite ...] [--work DIR] [--kept FILE]

SHARED holds corpora/NAME.tar.xz and eval/NAME/{queries.jsonl,qrels.tsv}. For the base and each adapter, a folder or hub
name, prints nDCG@10 of documents by its vectors alone and by the whole search (the default, with the static encoder,
descriptions and the second look rebuilt), all rows of a set from one run, with both kinds of BM25 beside them; the mean
over the sets and over each kind, how many sets are worse than the base's whole search by 0.005, and one randomisation
test of all queries of all sets together.

With --kept: every query's scores are kept in FILE, and a set that it holds is not measured again, so that a stopped run
goes on. A file of a run with other options is refused; one of another version of the code is not noticed."""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from structformer.retrieval.indexing import build_index, train_structure
from structformer.retrieval.learning.structure import StructureOptions
from structformer.retrieval.vectors.encoder_names import UNTRAINED
from structformer.storage.files import write_bytes
from structure import BASELINES, CORPORA, Scores, kept_before, prepared, scored, table

BM25 = {row: pipeline for row, pipeline in BASELINES.items() if row.startswith("BM25")}
ROWS = {"vectors": f"dense:{UNTRAINED}", "the search": f"hybrid:{UNTRAINED}"}


def measured(shared: Path, name: str, work: Path, encoders: Sequence[str]) -> Scores:
    """Return each query's nDCG@10 by row; the first encoder is the base."""
    workspace, judgements = prepared(shared, name, work)
    train_structure(workspace, "structure", StructureOptions(), force=True)
    scores = scored(workspace, judgements, BM25)
    for encoder in encoders:
        shutil.rmtree(workspace.cache, ignore_errors=True)  # nothing of another encoder's is taken over
        build_index(workspace, encoders=["structure", UNTRAINED], base_model=encoder)
        label = Path(encoder).name
        scores |= scored(workspace, judgements, {f"{label}, {row}": pipeline for row, pipeline in ROWS.items()})
    return scores


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("adapters", nargs="+")
    parser.add_argument("--base", default="minilm")
    parser.add_argument("--sets", nargs="+", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--work", type=Path, default=Path(".benchmarks"))
    parser.add_argument("--kept", type=Path)
    arguments = parser.parse_args()
    encoders = [arguments.base, *arguments.adapters]
    options: dict[str, object] = {"encoders": encoders}
    kept: dict[str, Scores] = dict(kept_before(arguments.kept, options)) if arguments.kept else {}
    for name in arguments.sets:
        if name not in kept:
            kept[name] = measured(arguments.shared, name, arguments.work, encoders)
            if arguments.kept:
                write_bytes(arguments.kept, json.dumps({"options": options, "sets": kept}).encode())
        means = {row: round(sum(of.values()) / len(of), 4) for row, of in kept[name].items()}
        print(f"{name}: {means}", flush=True)
    print(table({name: kept[name] for name in arguments.sets}, f"{Path(arguments.base).name}, the search"))


if __name__ == "__main__":
    main()
