"""The order of versions: the newest first. What a page's version is called."""

from __future__ import annotations

import re
from collections.abc import Iterable

from structformer.text import version_of

_VERSION = re.compile(r"v?(?:ersion)?[-_ ]?(\d+(?:[._]\d+)*)[-._ ]?(.*)", re.IGNORECASE)
# Names, no numbers.
_MOVING = tuple("main master dev development nightly next latest current stable".split())
_PATCHED = re.compile(r"post|x$|lts", re.IGNORECASE)  # what comes after a number and is not before its release


def is_version(name: str) -> bool:
    """Whether a name is a version's: 2.1, v3, 1.0rc1, latest."""
    return name.lower() in _MOVING or _VERSION.fullmatch(name) is not None


def newest_first(names: Iterable[str]) -> list[str]:
    """Versions by their numbers, 1.10 before 1.9 and a release before its candidates. Names without a number, such as
    latest, come before all of them; what is not a version comes last.
    """
    return sorted(sorted(names), key=_newness, reverse=True)


def version_name(document_id: str, other: str) -> str:
    """What a document's id calls its version where `other` is the same page in another one: "2.1"; else ""."""
    if version_of(document_id)[0] != version_of(other)[0]:
        return ""
    elsewhere = {*other.split("/")}
    return "/".join(each for each in document_id.split("/")[:-1] if each not in elsewhere and "_docs" not in each)


def _newness(name: str) -> tuple[int, tuple[int, ...], int, str]:
    if name.lower() in _MOVING:
        return 2, (_MOVING.index(name.lower()),), 0, ""
    found = _VERSION.fullmatch(name)
    if not found:
        return 0, (), 0, ""
    rest = found[2]
    released = not rest or _PATCHED.search(rest) is not None
    return 1, tuple(int(part[:18]) for part in re.split("[._]", found[1])), int(released), rest
