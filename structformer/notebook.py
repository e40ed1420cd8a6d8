"""HTML of our objects in notebooks: small tables and trees as HTML, without scripts, in the notebook's own colours;
and bars of progress below a cell.

All that comes from a corpus is escaped, and sizes are bounded: the first rows, and how many more there are."""

import sys
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from importlib import import_module
from itertools import islice
from typing import Any

_PAUSE = 0.2  # seconds between two drawings of a bar
Progress = Callable[[str, int, int], None]
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
    """Return a value as HTML: escaped, shortened, on one line, without characters that nobody sees."""
    shown = " ".join(_seen(str(value)[: 4 * most]).split())
    return escape(shown if len(shown) <= most else shown[: most - 1] + "…")


def _seen(value: str) -> str:
    """Return the text without characters that nobody sees, line ends apart."""
    if value.isprintable():
        return value
    return "".join(c for c in value if c in "\n\t" or unicodedata.category(c) not in _UNSEEN)


def set_off(
    value: str, spans: Iterable[Sequence[int]], plain: Callable[[str], str], marked: Callable[[str], str]
) -> str:
    """Return a text whose spans stand out: `marked` makes these, `plain` what is around them."""
    parts: list[str] = []
    place = 0
    for start, end in spans:
        parts += [plain(value[place:start]), marked(value[start:end])]
        place = end
    return "".join([*parts, plain(value[place:])])


def marked(value: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text whose spans stand out."""
    return set_off(value, spans, lambda part: escape(_seen(part)), lambda part: f"<mark>{escape(_seen(part))}</mark>")


def code(value: object) -> str:
    """Return a value as HTML, set as code."""
    return f"<code>{text(value)}</code>"


def box(title: str, *parts: str) -> str:
    """Return the whole of what is shown: a line that says what it is, and HTML below it."""
    return f'<div class="structformer">{_STYLE}<p><strong>{text(title)}</strong></p>{"".join(parts)}</div>'


def note(message: object) -> str:
    """Return a line in a quieter tone."""
    return f'<p class="quiet">{text(message, 400)}</p>'


def more(count: int, what: str) -> str:
    """Return how many are not shown; nothing where all are."""
    return note(f"... and {count:,} more {what}") if count > 0 else ""


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of cells that are HTML already."""
    head = "".join(f"<th>{text(each)}</th>" for each in heads)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def tree(nodes: Iterator[tuple[int, str]], most: int = NODES) -> str:
    """Return a nested list of (depth from 0, HTML), parents first; what is too deep is shown at the deepest level."""
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
    """Return a number with its noun: 1 document, 2 documents."""
    return f"{number:,} {one if number == 1 else several or one + 's'}"


def notebook_progress(progress: Progress | None = None) -> Progress | None:
    """Return the caller's progress; without one, a bar where a notebook runs this, else none."""
    return progress or (Bars() if in_notebook() else None)


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this process. IPython on a terminal is none; nothing is imported to find out."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return shell is not None and hasattr(shell, "kernel")


class Bars:
    """A bar for each stage, drawn again at most five times a second."""

    def __init__(self) -> None:
        self._bars: dict[str, Any] = {}
        self._drawn = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Show how far a stage is."""
        now = time.monotonic()
        if stage in self._bars and done < total and now - self._drawn < _PAUSE:
            return
        self._drawn = now
        self.show(stage, done, total)

    def show(self, stage: str, done: int, total: int, more: str = "") -> None:
        """Draw a stage's bar, with more words beside it in the place of its share."""
        share = 1.0 if total <= 0 else min(1.0, done / total)
        ipython = import_module("IPython.display")
        shown = ipython.HTML(
            f'<div><progress max="1" value="{share:.3f}"></progress> {text(stage)} {text(more or f"{share:.0%}")}</div>'
        )
        if stage in self._bars:
            self._bars[stage].update(shown)
        else:
            self._bars[stage] = ipython.display(shown, display_id=True)
