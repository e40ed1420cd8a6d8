"""References without text of their own, as `\\ref{s}` and `<xref linkend="s"/>`: what a reader would see there.

A format writes `UNNAMED` as the anchor text of such a reference; once the whole document is read, `name_references`
puts in its place what the reference points to. The link's own text stays empty: nobody wrote an anchor text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable

from structformer.document import Document, Link, Section
from structformer.formats.builder import mark_see_also

# Code points that are no characters, so that no text has them.
UNNAMED = "\ufdd0"
UNNAMED_WITH_KIND = "\ufdd1"  # shows "Theorem 3" where the other shows "3"
UNNAMED_TITLE = "\ufdd2"  # shows the title of the section whatever its number
_UNNAMED = re.compile(f"[{UNNAMED}{UNNAMED_WITH_KIND}{UNNAMED_TITLE}]")


def name_references(document: Document, named: Callable[[str, bool], str] | None = None) -> None:
    """Give every unnamed reference its text: what `named` says for its anchor (True: with its kind), else the title of
    the section that has the anchor. One that leads elsewhere keeps no text.
    """
    titles: dict[str, str] = {}

    def text_of(link: Link, mark: str) -> str:
        anchor = link.target[1:] if link.target.startswith("#") else ""
        number = named(anchor, mark == UNNAMED_WITH_KIND) if named and anchor and mark != UNNAMED_TITLE else ""
        found = number or titles.get(anchor, "")
        return "" if _UNNAMED.search(found) else found

    for section in document.sections():
        for anchor in section.anchors:
            titles.setdefault(anchor, section.title)
    unnamed = [section for section in document.sections() if _UNNAMED.search(section.title)]
    for section in unnamed:
        _name_title(section, text_of)
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


def _name_title(section: Section, text_of: Callable[[Link, str], str]) -> None:
    title = section.title
    for link in section.links:
        if _UNNAMED.fullmatch(link.text) and link.start == link.end:
            title = title.replace(link.text, text_of(link, link.text), 1)
            link.text = ""
    section.title = _without(title)


def _name_text(section: Section, text_of: Callable[[Link, str], str]) -> None:
    """Replace all of a text's placeholders; spans move with the text."""
    wanted = {link.start: link for link in section.links if link.end > link.start and _UNNAMED.fullmatch(link.text)}
    parts: list[str] = []
    ends: list[tuple[int, int]] = []  # places in the old text from which on the new one is so much longer
    shift = 0
    position = 0
    for found in _UNNAMED.finditer(section.text):
        place = found.start()
        before = section.text[position:place]
        position = found.end()
        link = wanted.get(place)
        text = text_of(link, found[0]) if link else ""
        blank = not text and (before or (parts[-1] if parts else "")).endswith(" ")
        if blank and (section.text[position : position + 1] in (" ", "") or section.text[position] in ".,;:)"):
            if before:
                before = before[:-1]
            elif parts:
                parts[-1] = parts[-1][:-1]
            shift -= 1
        parts += [before, text]
        ends.append((place, shift))
        shift += len(text) - 1
        ends.append((found.end(), shift))
    parts.append(section.text[position:])
    section.text = "".join(parts)
    places = [place for place, _ in ends]

    def moved(place: int) -> int:
        index = bisect_right(places, place) - 1
        return place + ends[index][1] if index >= 0 else place

    for link in section.links:
        if link.end > link.start:
            link.start, link.end = moved(link.start), moved(link.end)
            if _UNNAMED.fullmatch(link.text):
                link.text = ""  # as the source has it; the span shows what was written in its place
            elif _UNNAMED.search(link.text):
                link.text = section.text[link.start : link.end]
            link.end = max(link.start, link.end)  # of one that leads elsewhere the place is left


def _without(text: str) -> str:
    return " ".join(_UNNAMED.sub(" ", text).split())
