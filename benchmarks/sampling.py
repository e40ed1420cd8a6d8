"""Sampling from a corpus on disk: Examples a second of one core, two workers beside one, and memory as the corpus
grows.

    python benchmarks/sampling.py DOCUMENTS [DOCUMENTS ...] [--copies 4]

Each figure is of a process of its own, reading of the corpus and writing of the Examples included; the limit is 20,000
a second. Memory is compared between the documents and so many copies of them."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

TASKS = ["srr", "rwi", "ati", "ict"]
LIMIT = 20_000
_MEASURE = """
import json, resource, sys, time
from structformer.sampling import sample, tasks as known_tasks
workspace, tasks, workers = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])
known_tasks()  # plugins are loaded once a process
wall, used = time.monotonic(), time.process_time()
samples = sample(workspace, tasks, workers=workers)
seconds, cpu = time.monotonic() - wall, time.process_time() - used
print(json.dumps({"examples": len(samples), "counts": samples.counts, "seconds": seconds, "cpu": cpu,
                  "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def measured(workspace: Path, tasks: list[str], workers: int) -> dict[str, float]:
    """Sample once in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _MEASURE, str(workspace), ",".join(tasks), str(workers)],
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def ingested(documents: Path, folder: Path, copies: int) -> Path:
    """Return a workspace with so many copies of the documents."""
    source = documents
    if copies > 1:
        source = folder / f"{documents.name}-{copies}"
        for number in range(copies):
            shutil.copytree(documents, source / f"copy{number}")
    workspace = folder / f"workspace-{documents.name}-{copies}"
    subprocess.run(
        [sys.executable, "-m", "structformer", "ingest", str(source), "-w", str(workspace), "-q"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return workspace


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path, nargs="+")
    parser.add_argument("--copies", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"pyarrow {version('pyarrow')}"
    )
    head = f"{'Examples':>10}{'per second':>12}{'of limit':>10}{'two workers':>13}{'MB':>7}"
    head += f"{f'MB, {arguments.copies} copies':>15}"
    print(f"{'corpus':24}{'tasks':20}{head}")
    with tempfile.TemporaryDirectory() as folder:
        for documents in arguments.documents:
            workspace = ingested(documents, Path(folder), 1)
            many = ingested(documents, Path(folder), arguments.copies)
            for tasks in (TASKS, ["ict"], ["srr", "rwi", "ati"]):
                runs = [measured(workspace, tasks, 1) for _ in range(arguments.rounds)]
                speed = statistics.median(run["examples"] / run["seconds"] for run in runs)
                two = statistics.median(
                    runs[number]["seconds"] / measured(workspace, tasks, 2)["seconds"]
                    for number in range(arguments.rounds)
                )
                memory = measured(many, tasks, 1)["megabytes"]
                print(
                    f"{documents.name:24}{','.join(tasks):20}{runs[0]['examples']:>10,.0f}"
                    f"{speed:>12,.0f}{speed / LIMIT:>10.2f}{two:>12.2f}x"
                    f"{runs[0]['megabytes']:>7.0f}{memory:>15.0f}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
