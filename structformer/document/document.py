"""The common document tree: every format is read into Documents of Sections with Links.

Level 0 is the root, whose own text is the abstract. A section's text is its own text only: what comes
before its first subsection, as readable plain text.

Lists, tables, code, notes and the spans within lines are marks that stand off from the text: [start, end) of it, with
the depth at which they are nested, in the order of the source. A paragraph needs no mark: it is what none covers.
`block_tree` makes the tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from structformer import notebook
from structformer.document.word_counts import word_count

_LONGEST_TITLE = 100  # characters of a section's title in a notebook


class MarkKind(StrEnum):
    """Kinds of marks on a stretch of text."""

    LIST = "list"  # detail: the first item's number where it is ordered
    ITEM = "item"
    DEFINITIONS = "definitions"
    TERM = "term"
    DEFINITION = "definition"
    TABLE = "table"
    ROW = "row"  # detail: "header" for a row of column titles
    CELL = "cell"  # may be empty
    CODE = "code"  # detail: its language; lines are kept
    QUOTE = "quote"
    NOTE = "note"  # detail: its kind: note, tip, warning...
    TITLE = "title"  # of a note
    FORMULA = "formula"  # on lines of its own, in TeX
    FIGURE = "figure"  # with the alternative text of its image
    CAPTION = "caption"  # of a figure or a table
    RAW = "raw"  # detail: of what format
    PARAGRAPH = "paragraph"  # never a mark: what no mark covers
    # Within lines; links and references are in `Section.links`.
    CODE_SPAN = "code_span"
    EMPHASIS = "emphasis"
    STRONG = "strong"
    FORMULA_SPAN = "formula_span"  # in TeX


INLINE = frozenset({MarkKind.CODE_SPAN, MarkKind.EMPHASIS, MarkKind.STRONG, MarkKind.FORMULA_SPAN})
VERBATIM = frozenset({MarkKind.CODE, MarkKind.FORMULA, MarkKind.RAW})  # their lines stay, and nothing is nested in them
_IN_LINES = frozenset({MarkKind.ITEM, MarkKind.TERM, MarkKind.DEFINITION, MarkKind.CELL, MarkKind.TITLE})
_LEAVES = frozenset({MarkKind.PARAGRAPH, *VERBATIM})
_AROUND = {  # what surrounds a part of something larger, where the source has only the part
    MarkKind.ITEM: MarkKind.LIST,
    MarkKind.TERM: MarkKind.DEFINITIONS,
    MarkKind.DEFINITION: MarkKind.DEFINITIONS,
    MarkKind.ROW: MarkKind.TABLE,
    MarkKind.CELL: MarkKind.ROW,
}
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
_LINE_END = re.compile(r"\n\s*")


@dataclass(slots=True)
class Mark:
    """[start, end) of a text and what it is."""

    kind: MarkKind
    start: int
    end: int
    depth: int = 0
    """Number of marks around it."""
    detail: str = ""
    """See MarkKind."""


@dataclass(slots=True)
class Block:
    """A node of a text's tree: [start, end) and inner blocks; own text is in paragraphs, except code and the like."""

    kind: MarkKind
    start: int
    end: int
    detail: str = ""
    children: list[Block] = field(default_factory=list)

    def walk(self) -> Iterator[Block]:
        """Yield this block and all in it, in the order of the text."""
        stack = [self]
        while stack:
            block = stack.pop()
            yield block
            stack += reversed(block.children)

    @property
    def is_leaf(self) -> bool:
        """Whether it holds text itself, and not blocks that do."""
        return self.kind in _LEAVES


def block_tree(text: str, marks: Sequence[Mark]) -> list[Block]:
    """Return the blocks of a text: every character that is not white space or drawn between cells is in one leaf."""
    root = Block(MarkKind.PARAGRAPH, 0, len(text))
    stack: list[tuple[int, Block]] = [(-1, root)]
    for mark in marks:
        while stack[-1][0] >= mark.depth:
            stack.pop()
        if mark.kind in INLINE:
            continue
        block = Block(mark.kind, mark.start, mark.end, mark.detail)
        _home(text, stack[-1][1], block).children.append(block)
        stack.append((mark.depth, block))
    _fill(text, root, _BLANK_LINE)
    return root.children


def _home(text: str, above: Block, block: Block) -> Block:
    """Return the block that another belongs in: the one around it, or a list, a table, a row that is made for it."""
    wanted = _AROUND.get(block.kind)
    if wanted is None or above.kind is wanted:
        return above
    last = above.children[-1] if above.children else None
    drawn = " |" if wanted is MarkKind.ROW else None  # a row ends with its line
    if last is not None and last.kind is wanted and not last.detail and not text[last.end : block.start].strip(drawn):
        last.end = max(last.end, block.end)
        return last
    made = Block(wanted, block.start, block.end)
    _home(text, above, made).children.append(made)
    return made


def _fill(text: str, block: Block, ends: re.Pattern[str]) -> None:
    """Give the text that stands between a block's children, or in a block without any, its paragraphs."""
    blocks: list[Block] = []
    position = block.start
    for child in block.children:
        blocks += _paragraphs(text, position, child.start, ends, block.kind)
        blocks.append(child)
        if not child.is_leaf:
            _fill(text, child, _LINE_END if child.kind in _IN_LINES else _BLANK_LINE)
        if child.kind is MarkKind.NOTE:
            child.children = _without_frame(child.children)
        position = max(position, child.end)
    blocks += _paragraphs(text, position, block.end, ends, block.kind)
    block.children = blocks


