"""Does the cost of reading a wiki grow with its size alone, and what share of it is the reference graph?

    python benchmarks/scale.py DUMP [--times 1 10 100] [--work DIR] [--picture FILE.svg]

DUMP is a sample of Wikipedia (pages-articles.xml.bz2). It is repeated with other titles and ids, links between its
pages following, and written as Wikipedia's multistream files are, a hundred pages a stream. Each size is ingested by
the public command; memory is looked at five times a second, the largest of one worker counts. The bars: from 10 to 100
times the time within 15 % of ten times, 1 GB a worker, the graph at most 30 % of the whole."""

from __future__ import annotations

import argparse
import bz2
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil

A_STREAM = 100  # pages
WIKIPEDIA_GB, CORES = 25, 64


def repeated(dump: Path, times: int, target: Path) -> int:
    """Write the dump so many times, as one; returns the number of pages."""
    text = bz2.decompress(dump.read_bytes())
    head = text[: text.index(b"<page>")]
    pages = re.findall(rb"<page>.*?</page>\s*", text, re.DOTALL)
    titles = {title for page in pages if (title := re.search(rb"<title>([^<]*)</title>", page)[1])}
    with target.open("wb") as file:
        file.write(bz2.compress(head))
        for copy in range(times):
            end = b" (copy %d)" % copy if copy else b""
            made = [_renamed(page, titles, end, copy * len(pages)) for page in pages] if copy else pages
            for start in range(0, len(made), A_STREAM):
                file.write(bz2.compress(b"".join(made[start : start + A_STREAM])))
        file.write(bz2.compress(b"</mediawiki>\n"))
    return times * len(pages)


def _renamed(page: bytes, titles: set[bytes], end: bytes, first: int) -> bytes:
    """Return a page of another copy: its title, its id, and its links to pages of the sample."""

    def link(found: re.Match[bytes]) -> bytes:
        name = found[1].strip()
        return b"[[" + name + end if name[:1].upper() + name[1:] in titles else found[0]

    page = re.sub(rb"<title>([^<]*)</title>", lambda found: b"<title>" + found[1] + end + b"</title>", page, count=1)
    page = re.sub(rb"<id>(\d+)</id>", lambda found: b"<id>%d</id>" % (int(found[1]) + first), page, count=1)
    page = re.sub(rb'<redirect title="([^"]*)"', lambda found: b'<redirect title="' + found[1] + end + b'"', page)
    return re.sub(rb"\[\[([^\]|#<>{}:]+)", link, page)


def ingested(folder: Path, workspace: Path) -> tuple[float, float, float, float]:
    """Return (seconds in all, seconds after the last shard was made, MB of the largest worker, MB of the parent)."""
    shutil.rmtree(workspace, ignore_errors=True)
    began, worker, parent = time.monotonic(), 0.0, 0.0
    command = [sys.executable, "-m", "structformer", "ingest", str(folder), "-w", str(workspace), "-q"]
    process = psutil.Popen(command, stdout=subprocess.DEVNULL)
    last_shard = began
    known = 0
    while process.poll() is None:
        made = len(list((workspace / "corpus" / "shards").glob("*-*-*")))
        if made != known:
            known, last_shard = made, time.monotonic()
        try:
            parent = max(parent, process.memory_info().rss / 1e6)
            worker = max([worker, *(child.memory_info().rss / 1e6 for child in process.children())])
        except psutil.Error:
            pass
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"ingest ended with {process.returncode}")
    ended = time.monotonic()
    return ended - began, ended - last_shard, worker, parent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dump", type=Path)
    parser.add_argument("--times", type=int, nargs="+", default=[1, 10, 100])
    parser.add_argument("--work", type=Path, default=Path("scale-work"))
    parser.add_argument("--picture", type=Path)
    args = parser.parse_args()
    print("| times | pages | MB packed | seconds | the graph | MB a worker | MB of the parent |")
    print("|---|---|---|---|---|---|---|", flush=True)
    rows = []
    for times in args.times:
        folder = args.work / f"dump-{times}"
        folder.mkdir(parents=True, exist_ok=True)
        pages = repeated(args.dump, times, folder / "wiki.xml.bz2")
        packed = (folder / "wiki.xml.bz2").stat().st_size / 1e6
        seconds, graph, worker, parent = ingested(folder, args.work / f"workspace-{times}")
        rows.append((times, packed, seconds, graph, worker))
        share = f"{graph:.1f} s, {graph / seconds:.0%}"
        print(
            f"| {times} | {pages:,} | {packed:.1f} | {seconds:.1f} | {share} | {worker:.0f} | {parent:.0f} |",
            flush=True,
        )
    (_, small, first, *_), (_, large, last, *_) = rows[-2], rows[-1]
    growth = (last / first) / (large / small)
    print(f"\ntime grows {growth:.2f} times as fast as the size (bar 1.15)")
    rate = large / last / (psutil.cpu_count() or 1)
    hours = WIKIPEDIA_GB * 1000 / rate / CORES / 60
    print(
        f"{rate:.2f} MB packed a second and core: Wikipedia ({WIKIPEDIA_GB} GB) on {CORES} cores in {hours:.0f} minutes"
    )
    if args.picture:
        draw(rows, args.picture)


def draw(rows: list[tuple[float, ...]], picture: Path) -> None:
    """Seconds against size, both logarithmic, with a line of equal cost a page."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "scale"
    from matplotlib import pyplot

    sizes, seconds, graph = ([row[place] for row in rows] for place in (1, 2, 3))
    figure, axes = pyplot.subplots(figsize=(6, 3.6))
    axes.loglog(sizes, seconds, "o-", label="ingest")
    axes.loglog(sizes, graph, "s-", label="of it the reference graph")
    axes.loglog(sizes, [seconds[-1] * size / sizes[-1] for size in sizes], ":", color="gray", label="cost like size")
    axes.set_xlabel("MB of the dump, packed")
    axes.set_ylabel("seconds, two cores")
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main()
