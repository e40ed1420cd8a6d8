"""What notebooks show of our objects: small tables and trees as HTML, without scripts, in the notebook's own colours.

All that comes from a corpus is escaped, and sizes are bounded: the first rows, and how many more there are."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import islice

ROWS = 10
NODES = 60  # of a tree
DEPTH = 12
_CELL = 200  # characters
_UNSEEN = frozenset({"Cc", "Cf", "Cs"})  # controls, what turns the direction of writing, halves of characters
# currentColor is black in a light notebook and white in a dark one.
_STYLE = (
    "<style>.structformer{max-width:60em}.structformer table{border-collapse:collapse}"
    ".structformer th,.structformer td{text-align:left;vertical-align:top;padding:.2em .8em .2em 0}"
    ".structformer th{border-bottom:1px solid currentColor}.structformer .quiet{opacity:.7}"
    ".structformer ul{margin:0;padding-left:1.2em}"
    ".structformer mark{background:none;color:inherit;font-weight:bold}"
    ".structformer svg{max-width:46em;width:100%;height:auto;color:inherit}"
    ".structformer svg text{fill:currentColor;font:12px sans-serif}"
    ".structformer svg path,.structformer svg line{fill:none;stroke:currentColor}"
    ".structformer svg .grid,.structformer svg .raw{opacity:.3}.structformer svg .line{stroke-width:2}</style>"
)


def text(value: object, most: int = _CELL) -> str:
    """A value as HTML: escaped, shortened, on one line, without characters that nobody sees."""
    shown = " ".join(_seen(str(value)[: 4 * most]).split())
    return escape(shown if len(shown) <= most else shown[: most - 1] + "…")


def _seen(value: str) -> str:
    """The text without characters that nobody sees, line ends apart."""
    if value.isprintable():
        return value
    return "".join(c for c in value if c in "\n\t" or unicodedata.category(c) not in _UNSEEN)


def marked(value: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text whose spans stand out."""
    parts: list[str] = []
    place = 0
    for start, end in spans:
        parts += [escape(_seen(value[place:start])), f"<mark>{escape(_seen(value[start:end]))}</mark>"]
        place = end
    return "".join([*parts, escape(_seen(value[place:]))])


def box(title: str, *parts: str) -> str:
    """The whole of what is shown: a line that says what it is, and HTML below it."""
    return f'<div class="structformer">{_STYLE}<p><strong>{text(title)}</strong></p>{"".join(parts)}</div>'


def note(said: object) -> str:
    """A line in a quieter tone."""
    return f'<p class="quiet">{text(said, 400)}</p>'


def more(count: int, what: str) -> str:
    """How many are not shown; nothing where all are."""
    return note(f"... and {count:,} more {what}") if count > 0 else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are HTML already."""
    head = "".join(f"<th>{text(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def tree(nodes: Iterator[tuple[int, str]], most: int = NODES) -> str:
    """A nested list of (depth from 0, HTML), parents first; what is too deep is shown at the deepest level."""
    parts: list[str] = []
    at = -1
    for depth, shown in islice(nodes, most):
        depth = min(depth, at + 1, DEPTH)
        if depth > at:
            parts.append("<ul><li>")
        else:
            parts.append("</li></ul>" * (at - depth) + "</li><li>")
        parts.append(shown)
        at = depth
    return "".join(parts) + "</li></ul>" * (at + 1)


def count_of(number: int, one: str, several: str = "") -> str:
    """A number with its noun: 1 document, 2 documents."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"
