"""Section titles that somebody chose, in a file."""

from __future__ import annotations

from pathlib import Path

from structformer.errors import UsageError
from structformer.text.lines import lines_of


def read_titles(path: Path) -> list[str] | dict[str, list[str]]:
    """Section titles of a file, one a line; or by query id, where every line is `query id<TAB>title`. Raises
    UsageError.
    """
    lines = [line.strip() for line in lines_of(path) if line.strip()]
    if not lines:
        raise UsageError(f"{path} has no titles")
    if not all("\t" in line for line in lines):
        return lines
    by_query: dict[str, list[str]] = {}
    for line in lines:
        name, _, title = line.partition("\t")
        by_query.setdefault(name.strip(), []).append(title.strip())
    return by_query
