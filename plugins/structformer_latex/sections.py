"""Headings: \\section and its like, with their numbers; \\appendix."""

import re

from structformer_latex.commands import SECTIONS, by_name
from structformer_latex.output import Part

_PARAGRAPH = re.compile(r"(.*?)(?:\n[ \t]*\n|\\par(?![a-zA-Z])|\Z)", re.DOTALL)
_OWN = re.compile(r"(?:sub){0,2}section$|chapter$", re.IGNORECASE)
_TITLED = re.compile(r"(?:\[[^\[\]\n]*\])*\{\s*[^\s}]")  # not \closesection{}
_STAR = re.compile(r"\s*\*")
_UNNUMBERED = ("add", "minisec", "frametitle")  # beginnings of names


class Sections(Part):
    """Opens the sections of the tree."""

    def _section(self, name: str) -> None:
        level = SECTIONS[name]
        own_star = self._cursor.take(_STAR) is not None  # behind a macro of the author's that ends with the command
        starred = own_star or self._cursor.starred or name.startswith(_UNNUMBERED)
        self._output.flush_footnotes()
        if not self._output.only_definitions:
            self._numbering.section(level, starred=starred)
        self._cursor.skip_overlay()
        if self._cursor.optional() is not None:
            self._cursor.optional()
        self.open(level, self._cursor.argument())

    def _start_section(self, name: str) -> None:
        """Read the definition of \\section: \\@startsection{section}{level}{indent}{above}{below}{style}."""
        name = self._cursor.argument().strip()
        self._cursor.drop("{{{{{")
        self._cursor.settle()
        self._section(name if name in SECTIONS else "paragraph")

    def read_own(self, name: str, start: int) -> bool:
        """Read \\mysection{Title}, \\bookchapter{id}{Title}, which no file here defines, on a line of its own; whether
        it is such a command. start: where it is in the text."""
        cursor = self._cursor
        found = _OWN.search(name)
        line = cursor.text[cursor.text.rfind("\n", 0, start) + 1 : start]
        if found is None or line.strip() or not _TITLED.match(cursor.text, cursor.position):
            return False
        cursor.skip_optionals()
        title = cursor.argument()
        while cursor.text.startswith("{", cursor.position):
            title = cursor.argument()
        self._output.flush_footnotes()
        self.open(SECTIONS[found[0].lower()], title)
        return True

    def open(self, level: int, title: str) -> None:
        """Begin a section. title: LaTeX."""
        self._output.builder.open_heading(level)
        self._output.typeset(title)
        self._output.section = self._output.builder.close_heading()

    def _plain_section(self, name: str) -> None:
        """Plain TeX's \\beginsection: the title ends with the paragraph."""
        match = self._cursor.take(_PARAGRAPH)
        assert match is not None
        self.open(2, match[1])

    def _appendix(self, name: str) -> None:
        self._output.paragraph()
        self._numbering.appendix()

    COMMANDS = by_name(
        (SECTIONS, _section),
        ("@startsection", _start_section),
        ("beginsection", _plain_section),
        ("appendix appendices", _appendix),
    )