def _without_frame(blocks: list[Block]) -> list[Block]:
    """Return the blocks in a note, without the table of an icon and a text that AsciiDoc's pages draw around it."""
    if len(blocks) != 1 or blocks[0].kind is not MarkKind.TABLE or len(blocks[0].children) != 1:
        return blocks
    [row] = blocks[0].children
    if row.detail or [cell.kind for cell in row.children] != [MarkKind.CELL, MarkKind.CELL]:
        return blocks
    title, content = row.children
    if any(block.kind is not MarkKind.TITLE for block in title.children):
        return blocks
    return [*title.children, *content.children]


def _paragraphs(text: str, start: int, end: int, ends: re.Pattern[str], kind: MarkKind) -> list[Block]:
    paragraphs: list[Block] = []
    part = text[start:end]
    if not part or part.isspace():  # as between most blocks
        return paragraphs
    drawn = " \t\r\n|" if kind in (MarkKind.ROW, MarkKind.TABLE) else None
    position = 0
    for gap in (*ends.finditer(part), None):
        stop = len(part) if gap is None else gap.start()
        piece = part[position:stop]
        if says := piece.strip(drawn):
            first = start + position + len(piece) - len(piece.lstrip(drawn))
            paragraphs.append(Block(MarkKind.PARAGRAPH, first, first + len(says)))
        position = stop if gap is None else gap.end()
    return paragraphs


def inline_marks(marks: Iterable[Mark]) -> list[Mark]:
    """Return the marks within lines, in the order of the text, the outer before the inner."""
    return [mark for mark in marks if mark.kind in INLINE]


class LinkKind(StrEnum):
    """Kinds of links between documents."""

    SEE_ALSO = "see_also"
    HYPERLINK = "hyperlink"
    CITATION = "citation"
    XREF = "xref"
    CATEGORY = "category"
    REDIRECT = "redirect"
    EMBED = "embed"


@dataclass(slots=True)
class Link:
    """A raw reference as written in the source.

    [start, end) is the span of the anchor text in its section's text. An empty span at 0 marks a reference that has no
    place there: one in a heading, an image, a redirect. The span of a reference without text of its own (`\\ref{s}`)
    holds what a reader sees there, a number or a title, and `text` is empty; the span is empty too, at its place, where
    that is in another document.
    """

    kind: LinkKind
    target: str
    text: str
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class Section:
    """A node of the tree."""

    title: str
    level: int = 0
    """The source's own level number (a Markdown `###` is 3); the root's is 0."""
    text: str = ""
    anchors: tuple[str, ...] = ()
    links: list[Link] = field(default_factory=list)
    children: list[Section] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    """Kinds of the text's stretches, in the order of the source; `blocks` is the tree that they make."""

    @property
    def blocks(self) -> list[Block]:
        """The text's paragraphs, lists, tables, code and notes as a tree, made from the marks at each call."""
        return block_tree(self.text, self.marks)

    def walk(self) -> Iterator[Section]:
        """Yield this section and all below it in pre-order, the order of the source."""
        stack = [self]
        while stack:
            section = stack.pop()
            yield section
            stack.extend(reversed(section.children))

    def walk_with_path(self) -> Iterator[tuple[Section, tuple[Section, ...]]]:
        """Yield pairs of (section, its path from this section down to itself) in pre-order."""
        stack: list[tuple[Section, tuple[Section, ...]]] = [(self, (self,))]
        while stack:
            section, path = stack.pop()
            yield section, path
            stack.extend((child, (*path, child)) for child in reversed(section.children))

    def subtree_text(self) -> str:
        """Own text and, after it, title and text of every descendant, as paragraphs."""
        parts = [self.text]
        for section in self.walk():
            if section is not self:
                parts += (section.title, section.text)
        return "\n\n".join(part for part in parts if part)

    @property
    def is_link_list(self) -> bool:
        """True when the own text is mostly anchor texts of see-also links: a list of other pages, not content."""
        covered = sum(link.end - link.start for link in self.links if link.kind is LinkKind.SEE_ALSO)
        return covered * 2 > len(self.text) > 0

    @property
    def word_count(self) -> int:
        """Number of words of the own text, see structformer.document.word_counts."""
        return word_count(self.text)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a document came from: the file's path relative to the ingested root, and the format it was read as."""

    path: str
    format: str


@dataclass(slots=True)
class Document:
    """One page, article or file."""

    id: str
    """Readable and stable: the source's relative path (with "#part" inside a source of many documents)."""
    title: str
    root: Section
    source: Source
    names: tuple[str, ...] = ()
    """All the names under which links may refer to it, best known first."""
    language: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        nodes = (
            (len(path) - 1, f"{notebook.text(section.title or self.title, _LONGEST_TITLE)} {_sizes(section)}")
            for section, path in self.root.walk_with_path()
        )
        about = ", ".join((self.id, self.source.format, *filter(None, [self.language])))
        rest = notebook.more(sum(1 for _ in self.sections()) - notebook.NODES, "sections")
        return notebook.box(self.title or self.id, notebook.note(about), notebook.tree(nodes), rest)

    def sections(self) -> Iterator[Section]:
        """Return all sections in pre-order; a section's number is its position here, the root's is 0."""
        return self.root.walk()

    def links(self) -> Iterator[Link]:
        """Yield all links of all sections, in source order."""
        for section in self.root.walk():
            yield from section.links


def _sizes(section: Section) -> str:
    """Return a section's number of words and of links, as HTML."""
    sizes = [notebook.count_of(section.word_count, "word")]
    if section.links:
        sizes.append(notebook.count_of(len(section.links), "link"))
    return f'<span class="quiet">{", ".join(sizes)}</span>'
