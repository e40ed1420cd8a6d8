"""The options of a directive, where docutils has no list of those that there are and leaves them among its lines."""

import re
from collections.abc import Iterable

_OPTION = re.compile(r"\s*:([\w-]+):(?:\s+(.*))?")  # what goes on is a role


def is_option(line: str) -> bool:
    """Whether a line gives a directive an option."""
    return _OPTION.fullmatch(line) is not None


def options_of(lines: Iterable[str]) -> dict[str, str]:
    """The options to which lines give a value."""
    return {found[1]: found[2] for line in lines if (found := _OPTION.fullmatch(line.rstrip())) and found[2]}


def without_options(content: Iterable[str]) -> list[str]:
    """A directive's lines without the options, which come first, and the blank lines after them."""
    lines = list(content)
    start = next((place for place, line in enumerate(lines) if line.strip() and not is_option(line)), len(lines))
    return lines[start:]
