"""Is what people paste found? Headings that are one name or version, and error lines with a quoted name.

    python benchmarks/as_typed.py SHARED [--sets vite loki ...] [--work DIR]

SHARED holds corpora/NAME.tar.xz. A heading counts if it is the heading of one section alone; it is right if that
section comes first. An error line counts if one page alone has it; it is right if that page comes first, asked as it
stands and without its quotes. Nothing pretrained is used."""

from __future__ import annotations

import argparse
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from structformer import Retriever
from structformer.corpus import Corpus
from structformer.retrieval.indexing import build_index
from structformer.workspace import Workspace
from structure import CORPORA, ingested

MOST = 100  # of a set
# A version, words joined by signs, camelCase, a code as AB123, an option.
_NAME = re.compile(
    r"v?\d+\.\d+(?:\.\d+)*[\w.-]*|[A-Za-z][a-z0-9]*(?:[_.-][A-Za-z0-9]+)+|[A-Za-z][a-z]*(?:[A-Z][a-z0-9]+)+"
    r"|[A-Z]{1,4}\d{2,4}|--[\w-]+"
)
_BESIDE_NAME = re.compile(r"\s*[(/-]|$")
_ERROR = re.compile(r"(?i)\b(?:error|cannot|can't|fail(?:ed|s)|unknown|invalid|unable|missing|must|expected|denied)\b")
_QUOTED = re.compile(r'"[^"\n]{2,60}"')
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")


def headings(corpus: Corpus) -> Iterator[tuple[str, str, str]]:
    """Yield (name, document, title) of headings that are one name, each of one section alone."""
    places = defaultdict(set)
    for document in corpus.documents():
        for section in document.sections():
            title = re.sub(r"[`*]", "", section.title).strip()
            name = _NAME.match(title)
            if section.level >= 2 and name is not None and _BESIDE_NAME.match(title[name.end() :]):
                places[name[0].lower()].add((name[0], document.id, section.title))
    for _, found_at in sorted(places.items()):
        if len({place[1:] for place in found_at}) == 1:
            yield min(found_at)


def error_lines(corpus: Corpus) -> Iterator[tuple[str, str]]:
    """Yield (line, document) of lines that tell an error and quote a name, each of one document alone."""
    owners = defaultdict(set)
    for document in corpus.documents():
        for section in document.sections():
            for line in section.text.split("\n"):
                for sentence in map(str.strip, _SENTENCE_END.split(line)):
                    if 20 <= len(sentence) <= 160 and _ERROR.search(sentence) and _QUOTED.search(sentence):
                        owners[sentence].add(document.id)
    for sentence, documents in sorted(owners.items()):
        if len(documents) == 1:
            yield sentence, min(documents)


def some(items: Iterator[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Return at most MOST of them, the same each time."""
    listed = list(items)
    random.Random(1).shuffle(listed)
    return listed[:MOST]


def counted(workspace: Workspace) -> tuple[int, int, int, int, int]:
    """Return (headings first, headings, lines first, lines first without quotes, lines)."""
    build_index(workspace, encoders=["structure"])
    corpus, retriever = Corpus.open(workspace), Retriever(workspace)
    names, lines = some(headings(corpus)), some(error_lines(corpus))

    def is_first(query: str, document: str, title: str = "") -> bool:
        hits = retriever.search(query, 1)
        return bool(hits) and hits[0].document_id == document and title in ("", *hits[0].path)

    return (
        sum(is_first(*each) for each in names),
        len(names),
        sum(is_first(line, document) for line, document in lines),
        sum(is_first(line.replace('"', ""), document) for line, document in lines),
        len(lines),
    )


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--sets", nargs="+", default=["traefik", "loki", "prometheus", "vite", "ruff"])
    parser.add_argument("--work", type=Path, default=Path(".benchmarks"))
    arguments = parser.parse_args()
    print("| set | headings first | error lines first | without quotes |\n|---|---|---|---|", flush=True)
    sums = [0] * 5
    for name in arguments.sets:
        row = counted(ingested(arguments.shared, CORPORA[name], arguments.work / name))
        sums = [total + each for total, each in zip(sums, row, strict=True)]
        print(f"| {name} | {row[0]} of {row[1]} | {row[2]} of {row[4]} | {row[3]} of {row[4]} |", flush=True)
    print(f"| all | {sums[0]} of {sums[1]} | {sums[2]} of {sums[4]} | {sums[3]} of {sums[4]} |")


if __name__ == "__main__":
    main()
