"""Files of what somebody wrote for a query: section titles, and descriptions."""

from pathlib import Path

from structformer.errors import UsageError
from structformer.text import lines_of


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


def read_descriptions(path: Path) -> dict[str, str]:
    """Descriptions by query id of a file whose every line is `query id<TAB>description`. Raises UsageError."""
    found: dict[str, str] = {}
    for number, line in enumerate(lines_of(path), 1):
        name, tab, text = line.partition("\t")
        if line.strip() and not tab:
            raise UsageError(f"{path}, line {number}: not `query id<TAB>description`")
        found[name.strip()] = text.strip()
    return found
