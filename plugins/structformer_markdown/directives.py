"""Which of MyST's directives are notes, and of what kind. Source: the documentation of MyST and of Sphinx."""

from __future__ import annotations

from collections.abc import Iterable

# Their argument is the first line of their text.
_NOTES = frozenset("note warning tip hint important caution danger attention error seealso todo".split())
# Their argument is their title.
_TITLED = frozenset(
    "admonition dropdown topic sidebar theorem axiom lemma definition corollary proposition conjecture criterion "
    "remark observation property assumption algorithm example exercise solution proof "
    "versionadded versionchanged versionremoved deprecated".split()
)


def note_kind(name: str, options: Iterable[str]) -> tuple[str, bool]:
    """The kind of note that a directive is, and whether its argument is a title; "" where it is none.

    options: its option lines; a class such as "tip" says what a general admonition is."""
    own = name.rpartition(":")[2]  # prf:theorem
    if own in _NOTES:
        return own, False
    if own != "admonition":
        return (own, True) if own in _TITLED else ("", False)
    for option in options:
        key, _, value = option.strip().strip(":").partition(":")
        if key == "class":
            return next((word for word in value.split() if word in _NOTES), "note"), True
    return "note", True
