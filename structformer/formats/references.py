"""References without text of their own, as `\\ref{s}` and `<xref linkend="s"/>`: what a reader would see there.

A format writes `UNNAMED` as the anchor text of such a reference; once the whole document is read, `name_references`
puts in its place what the reference points to. The link's own text stays empty: nobody wrote an anchor text."""

from __future__ import annotations

from collections.abc import Callable

from structformer.document import Document, Section
from structformer.formats.builder import mark_see_also

UNNAMED = "\ufdd0"  # a code point that is no character, so that no text has it


def name_references(document: Document, named: Callable[[str], str] | None = None) -> None:
    """Give every unnamed reference its text: what `named` says for its anchor, else the title of the section that has
    the anchor. One that leads elsewhere keeps no text.
    """
    titles: dict[str, str] = {}
    for section in document.sections():
        for anchor in section.anchors:
            titles.setdefault(anchor, section.title)

    def text_of(target: str) -> str:
        anchor = target[1:] if target.startswith("#") else ""
        found = (named(anchor) if named and anchor else "") or titles.get(anchor, "")
        return "" if UNNAMED in found else found

    for section in document.sections():
        if UNNAMED in section.title:
            _name_title(section, text_of)
    # Titles that name others come first, so that what refers to them shows them whole.
    titles = {anchor: section.title for section in document.sections() for anchor in section.anchors}
    for section in document.sections():
        if UNNAMED in section.text:
            _name_text(section, text_of)
    if UNNAMED in document.title:
        document.title = document.root.title if UNNAMED not in document.root.title else _without(document.title)
    mark_see_also(document.root)


def _name_title(section: Section, text_of: Callable[[str], str]) -> None:
    title = section.title
    for link in section.links:
        if link.text == UNNAMED and link.start == link.end:
            link.text = ""
            title = title.replace(UNNAMED, text_of(link.target), 1)
    section.title = _without(title)


def _name_text(section: Section, text_of: Callable[[str], str]) -> None:
    """Replace all of a text's placeholders; spans move with the text."""
    wanted = {link.start: link for link in section.links if link.end - link.start == 1 and link.text == UNNAMED}
    parts: list[str] = []
    moved: list[int] = []  # the new place of each character, and of the end
    length = 0
    for place, char in enumerate(section.text):
        moved.append(length)
        if char == UNNAMED:
            link = wanted.get(place)
            char = text_of(link.target) if link else ""
            if not char and parts and parts[-1].endswith(" ") and section.text[place + 1 : place + 2] == " ":
                parts[-1], length = parts[-1][:-1], length - 1
                moved[-1] = length
        parts.append(char)
        length += len(char)
    moved.append(length)
    section.text = "".join(parts)
    for link in section.links:
        if link.end > link.start:
            link.start, link.end = moved[link.start], moved[link.end]
            if link.text == UNNAMED:
                link.text = ""  # as the source has it; the span shows what was written in its place
            elif UNNAMED in link.text:
                link.text = section.text[link.start : link.end]
            if link.end == link.start:
                link.start = link.end = 0


def _without(text: str) -> str:
    return " ".join(text.replace(UNNAMED, " ").split())
