"""Bibliographies: entries of .bib files, and what a citation of one can be found by."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

_ENTRY = re.compile(r"@\s*(\w+)\s*[{(]\s*([^,\s{}]*)\s*,", re.IGNORECASE)
_STRING = re.compile(r"@\s*string\s*[{(]\s*([\w:.+-]+)\s*=\s*", re.IGNORECASE)
_FIELD = re.compile(r"\s*,?\s*([A-Za-z][\w:.-]*)\s*=\s*")
_IGNORED = frozenset({"comment", "preamble", "string"})
_MAX_FIELD = 100_000


@dataclass(slots=True)
class Entry:
    """One work: its key, its kind and its fields (names in small letters, values as LaTeX)."""

    key: str
    kind: str
    fields: dict[str, str] = field(default_factory=dict)

    def names(self) -> tuple[str, ...]:
        """Names under which the work may be a document itself."""
        found: list[str] = []
        if doi := self.fields.get("doi"):
            found.append(
                "doi:"
                + re.sub(r"^(?:https?://)?(?:dx\.)?doi\.org/|^doi:\s*", "", doi.strip(), flags=re.IGNORECASE).lower()
            )
        if eprint := self.fields.get("eprint"):
            found.append("arxiv:" + re.sub(r"v\d+$", "", eprint.strip().removeprefix("arXiv:")))
        return tuple(found)

    def line(self) -> str:
        """Author, title, where and when, as LaTeX."""
        fields = self.fields
        place = (
            fields.get("journal")
            or fields.get("journaltitle")
            or fields.get("booktitle")
            or fields.get("publisher")
            or fields.get("howpublished")
        )
        parts = [
            fields.get("author") or fields.get("editor"),
            fields.get("title"),
            place,
            fields.get("year") or fields.get("date"),
        ]
        return ". ".join(" ".join(part.split()).rstrip(".") for part in parts if part) + "."


@lru_cache(maxsize=8)
def parse_bibtex(text: str) -> dict[str, Entry]:
    """Entries by key. What is broken costs its entry only."""
    entries: dict[str, Entry] = {}
    strings = {
        name.lower(): _value(text, end, {})[0]
        for name, end in ((found[1], found.end()) for found in _STRING.finditer(text))
    }
    position = 0
    while (found := _ENTRY.search(text, position)) is not None:
        position = found.end()
        kind = found[1].lower()
        if kind in _IGNORED:
            continue
        entry = Entry(found[2], kind)
        while (name := _FIELD.match(text, position)) is not None:
            value, position = _value(text, name.end(), strings)
            entry.fields.setdefault(name[1].lower(), value)
        if entry.key:
            entries.setdefault(entry.key, entry)
    return entries


_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_QUOTED = re.compile(r'\\.|[{}"]', re.DOTALL)
_WORD = re.compile(r"[\w:.+-]+")


def _value(text: str, start: int, strings: dict[str, str]) -> tuple[str, int]:
    parts: list[str] = []
    position = start
    while position < len(text):
        if text[position] == "{":
            end = _end(text, position + 1, _BRACES, "}")
            parts.append(text[position + 1 : end])
            position = end + 1
        elif text[position] == '"':
            end = _end(text, position + 1, _QUOTED, '"')
            parts.append(text[position + 1 : end])
            position = end + 1
        elif (word := _WORD.match(text, position)) is not None:
            parts.append(strings.get(word[0].lower(), word[0]))
            position = word.end()
        joined = re.compile(r"\s*#\s*").match(text, position)
        if joined is None:
            break
        position = joined.end()
    return "".join(parts), position


def _end(text: str, start: int, marks: re.Pattern[str], closing: str) -> int:
    depth = 0
    for found in marks.finditer(text, start, start + _MAX_FIELD):
        if found[0] == closing and not depth:
            return found.start()
        depth += {"{": 1, "}": -1}.get(found[0], 0)
    return min(len(text), start + _MAX_FIELD)
