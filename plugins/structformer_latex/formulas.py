"""Formulas: they stay as they are written, but for their labels, references and comments."""

import re
from dataclasses import dataclass, field

from structformer.document import MarkKind

from structformer_latex.commands import by_name
from structformer_latex.output import Part
from structformer_latex.references import References

_BODY = {  # what follows each sign, to the one that ends it; $ in words ends none, and a blank line is in no sentence
    "$": re.compile(
        r"((?:[^\\$\n]++|\\(?:text[a-z]*|[mh]box)\{(?:[^{}\\$]|\\.|\$[^$\n]{0,200}\$)*+\}|\\.|\n(?![ \t]*\n))*+)\$",
        re.DOTALL,
    ),
    "$$": re.compile(r"((?:[^\\$]++|\\.|\$(?!\$))*+)\$\$", re.DOTALL),
    "\\(": re.compile(r"((?:[^\\\n]++|\\(?!\)).|\n(?![ \t]*\n))*+)\\\)", re.DOTALL),
    "\\[": re.compile(r"((?:[^\\]++|\\(?!\]).)*+)\\\]", re.DOTALL),
}
_CLOSERS = {"\\(": "\\)", "\\[": "\\]"}
_LABEL = re.compile(r"\\label\s*\{([^{}]*)\}")
_REFERENCE = re.compile(r"\\(?:eq|auto|[cC])?ref\*?\s*\{([^{}]*)\}")
_COMMENT = re.compile(r"(?<!\\)%[^\n]*\n?[ \t]*")

_ROW = re.compile(r"(\\\\)|\\(begin|end)(?![a-zA-Z])|\\.|[{}]", re.DOTALL)
_NO_NUMBER = re.compile(r"\\(?:nonumber|notag)(?![a-zA-Z])")
_TAG = re.compile(r"\\tag\*?\s*\{([^{}]*)\}")
# Environments with a number for each row, and with a number.
_OF_ROWS = frozenset("align alignat gather flalign eqnarray IEEEeqnarray xalignat numcases".split())
_NUMBERED = _OF_ROWS | {"equation", "multline", "dmath", "subnumcases", "empheq"}


@dataclass(eq=False)
class Formulas(Part):
    """Reads $...$, \\(...\\), $$...$$, \\[...\\] and what environments for formulas hold."""

    _references: References
    _unclosed: dict[str, str] = field(default_factory=dict)  # the text in which no more of a sign's ends are

    def read(self, opener: str, start: int) -> None:
        """A formula whose opening sign is at `start`."""
        self._cursor.position = start + len(opener)
        text = self._cursor.text
        if self._unclosed.get(opener) is not text and text.find(_CLOSERS.get(opener, opener), start + len(opener)) < 0:
            self._unclosed[opener] = text
        body = self._cursor.take(_BODY[opener]) if self._unclosed.get(opener) is not text else None
        if body is not None:
            self.write(body[1], opener, display=opener in ("$$", "\\["))
        elif opener == "$":  # a sign that stands alone
            self._output.builder.text("$")

    def write(self, source: str, opener: str, *, display: bool) -> None:
        """A formula's source. opener: its sign or its environment, which has a number unless it is starred."""
        builder = self._output.builder
        if "%" in source:
            source = _COMMENT.sub("", source)
        for row in _rows(source) if opener in _OF_ROWS else (source,):
            tag = _TAG.search(row) if display else None
            if tag is not None or (opener in _NUMBERED and not _NO_NUMBER.search(row)):
                self._numbering.equation(self._output.plain(tag[1]) if tag is not None else "")
            for label in _LABEL.findall(row):
                self._references.add_label(label)
        if "\\label" in source:
            source = _LABEL.sub("", source)
        if "ref" in source:
            for labels in _REFERENCE.findall(source):
                self._references.mention(labels)
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
            builder.marked_text(MarkKind.FORMULA_SPAN, f"${shown}$")

    COMMANDS = by_name(
        ("ensuremath", lambda formulas, name: formulas.write(formulas._cursor.argument(), "$", display=False))
    )


def _rows(source: str) -> list[str]:
    """Return a formula's rows; those of formulas in it are none."""
    rows: list[str] = []
    begin = depth = 0
    for token in _ROW.finditer(source):
        if token[0] == "{" or token[2] == "begin":
            depth += 1
        elif token[0] == "}" or token[2] == "end":
            depth -= 1
        elif token[1] and not depth:
            rows.append(source[begin : token.start()])
            begin = token.end()
    return [*rows, source[begin:]]
