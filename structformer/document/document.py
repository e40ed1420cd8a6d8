"""The common document tree: every format is read into Documents of Sections with Links.

Level 0 is the root, whose own text is the abstract. A section's text is its own text only: what comes
before its first subsection, as readable plain text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from structformer import notebook
from structformer.document.blocks import Block, Mark, block_tree
from structformer.document.word_counts import word_count

_LONGEST_TITLE = 100  # characters of a section's title in a notebook


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
