r"""Where TeX's conditionals end: for every place of a text the \fi and the \else that belong to it, found in one pass.

Looking for the end at each \if would read a text with n unclosed ones n times.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable

_CONDITION = re.compile(r"\\(if[a-zA-Z@]*|else|fi|or|newif)(?![a-zA-Z@])|\\.|%[^\n]*", re.DOTALL)


class Conditions:
    """The conditionals of one text. opens: whether a command of that name begins one."""

    def __init__(self, text: str, opens: Callable[[str], bool]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        kinds: list[str] = []
        for found in _CONDITION.finditer(text):
            name = found[1]
            if name in ("fi", "else") or (name not in (None, "newif", "or") and opens(name)):
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
        """The place behind the \\fi, or with `to_else` the \\else, of the conditional that `position` is in; None
        without one.
        """
        number = bisect_left(self._starts, position)
        token = self._else[number] if to_else and self._else[number] is not None else self._fi[number]
        return None if token is None else self._ends[token]
