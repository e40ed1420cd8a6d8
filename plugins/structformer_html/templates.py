"""Files that generators fill in: what of them is template syntax, and whether anything else is there to read."""

import html
import re
from collections.abc import Callable, Iterator
from typing import Any

from structformer.document import VERBATIM, Document, MarkKind, Section
from structformer.formats import SourceFile
from structformer.plugins import load_plugins
from structformer.text import spliced

_CLOSED_BY = {"{{": "}}", "{%": "%}", "<%": "%>", "<?php": "?>"}
_SIGNS = re.compile(r"\{\{|\}\}|\{%|%\}|<%|%>|<\?php|\?>")
_PARTS_OF_TITLES = re.compile(r"\s*[|—–·•»«]\s*|\s+[-:]+\s+|:\s+")
_FOLDERS = frozenset({"_includes", "_layouts", "layouts", "archetypes", "partials", "templates"})
_PAGE_TITLE = re.compile(r"\{\{-?\s*page\.title\b[^{}]{0,200}\}\}")
_LONGEST_TITLE, _MOST_TITLES = 500, 100
_MOSTLY = 0.5
_CODE = VERBATIM | {MarkKind.CODE_SPAN}
_HOLE = "\ufdd0"  # no character, so no text has it


def split_front_matter(text: str, source: SourceFile) -> tuple[dict[str, Any], str, str, Callable[[str], str]]:
    """Split a page with front matter: (metadata, the rest, a warning, what carries out the rest's template syntax)."""
    if text.startswith(("---", "+++")):
        split = load_plugins().manager.hook.structformer_front_matter(text=text, source=source)
        if split is not None:
            return split  # type: ignore[no-any-return]
    return {}, text, "", str


def with_title(text: str, title: str) -> str:
    """Return a page with its front matter's title where it names that, as far as that makes no bomb of it."""
    if "page.title" not in text or len(title) > _LONGEST_TITLE:
        return text
    return _PAGE_TITLE.sub(lambda _: html.escape(title), text, count=_MOST_TITLES)


def is_template(text: str, document: Document, title: str) -> bool:
    """Whether a page with template syntax is one to be filled in, and no document: its title is syntax, or half of its
    text, or it has some and lies where generators keep such files. What it shows as code doesn't count.

    text: the page as it is written, where PHP can be told from comments. title: that it says it has."""
    shown = "\n".join((title, *(part for section in document.sections() for part in (section.title, section.text))))
    if "<?php" not in text and not any(sign in shown for sign in ("{{", "{%", "<%")):  # as nearly always
        return False
    if _is_filled_in(title or document.title):
        return True
    text_shown = "\n".join(part for section in document.sections() for part in _said(section))
    php = sum(end - start for start, end in _spans(text) if text.startswith("<?", start))
    filled_in = php + sum(end - start for start, end in _spans(text_shown))
    if not filled_in:
        return False
    folders = document.source.path.split("/")[:-1]
    return not _FOLDERS.isdisjoint(folders) or filled_in >= _MOSTLY * (len(text_shown.strip()) + php)


def _is_filled_in(title: str) -> bool:
    """Whether a title, or a part of it beside a site's name, is template syntax and nothing else."""
    with_holes = spliced(title, ((start, end, _HOLE) for start, end in _spans(title)))
    if with_holes == title:
        return False
    parts = _PARTS_OF_TITLES.split(with_holes)
    return title.startswith("{%") or any(part and not part.replace(_HOLE, "").strip() for part in parts)


def _said(section: Section) -> Iterator[str]:
    """Yield a section's title and text without code."""
    yield section.title
    position = 0
    for mark in section.marks:
        if mark.kind in _CODE and mark.start >= position:
            yield section.text[position : mark.start]
            position = mark.end
    yield section.text[position:]


def _spans(text: str) -> Iterator[tuple[int, int]]:
    """Where template syntax begins and ends; what is not closed is none, but for PHP, which may go on to the end."""
    start, awaited = -1, ""
    for found in _SIGNS.finditer(text):
        sign = found[0]
        if start < 0 and sign in _CLOSED_BY:
            start, awaited = found.start(), _CLOSED_BY[sign]
        elif start >= 0 and sign == awaited:
            yield start, found.end()
            start = -1
    if start >= 0 and text.startswith("<?php", start):
        yield start, len(text)
