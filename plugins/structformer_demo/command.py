"""`structformer demo`."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from email.message import Message
from importlib.metadata import Distribution, distributions
from itertools import islice
from pathlib import Path
from typing import cast

import click
from click.core import ParameterSource
from structformer.cli import Output, common_options, default_option

_MIN_WORDS = 100  # of a page: shorter ones say little more than where to look
_MIN_ASKED = 4  # words of a question
_SUFFIXES = {"text/markdown": ".md", "text/x-rst": ".rst", "": ".rst"}  # an unnamed format is reStructuredText
_TITLED = re.compile(r"^\s*(#|<|\S.*\n[=*#-]{3,})")


@dataclass(frozen=True, slots=True)
class Page:
    """Documentation of an installed package: its description at length, and in a line."""

    name: str
    summary: str
    text: str
    path: str


@click.command("demo")
@default_option(
    "--folder",
    Path("structformer-demo"),
    "Folder for the documents, and for the workspace unless -w names another.",
    type=click.Path(path_type=Path, file_okay=False),
)
@default_option("--pages", 200, "Pages to read, at most.", type=click.IntRange(2))
@common_options
@click.pass_context
def command(ctx: click.Context, folder: Path, pages: int, workspace: Path, out: Output) -> None:
    """Try the search on documents that you already have: the descriptions of installed Python packages.

    Reads them, learns from them, searches, and compares with BM25 on questions: the line that each package gives as its
    summary, whose answer is its page. Nothing is fetched, and nothing pretrained is used. `make demo` in the
    repository does more, on the manuals of four programs.
    """
    from structformer.errors import UsageError
    from structformer.evaluation import Judgements, write_judgements
    from structformer.workspace import new_folder

    from structformer_demo.steps import score_table, shown_command

    if ctx.get_parameter_source("workspace") is ParameterSource.DEFAULT:
        workspace = folder / "workspace"
    named = list(installed_pages(pages))
    if len(named) < 2:
        raise UsageError("none of the packages installed here has pages to read")
    documents = folder / "documents"
    with new_folder(documents, force=True) as made:
        for page in named:
            (made / page.path).write_text(page.text, encoding="utf-8")
    queries = {page.name: page.summary for page in named if _asks(page)}
    write_judgements(folder, Judgements(queries, {page.name: {page.path: 1} for page in named if page.name in queries}))
    judged = ["--queries", str(folder / "queries.jsonl"), "--qrels", str(folder / "qrels" / "test.tsv")]
    out.say(
        f"{len(named)} pages are in {documents}: what the installed Python packages say about themselves.\n"
        f"{len(queries)} of the packages' one-line summaries are the questions: those that their pages do not repeat.\n"
        "Only the last command reads them."
    )
    begun = time.monotonic()
    shown = not out.as_json and not out.quiet

    def step(*arguments: str, output: bool = shown) -> str:
        return shown_command(*arguments, "--workspace", str(workspace), output=output, title=shown)

    step("ingest", str(documents))
    step("index", "--encoder", "structure")
    step("search", "read a file without loading it whole", "-k", "3")
    compared = ["--pipeline", "lexical", "--pipeline", "hybrid:structure", "--against", "lexical"]
    report = step("evaluate", *judged, *compared, "--json", output=False)
    seconds = time.monotonic() - begun
    out.json({"pages": len(named), "queries": len(queries), "seconds": round(seconds, 1), "report": json.loads(report)})
    out.result(f"\n{len(queries)} questions, each to find its package's page:\n\n{score_table(report)}")
    out.say(
        f"\nAll of it took {seconds:.0f} s. On your own documents, with a page to search on:\n\n"
        "  structformer up ./docs"
    )


def installed_pages(most: int) -> Iterator[Page]:
    """Return the descriptions of packages that are installed, by their names, at most so many."""
    by_name = {package.name.lower(): package for package in distributions() if package.name}
    pages = (_page(name, package) for name, package in sorted(by_name.items()))
    return islice((page for page in pages if page is not None), most)


def _page(name: str, package: Distribution) -> Page | None:
    metadata = cast(Message, package.metadata)
    suffix = _SUFFIXES.get((metadata.get("Description-Content-Type") or "").partition(";")[0].strip().lower())
    payload = metadata.get_payload()
    text = metadata.get("Description") or (payload if isinstance(payload, str) else "")
    if suffix is None or name == "structformer" or not re.fullmatch(r"[\w.-]+", name) or len(text.split()) < _MIN_WORDS:
        return None
    if not _TITLED.match(text):
        text = f"# {package.name}\n\n{text}" if suffix == ".md" else f"{package.name}\n{'=' * len(name)}\n\n{text}"
    return Page(name, " ".join((metadata.get("Summary") or "").split()), text, name + suffix)


def _asks(page: Page) -> bool:
    """Whether a summary is a question to ask: a few words, without the name, and not a copy from the page."""

    def bare(text: str) -> str:
        return " ".join(re.findall(r"\w+", text.lower()))

    asked = bare(page.summary)
    return len(asked.split()) >= _MIN_ASKED and bare(page.name) not in asked and asked not in bare(page.text)
