"""Front matter: the YAML (---), TOML (+++) or JSON ({) block of metadata that may open a Markdown file."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from structformer_sites import parse_lines, parse_toml, parse_yaml

# Up to a line of three dashes or dots; of an Internet-Draft in kramdown-rfc, to the border before its abstract.
_YAML = re.compile(
    r"---[ \t]*\n(.*?)^(?:(?:---|\.\.\.)[ \t]*(?:\n|\Z)|(?=---[ \t](?:abstract|middle|note_)))",
    re.DOTALL | re.MULTILINE,
)
_TOML = re.compile(r"(?:\+{3}|%{3})[ \t]*\n(.*?)^(?:\+{3}|%{3})[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
# MultiMarkdown's lines, as Pelican and Python-Markdown have them: no marks around, a blank line behind.
_LINES = re.compile(
    r"((?i:(?:(?:sub)?title|authors?|date|modified|category|tags|slug|lang|template):[ \t]+\S.*\n)+)(?:[ \t]*\n|\Z)"
)
_TITLE = re.compile(r"^#{1,6}[ \t]+(\S.*?)(?:[ \t]+#+)?[ \t]*(?:\{[^{}\n]*\})?[ \t]*$|^(?=\S)(.*)\n=+$", re.MULTILINE)
_MAX_CHARACTERS = 200_000
_MOST_BITS = 10_000
_HOME = ("name", "title", "text", "tagline", "details", "description")


def split_front_matter(text: str) -> tuple[dict[str, Any], int, str]:
    """(metadata, where the body starts, warning). Text that merely looks like front matter is body: ({}, 0, "")."""
    for pattern, parse in ((_YAML, parse_yaml), (_TOML, parse_toml), (_LINES, lambda block: (parse_lines(block), ""))):
        found = pattern.match(text, 0, _MAX_CHARACTERS)
        if found is None:
            continue
        metadata, warning = parse(found[1])
        return ({}, 0, "") if metadata is None else (metadata, found.end(), warning)
    return {}, 0, ""


def shown(value: object) -> str:
    """Return a text or number as text; "" for another value, and for a number that is too long for Python to write."""
    if not isinstance(value, str | int | float) or (isinstance(value, int) and value.bit_length() > _MOST_BITS):
        return ""
    return str(value)


def titles(text: str) -> Iterator[str]:
    """Yield the headings of a text."""
    return (match[1] or match[2] for match in _TITLE.finditer(text))


def home_page(metadata: Mapping[str, Any]) -> list[str]:
    """Return the texts that a home page shows of its front matter: its name, and those of its hero and its features."""
    hero, features = metadata.get("hero"), metadata.get("features")
    if not isinstance(hero, dict):  # VuePress has its hero's parts at the top
        hero = {"name": metadata.get("heroText"), "tagline": metadata.get("tagline")}
        features = features if metadata.get("home") is True else None
    parts = [hero, *(features if isinstance(features, list) else ())]
    values = (part.get(key) for part in parts if isinstance(part, dict) for key in _HOME)
    return [each for each in values if isinstance(each, str)]
