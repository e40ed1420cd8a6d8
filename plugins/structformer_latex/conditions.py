r"""TeX's conditionals: which branch is read (\newif, \ifx, \iftoggle, \ifthenelse), and where each ends.

For every place of a text the \fi and the \else that belong to it are found in one pass: looking for the end at each
\if would read a text with n unclosed ones n times.
"""

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import lru_cache

from structformer_latex.commands import CONDITIONALS, by_name
from structformer_latex.output import Part

_CONDITION = re.compile(r"\\(if[a-zA-Z@]*|else|fi|or|newif)(?![a-zA-Z@])|\\.|%[^\n]*", re.DOTALL)
_NAMED = r"\\csname.{0,200}?\\endcsname|\\[a-zA-Z@]+"
_TOKENS = re.compile(rf"\s*(?:{_NAMED}|\S)\s*(?:(?:{_NAMED})\s*|\S)?", re.DOTALL)
_NUMBER = re.compile(r"\s*(?:\\value\s*\{[^{}]*\}|\\[a-zA-Z@]+|\d+)\s*", re.DOTALL)
_OPERAND = r"\s*(?:\\value\s*\{[^{}]*\}|[-+]?[\d.]+\s*(?:pt|cm|mm|in|em|ex)?|\\[a-zA-Z@]+|`\\?.)\s*"
_COMPARISON = re.compile(rf"{_OPERAND}[<>=]{_OPERAND}", re.DOTALL)
# What is between a conditional and its first branch.
_TESTS = {
    "ifdefined": re.compile(r"\s*\\[a-zA-Z@]+\s*", re.DOTALL),
    "ifx": _TOKENS,
    "if": _TOKENS,
    "ifcat": _TOKENS,
    "ifodd": _NUMBER,
    "ifcase": _NUMBER,
    "ifnum": _COMPARISON,
    "ifdim": _COMPARISON,
    "ifcsname": re.compile(r".{0,200}?\\endcsname\s*", re.DOTALL),
}
_BOOLEAN = re.compile(r"\s*(\\not\s*)?\\boolean\s*\{([^{}]*)\}\s*")
_UNDECIDED = re.compile(r"\\boolean|\\equal\s*\{\s*\}")
# etoolbox's tests of two arguments, and of one that is empty or not defined; what is defined is mostly not empty.
_OF_TWO = frozenset("IfStrEq ifstrequal ifnumequal ifnumgreater ifnumless ifdefstring ifcsstring ifdefequal".split())
_OF_NOTHING = frozenset("ifstrempty ifblank ifdefempty ifdefvoid ifcsempty ifcsvoid ifundef ifcsundef".split())
_SWITCHES = "new{0} provide{0} set{0} {0}true {0}false if{0} not{0}"  # of etoolbox and ifthen


