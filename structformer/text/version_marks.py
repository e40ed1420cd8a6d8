"""Marks of a version in documents' ids: 2.1/a.md, v3/a.md, latest/a.md, released/version-1.0/a.md."""

import re
from collections.abc import Callable

Order = tuple[tuple[int, tuple[int, ...], bool], ...]
"""A sort key of an id's version marks, the outermost first; the recommended version is the greatest."""

VERSION = re.compile(r"(?<![\w.])v?[0-9]+(?:\.[0-9]+)+")  # of a release in a text
_NUMBERED = re.compile(
    r"(?:version|release|ver|rel|v)?[-_. ]?((?!0[0-9])[0-9]{1,8}(?:[-_.][0-9]{1,8}){0,4})"
    r"(?:[-_. ]?(?:x|lts|ga|final|post[0-9]{0,4})"
    r"|([-_. ]?(?:alpha|beta|a|b|dev|m|milestone|pre|preview|rc|snapshot)[-_. ]?[0-9]{0,4}))?"
)
_COMING = "canary dev devel develop development edge head main master next nightly preview trunk unreleased"
_MOVING = {**dict.fromkeys(_COMING.split(), 0), **dict.fromkeys(("current", "latest", "lts", "stable"), 2)}
_LONGEST = 24  # characters of a mark
_UNMARKED: Order = ((3, (), True),)
_released: Callable[[], tuple[str, ...]] = tuple


def released_folders(names: Callable[[], tuple[str, ...]]) -> None:
    """Set what returns the names of folders of released versions; for the plugin manager."""
    global _released
    _released = names


def version_of(document_id: str) -> tuple[str, Order]:
    """Return a document's id without the folders that may name its version (`1/list.md` need not), and their order."""
    *folders, name = document_id.split("/")
    kept: list[str] = []
    marks = []
    for folder in folders:
        if mark := version_order(folder):
            if kept and (released := next((name for name in _released() if kept[-1].endswith(name)), "")):
                kept[-1] = kept[-1].removesuffix(released).rstrip("_") or "docs"
                mark = 4, *mark[1:]
            marks.append(mark)
        else:
            kept.append(folder)
    return "/".join([*kept, name]), tuple(marks) or _UNMARKED


def version_names(document_id: str) -> frozenset[str]:
    """Return how a query, in lower case, may name the version of a document: by more than a digit."""
    marks = [mark for mark in document_id.lower().split("/")[:-1] if (order := version_order(mark)) and order[0] == 1]
    numbers = [mark.lstrip("_abcdefghijklmnopqrstuvwxyz.- ") for mark in marks]
    return frozenset([*(each for each in (*marks, *numbers) if len(each) > 1), *(f"v{number}" for number in numbers)])


def version_order(name: str) -> tuple[int, tuple[int, ...], bool] | None:
    """The sort key of a version, newest first: latest, 1.10, 1.9, candidates after releases, main; None if none."""
    name = name.lower().lstrip("_")
    if len(name) > _LONGEST:
        return None
    if name in _MOVING:
        return _MOVING[name], (), True
    if found := _NUMBERED.fullmatch(name):
        return 1, tuple(int(each) for each in re.split(r"[-_.]", found[1])), found[2] is None
    return None
