"""Does learning from structure alone stay within twenty minutes and a few gigabytes at a million passages?

    python benchmarks/structure_at_scale.py SHARED [--sets git stacks man] [--times 1 10] [--work DIR]

SHARED holds corpora/NAME.tar.xz. The documents of the sets are written so many times, as Markdown; in every copy but
the first a third of the words is another, so that the vocabulary grows with the text as it does in real corpora. Each
size is ingested by the public command and then indexed without a pretrained encoder, in a process of its own: seconds
by stage, of one core where nothing else runs, and the memory that the process grew to. The ratio is of seconds a
passage between the largest size and the smallest: 1 is linear."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import resource
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path

from structformer.corpus import Corpus
from structformer.document import Document
from structformer.ingestion import ingest
from structformer.retrieval import Retriever
from structformer.retrieval.indexing import build_index
from structformer.workspace import Workspace

CORPORA = {"git": "git-html", "stacks": "stacks-sections", "man": "man-html"}
_WORD = re.compile(r"[^\W\d_]{4,}")
_QUERIES = 200


def documents(shared: Path, sets: list[str], work: Path) -> Iterator[Document]:
    """Yield the documents of the sets."""
    for name in sets:
        corpus, workspace = work / name / "corpus", Workspace(work / name / "ws")
        if not corpus.exists():
            with tarfile.open(shared / "corpora" / f"{CORPORA[name]}.tar.xz") as tar:
                tar.extractall(corpus, filter="data")
        ingest([corpus], workspace)
        yield from Corpus.open(workspace).documents()


def markdown(document: Document, copy: int) -> str:
    """Return a document as Markdown, a third of its words being another in each copy."""
    renamed: dict[str, str] = {}

    def word(found: re.Match[str]) -> str:
        if found[0] not in renamed:
            digest = hashlib.blake2b(found[0].lower().encode(), digest_size=4).digest()
            mark = "".join(chr(97 + (digest[1] + copy) % 26) + chr(97 + (copy * 7) % 26)) if digest[0] % 3 == 0 else ""
            renamed[found[0]] = found[0] + mark
        return renamed[found[0]]

    parts = []
    for section in document.sections():
        text = section.text.replace("\n", "\n\n")
        parts.append(f"{'#' * min(6, section.level + 1)} {section.title}\n\n{text}")
    text = "\n\n".join(parts)
    return _WORD.sub(word, text) if copy else text


def written(shared: Path, sets: list[str], work: Path, times: int) -> Path:
    """Return a folder with every document so many times."""
    folder = work / f"times-{times}"
    if not folder.exists():
        for number, document in enumerate(documents(shared, sets, work)):
            for copy in range(times):
                path = folder / f"{copy:03}" / f"{number % 100:02}" / f"{number:06}.md"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(markdown(document, copy), encoding="utf-8")
    return folder


def indexed(workspace: Workspace) -> dict[str, float]:
    """Make the index, in this process; its figures."""
    stages: dict[str, float] = {}
    last = time.monotonic()

    def told(stage: str, done: int, of: int) -> None:
        nonlocal last
        now = time.monotonic()
        stages[stage] = stages.get(stage, 0.0) + now - last
        last = now

    begun, cpu = last, time.process_time()
    manifest = build_index(workspace, encoders=["structure"], progress=told)
    seconds, cpu = time.monotonic() - begun, time.process_time() - cpu
    stages["the rest"] = time.monotonic() - last
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    retriever = Retriever.open(workspace)
    queries = [
        retriever.units[number].text[:60] for number in range(0, manifest["units"], manifest["units"] // _QUERIES)
    ]
    queries = [query for query in queries if re.search(r"\w", query)]
    retriever.search(queries[0])
    asked = time.perf_counter()
    for query in queries:
        retriever.search(query)
    return {
        "passages": manifest["units"],
        "seconds": seconds,
        "CPU seconds": cpu,
        "peak MB": peak,
        "ms a search": 1000 * (time.perf_counter() - asked) / len(queries),
        **{f"s {stage}": value for stage, value in stages.items()},
    }


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--times", nargs="+", type=int, default=[1, 10])
    parser.add_argument("--work", type=Path, default=Path(".benchmarks"))
    parser.add_argument("--indexed", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.indexed:
        print(json.dumps(indexed(Workspace(arguments.indexed))))
        return
    costs = []
    for times in arguments.times:
        folder, workspace = (
            written(arguments.shared, arguments.sets, arguments.work, times),
            arguments.work / f"ws-{times}",
        )
        begun = time.monotonic()
        subprocess.run([sys.executable, "-m", "structformer", "ingest", str(folder), "-w", str(workspace)], check=True)
        read = time.monotonic() - begun
        shutil.rmtree(workspace / "models", ignore_errors=True)
        shutil.rmtree(workspace / "index", ignore_errors=True)
        command = [sys.executable, __file__, str(arguments.shared), "--indexed", str(workspace)]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"{times} times, read in {read:.0f} s:", ", ".join(f"{what} {value:,.1f}" for what, value in found.items())
        )
        sys.stdout.flush()
        costs.append(found["CPU seconds"] / found["passages"])
    print(f"CPU seconds a passage, largest size to smallest: {costs[-1] / costs[0]:.2f}")


if __name__ == "__main__":
    main()