class Conditions:
    """The conditionals of one text. switches: of the author's own."""

    def __init__(self, text: str, switches: frozenset[str]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        kinds: list[str] = []
        for found in _CONDITION.finditer(text):
            name = found[1]
            is_other = name in (None, "newif", "or")
            if name in ("fi", "else") or (not is_other and (name in CONDITIONALS or name[2:] in switches)):
                self._starts.append(found.start())
                self._ends.append(found.end())
                kinds.append(name if name in ("fi", "else") else "if")
        count = len(kinds)
        # From the right: the token that closes the level of token i, and the \else of that level.
        self._fi: list[int | None] = [None] * (count + 1)
        self._else: list[int | None] = [None] * (count + 1)
        for number in range(count - 1, -1, -1):
            if kinds[number] == "fi":
                self._fi[number] = number
            elif kinds[number] == "else":
                self._fi[number], self._else[number] = self._fi[number + 1], number
            elif (inner := self._fi[number + 1]) is not None:
                self._fi[number], self._else[number] = self._fi[inner + 1], self._else[inner + 1]

    def end(self, position: int, *, to_else: bool) -> int | None:
        """Return the place after a conditional's \\fi, or with `to_else` its \\else; None without one."""
        number = bisect_left(self._starts, position)
        token = self._else[number] if to_else and self._else[number] is not None else self._fi[number]
        return None if token is None else self._ends[token]


_found_conditions = lru_cache(maxsize=16)(Conditions)  # of a file and the macros that were expanded last


@dataclass(eq=False)
class Branches(Part):
    """Chooses the branch that is read, by the user's switches and toggles; the first if only TeX could decide."""

    _switches: dict[str, bool] = field(default_factory=dict)
    _toggles: dict[str, bool] = field(default_factory=dict)

    def read_switch(self, name: str) -> bool:
        """Read a command that \\newif\\ifname made: \\ifname, \\nametrue, \\namefalse; False when it is none."""
        if not self._switches:
            return False
        if name.startswith("if") and name[2:] in self._switches:
            self._conditional(name)
        elif name.endswith("true") and name[:-4] in self._switches:
            self._switches[name[:-4]] = True
        elif name.endswith("false") and name[:-5] in self._switches:
            self._switches[name[:-5]] = False
        else:
            return False
        return True

    def _new_switch(self, name: str) -> None:
        self._switches.setdefault(self._cursor.argument().removeprefix("\\if"), False)

    def _conditional(self, name: str) -> None:
        if name == "unless":
            return
        truth = name != "iffalse"
        if name[2:] in self._switches:
            truth = self._switches[name[2:]]
        elif name in _TESTS and (test := self._cursor.take(_TESTS[name])) is not None and name == "ifdefined":
            place, ends = self._cursor.position, self._conditions()
            has_else = ends.end(place, to_else=True) != ends.end(place, to_else=False)
            truth = not has_else or test[0].strip()[1:] in self._macros.commands  # one branch alone is shown
        if not truth:
            self._skip_branch(name)

    def _skip_branch(self, name: str) -> None:
        cursor, to_else = self._cursor, name not in ("else", "or")
        end = self._conditions().end(cursor.position, to_else=to_else)
        if end is not None:
            cursor.position = end
        elif to_else:
            cursor.leave_out(f"\\{name} has no end: what follows is read")
        elif not cursor.is_outermost:
            # Without an end in this text, what was to be skipped is all of it only when a macro opened it.
            cursor.to_end()

    def _conditions(self) -> Conditions:
        """Return the conditionals of this text, found once as long as no new kind of them is declared."""
        return _found_conditions(self._cursor.text, frozenset(self._switches))

    def _toggle(self, name: str) -> None:
        """etoolbox's switches: \\newtoggle, \\toggletrue, \\iftoggle{name}{then}{else}; and ifthen's booleans."""
        cursor, name = self._cursor, name.replace("boolean", "toggle").replace("bool", "toggle")
        toggle = cursor.argument().strip()
        if name == "settoggle":
            self._toggles[toggle] = cursor.argument().strip() == "true"
        elif name in ("newtoggle", "providetoggle"):
            self._toggles.setdefault(toggle, False)
        elif name in ("toggletrue", "togglefalse"):
            self._toggles[toggle] = name == "toggletrue"
        else:
            branches = cursor.argument(), cursor.argument()
            cursor.push(branches[self._toggles.get(toggle, False) == (name == "nottoggle")])

    def _choice(self, name: str) -> None:
        cursor = self._cursor
        test = cursor.argument()
        other = cursor.argument() if name in _OF_TWO else None
        first, second = cursor.argument(), cursor.argument()
        boolean = _BOOLEAN.fullmatch(test)
        if other is not None:
            truth = test.strip() == other.strip() or "\\" in test
        elif boolean is not None and boolean[2] in self._toggles:
            truth = self._toggles[boolean[2]] != bool(boolean[1])
        elif name in ("IfFileExists", "InputIfFileExists"):
            truth = self._files(test.strip(), ("", ".tex")) is not None
            first += f" \\input{{{test}}}" * name.startswith("Input")
        elif name in _OF_NOTHING:
            truth = not test.strip()
        else:
            truth = "false" not in test or _UNDECIDED.search(test) is not None
        cursor.push(first if truth else second)

    def _if_given(self, name: str) -> None:
        """xparse's tests of a star or of an argument in brackets."""
        test = self._cursor.argument()
        is_given = "\\NoValue" not in test and (bool(test.strip()) or "Boolean" not in name)
        truth = is_given != name.startswith("IfNoValue")
        branches = {branch: self._cursor.argument() for branch in name[len(name.rstrip("TF")) :]}
        self._cursor.push(branches.get("T" if truth else "F", ""))

    COMMANDS = by_name(
        ("newif", _new_switch),
        (CONDITIONALS, _conditional),
        (
            (f"If{test}{branches}" for test in ("Boolean", "NoValue", "Value") for branches in ("TF", "T", "F")),
            _if_given,
        ),
        ("else or", _skip_branch),
        ("fi", lambda branches, name: None),
        ((each.format(kind) for each in _SWITCHES.split() for kind in ("toggle", "bool", "boolean")), _toggle),
        ("ifthenelse IfFileExists InputIfFileExists ifdef ifcsdef ifnumodd", _choice),
        (_OF_TWO | _OF_NOTHING, _choice),
    )
