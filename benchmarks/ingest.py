"""Ingest of many files: throughput on one and on all cores, memory, and equality after kills.

    python benchmarks/ingest.py FOLDER [--files 10000] [--work DIR]

FOLDER's Markdown files are repeated under other names up to --files. Prints each figure beside its limit or peer: two
workers against one, our reader against markdown-it-py alone, peak memory of parent and readers at a tenth of the files
and at all, and whether a corpus whose ingest was killed several times equals an undisturbed one byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
from markdown_it import MarkdownIt
from structformer import read


def repeat(source: Path, target: Path, count: int) -> None:
    """Fill a folder with copies of a folder's Markdown files."""
    originals = sorted(source.rglob("*.md"))
    for number in range(count):
        original = originals[number % len(originals)]
        path = target / f"copy{number // len(originals):04}" / original.relative_to(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(original, path)


def ingest(folder: Path, workspace: Path, workers: int) -> tuple[float, float, float]:
    """Seconds, and peak megabytes of the parent and of the largest reader."""
    shutil.rmtree(workspace, ignore_errors=True)
    command = [
        sys.executable,
        "-m",
        "structformer",
        "ingest",
        str(folder),
        "-w",
        str(workspace),
        "--workers",
        str(workers),
        "-q",
    ]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peaks = [0.0, 0.0]
    done = threading.Event()

    def watch() -> None:
        watched = psutil.Process(process.pid)
        while not done.wait(0.1):
            try:
                peaks[0] = max(peaks[0], watched.memory_info().rss / 1e6)
                for child in watched.children(recursive=True):
                    peaks[1] = max(peaks[1], child.memory_info().rss / 1e6)
            except psutil.Error:
                continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    process.wait()
    done.set()
    watcher.join()
    return time.monotonic() - begun, peaks[0], peaks[1]


def digest(workspace: Path) -> str:
    """Return one digest of all files of a corpus but the record of the command."""
    total = hashlib.sha256()
    for path in sorted((workspace / "corpus").rglob("*")):
        # Seals and numbers of generations tell how often it was ingested, not what is in it.
        if path.is_file() and path.name not in ("command.json", "seal.json"):
            total.update(path.name.encode() + path.read_bytes())
    return total.hexdigest()


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--work", type=Path, default=Path(".benchmarks"))
    arguments = parser.parse_args()
    many, few = arguments.work / "many", arguments.work / "few"
    for folder, count in ((many, arguments.files), (few, arguments.files // 10)):
        shutil.rmtree(folder, ignore_errors=True)
        repeat(arguments.folder, folder, count)
    size = sum(path.stat().st_size for path in many.rglob("*.md")) / 1e6
    print(f"{arguments.files} files, {size:.1f} MB, {os.cpu_count()} cores")

    sample = [path.read_bytes() for path in sorted(arguments.folder.rglob("*.md"))]
    parser_alone = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    times = {"ours": 0.0, "markdown-it-py": 0.0}
    for _ in range(3):
        for name in times:
            begun = resource.getrusage(resource.RUSAGE_SELF).ru_utime
            for data in sample:
                if name == "ours":
                    list(read(data, format="markdown"))
                else:
                    parser_alone.parse(data.decode())
            times[name] += resource.getrusage(resource.RUSAGE_SELF).ru_utime - begun
    speeds = {name: 3 * sum(map(len, sample)) / 1e6 / seconds for name, seconds in times.items()}
    ratio = speeds["ours"] / speeds["markdown-it-py"]
    print(
        f"reader, MB/s a core: ours {speeds['ours']:.2f}, markdown-it-py alone "
        f"{speeds['markdown-it-py']:.2f}, ratio {ratio:.2f}"
    )

    whole = arguments.work / "whole"
    tenth = ingest(few, arguments.work / "tenth", 2)
    one = ingest(many, arguments.work / "one", 1)
    two = ingest(many, whole, 2)
    print(f"seconds with links resolved: one worker {one[0]:.1f}, two {two[0]:.1f}, ratio {one[0] / two[0]:.2f}")
    print(f"peak MB at {arguments.files // 10} files: parent {tenth[1]:.0f}, reader {tenth[2]:.0f}")
    print(
        f"peak MB at {arguments.files} files: parent {two[1]:.0f}, reader {two[2]:.0f}, ratio of "
        f"readers {two[2] / tenth[2]:.2f}"
    )

    killed = arguments.work / "killed"
    shutil.rmtree(killed, ignore_errors=True)
    rng = random.Random(0)
    command = [sys.executable, "-m", "structformer", "ingest", str(many), "-w", str(killed), "-q"]
    for _ in range(5):
        process = subprocess.Popen(
            command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(rng.uniform(0.1, 0.6) * two[0] / 2)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    begun = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    equal = digest(killed) == digest(whole) == digest(arguments.work / "one")
    print(f"killed 5 times, then finished in {time.monotonic() - begun:.1f} s: byte-identical {equal}")


if __name__ == "__main__":
    main()
