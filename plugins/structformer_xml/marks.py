"""Marks of a vocabulary's elements on the text: how an entry of its table `marks` is read.

A key is an element's name, "element[attribute=value]", or "above/element", where `above` is the name of the element
around it or the kind of part that this one is. The last form comes first, the plain name last. A value is a kind of
mark, and words of which the first that says something is its detail; "@name" is an attribute's value. "" is not a part.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from structformer.document import MarkKind
from structformer.errors import UsageError

_NO_LANGUAGES = frozenset("text txt plain plaintext none nohighlight other".split())
_LANGUAGE = re.compile(r"(?:lang(?:uage)?-)?([a-z][a-z0-9+#._/-]{0,30})")
_KEY = re.compile(r"(?:(?P<above>[^/\[\]]+)/)?(?P<name>[^/\[\]]+)(?:\[(?P<key>[^=\]]+)=(?P<value>[^\]]*)\])?")


@dataclass(frozen=True, slots=True)
class Part:
    """An element as a part of a text: a kind of mark, and the words that its detail is taken from. Elements of its name
    may be others by the element above them, or by their attributes. Without a kind it is not a part.
    """

    kind: MarkKind | None
    words: tuple[str, ...] = ()
    above: Mapping[str, "Part"] = field(default_factory=dict)
    attributes: tuple[tuple[str, str, "Part"], ...] = ()

    def here(self, above: str, above_kind: MarkKind | None, attributes: Mapping[str, str]) -> "Part":
        """Return the part that an element is, by the one above it and its attributes."""
        if self.above:
            for around in (above, above_kind):
                if around is not None and around in self.above:
                    return self.above[around]
        for key, value, part in self.attributes:
            if attributes.get(key) == value:
                return part
        return self

    def detail(self, name: str, attributes: Mapping[str, str]) -> str:
        """Return the first of the words that fits the kind."""
        for word in self.words:
            value = attributes.get(word[1:], "") if word[0] == "@" else word
            value = value.strip().lower()
            if self.kind is MarkKind.CODE:
                found = _LANGUAGE.fullmatch(value)
                if found is None or found[1] in _NO_LANGUAGES:
                    continue
                value = found[1]
            elif self.kind is MarkKind.LIST and not (value.isascii() and value.isdecimal()):
                continue
            if value:
                return value
        return name.lower() if self.kind is MarkKind.NOTE else ""


def part_of(name: str, marks: Mapping[str, str]) -> Part | None:
    """Return a table's entry for the elements of one name; None where they are never a part."""
    above: dict[str, Part] = {}
    attributes: list[tuple[str, str, Part]] = []
    for entry, value in marks.items():
        found = _KEY.fullmatch(entry) if name in entry else None
        if found is None or found["name"] != name:
            continue
        if found["above"] is not None:
            above[found["above"]] = _part(value)
        elif found["key"] is not None:
            attributes.append((found["key"], found["value"], _part(value)))
    plain = _part(marks.get(name, ""))
    return replace(plain, above=above, attributes=tuple(attributes)) if plain.kind or above or attributes else None


def _part(value: str) -> Part:
    kind, *words = value.split() or [""]
    return Part(MarkKind(kind) if kind else None, tuple(words))


def names_of(value: object) -> list[str] | None:
    """Return the names in a list, or in a string of words; None where a value is neither."""
    names = value.split() if isinstance(value, str) else value
    return names if isinstance(names, list) and all(isinstance(each, str) for each in names) else None


def check_marks(table: object, origin: str, *, by_part: bool = False) -> dict[str, str]:
    """Return a table's entries, by element. Raises UsageError that names the one which is wrong.

    by_part: the table has the elements of each kind of part.
    """
    if by_part:
        if not isinstance(table, dict) or not all(names_of(names) is not None for names in table.values()):
            raise UsageError(f'{origin}: parts must be a table like {{ item = "step", note = ["hint", "tip"] }}')
        table = {name: part for part, names in table.items() for name in names_of(names) or ()}
    if not isinstance(table, dict):
        raise UsageError(f'{origin}: marks must be a table like {{ step = "item", hint = "note" }}')
    kinds = sorted(set(MarkKind) - {MarkKind.PARAGRAPH})
    for key, value in table.items():
        if _KEY.fullmatch(key) is None:
            raise UsageError(f"{origin}: marks: {key!r}: write element, above/element or element[attribute=value]")
        if not isinstance(value, str) or (value.split() and value.split()[0] not in kinds):
            raise UsageError(f"{origin}: marks: {key} = {value!r}; choose from: {', '.join(kinds)}")
    return table
