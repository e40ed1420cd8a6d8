"""What a dialect is."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from structformer_markdown.dialects.page import Page


@dataclass(frozen=True, slots=True)
class Dialect:
    """A site generator's Markdown."""

    name: str
    plain: Callable[[str, Page], str]
    """Gives the text in plain Markdown. It gets the text without code, and takes linear time."""
    marks: Mapping[str, re.Pattern[str] | None]
    """Every page that needs the dialect has one of these literals. Where a literal alone does not tell, it comes
    with a pattern that must be found too; a literal is found much faster than a pattern."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of files that are always of the dialect."""

    def recognised(self, text: str, path: str) -> bool:
        """Whether a page is of this dialect."""
        return (bool(self.suffixes) and path.lower().endswith(self.suffixes)) or any(
            mark in text and (pattern is None or pattern.search(text) is not None)
            for mark, pattern in self.marks.items()
        )
