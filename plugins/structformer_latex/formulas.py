"""Formulas: they stay as they are written, but for their labels, references and comments."""

import re

from structformer.document import MarkKind

from structformer_latex.cursor import Cursor
from structformer_latex.numbering import Numbering
from structformer_latex.output import Output, Part
from structformer_latex.references import References

_END = {
    "$$": re.compile(r"\\.|\$\$", re.DOTALL),
    "\\(": re.compile(r"\\\)|\n[ \t]*\n"),
    "\\[": re.compile(r"\\\]"),
}
_IN_LINE = re.compile(r"((?:[^\\$\n]++|\\.|\n(?![ \t]*\n))*+)\$", re.DOTALL)  # what follows $, to the next
_LABEL = re.compile(r"\\label\s*\{([^{}]*)\}")
_REFERENCE = re.compile(r"\\(?:eq|auto|[cC])?ref\*?\s*\{([^{}]*)\}")
_COMMENT = re.compile(r"(?<!\\)%[^\n]*\n?[ \t]*")


class Formulas(Part):
    """Reads $...$, \\(...\\), $$...$$, \\[...\\] and what environments for formulas hold."""

    def __init__(self, cursor: Cursor, output: Output, references: References, numbering: Numbering) -> None:
        super().__init__(cursor, output)
        self._references = references
        self._numbering = numbering

    def read(self, opener: str, start: int) -> None:
        """A formula whose opening sign is at `start`."""
        text = self._cursor.text
        begin = start + len(opener)
        if opener == "$":
            in_line = _IN_LINE.match(text, begin)
            if in_line is None:
                self._cursor.position = begin
                self._output.builder.text("$")
            else:
                self._cursor.position = in_line.end()
                self.write(in_line[1], opener, display=False)
            return
        for found in _END[opener].finditer(text, begin):
            token = found[0]
            if token[0] == "\\" and opener == "$$":
                continue
            if token[0] == "\n":
                break  # no formula goes over a blank line: the sign stands alone
            self._cursor.position = found.end()
            self.write(text[begin : found.start()], opener, display=opener in ("$$", "\\["))
            return
        self._cursor.position = begin

    def write(self, source: str, opener: str, *, display: bool) -> None:
        """A formula's source. opener: its sign or its environment, which has a number unless it is starred."""
        builder = self._output.builder
        if "\\label" in source:
            if display and opener.rstrip("*") == opener:
                self._numbering.equation()
            for label in _LABEL.findall(source):
                self._references.add_label(label)
            source = _LABEL.sub("", source)
        if "ref" in source:
            for labels in _REFERENCE.findall(source):
                self._references.mention(labels)
        if "%" in source:
            source = _COMMENT.sub("", source)
        shown = " ".join(source.split())
        if not shown:
            return
        if builder.in_heading:
            builder.text(shown)
        elif display:
            builder.line()
            self._output.open_block(MarkKind.FORMULA)
            builder.verbatim(shown)
            builder.close_mark(MarkKind.FORMULA)
            builder.line()
        else:
            builder.open_mark(MarkKind.FORMULA_SPAN)
            builder.text(f"${shown}$")
            builder.close_mark(MarkKind.FORMULA_SPAN)
