"""Every shared corpus through the public `structformer ingest`: what is read of it, and what its links do.

    python benchmarks/corpora.py SHARED [--only NAME ...]

Prints a Markdown table. "Text kept" is the characters of text in the corpus over those of a plain rendering of the same
sources by a bare library (HTML: the body's text; XML: all element text with entities as they stand; wikitext:
mwparserfromhell's strip_code; Markdown and LaTeX: the source itself), both without white space."""

from __future__ import annotations

import argparse
import bz2
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path


def unpacked(shared: Path, name: str, folder: Path) -> Path:
    """Return the corpus as a folder, or the dump itself."""
    archive = next((shared / "corpora").glob(f"{name}*"))
    if archive.name.endswith(".tar.xz"):
        with tarfile.open(archive) as tar:
            tar.extractall(folder / name, filter="data")
        return folder / name
    return archive


def plain_characters(source: Path) -> int:
    """Characters, white space apart, of a plain rendering of the sources."""
    return sum(len("".join(text.split())) for text in plain_texts(source))


def plain_texts(source: Path):
    if source.is_file():
        import mwparserfromhell

        with bz2.open(source) as file:
            dump = file.read().decode()
        for page in re.findall(r"<page>(.*?)</page>", dump, re.DOTALL):
            body = re.search(r"<text[^>]*>(.*?)</text>", page, re.DOTALL)
            if body and "<ns>0</ns>" in page and "<redirect" not in page:
                from html import unescape

                yield str(mwparserfromhell.parse(unescape(body[1])).strip_code())
        return
    for path in sorted(source.rglob("*")):
        if not path.is_file():
            continue
        data = path.read_bytes()
        if path.suffix in (".html", ".htm"):
            from bs4 import BeautifulSoup

            page = BeautifulSoup(data, "lxml")
            for hidden in page(["script", "style", "template", "head"]):
                hidden.decompose()
            yield page.get_text(" ")
        elif path.suffix in (".xml", ".nxml"):
            text = re.sub(
                r"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>\[]*(\[.*?\])?>|<!\[CDATA\[|\]\]>|<[^>]*>",
                " ",
                data.decode("utf-8", "replace"),
                flags=re.DOTALL,
            )
            yield text
        elif path.suffix in (".md", ".tex") or path.name.startswith("wiki_"):
            yield re.sub(r"<doc [^>]*>|</doc>", "", data.decode("utf-8", "replace"))


def measure(shared: Path, name: str, folder: Path) -> dict:
    source = unpacked(shared, name, folder)
    workspace = folder / f"{name}-workspace"
    command = [sys.executable, "-m", "structformer", "ingest", str(source), "-w", str(workspace), "--json", "-q"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    stats = json.loads(
        subprocess.run(
            [sys.executable, "-m", "structformer", "graph", "stats", "-w", str(workspace), "--json"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    )
    from structformer.corpus import Corpus

    deepest = kept = lists = 0
    for document in Corpus.open(workspace).documents():
        for section, path in document.root.walk_with_path():
            deepest = max(deepest, len(path) - 1)
            kept += len("".join(section.text.split())) + len("".join(section.title.split()))
            lists += section is not document.root and any(link.kind == "see_also" for link in section.links)
    return {
        "name": name,
        **found,
        "deepest": deepest,
        "kept": kept / max(1, plain_characters(source)),
        "lists": lists,
        "stats": stats,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    names = [
        "npm-markdown",
        "docker-markdown",
        "git-html",
        "php-docbook",
        "jats-articles",
        "stacks-latex",
        "enwiki-pages-articles-sample",
        "wikipedia-extracted",
    ]
    parser.add_argument("--only", nargs="*", choices=names)
    chosen = parser.parse_args()
    print(
        "| corpus | documents | sections | deepest | documents with see-also | see-also sections "
        "| links resolved of those inside | by kind | text kept |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in chosen.only or names:
            row = measure(chosen.shared, name, Path(folder))
            kinds = []
            resolved = inside = 0
            for kind, counts in row["links"].items():
                total = counts["resolved"] + counts["unresolved"] + counts["ambiguous"]
                resolved += counts["resolved"]
                inside += total
                if total:
                    kinds.append(f"{kind} {counts['resolved']}/{total}")
            share = row["stats"]["see_also"]["documents_with_outgoing"] / max(1, row["documents"])
            print(
                f"| {name} | {row['documents']} | {row['sections']} | {row['deepest']} | "
                f"{share:.0%} | {row['lists']} | {resolved}/{inside} "
                f"({resolved / max(1, inside):.1%}) | {', '.join(kinds)} | {row['kept']:.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
