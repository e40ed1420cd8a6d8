"""References without text of their own, as `\\ref{s}` and `<xref linkend="s"/>`: what a reader would see there.

A format writes `UNNAMED` as the anchor text of such a reference; once the whole document is read, `name_references`
puts in its place what the reference points to. The link's own text stays empty: nobody wrote an anchor text."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import accumulate

from structformer.document import Document, Link, Section
from structformer.formats.builder import mark_see_also, settled
from structformer.text.passages import spliced
from structformer.text.visible_text import without_controls

# Code points that are no characters, so that no text has them.
UNNAMED = "\ufdd0"
UNNAMED_WITH_KIND = "\ufdd1"  # shows "Theorem 3" where the other shows "3"
UNNAMED_TITLE = "\ufdd2"  # shows the title of the section whatever its number
_UNNAMED = re.compile(f"[{UNNAMED}{UNNAMED_WITH_KIND}{UNNAMED_TITLE}]")
_GAP = re.compile(f"[ \\n]*+(?:{_UNNAMED.pattern}[ \\n]*+)+")


def name_references(document: Document, named: Callable[[str, bool], str] | None = None) -> None:
    """Name unnamed references: by `named` of the anchor (True: with its kind), else by the anchor section's title."""
    titles: dict[str, str] = {}

    def text_of(link: Link, mark: str) -> str:
        anchor = link.target[1:] if link.target.startswith("#") else ""
        number = named(anchor, mark == UNNAMED_WITH_KIND) if named and anchor and mark != UNNAMED_TITLE else ""
        text = without_controls(number) or titles.get(anchor, "")
        return "" if _UNNAMED.search(text) else text

    for section in document.sections():
        for anchor in section.anchors:
            titles.setdefault(anchor, section.title)
    unnamed = [section for section in document.sections() if _UNNAMED.search(section.title)]
    for section in unnamed:
        for link in section.links:
            if _UNNAMED.fullmatch(link.text) and link.start == link.end:
                section.title = section.title.replace(link.text, text_of(link, link.text), 1)
                link.text = ""
        section.title = _without(section.title)
    if unnamed:  # what refers to these shows them whole
        titles.clear()
        for section in document.sections():
            for anchor in section.anchors:
                titles.setdefault(anchor, section.title)
    for section in document.sections():
        if _UNNAMED.search(section.text):
            _name_text(section, text_of)
    if _UNNAMED.search(document.title):
        document.title = _without(document.title)
    mark_see_also(document.root)


def _name_text(section: Section, text_of: Callable[[Link, str], str]) -> None:
    """Replace all of a text's placeholders; spans move with the text."""
    placed = {link.start: link for link in section.links if link.end > link.start and _UNNAMED.fullmatch(link.text)}
    texts = []
    for found in _UNNAMED.finditer(section.text):
        link = placed.get(found.start())
        texts.append((found.start(), found.end(), (text_of(link, found[0]) if link else "") or found[0]))
    _edit(section, texts)
    _edit(section, [(gap.start(), gap.end(), _separator(gap)) for gap in _gaps(section.text)])
    for link in section.links:
        if _UNNAMED.fullmatch(link.text):
            link.text = ""  # as the source has it; the span shows what was written in its place
            if section.text[link.start : link.end].isspace():
                link.end = link.start
        elif _UNNAMED.search(link.text):
            link.text = section.text[link.start : link.end]


def _gaps(text: str) -> Iterator[re.Match[str]]:
    """Yield the placeholders of a text, each run of them with the breaks around it."""
    end = 0
    for found in _UNNAMED.finditer(text):
        if found.start() >= end:
            start = len(text[end : found.start()].rstrip(" \n")) + end
            gap = _GAP.match(text, start)
            assert gap is not None
            end = gap.end()
            yield gap


def _separator(gap: re.Match[str]) -> str:
    """Return what replaces placeholders that lead elsewhere: the widest of the breaks around them."""
    text = gap.string
    if gap.start() == 0 or gap.end() == len(text):
        return ""
    widest = max(_UNNAMED.split(gap[0]), key=lambda separator: (separator.count("\n"), len(separator)))
    return "" if widest == " " and text[gap.end()] in ".,;:)" else widest


def _edit(section: Section, edits: list[tuple[int, int, str]]) -> None:
    """Replace parts of a section's text, from left to right; a span that begins or ends within one goes around it."""
    if not edits:
        return
    # By how much the text after each edit has moved.
    shifts = [0, *accumulate(len(text) - (end - start) for start, end, text in edits)]
    ends = [end for _, end, _ in edits]

    def moved(place: int) -> int:
        index = bisect_right(ends, place)
        return min(place, edits[index][0] if index < len(edits) else place) + shifts[index]

    for link in section.links:
        if link.end > link.start:
            link.start, link.end = moved(link.start), moved(link.end)
    index = 0
    for mark in section.marks:  # none begins before the one in front of it
        while index < len(ends) and ends[index] <= mark.start:
            index += 1
        if index == len(ends) or mark.end <= edits[index][0]:
            mark.start += shifts[index]
            mark.end += shifts[index]
        else:
            mark.start, mark.end = moved(mark.start), moved(mark.end)
    section.text = spliced(section.text, edits)
    section.marks = settled(section.marks)


def _without(text: str) -> str:
    return " ".join(_UNNAMED.sub(" ", text).split())
