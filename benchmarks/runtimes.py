"""Does the search find the same without torch? MiniLM by torch, by onnxruntime, and with queries in 8 bits.

    python benchmarks/runtimes.py SHARED [--sets prometheus npm ...] [--work DIR]

SHARED holds corpora/NAME.tar.xz and eval/NAME/{queries.jsonl,qrels.tsv}. Each set is indexed anew for each runtime, in
a separate process; torch is hidden from onnxruntime's. Prints a Markdown table: nDCG@10 of documents by the default
search, CPU seconds of `index` for 1,000 passages (the static encoder and the vectors), the process's memory at its
highest, and milliseconds a search (the median over the set's questions but the first)."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

TORCH, ONNX, INT8 = RUNTIMES = ("torch, float32", "onnxruntime", "onnxruntime, queries in 8 bits")
_SETS = ("prometheus", "fastapi", "ruff", "npm", "docker", "git")


def use(runtime: str) -> None:
    """Let torch encode whatever would be quicker here, or hide it."""
    if runtime == TORCH:
        from structformer.retrieval.vectors import encoder_places

        vars(encoder_places)["torch_is_quicker"] = lambda texts: True
    else:
        sys.modules.update(dict.fromkeys(("torch", "transformers", "accelerate")))


def measured(shared: Path, name: str, runtime: str, work: Path) -> dict[str, float]:
    """Index and ask one set. Returns its row of the table."""
    import numpy as np
    from structformer import Retriever
    from structformer.evaluation.judgements import read_judgements
    from structformer.evaluation.measures import Evaluator, parse_measure
    from structformer.retrieval.indexing import build_index
    from structformer.retrieval.vectors.encoder_names import UNTRAINED
    from structure import CORPORA, ingested

    from structformer_exports.onnx_models import export_model

    judgements = read_judgements(shared / "eval" / name / "queries.jsonl", shared / "eval" / name / "qrels.tsv")
    workspace = ingested(shared, CORPORA[name], work / name)
    begun = time.process_time()
    build_index(workspace, encoders=["structure", UNTRAINED], base_model="minilm")
    spent = time.process_time() - begun
    if runtime == INT8:
        export_model(workspace, UNTRAINED, int8=True)
    retriever = Retriever.open(workspace)
    asked, run, seconds = judgements.asked(), {}, []
    for number, (query, text) in enumerate(asked.items()):
        start = time.perf_counter()
        [run[query]] = retriever.rank_documents([text], f"hybrid:{UNTRAINED}", k=10)
        seconds += [time.perf_counter() - start][: number > 0]
    evaluator = Evaluator([parse_measure("nDCG@10")], {query: judgements.qrels[query] for query in asked})
    values = [value for _, _, value in evaluator.values(run)]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    cost = 1000 * spent / len(retriever.units)
    return {"nDCG": sum(values) / len(asked), "CPU s": cost, "MB": memory, "ms": 1000 * float(np.median(seconds))}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--sets", nargs="+", default=_SETS)
    parser.add_argument("--work", type=Path, default=Path(".benchmarks") / "runtimes")
    parser.add_argument("--only", choices=RUNTIMES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only:
        use(arguments.only)
        [name] = arguments.sets
        print(json.dumps(measured(arguments.shared, name, arguments.only, arguments.work)))
        return
    print("| set | runtime | nDCG@10 | difference | CPU s, 1,000 passages | MB | ms a search |")
    print("|---|---|---|---|---|---|---|")
    for name in arguments.sets:
        torch = 0.0
        for runtime in RUNTIMES:
            place = arguments.work / str(RUNTIMES.index(runtime))
            command = [sys.executable, __file__, arguments.shared, "--sets", name, "--only", runtime, "--work", place]
            done = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True)
            row = json.loads(done.stdout.splitlines()[-1])
            torch = row["nDCG"] if runtime == TORCH else torch
            costs = f"{row['CPU s']:.1f} | {row['MB']:.0f} | {row['ms']:.1f}"
            print(f"| {name} | {runtime} | {row['nDCG']:.4f} | {row['nDCG'] - torch:+.4f} | {costs} |", flush=True)


if __name__ == "__main__":
    main()
