"""A wrong name, answered with the right one: what commands, options, files and Python calls say of it."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_ALIKE = 0.72  # in difflib's measure; "nonsense" has 0.71 of "condenser"


def nearest(word: str, names: Iterable[str]) -> str:
    """The name that a word is nearest to, "" where none is near. Case, and dashes for underscores, make no
    difference.
    """
    plain: dict[str, str] = {}
    for name in names:
        plain.setdefault(_plain(name), name)
    found = get_close_matches(_plain(word), plain, 1, _ALIKE)
    return plain[found[0]] if found else ""


def did_you_mean(words: str | Iterable[str], names: Iterable[str], *, between: str = ", ", more: str = "") -> str:
    """The end of a message on one or more wrong names: the nearest, else all names. more: what else may be given."""
    known = list(names)
    near = [nearest(word, known) for word in ([words] if isinstance(words, str) else words)]
    if near and all(near):
        return f"did you mean {' and '.join(dict.fromkeys(near))}?"
    return f"choose from: {between.join(known) or 'none'}{more}"


def _plain(name: str) -> str:
    return name.lower().replace("-", "_")
