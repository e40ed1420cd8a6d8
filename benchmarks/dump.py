"""A MediaWiki dump of any size, made by repeating the sample: time with one worker and two, and memory of every
process.

    python benchmarks/dump.py SHARED [--megabytes 200] [--workers 1 2] [--pack .zst]

Prints seconds, MB/s, and the highest resident memory of the parent and of a worker (sampled ten times a second).
"""

from __future__ import annotations

import argparse
import bz2
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil


def make(shared: Path, megabytes: int, path: Path) -> float:
    """Write the dump; returns its size in MB of XML."""
    with bz2.open(shared / "corpora" / "enwiki-pages-articles-sample.xml.bz2") as file:
        whole = file.read()
    head, _, rest = whole.partition(b"<page>")
    pages = b"<page>" + rest.rpartition(b"</page>")[0] + b"</page>\n"
    size = 0
    if path.suffix == ".zst":
        import zstandard

        opened = zstandard.open(path, "wb")
    else:
        opened = path.open("wb")
    with opened as out:
        out.write(head)
        number = 0
        while size < megabytes * 1_000_000:
            # Titles differ from copy to copy, as a dump's do.
            copy = pages.replace(b"<title>", b"<title>%d " % number)
            out.write(copy)
            size += len(copy)
            number += 1
        out.write(b"</mediawiki>\n")
    return size / 1e6


def run(source: Path, workspace: Path, workers: int) -> tuple[float, float, float]:
    """Return (seconds, MB of the parent at most, MB of a worker at most)."""
    command = [
        sys.executable,
        "-c",
        "import sys; from structformer.ingestion import ingest; ingest(sys.argv[1], sys.argv[2], "
        "workers=int(sys.argv[3]))",
        str(source),
        str(workspace),
        str(workers),
    ]
    began = time.monotonic()
    process = subprocess.Popen(command)
    parent = worker = 0
    watched = psutil.Process(process.pid)
    while process.poll() is None:
        try:
            parent = max(parent, watched.memory_info().rss)
            worker = max([worker, *(child.memory_info().rss for child in watched.children())])
        except psutil.Error:
            pass
        time.sleep(0.1)
    if process.returncode:
        raise SystemExit(f"ingest failed with {process.returncode}")
    return time.monotonic() - began, parent / 1e6, worker / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--megabytes", type=int, default=200)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--pack", choices=["", ".zst"], default="")
    chosen = parser.parse_args()
    print("| dump, MB of XML | workers | seconds | MB/s | parent, MB at most | a worker, MB at most |")
    print("|---|---|---|---|---|---|")
    times: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / f"dump.xml{chosen.pack}"
        size = make(chosen.shared, chosen.megabytes, source)
        for workers in chosen.workers:
            seconds, parent, worker = run(source, Path(folder) / f"w{workers}", workers)
            times[workers] = seconds
            print(
                f"| {size:.0f} | {workers} | {seconds:.1f} | {size / seconds:.1f} | {parent:.0f} | {worker:.0f} |",
                flush=True,
            )
    if {1, 2} <= set(times):
        print(f"\ntwo workers: {times[1] / times[2]:.2f} times one")


if __name__ == "__main__":
    main()
