"""Headings: \\section and its like, with their numbers; \\appendix."""

from __future__ import annotations

import re
from typing import ClassVar

from structformer_latex.commands import SECTIONS, Handler, by_name
from structformer_latex.cursor import Cursor
from structformer_latex.numbering import Numbering
from structformer_latex.output import Output, Part

_PARAGRAPH_END = re.compile(r"\n[ \t]*\n|\\par(?![a-zA-Z])|\Z")
_UNNUMBERED = ("add", "minisec", "frametitle")  # beginnings of names


class Sections(Part):
    """Opens the sections of the tree."""

    def __init__(self, cursor: Cursor, output: Output, numbering: Numbering) -> None:
        super().__init__(cursor, output)
        self._numbering = numbering

    def _section(self, name: str) -> None:
        level = SECTIONS[name]
        starred = self._cursor.starred or name.startswith(_UNNUMBERED)
        self._output.flush_footnotes()
        if not self._output.only_definitions:
            self._numbering.section(level, starred=starred)
        self._cursor.skip_overlay()
        if self._cursor.optional() is not None:
            self._cursor.optional()
        self.open(level, self._cursor.argument())

    def open(self, level: int, title: str) -> None:
        """Begin a section. title: LaTeX."""
        self._output.builder.open_heading(level)
        self._output.typeset(title)
        self._output.builder.close_heading()

    def _plain_section(self, name: str) -> None:
        """Plain TeX's \\beginsection: the title ends with the paragraph."""
        cursor = self._cursor
        end = _PARAGRAPH_END.search(cursor.text, cursor.position)
        assert end is not None
        title = cursor.text[cursor.position : end.start()]
        cursor.position = end.end()
        self.open(2, title)

    def _appendix(self, name: str) -> None:
        self._output.paragraph()
        self._numbering.appendix()

    COMMANDS: ClassVar[dict[str, Handler]] = by_name(
        (SECTIONS, _section),
        ("beginsection", _plain_section),
        ("appendix appendices", _appendix),
    )
