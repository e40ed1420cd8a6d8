"""How a note says what it is: by a title of its own, or by its kind, which its first words may say already."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from structformer.document import Block, MarkKind

_LABELS = {"seealso": "See also"}
_KIND = re.compile(r"[^\W_][\w .+#-]{0,39}")


class Opening(NamedTuple):
    """The beginning of a note."""

    label: str
    """Name of the kind, "" for none."""
    title: Block | None
    """The block that is a title."""
    content: Sequence[Block]
    """The other blocks."""
    begins: int = 0
    """Where in the first of these the words after "Note: " begin, 0 for at its start."""


def opening(text: str, note: Block) -> Opening:
    """Return its beginning. A title or a first paragraph that says its kind alone is left out: the label says it."""
    name, content = " ".join(note.detail.split()), note.children
    label = _LABELS.get(name, name[:1].upper() + name[1:]) if _KIND.fullmatch(name) else ""
    if content and content[0].kind is MarkKind.TITLE:
        title, *content = content
        is_label = text[title.start : title.end].rstrip(": ").casefold() == label.casefold()
        return Opening(label, None if is_label else title, content)
    if not content:
        return Opening(label, None, content)
    first = content[0]
    if label and first.kind is MarkKind.PARAGRAPH:
        match = re.compile(rf"{re.escape(label)}(?::\s+|:?\Z)", re.IGNORECASE).match(text[first.start : first.end])
        if match is not None:
            begins = first.start + match.end()
            return Opening(label, None, content, begins) if begins < first.end else Opening(label, None, content[1:])
    return Opening(label, None, content)
