"""Is the trained search better? Public commands only, on judged corpora: ingest, train, index, evaluate, with the
defaults.

    python benchmarks/quality.py SHARED [--sets git docker npm] [--time 10m] [--work DIR]

SHARED holds corpora/{git-html,docker-markdown,npm-markdown}.tar.xz and eval/NAME/{queries.jsonl,qrels.tsv}. Prints
every command with its time and the table of every set, all rows from one run. With --time none the models of the run
before are used."""

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

CORPORA = {"git": "git-html", "docker": "docker-markdown", "npm": "npm-markdown"}


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
    parser.add_argument("--sets", nargs="+", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--time", default="10m", help="training time, which is the default's")
    parser.add_argument("--work", type=Path, default=Path(".benchmarks"))
    arguments = parser.parse_args()
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers", "tantivy"))
    print(f"{platform.machine()}, Python {platform.python_version()}, {packages}\n")
    for name in arguments.sets:
        corpus, workspace = arguments.work / name / "corpus", arguments.work / name / "workspace"
        if arguments.time != "none":
            with tarfile.open(arguments.shared / "corpora" / f"{CORPORA[name]}.tar.xz") as tar:
                tar.extractall(corpus, filter="data")
            run("ingest", corpus, "-w", workspace)
            print(run("train", "--max-time", arguments.time, "-w", workspace))
        run("index", "-w", workspace)
        folder = arguments.shared / "eval" / name
        print(
            run("evaluate", "--queries", folder / "queries.jsonl", "--qrels", folder / "qrels.tsv", "-w", workspace),
            flush=True,
        )


if __name__ == "__main__":
    main()
