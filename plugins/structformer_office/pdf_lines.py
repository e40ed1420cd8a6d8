"""The lines of a PDF's pages as they are set: text, size, place; without what repeats at the edges of the pages."""

import ctypes
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_NUMBERS = re.compile(r"\d+")
_EDGE_LINES = 2  # above and below, that may be a running head or a page number
_HYPHENS = ("\ufffe", "\x02")  # what the library writes for one that only the end of a line needs
_WITHOUT_HYPHENS = str.maketrans("", "", "".join(_HYPHENS))


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text."""

    text: str
    size: float
    """Size of its letters in points."""
    height: float
    """Height of its foot above the page's, in points; 0 if it is not known."""
    hyphenated: bool = False
    """Whether its last word goes on in the next line."""


def page_lines(page: Any) -> list[Line]:
    """Return the lines of a page in the order of its text."""
    import pypdfium2.raw as raw

    text_page = page.get_textpage()
    try:
        lines: list[Line] = []
        place = 0
        for given in text_page.get_text_range(errors="replace").split("\r\n"):
            text = " ".join(given.translate(_WITHOUT_HYPHENS).split())
            if text:
                first = place + len(given) - len(given.lstrip())
                size, height = _size(raw, text_page, first), _height(raw, text_page, first)
                lines.append(Line(text, size, height, given.rstrip().endswith(_HYPHENS)))
            # The library counts characters beyond the first plane as two.
            place += len(given) + sum(character > "\uffff" for character in given) + 2
        return lines
    finally:
        text_page.close()


def _size(raw: Any, text_page: Any, index: int) -> float:
    size = raw.FPDFText_GetFontSize(text_page, index)
    matrix = raw.FS_MATRIX()
    if raw.FPDFText_GetMatrix(text_page, index, matrix):
        size *= math.hypot(matrix.c, matrix.d)
    return round(size * 2) / 2 if math.isfinite(size) else 0.0


def _height(raw: Any, text_page: Any, index: int) -> float:
    x, y = ctypes.c_double(), ctypes.c_double()
    return y.value if raw.FPDFText_GetCharOrigin(text_page, index, x, y) and math.isfinite(y.value) else 0.0


def without_running_heads(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Return the pages without the lines at their edges that half of them have in the same place, numbers apart."""
    counts = Counter(key for page in pages for key in {_key(line) for line in _edges(page)})
    repeated = {key for key, count in counts.items() if count >= 3 and count * 2 >= len(pages)}
    kept: list[list[Line]] = []
    for page in pages:
        edges = {id(line) for line in _edges(page) if _key(line) in repeated}
        kept.append([line for line in page if id(line) not in edges])
    return kept


def _edges(page: Sequence[Line]) -> list[Line]:
    return [*page[:_EDGE_LINES], *page[_EDGE_LINES:][-_EDGE_LINES:]]


def _key(line: Line) -> tuple[str, int]:
    return _NUMBERS.sub("#", line.text), round(line.height)
