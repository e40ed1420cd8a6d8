"""Texts of a corpus made safe to show: control and bidirectional characters as escapes, on terminals, in JSON, XML and
HTML; and texts that hold no control characters in the first place.
"""

import json
import re
from collections.abc import Iterable
from typing import Any
from unicodedata import category

# Controls, formats (bidirectional ones among them), lone surrogates, line separators.
_UNSAFE = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_JOINERS = "\u200c\u200d"  # emoji and several scripts are written with these

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")  # all but tab and line feed
_WHITE_CONTROLS = "\x0b\x0c\r\x1c\x1d\x1e\x1f\x85"


def without_controls(text: str) -> str:
    """The text, as long, with a space or U+FFFD for each control character: indexes and databases choke on them."""
    if text.isprintable() or not CONTROLS.search(text):
        return text
    return CONTROLS.sub(lambda control: " " if control[0] in _WHITE_CONTROLS else "\ufffd", text)


def visible(text: str, *, keep: str = "\n\t") -> str:
    """The text with what cannot be seen, or changes how other text is seen, as escapes such as \\x9b and \\u202e."""
    if text.isprintable():
        return text
    return "".join(
        c if c in keep or c in _JOINERS or category(c) not in _UNSAFE else c.encode("unicode_escape").decode()
        for c in text
    )


def safe_json(value: Any, *, indent: int | None = 1) -> str:
    """Return JSON that a terminal may show: the same value, with unsafe characters in strings as JSON's own escapes."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isprintable():
        return text
    return "".join(c if c == "\n" or c in _JOINERS or category(c) not in _UNSAFE else json.dumps(c)[1:-1] for c in text)


def listed(names: Iterable[str], most: int = 3) -> str:
    """Return the first of some names, and how many others there are."""
    named = list(names)
    return ", ".join(named[:most]) + (f" and {len(named) - most} more" if len(named) > most else "")
