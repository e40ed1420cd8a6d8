"""What a dialect is."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from structformer_markdown.dialects.page import Page


@dataclass(frozen=True, slots=True)
class Dialect:
    """A site generator's Markdown.

    plain: the text in plain Markdown; it gets the text without code, and takes linear time. marks: one of these is
    in every page that needs it, and what must be found too where that does not tell; a literal is found much faster
    than a pattern. suffixes: of files that are always of it.
    """

    name: str
    plain: Callable[[str, Page], str]
    marks: Mapping[str, re.Pattern[str] | None]
    suffixes: tuple[str, ...] = ()

    def recognised(self, text: str, path: str) -> bool:
        """Whether a page is of this dialect."""
        if self.suffixes and path.lower().endswith(self.suffixes):
            return True
        for mark, pattern in self.marks.items():
            if mark in text and (pattern is None or pattern.search(text) is not None):
                return True
        return False
