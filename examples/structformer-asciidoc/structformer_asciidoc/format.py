"""The AsciiDoc format: headings of one line and of two, blocks, lists, tables, includes, conditions, references.

Source: the AsciiDoc language documentation, docs.asciidoctor.org.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from structformer.document import Document, Link, Source
from structformer.formats import FormatOption, SourceFile, TreeBuilder, decode
from structformer.formats.included import included_files
from structformer.formats.link_names import link_names, normalize, path_names

from structformer_asciidoc.inline import spelt_out, write_inline

_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*?)(?:[ \t]+\1)?[ \t]*")
_UNDERLINES = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
_ATTRIBUTE = re.compile(r":(!?)([\w-]+)(!?):(?:[ \t]+(.*))?")
_DIRECTIVE = re.compile(r"(include|ifdef|ifndef|ifeval|endif|image|video|audio|toc)::([^\[]*)\[(.*)\][ \t]*")
_ANCHOR = re.compile(r"\[\[([\w:.-]+)(?:,[^\]]*)?\]\]|\[(?:#([\w:.-]+)[^\]]*|.*?\bid=[\"']?([\w:.-]+).*?)\]")
_BLOCK_ATTRIBUTES = re.compile(r"\[[^\[\]]*\]")
_LIST = re.compile(r"[ \t]*(?:[*]+|-|[.]+|\d+[.]|[a-z][.]|<\d+>)[ \t]+(.*)")
_TERM = re.compile(r"[ \t]*(\S.*?)(?::{2,4}|;;)(?:[ \t]+(.*))?")
_INCLUDES = re.compile(r"^include::([^\[\s{]+)\[([^\]\n]*)\]", re.MULTILINE)
_PIECE = re.compile(r"\b(?:tags?|lines)\s*=")
_TITLED = re.compile(r"(?:\s|//[^\n]*\n|\[\[[^\n]*\]\]\n|:[\w-]+:[^\n]*\n)*(?:= \S|[^\n]+\n={4,}[ \t]*(?:\n|$))")
_DELIMITER = re.compile(r"(-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|`{3,}\w*|[|,:!]={3,})[ \t]*")
_CELL = re.compile(r"(?:\d*[.]?\d*[+*]?[<^>.]*[a-z]?)?\|")
_NESTED = 20
_SIGNS = re.compile(
    r"^(?:={1,5} \S|:[\w-]+:(?: |$)|\[\[[\w-]+\]\]$|ifn?def::|include::|image::|\S.*::$"
    r"|\[(?:source|NOTE|TIP|verse)[^\]]*\]$)"
    r"|\blink(?:git)?:[^\s\[]+\[|<<[\w-]+(?:,[^>\n]*)?>>",
    re.MULTILINE,
)


class AsciiDocFormat:
    """Reads a file, and what it includes, to one Document."""

    name = "asciidoc"
    suffixes = (".adoc", ".asciidoc", ".asc")
    media_types = ("text/asciidoc",)
    completeness = "headings, blocks, lists, tables, includes, conditions, references; no extensions"
    options = (FormatOption("attributes", "attributes that hold, as a=1,b"),)

    def sniff(self, head: bytes, path: str) -> float:
        """Certainty that a file of unknown suffix is AsciiDoc: two signs of it or more, in a text."""
        if not path.lower().endswith((".txt", ".ad")):
            return 0.0
        found = {match.group()[:3] for match in _SIGNS.finditer(head.decode("utf-8", "replace"))}
        return min(0.95, 0.4 * len(found))

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """One Document. Option `attributes`: those that hold beside the file's own."""
        given = dict(pair.partition("=")[::2] for pair in str(options.get("attributes", "")).split(",") if pair)
        reader = _Reader(source, {str(name).strip(): str(value) for name, value in given.items()})
        text = decode(source)
        if not text.strip():
            source.warn("empty: no document")
            return
        reader.read(text.splitlines())
        document = reader.builder.finish(Source(source.path, self.name), title=reader.title or None)
        anchors = (anchor for section in document.sections() for anchor in section.anchors)
        document.names = tuple(
            dict.fromkeys((*path_names(source.path), *(f"id:{normalize(each)}" for each in anchors)))
        )
        yield document

    def parts(self, source: SourceFile) -> set[str]:
        """Paths of the files that a source includes whole, which are no documents of their own: without a document's
        title, or with one that the source makes a chapter's.
        """
        shifted = included_files(source, lambda data: _whole(data, shifted=True))
        return shifted | included_files(source, _whole, stands_alone=_has_title)

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """A section by its id in this document, else in any; a page by its path, with and without its suffix."""
        yield from link_names(document.id, document.source.path, link.target)
        if link.target.startswith("#"):
            yield f"id:{normalize(link.target[1:])}{link.target}"


