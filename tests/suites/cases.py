"""The suites kept here as cases for the readers: what upstream's own files say of headings, links, text and encoding."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SUITES = {
    "commonmark_spec": "commonmark/spec.txt",
    "gfm_spec": "gfm/spec.txt",
    "html5lib_tree": "html5lib/tree-construction",
    "html5lib_encoding": "html5lib/encoding",
}
Case = dict[str, Any]

_EXAMPLE = re.compile(r"^`{32} example[^\n]*\n(.*?)^\.\n(.*?)^`{32}$", re.MULTILINE | re.DOTALL)
_VERSION = re.compile(r"^version: '?([\d.]+)", re.MULTILINE)
_NODE = re.compile(r"^\| ( *)(.*?)(?=\n\| |\Z)", re.MULTILINE | re.DOTALL)
_ATTRIBUTE = re.compile(r'([^"<]*?)="(.*)"', re.DOTALL)
_PARTS = ("errors", "new-errors", "document-fragment", "script-on", "script-off", "document", "encoding")
_UNSEEN = ("script", "style", "template")


def present(suite: str) -> bool:
    """Whether the suite's files are here: they are not in a source distribution."""
    return (FOLDER / SUITES[suite]).exists()


def cases(suite: str) -> list[Case]:
    """A suite's cases: an id, a format, the bytes to read as `data`, and what to find in them as `expect`."""
    path = FOLDER / SUITES[suite]
    if suite in ("commonmark_spec", "gfm_spec"):
        return _spec_cases(path)
    convert, prefix = (
        (_encoding_case, "html5lib-encoding") if suite == "html5lib_encoding" else (_tree_case, "html5lib")
    )
    return [
        {"id": f"{prefix}/{file.relative_to(path).as_posix()}:{number}", "format": "html", **convert(parts)}
        for file in sorted(path.rglob("*.dat"))
        for number, parts in enumerate(_dat_parts(file), 1)
    ]


class _Page(HTMLParser):
    """What a reader should find in HTML: headings as [level, title], links as [target, text], and pieces of text."""

    def __init__(self) -> None:
        super().__init__()
        self.headings: list[list[Any]] = []
        self.links: list[list[Any]] = []
        self.pieces: list[str] = []
        self._titles: list[tuple[str, list[Any]]] = []  # the headings and links that are open
        self._unseen: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        target = dict(attrs).get("href")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append([int(tag[1]), ""])
            self._titles.append((tag, self.headings[-1]))
        elif tag == "a" and target is not None:
            self.links.append([target, ""])
            self._titles.append((tag, self.links[-1]))
        elif tag == "br":
            self.handle_data(" ")
        elif tag in _UNSEEN:
            self._unseen[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        opened = [number for number, (name, _) in enumerate(self._titles) if name == tag]
        if opened:
            del self._titles[opened[-1]]
        if self._unseen[tag]:
            self._unseen[tag] -= 1

    def handle_data(self, data: str) -> None:
        for _, entry in self._titles:
            entry[1] += data
        # One letter alone says nothing: it is found in nearly any text.
        if not any(self._unseen.values()) and len(" ".join(data.split())) > 1:
            self.pieces.append(data)

    def expect(self, pieces: list[str]) -> dict[str, Any]:
        return {"headings": self.headings, "links": self.links, "must_contain": pieces, "must_not_contain": []}


def _spec_cases(path: Path) -> list[Case]:
    """The examples of CommonMark's or GFM's spec.txt: Markdown, a line with a dot, the expected HTML. An arrow is a tab."""
    text = path.read_text(encoding="utf-8")
    version = _VERSION.search(text)
    assert version, path
    examples, _, _ = text.partition("<!-- END TESTS -->")
    listed = []
    for number, (source, html) in enumerate(_EXAMPLE.findall(examples.replace("→", "\t")), 1):
        page = _Page()
        page.feed(html)
        page.close()
        listed.append(
            {
                "id": f"{path.parent.name}-{version[1]}:{number}",
                "format": "markdown",
                "data": source.encode(),
                "expect": page.expect([]),
            }
        )
    return listed


def _dat_parts(path: Path) -> list[dict[str, bytes]]:
    """The tests of a .dat file, each as its parts by name: a line `#data` begins a test, one like `#errors` another part."""
    tests: list[dict[str, list[bytes]]] = []
    for line in path.read_bytes().split(b"\n"):
        name = line[1:].decode() if re.fullmatch(rb"#[a-z]+(-[a-z]+)?", line) else ""
        if name == "data":
            tests.append({name: []})
        elif name in _PARTS:
            tests[-1][name] = []
        else:
            [*_, part] = tests[-1].values()
            part.append(line)
    return [{name: b"\n".join(lines) for name, lines in test.items()} for test in tests]


def _encoding_case(parts: dict[str, bytes]) -> Case:
    expect = {"encoding": parts["encoding"].strip().decode().lower(), "must_contain": [], "must_not_contain": []}
    return {"data": parts["data"], "expect": expect}


def _tree_case(parts: dict[str, bytes]) -> Case:
    """The expected tree is a node a line, two spaces deeper than its parent; an element's attributes come first below it."""
    page, path = _Page(), list[str]()
    nodes = [(len(indent) // 2, node) for indent, node in _NODE.findall(parts["document"].decode().rstrip("\n"))]
    for number, (depth, node) in enumerate(nodes):
        while len(path) > depth:
            page.handle_endtag(path.pop())
        if node.startswith('"'):
            page.handle_data(node[1:-1])
        elif node == "content":  # of a template
            path.append(node)
        elif node.startswith("<") and not node.startswith(("<!", "<?")):
            path.append(node[1:-1])
            attributes: list[tuple[str, str | None]] = []
            for _, below in nodes[number + 1 :]:
                attribute = _ATTRIBUTE.fullmatch(below)
                if not attribute:
                    break
                attributes.append((attribute[1], attribute[2]))
            page.handle_starttag(path[-1], attributes)
    return {"data": parts["data"], "expect": page.expect(page.pieces)}
