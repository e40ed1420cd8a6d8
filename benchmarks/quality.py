"""Is the trained search better? Public commands only, on judged corpora: ingest, train, index, evaluate.

    python benchmarks/quality.py SHARED [--sets npm docker] [--time 10m] [--cross-time 10m] [--work DIR]

SHARED holds corpora/NAME-markdown.tar.xz and eval/NAME/{queries.jsonl,qrels.tsv}. Prints every command with its time and
the table of every set, all rows from one run.
"""

from __future__ import annotations

import argparse
import platform
import shlex
import subprocess
import sys
import tarfile
import time
from importlib.metadata import version
from pathlib import Path


def run(*arguments: object) -> str:
    """Run a structformer command, show it with its time, and give its output."""
    command = ["structformer", *map(str, arguments)]
    begun = time.monotonic()
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    print(f"$ {shlex.join(command)}   # {time.monotonic() - begun:.0f} s", flush=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stderr + done.stdout


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--sets", nargs="+", default=["npm", "docker"])
    parser.add_argument("--time", default="10m", help="training time of the bi-encoder")
    parser.add_argument("--cross-time", default="10m", help="training time of the cross-encoder; none leaves it out")
    parser.add_argument("--work", type=Path, default=Path(".benchmarks"))
    arguments = parser.parse_args()
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "tantivy"))
    print(f"{platform.machine()}, Python {platform.python_version()}, {packages}\n")
    for name in arguments.sets:
        corpus, workspace = arguments.work / name / "corpus", arguments.work / name / "workspace"
        with tarfile.open(arguments.shared / "corpora" / f"{name}-markdown.tar.xz") as tar:
            tar.extractall(corpus, filter="data")
        run("ingest", "--format", "markdown", corpus, "-w", workspace)
        print(run("train", "--max-time", arguments.time, "-w", workspace))
        run("index", "-w", workspace)
        folder = arguments.shared / "eval" / name
        judged = ("--queries", folder / "queries.jsonl", "--qrels", folder / "qrels.tsv")
        print(run("evaluate", *judged, "-w", workspace), flush=True)
        if arguments.cross_time != "none":
            print(run("train", "--ranker", "cross-encoder", "--max-time", arguments.cross_time, "-w", workspace))
            reranked = ("dense", "dense >> rerank@20", "hybrid", "hybrid >> rerank@20")
            pipelines = [part for pipeline in reranked for part in ("--pipeline", pipeline)]
            print(run("evaluate", *judged, *pipelines, "-w", workspace), flush=True)


if __name__ == "__main__":
    main()
