"""A section as the column beside the results shows it, with what is below it as far as there is room."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup, escape
from structformer.document import Section
from structformer.text import visible

from structformer_serve.blocks_html import section_html
from structformer_serve.service import NotThere, Reading, leading, read_address

_ROOM = 4000  # characters after which no further section begins
_LONGEST = 20_000  # characters of one section that are set as a page; of a longer one its beginning stands as text


def preview(reading: Reading, section: int, root: str) -> dict[str, Any]:
    """What the template of a preview shows. root: what precedes all paths. Raises NotThere."""
    document = reading.document
    sections = list(document.root.walk_with_path())
    if not 0 <= section < len(sections):
        raise NotThere(f"{document.id} has no section {section}")
    first, path = sections[section]
    parts: list[dict[str, Any]] = []
    room = _ROOM
    for number, (part, its_path) in enumerate(sections[section:], section):
        if room <= 0 or (number > section and len(its_path) <= len(path)):
            break
        room -= len(part.text)
        parts.append({"title": part.title if number > section else "", "body": _body(reading, number, part, root)})
    return {
        "title": first.title or document.title or document.id,
        "path": [document.title or document.id, *(step.title for step in path[1:-1] if step.title)] if section else [],
        "read": read_address(document.id, section),
        "parts": parts,
        "cut": room <= 0,
    }


def _body(reading: Reading, number: int, part: Section, root: str) -> Markup:
    if len(part.text) > _LONGEST:
        return Markup("<p>{}</p>").format(escape(visible(part.text[:_ROOM])))
    return section_html(part, leading(reading.links.get(number, ()), root))
