"""Attempts to break a workspace: kills, writers and readers at once, flipped bits. Prints each figure with the bar,
which is zero.

    python benchmarks/reliability.py DOCUMENTS            # a folder of documents, a hundred or so
    python benchmarks/reliability.py DOCUMENTS --parts lock publish flips
    python benchmarks/reliability.py DOCUMENTS --attack           # a table of claim, tries, failures
    python benchmarks/reliability.py DOCUMENTS --attack swaps slow restarts

ingest, sample, train, index, merge: kill -9 at random points of the command's run, of the process alone or of its whole
group, then the command again: the same bytes (of the index the same answers, since tantivy names its files at random),
and nothing left behind."""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

KILLS = {"ingest": 30, "sample": 20, "train": 20, "index": 20, "merge": 20}
_IN_ATTACKS = ("train", "merge")
TRAIN = (
    "--base-model",
    "scratch",
    "--size",
    "tiny",
    "--batch",
    "4",
    "--max-tokens",
    "48",
    "--save-steps",
    "2",
    "--precision",
    "fp32",
    "--threads",
    "1",
    "--max-steps",
    "12",
    "--max-time",
    "none",
    "--name",
    "killed",
)
QUERIES = (
    "install a package",
    "remove the container",
    "how to list versions",
    "configuration file",
    "undo the last commit",
)


def command(*arguments: object) -> list[str]:
    """Return a structformer command line."""
    return [sys.executable, "-m", "structformer", *map(str, arguments)]


