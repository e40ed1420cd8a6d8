"""Where what is read goes: the document's tree, with the footnotes that wait for the end of their paragraph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from structformer.document import MarkKind, Section
from structformer.formats import TreeBuilder

from structformer_latex.cursor import Cursor
from structformer_latex.macros import Macros
from structformer_latex.numbering import Numbering

_MAX_FOOTNOTES = 1000  # of a paragraph

# Finds another file of the project by its name, with one of the suffixes: its path and its text; None when it is not
# inside the ingested folder.
Files = Callable[[str, tuple[str, ...]], tuple[str, str] | None]


@dataclass(eq=False)
class Part:
    """A part of the reader, with what all parts read from, write to and know of the document."""

    _cursor: Cursor
    _output: Output
    _macros: Macros
    _numbering: Numbering
    _files: Files


class Output:
    """The builder that is written to, not the document's for an argument's text and for definitions; and the marks that
    end with the groups that are open or, at the latest, with their paragraph. typeset: reads LaTeX into it, as its
    readers see it."""

    def __init__(self, builder: TreeBuilder, typeset: Callable[[str], None]) -> None:
        self.builder = builder
        self._document = builder
        self.typeset = typeset
        self.only_definitions = False
        self.section: Section | None = None  # that was opened last
        self.depth = 0  # groups that are open; the document is one too
        self.code = 0  # the depth of the group set in a typewriter's font, which has no ligatures
        self._floor = 0  # groups around the text that is being read: it can't close them
        self._spans: list[tuple[int, MarkKind]] = []  # marks that are open, with the depth of their group
        self._footnotes: list[str] = []

    @property
    def is_document(self) -> bool:
        """Whether what is read goes into the document."""
        return self.builder is self._document

    def enter(self) -> tuple[int, int]:
        """A text is read on its own, as a group; returns what to `leave` it to."""
        around = self.depth, self._floor
        self.depth += 1
        self._floor = self.depth
        return around

    def leave(self, around: tuple[int, int]) -> None:
        """Go back to where `enter` was called."""
        self.end_spans()
        self.depth, self._floor = around
        self.code *= self.code <= self.depth

    def close_group(self) -> None:
        """A group ends; nothing happens where none was opened."""
        if self.depth > self._floor:
            self.depth -= 1
            self.code *= self.code <= self.depth
            while self._spans and self._spans[-1][0] > self.depth:
                self.builder.close_mark(self._spans.pop()[1])

    def span(self, kind: MarkKind) -> None:
        """Open a span of that kind for the rest of this group."""
        if kind is MarkKind.CODE_SPAN:
            self.code = self.code or self.depth
        if not self.builder.in_heading and self._spans[-1:] != [(self.depth, kind)]:
            self.builder.open_mark(kind)
            self._spans.append((self.depth, kind))

    def end_spans(self) -> None:
        """Nothing stands out any more in the text that is being read."""
        while self._spans and self._spans[-1][0] >= self._floor:
            self.builder.close_mark(self._spans.pop()[1])

    def definitions(self, text: str) -> None:
        """Read a preamble or a package: what it defines counts, what it says doesn't."""
        before, self.only_definitions = self.only_definitions, True
        self.plain(text)
        self.only_definitions = before

    def plain(self, text: str) -> str:
        """Return the text of an argument."""
        builder, self.builder = self.builder, TreeBuilder(slugs=False)
        footnotes, self._footnotes = self._footnotes, []  # of the paragraph around it
        self.typeset(text)
        self.builder.close_heading()
        plain = " ".join(self.builder.current_text().split())
        self.builder, self._footnotes = builder, footnotes
        return plain

    def open_block(self, kind: MarkKind, detail: str = "") -> None:
        """Open a part of that kind in the text, after ending the words that stand out."""
        self.end_spans()
        self.builder.open_mark(kind, detail)

    def block(self, text: str) -> None:
        """Read LaTeX into a paragraph of its own."""
        self.builder.paragraph()
        self.typeset(text)
        self.builder.paragraph()

    def paragraph(self) -> None:
        """A paragraph ends here, and its footnotes follow."""
        if self.builder.in_heading:
            self.builder.flow(" ")
            return
        self.end_spans()
        self.flush_footnotes()
        self.builder.paragraph()

    def footnote(self, note: str) -> None:
        """A note to the paragraph that is being read."""
        if not self.only_definitions:
            self._footnotes.append(note)

    def flush_footnotes(self) -> None:
        """Write the footnotes that wait."""
        notes, self._footnotes = self._footnotes, []
        for note in notes[:_MAX_FOOTNOTES]:
            self.block(note)
