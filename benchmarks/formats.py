"""Every reader, bytes to Document, beside the bare parser of its format, on the same real sources in the same run.

    python benchmarks/formats.py SHARED [--seconds 20]

User and system time of this one process; each side gets the sources over and over for some seconds, peers that are slow
a part of them. Prints a Markdown table with MB/s and ratios."""

from __future__ import annotations

import argparse
import bz2
import re
import tarfile
import tempfile
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path

from structformer.formats.source import SourceFile
from structformer.ingestion.walk import FolderFiles
from structformer.plugins import load_plugins


def speed(function: Callable[[str, bytes], object], sources: list[tuple[str, bytes]], seconds: float) -> float:
    """MB/s of user and system time."""
    function(*sources[0])
    done = 0
    began = time.process_time()
    while True:
        for path, data in sources:
            function(path, data)
            done += len(data)
            if time.process_time() - began > seconds:
                return done / 1e6 / (time.process_time() - began)
        if done and time.process_time() - began > seconds / 4:
            return done / 1e6 / (time.process_time() - began)


def files(shared: Path, name: str, pattern: str, folder: Path) -> tuple[Path, list[tuple[str, bytes]]]:
    target = folder / name
    if not target.exists():
        with tarfile.open(shared / "corpora" / f"{name}.tar.xz") as archive:
            archive.extractall(target, filter="data")
    return target, [(str(path.relative_to(target)), path.read_bytes()) for path in sorted(target.rglob(pattern))]


def made_page(sections: int = 2000) -> bytes:
    """Return a page of nothing but marks: sections of short paragraphs, links, lists, tables and code."""
    parts = ["<!doctype html><html><head><meta charset=utf-8><title>Made</title></head><body><main><h1>Made</h1>"]
    for n in range(sections):
        items = "".join(f"<li>Item {i} has <em>words</em> and <code>x = {i}</code></li>" for i in range(4))
        cells = "".join(f"<tr><td>{i}</td><td>cell {n}</td></tr>" for i in range(4))
        parts.append(
            f'<h2 id="s{n}">Section {n}</h2><p>Some <b>words</b> of <a href="#s{n // 2}">section {n // 2}</a> and more '
            f'words, with <a href="p{n}.html">a page</a>.</p><ul>{items}</ul><table><tr><th>a</th><th>b</th></tr>'
            f'{cells}</table><pre><code class="language-python">def f{n}(x):\n    return x + {n}\n</code></pre>'
        )
    return "".join((*parts, "</main></body></html>")).encode()


def ours(format: str, root: Path | None = None) -> Callable[[str, bytes], object]:
    reader = load_plugins().format(format)
    neighbours = FolderFiles(root) if root is not None else None

    def read(path: str, data: bytes) -> None:
        for _ in reader.read(SourceFile(path, data, neighbours=neighbours), {}):
            pass

    return read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("--seconds", type=float, default=20.0, help="at most, for each measurement")
    chosen = parser.parse_args()
    import mwparserfromhell
    from bs4 import BeautifulSoup
    from lxml import etree
    from lxml import html as lxml_html
    from markdown_it import MarkdownIt
    from pylatexenc.latexwalker import LatexWalker
    from selectolax.lexbor import LexborHTMLParser

    rows: list[tuple[str, str, float, str, float]] = []

    def compare(
        format: str,
        corpus: str,
        reader: Callable[[str, bytes], object],
        sources: list[tuple[str, bytes]],
        peers: dict[str, Callable[[str, bytes], object]],
    ) -> None:
        mine = speed(reader, sources, chosen.seconds)
        for name, peer in peers.items():
            theirs = speed(peer, sources, chosen.seconds)
            print(f"| {format} | {corpus} | {mine:.1f} | {name} | {theirs:.2f} | {mine / theirs:.2f} |", flush=True)
            rows.append((format, corpus, mine, name, theirs))

    print("| format | corpus | structformer, MB/s | bare parser | MB/s | ratio |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _, pages = files(chosen.shared, "git-html", "*.html", folder)
        for corpus, sources in (("git-html", pages), ("made: mostly marks", [("made.html", made_page())])):
            compare(
                "html",
                corpus,
                ours("html"),
                sources,
                {
                    "BeautifulSoup on lxml": lambda _, data: BeautifulSoup(data, "lxml"),
                    "lxml.html": lambda _, data: lxml_html.document_fromstring(data),
                    "lexbor": lambda _, data: LexborHTMLParser(data.decode("utf-8", "replace")),
                },
            )
        root, manual = files(chosen.shared, "php-docbook", "*.xml", folder)
        whole = [(path, data) for path, data in manual if _parses(data)]
        compare(
            "xml",
            "php-docbook",
            ours("xml", root),
            whole,
            {"lxml": lambda _, data: etree.fromstring(data, etree.XMLParser(resolve_entities=False))},
        )
        _, articles = files(chosen.shared, "jats-articles", "*.nxml", folder)
        compare(
            "xml",
            "jats-articles",
            ours("xml"),
            articles,
            {"lxml": lambda _, data: etree.fromstring(data, etree.XMLParser(resolve_entities=False))},
        )
        with bz2.open(chosen.shared / "corpora" / "enwiki-pages-articles-sample.xml.bz2") as dump:
            text = dump.read().decode()
        wikitext = [
            (f"{number}.wiki", unescape(found).encode())
            for number, found in enumerate(re.findall(r"<text[^>]*>(.*?)</text>", text, re.DOTALL))
        ]
        compare(
            "wikitext",
            "enwiki sample, pages",
            ours("wikitext"),
            [(p, d) for p, d in wikitext if len(d) > 500],
            {"mwparserfromhell": lambda _, data: mwparserfromhell.parse(data.decode())},
        )
        root, chapters = files(chosen.shared, "stacks-latex", "*.tex", folder)
        compare(
            "latex",
            "stacks-latex",
            ours("latex", root),
            chapters,
            {
                "pylatexenc's walker": lambda _, data: LatexWalker(
                    data.decode(), tolerant_parsing=True
                ).get_latex_nodes()
            },
        )
        manuals = (
            files(chosen.shared, "npm-markdown", "*.md", folder)[1]
            + files(chosen.shared, "docker-markdown", "*.md", folder)[1]
        )
        plain, tables = MarkdownIt(), MarkdownIt("commonmark").enable(["table", "strikethrough"])
        compare(
            "markdown",
            "npm, docker",
            ours("markdown"),
            manuals,
            {
                "markdown-it-py, CommonMark only": lambda _, data: plain.parse(data.decode()),
                "markdown-it-py with tables": lambda _, data: tables.parse(data.decode()),
            },
        )


def _parses(data: bytes) -> bool:
    from lxml import etree

    try:
        etree.fromstring(data, etree.XMLParser(resolve_entities=False))
    except etree.XMLSyntaxError:
        return False
    return True


if __name__ == "__main__":
    main()
