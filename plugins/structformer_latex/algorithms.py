"""Algorithms as their packages print them: \\If{c} ... \\EndIf is "if c then ... end if"."""

from typing import ClassVar

from structformer_latex.commands import Handler, by_name
from structformer_latex.output import Part

# What is printed before and behind the argument; algorithmicx and algorithmic write the names in other cases.
_WITH_ARGUMENT = {
    "If": ("if", "then"),
    "ElsIf": ("else if", "then"),
    "For": ("for", "do"),
    "ForAll": ("for all", "do"),
    "While": ("while", "do"),
    "Until": ("until", ""),
}
_WORDS = {
    "Else": "else",
    "Repeat": "repeat",
    "Loop": "loop",
    "State": "",
    "Statex": "",
    "Require": "Require:",
    "Ensure": "Ensure:",
    **{f"End{name}": f"end {name.lower()}" for name in "If For While Loop Function Procedure".split()},
    "EndForAll": "end for",
}
_KEYWORDS = {"Return": "return", "Print": "print", "Comment": "▷"}  # within a line
_INPUTS = {"KwData": "Data:", "KwResult": "Result:", "KwIn": "Input:", "KwOut": "Output:", "KwRet": "return"}
_BY_NAME = {
    spelt: shown
    for table in (_WITH_ARGUMENT, _WORDS, _KEYWORDS)
    for name, shown in table.items()
    for spelt in (name, name.upper())
} | _INPUTS


class Algorithms(Part):
    """The commands of algorithmicx, algorithmic and, as far as they are the same, of algorithm2e."""

    def _step(self, name: str) -> None:
        """A line that begins with a word, or a condition between two words."""
        self._output.builder.line()
        self._words(name)

    def _words(self, name: str) -> None:
        shown = _BY_NAME[name]
        before, after = (shown, "") if isinstance(shown, str) else shown
        self._output.builder.text(f"{before} ")
        if not isinstance(shown, str):
            self._output.typeset(self._cursor.group() or "")
            self._output.builder.text(f" {after} ")

    def _call(self, name: str) -> None:
        """\\Function{name}{arguments}, or a \\Call of one."""
        if name != "Call":
            self._output.builder.line()
            self._output.builder.text(f"{name.lower()} ")
        self._output.typeset(self._cursor.group() or "")
        self._output.builder.text("(")
        self._output.typeset(self._cursor.group() or "")
        self._output.builder.text(")")

    COMMANDS: ClassVar[dict[str, Handler]] = by_name(
        (
            (spelt for name in (*_WITH_ARGUMENT, *_WORDS) for spelt in (name, name.upper())),
            _step,
        ),
        ((spelt for name in _KEYWORDS for spelt in (name, name.upper())), _words),
        (_INPUTS, _step),
        ("Function Procedure Call", _call),
    )