def _whole(data: bytes, *, shifted: bool = False) -> list[str]:
    """The paths of the files that a text includes whole. shifted: only those with their titles' levels changed."""
    found = _INCLUDES.findall(data.decode("utf-8", "replace"))
    return [path for path, how in found if not _PIECE.search(how) and ("leveloffset" in how or not shifted)]


def _has_title(data: bytes) -> bool:
    return _TITLED.match(data.decode("utf-8", "replace")) is not None


class _Reader:
    """Reads lines into a builder. title: the document's, when it has one."""

    def __init__(self, source: SourceFile, attributes: dict[str, str]) -> None:
        self.builder = TreeBuilder()
        self.title = ""
        self._source = source
        self._attributes = attributes
        self._nested = 0
        self._in_header = False
        self._in_list = False  # so that what is indented belongs to an item
        self._skipping: list[bool] = []  # conditions that are open: whether each leaves its lines out
        self._block: list[str] = []  # lines of the paragraph being read
        self._anchors: list[str] = []  # that name what comes next

    def read(self, lines: list[str]) -> None:
        """Read all lines, those of included files in their place."""
        number = 0
        while number < len(lines):
            number += self._line(lines, number)
        self._end_paragraph()

    def _line(self, lines: list[str], number: int) -> int:
        """Read what begins on a line; returns of how many lines it is."""
        line = lines[number].rstrip()
        if (directive := _DIRECTIVE.fullmatch(line)) is not None:
            self._directive(directive[1], directive[2], directive[3])
            return 1
        if any(self._skipping):
            return 1
        if not line.strip():
            self._in_header = False
            self._end_paragraph()
            self.builder.paragraph()
            return 1
        if line.startswith("//") and not line.startswith("////"):
            return 1
        if (attribute := _ATTRIBUTE.fullmatch(line)) is not None and not self._block:
            if attribute[1] or attribute[3]:
                self._attributes.pop(attribute[2], None)
            else:
                self._attributes[attribute[2]] = spelt_out(attribute[4] or "", self._attributes)
            return 1
        if self._in_header:  # who wrote it, and which version it is
            return 1
        if not self._block:
            if (heading := _HEADING.fullmatch(line)) is not None:
                self._heading(len(heading[1]), heading[2])
                return 1
            following = lines[number + 1].rstrip() if number + 1 < len(lines) else ""
            if self._is_underlined(line, following):
                self._heading(_UNDERLINES[following[0]], line.strip())
                return 2
        if (delimiter := _DELIMITER.fullmatch(line)) is not None:
            self._end_paragraph()
            return self._delimited(lines, number, delimiter[1])
        if not self._block and (anchor := _ANCHOR.fullmatch(line)) is not None:
            self._anchors.append(next(filter(None, anchor.groups())))
            return 1
        if not self._block and _BLOCK_ATTRIBUTES.fullmatch(line):
            return 1
        if not self._block and re.fullmatch(r"\.[^\s.].*", line):
            line = line[1:]
        elif line.strip() in ("+", "'''", "<<<"):
            self._end_paragraph()
            return 1
        elif (item := _LIST.fullmatch(line)) is not None:
            self._end_paragraph()
            self.builder.line()
            self._in_list = True
            line = item[1]
        elif (term := _TERM.fullmatch(line)) is not None:
            self._end_paragraph()
            self.builder.line()
            write_inline(term[1], self.builder, self._attributes)
            self.builder.line()
            self._in_list = True
            line = term[2] or ""
        elif line[0] in " \t" and not self._block and not self._in_list:
            self.builder.line()
            self.builder.verbatim(line)
            self.builder.line()
            return 1
        elif line[0] not in " \t" and not self._block:
            self._in_list = False
        if line:
            self._block.append(line.strip())
        return 1

    def _is_underlined(self, line: str, following: str) -> bool:
        if len(following) < 3 or len(set(following)) > 1 or following[0] not in _UNDERLINES:
            return False
        return abs(len(line) - len(following)) <= 2 and line[0].isalnum() | (line[0] in "_`{\"'<$-*([")

    def _heading(self, level: int, title: str) -> None:
        self._end_paragraph()
        self.builder.open_heading(level, tuple(self._anchors))
        self._anchors.clear()
        write_inline(title, self.builder, self._attributes)
        section = self.builder.close_heading()
        if level == 1 and not self.title and section is not None:
            self.title = section.title
            self._in_header = True

    def _end_paragraph(self) -> None:
        if self._block:
            for anchor in self._anchors:
                self.builder.add_anchor(anchor)
            self._anchors.clear()
            lines, self._block = self._block, []
            write_inline(" ".join(line.removesuffix(" +") for line in lines), self.builder, self._attributes)
            self.builder.line()

    def _directive(self, name: str, target: str, text: str) -> None:
        if name == "endif":
            if self._skipping:
                self._skipping.pop()
        elif name in ("ifdef", "ifndef", "ifeval"):
            known = any(each.strip() in self._attributes for each in re.split("[,+]", target))
            left_out = name != "ifeval" and known == (name == "ifndef")
            if name != "ifeval" and text:  # of one line
                if not left_out and not any(self._skipping):
                    self._block.append(text)
            else:
                self._skipping.append(left_out)
        elif not any(self._skipping):
            if name == "include":
                self._include(spelt_out(target, self._attributes))
            elif name != "toc":
                self.builder.add_image(target, text.partition(",")[0])

    def _include(self, target: str) -> None:
        opened = self._source.open(target)
        if opened is None or self._nested >= _NESTED:
            self._source.warn(f"include::{target}: not found: left out")
            return
        self._nested += 1
        source, self._source = self._source, opened
        self.read(decode(opened).splitlines())
        self._source = source
        self._nested -= 1

    def _delimited(self, lines: list[str], number: int, delimiter: str) -> int:
        """A delimited block; an unfinished one goes to the end. Returns of how many lines it is."""
        closing = delimiter.rstrip("abcdefghijklmnopqrstuvwxyz") if delimiter[0] == "`" else delimiter
        end = next((n for n in range(number + 1, len(lines)) if lines[n].rstrip() == closing), len(lines))
        inner = lines[number + 1 : end]
        self.builder.paragraph()
        if delimiter[0] in "-.+`" and delimiter != "--":
            self.builder.verbatim("\n".join(inner))
        elif delimiter[1:2] == "=" and delimiter[0] != "=":
            self._table(inner)
        elif delimiter[0] != "/" and self._nested < _NESTED:
            self._nested += 1
            self.read(inner)
            self._nested -= 1
        self.builder.paragraph()
        return end - number + 1

    def _table(self, lines: list[str]) -> None:
        for line in lines:
            cells = [cell.strip() for cell in _CELL.split(line) if cell.strip()]
            self.builder.line()
            for place, cell in enumerate(cells):
                if place:
                    self.builder.text(" | ")
                write_inline(cell, self.builder, self._attributes)