def run(*arguments: object) -> None:
    """Run a command that must succeed."""
    done = subprocess.run(command(*arguments), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{arguments}: {done.stderr[-800:]}")


def content(workspace: Path, part: str) -> str:
    """Return a digest of what a command publishes, without what tells how often or how long it ran."""
    from structformer.workspace import Workspace

    place = Workspace(workspace)
    if part == "index":
        return answers(workspace)
    folders = (
        [place.models / "killed"]
        if part == "train"
        else [place.folder("samples")]
        if part == "sample"
        else [place.shards, place.folder("corpus"), place.folder("graph")]
    )
    passing = {"command.json", "seal.json", "README.md", "structformer.json", "training.jsonl", "000.sqlite"}
    total = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.name not in passing:
                total.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return total.hexdigest()


def answers(workspace: Path) -> str:
    """Return what a search answers: hits and scores to six digits."""
    from structformer import Retriever

    retriever = Retriever.open(workspace)
    found = [(hit.address, round(hit.score, 6)) for query in QUERIES for hit in retriever.search(query, 10)]
    return hashlib.sha256(repr(found).encode()).hexdigest()


def left_behind(workspace: Path) -> list[str]:
    """Temporary files, and generations that are not current."""
    from structformer.workspace import ADVICE, Workspace

    place = Workspace(workspace)
    current = place.state()["current"]
    found = [str(path) for path in workspace.rglob(".structformer-tmp-*")]
    for part in ADVICE:
        folder = workspace / part
        found += [
            str(path)
            for path in (folder.iterdir() if folder.is_dir() else [])
            if path.name.isdigit() and path.name != current.get(part)
        ]
    return found


def kills(part: str, documents: Path, times: int) -> tuple[int, int]:
    """Kill a command `times` times at random points, each time run it again, and compare. Gives how many came out
    otherwise, and how many left something.
    """
    with tempfile.TemporaryDirectory() as folder:
        prepared, work = Path(folder) / "prepared", Path(folder) / "work"
        if part == "merge":
            for number in ("2/2", "1/2"):
                run("ingest", documents, "-w", prepared, "--part", number, "-q")
        elif part != "ingest":
            run("ingest", documents, "-w", prepared, "-q")
        if part == "train":
            run("sample", "-w", prepared, "-q")
        arguments: dict[str, tuple[object, ...]] = {
            "ingest": ("ingest", documents, "-w", work, "-q"),
            "sample": ("sample", "-w", work, "-q"),
            "train": ("train", "-w", work, *TRAIN, "-q"),
            "index": ("index", "-w", work, "--encoder", "base", "-q"),
            "merge": ("merge", "-w", work, "-q"),
        }

        def fresh() -> None:
            shutil.rmtree(work, ignore_errors=True)
            if part != "ingest":
                shutil.copytree(prepared, work)

        fresh()
        begun = time.monotonic()
        run(*arguments[part])
        whole = time.monotonic() - begun
        wanted = content(work, part)
        rng = random.Random(part)
        equal = clean = 0
        for number in range(times):
            fresh()
            process = subprocess.Popen(
                command(*arguments[part]), start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(rng.uniform(0.15, 1.0) * whole)
            (os.killpg if number % 2 else os.kill)(process.pid, signal.SIGKILL)
            process.wait()
            again = command(
                *arguments[part],
                *(("--resume",) if part == "train" and any((work / "checkpoints").glob("*/run.json")) else ()),
            )
            done = subprocess.run(again, capture_output=True, text=True, check=False)
            if done.returncode and not (part == "merge" and "no parts in" in done.stderr):  # it had come to its end
                print(done.stderr[-500:])
                continue
            equal += content(work, part) == wanted
            time.sleep(1.5 if number % 2 == 0 else 0)  # orphans, were there any, would write on
            clean += not left_behind(work)
        print(
            f"{part}: {times} kills within {whole:.1f} s; {times - equal} differ after the second "
            f"run, {times - clean} left something (bar 0)",
            flush=True,
        )
        return times - equal, times - clean


LOCK = """
import os, sys
from pathlib import Path
from structformer.workspace import Workspace
inside, overlaps = Path(sys.argv[2]), 0
for _ in range(int(sys.argv[3])):
    with Workspace(sys.argv[1]).writing("counting", wait=300):
        try:
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            overlaps += 1
        inside.unlink(missing_ok=True)
print(overlaps)
"""


def lock(documents: Path) -> None:
    """Four processes, 1,500 acquisitions each."""
    with tempfile.TemporaryDirectory() as folder:
        code = [sys.executable, "-c", LOCK, f"{folder}/w", f"{folder}/inside", "1500"]
        begun = time.monotonic()
        processes = [subprocess.Popen(code, stdout=subprocess.PIPE, text=True) for _ in range(4)]
        overlaps = sum(int(process.communicate()[0]) for process in processes)
        print(
            f"lock: {overlaps} overlaps in 6000 acquisitions by 4 processes, {time.monotonic() - begun:.1f} s (bar 0)",
            flush=True,
        )


READ = """
import sys
from pathlib import Path
from structformer.corpus import Corpus
from structformer.graph import ReferenceGraph
from structformer.retrieval.retriever import Retriever
from structformer.sampling import Samples
opened = errors = mixed = 0
while not Path(sys.argv[1], "stop").exists():
    try:
        retriever = Retriever.open(sys.argv[1])
        documents = len(retriever.documents)
        hits = [retriever.search(query, 10, pipeline="lexical") for query in ("install", "list the versions")]
        # Every publication has documents of one stamp only; a hit of another would come from another publication.
        stamps = {hit.text.split("stamp-")[1][:4] for found in hits for hit in found if "stamp-" in hit.text}
        mixed += len(stamps) > 1
        Samples.open(sys.argv[1]).example("ict", 0)
        ReferenceGraph.open(sys.argv[1])
        opened += 1
    except Exception as error:
        if "earlier corpus" in str(error) or "another corpus" in str(error):
            continue  # between an ingest and the index that follows it, the answer is to index again
        errors += 1
        print(error, file=sys.stderr)
print(opened, errors, mixed)
"""


def publish(documents: Path, times: int = 100) -> None:
    """Three readers open and search through a hundred publications of corpus, graph, Examples and index."""
    from structformer.ingestion import ingest
    from structformer.retrieval.indexing import build_index
    from structformer.sampling import sample

    with tempfile.TemporaryDirectory() as folder:
        workspace, pages = Path(folder) / "w", Path(folder) / "pages"

        def write(stamp: int) -> None:
            pages.mkdir(exist_ok=True)
            for number in range(30):
                text = (
                    f"Install page {number} and list the versions of it. This sentence is here "
                    f"for the words. stamp-{stamp:04}"
                )
                (pages / f"{number}.md").write_text(f"# Page {number}\n\n{text}\n\n## Part\n\nHow to {text}\n")

        def all_parts(stamp: int) -> None:
            write(stamp)
            ingest(pages, workspace, workers=1)
            sample(workspace, ["ict"], workers=1)
            build_index(workspace, encoders=[])

        all_parts(0)
        readers = [
            subprocess.Popen([sys.executable, "-c", READ, str(workspace)], stdout=subprocess.PIPE, text=True)
            for _ in range(3)
        ]
        for stamp in range(1, times + 1):
            all_parts(stamp) if stamp % 5 == 0 else build_index(workspace, encoders=[])
        (workspace / "stop").touch()
        counts = [tuple(map(int, reader.communicate()[0].split())) for reader in readers]
        opened, errors, mixed = (sum(column) for column in zip(*counts, strict=True))
        (workspace / "stop").unlink()
        build_index(workspace, encoders=[])
        kept = len(left_behind(workspace))
        print(
            f"publish: {times} publications, {opened} opens by 3 readers: {errors} errors, {mixed} "
            f"mixed answers, {kept} old generations left (bar 0)",
            flush=True,
        )


def flips(documents: Path, times: int = 200) -> tuple[int, int]:
    """Flip one bit of a file at a time, over all kinds of files of a workspace, and read everything. Gives how many
    answers were silently wrong, and how many flips `check` did not see.
    """
    from structformer import Corpus, Retriever
    from structformer.corpus.checking import check_workspace
    from structformer.errors import StructformerError
    from structformer.graph import ReferenceGraph
    from structformer.models.registry import checked_model
    from structformer.sampling import Samples

    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "w"
        run("ingest", documents, "-w", workspace, "-q")
        run("sample", "-w", workspace, "-q")
        run("train", "-w", workspace, "--max-steps", 4, "--max-time", "none", "--batch", 4, "-q")
        run("index", "-w", workspace, "--encoder", "bi-encoder", "--encoder", "base", "-q")

        def read() -> str:
            corpus = Corpus.open(workspace)
            graph = ReferenceGraph.open(workspace, corpus)
            checked_model(workspace, "bi-encoder")
            retriever = Retriever.open(workspace)
            found = [
                [(hit.address, round(hit.score, 5)) for hit in retriever.search(query, 5, pipeline)]
                for query in QUERIES[:2]
                for pipeline in ("lexical", "hybrid:bi-encoder", "hybrid:base")
            ]
            seen = (
                found,
                list(map(repr, corpus.documents())),
                list(graph.edges()),
                graph.statistics,
                list(Samples.open(workspace)),
            )
            return hashlib.sha256(repr(seen).encode()).hexdigest()

        wanted = read()
        passing = {
            "command.json",
            "README.md",
            "training.jsonl",
            "report.json",
            "report.jsonl",
            "report.html",
            "compared.json",
        }
        kinds: dict[str, list[Path]] = {}
        for path in sorted(workspace.rglob("*")):
            if path.is_file() and path.stat().st_size and path.name not in passing and path.suffix != ".lock":
                parts = path.relative_to(workspace).parts
                kinds.setdefault(f"{parts[0]}/{path.suffix or path.name}", []).append(path)
        rng = random.Random(0)
        silent, unseen, noticed = 0, 0, 0
        for number in range(times):
            path = rng.choice(kinds[sorted(kinds)[number % len(kinds)]])
            kept = path.read_bytes()
            data = bytearray(kept)
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
            path.write_bytes(bytes(data))
            try:
                same = read() == wanted
                silent += not same
                if not same:
                    print(f"silently wrong: {path}")
            except StructformerError:
                noticed += 1
            try:
                missed = not check_workspace(workspace)
            except StructformerError:
                missed = False
            unseen += missed
            if missed:
                print(f"check does not see: {path}")
            path.write_bytes(kept)
        print(
            f"flips: {times} over {len(kinds)} kinds of files: {silent} silently wrong answers, "
            f"{unseen} that check does not see (bar 0); "
            f"{noticed} refused when read",
            flush=True,
        )
        return silent, unseen


def attack(documents: Path, chosen: Sequence[str]) -> None:
    """Print a table of claims with tries and failures, and every failure below it."""
    from attacks import ATTACKS, Tried
    from command_attacks import ATTACKS as OF_COMMANDS
    from gate_attacks import ATTACKS as OF_GATES
    from model_attacks import ATTACKS as OF_MODELS

    def flipped(documents: Path) -> Tried:
        silent, unseen = flips(documents, 200)
        return Tried(400, ["a silently wrong answer"] * silent + ["check does not see it"] * unseen)

    def killed(part: str) -> Callable[[Path], Tried]:
        def kill(documents: Path) -> Tried:
            differ, left = kills(part, documents, KILLS[part])
            return Tried(2 * KILLS[part], ["other bytes"] * differ + ["something left"] * left)

        return kill

    every = {
        **ATTACKS,
        **OF_COMMANDS,
        **OF_GATES,
        **OF_MODELS,
        "flips": ("a flipped bit is refused, and `check` sees it", flipped),
        **{part: (f"kill -9 of {part}: the same bytes, nothing left", killed(part)) for part in _IN_ATTACKS},
    }
    failures: list[str] = []
    print(f"{'attack':12} {'claim':52} {'tries':>7} {'failures':>9} {'s':>6}", flush=True)
    for name in chosen or every:
        claim, attacking = every[name]
        begun = time.monotonic()
        found = attacking(documents)
        failures += [f"{name}: {failure}" for failure in found.failures]
        counts = f"{found.tries:7} {len(found.failures):9} {time.monotonic() - begun:6.0f}"
        print(f"{name:12} {claim:52} {counts}  {found.note}", flush=True)
    for failure in failures[:100]:
        print(failure)
    sys.exit(1 if failures else 0)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents", type=Path)
    parser.add_argument("--parts", nargs="+", default=[*KILLS, "lock", "publish", "flips"])
    parser.add_argument("--attack", nargs="*", metavar="NAME", help="All attacks, or these.")
    arguments = parser.parse_args()
    # A job in the background of a script ignores it, and so would all commands that are begun here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if arguments.attack is not None:
        attack(arguments.documents, arguments.attack)
    others: dict[str, Callable[[Path], object]] = {"lock": lock, "publish": publish, "flips": flips}
    for part in arguments.parts:
        if part in others:
            others[part](arguments.documents)
        else:
            kills(part, arguments.documents, KILLS[part])


if __name__ == "__main__":
    main()
