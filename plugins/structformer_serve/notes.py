"""How a note says what it is: by a title of its own, or by its kind, which its first words may say already."""

import re
from collections.abc import Sequence

from structformer.document import Block, MarkKind

_LABELS = {"seealso": "See also"}
_KIND = re.compile(r"[^\W_][\w .+#-]{0,39}")


def opening(text: str, note: Block) -> tuple[str, Block | None, Sequence[Block], int]:
    """Return the name of a note's kind, "" for none; the block that is its title; its other blocks; and where in the
    first of these the words after "Note: " begin, 0 for at its start. A title or a first paragraph that says its kind
    alone is left out: the label says it.
    """
    name, content = " ".join(note.detail.split()), note.children
    label = _LABELS.get(name, name[:1].upper() + name[1:]) if _KIND.fullmatch(name) else ""
    if content and content[0].kind is MarkKind.TITLE:
        title, *content = content
        is_label = text[title.start : title.end].rstrip(": ").casefold() == label.casefold()
        return label, None if is_label else title, content, 0
    if label and content and content[0].kind is MarkKind.PARAGRAPH:
        first = content[0]
        match = re.compile(rf"{re.escape(label)}(?::\s+|:?\Z)", re.IGNORECASE).match(text[first.start : first.end])
        if match is not None:
            begins = first.start + match.end()
            return (label, None, content, begins) if begins < first.end else (label, None, content[1:], 0)
    return label, None, content, 0
