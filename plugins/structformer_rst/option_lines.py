"""The options of a directive, where docutils has no list of those that there are and leaves them among its lines."""

import re
from collections.abc import Iterable

_OPTION = re.compile(r"\s*:[\w-]+:(?:\s|$)")  # what goes on is a role


def is_option(line: str) -> bool:
    """Whether a line gives a directive an option."""
    return _OPTION.match(line) is not None


def without_options(content: Iterable[str]) -> list[str]:
    """A directive's lines without the options, which come first, and the blank lines after them."""
    lines = list(content)
    start = next((place for place, line in enumerate(lines) if line.strip() and not is_option(line)), len(lines))
    return lines[start:]
