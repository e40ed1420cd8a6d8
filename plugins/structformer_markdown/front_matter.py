"""Front matter: the YAML (---), TOML (+++) or JSON ({) block of metadata that may open a Markdown file."""

import datetime
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

import yaml

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
# MultiMarkdown's lines, as Pelican and Python-Markdown have them: no marks around, a blank line behind.
_LINES = re.compile(
    r"((?i:(?:(?:sub)?title|authors?|date|modified|category|tags|slug|lang|template):[ \t]+\S.*\n)+)(?:[ \t]*\n|\Z)"
)
_SIMPLE_LINE = re.compile(r"([A-Za-z_][\w-]*):\s*(\S.*)?")
_MAX_CHARACTERS = 200_000
_MAX_VALUES = 20_000
_MAX_DEPTH = 50
_MOST_BITS = 10_000
_HOME = ("name", "title", "text", "tagline", "details", "description")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def split_front_matter(text: str) -> tuple[dict[str, Any], int, str]:
    """(metadata, where the body starts, warning). Text that merely looks like front matter is body: ({}, 0, "")."""
    for pattern, parse in ((_YAML, parse_yaml), (_TOML, parse_toml), (_LINES, _parse_lines)):
        found = pattern.match(text, 0, _MAX_CHARACTERS)
        if found is None:
            continue
        metadata, warning = parse(found[1])
        return ({}, 0, "") if metadata is None else (metadata, found.end(), warning)
    return {}, 0, ""


def _parse_lines(block: str) -> tuple[dict[str, Any], str]:
    """The lines of a block that are `key: value`."""
    lines = filter(None, map(_SIMPLE_LINE.fullmatch, block.splitlines()))
    return {found[1][0].lower() + found[1][1:]: (found[2] or "").strip("\"'") for found in lines}, ""


def parse_yaml(block: str) -> tuple[dict[str, Any] | None, str]:
    """(what a YAML text says, None where that is not a mapping; warning)."""
    try:
        _check_depth(block)
        loaded = yaml.load(block, Loader=_LOADER)
        loaded = {} if loaded is None else loaded
        return (_plain(loaded) if isinstance(loaded, dict) else None), ""
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # Templating in front matter is common ("{{ site.name }}") and not YAML; its plain lines still say the title.
        values, _ = _parse_lines(block)
        if not values:
            return None, ""
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 2}: " if mark else ""
        return values, f"{place}front matter is not valid YAML; its plain `key: value` lines were used"


def shown(value: object) -> str:
    """A text or number as text; "" for another value, and for a number that is too long for Python to write."""
    if not isinstance(value, str | int | float) or (isinstance(value, int) and value.bit_length() > _MOST_BITS):
        return ""
    return str(value)


def home_page(metadata: Mapping[str, Any]) -> list[str]:
    """What a home page shows of its front matter: its name, and what else its hero and its features say."""
    hero, features = metadata.get("hero"), metadata.get("features")
    if not isinstance(hero, dict):  # VuePress has its hero's parts at the top
        hero = {"name": metadata.get("heroText"), "tagline": metadata.get("tagline")}
        features = features if metadata.get("home") is True else None
    parts = [hero, *(features if isinstance(features, list) else ())]
    said = (part.get(key) for part in parts if isinstance(part, dict) for key in _HOME)
    return [each for each in said if isinstance(each, str)]


def _check_depth(block: str) -> None:
    """Raises ValueError on nesting that libyaml's constructor, which is recursive, would not survive."""
    depth = 0
    for event in yaml.parse(block, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise ValueError("front matter is nested too deep")


def parse_toml(block: str) -> tuple[dict[str, Any] | None, str]:
    """What a TOML text says, as of `parse_yaml`."""
    try:
        return _plain(tomllib.loads(block)), ""
    except (tomllib.TOMLDecodeError, ValueError, RecursionError):
        return None, ""


def _plain(value: dict[Any, Any]) -> dict[str, Any]:
    """The mapping with JSON's types only. Raises ValueError when aliases make it larger than any real front matter."""
    budget = _MAX_VALUES

    def convert(item: Any, depth: int) -> Any:
        nonlocal budget
        budget -= 1
        if budget < 0 or depth > _MAX_DEPTH:
            raise ValueError("front matter is too large or too deep")
        if isinstance(item, dict):
            return {str(key): convert(inner, depth + 1) for key, inner in item.items()}
        if isinstance(item, list | tuple | set):
            return [convert(inner, depth + 1) for inner in item]
        if isinstance(item, datetime.date | datetime.time):
            return item.isoformat()
        if item is None or isinstance(item, bool | int | str):
            return item
        if isinstance(item, float):
            return item if json.dumps(item) not in ("NaN", "Infinity", "-Infinity") else str(item)
        return str(item)

    converted: dict[str, Any] = convert(value, 0)
    return converted
