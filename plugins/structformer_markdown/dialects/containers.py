"""Containers of colons, as Docusaurus, Starlight, VitePress, MyST, Quarto and Pandoc have them:
`:::note[Title]{.class}`, `::: tip Title`.
"""

from __future__ import annotations

import re

from structformer_markdown.dialects.dialect import Dialect
from structformer_markdown.dialects.page import Page
from structformer_markdown.dialects.shown import NOTE_ENDS, arguments, is_spoken, kind_of, note

_KIND = re.compile(r"\{[^{}]*\}|[\w-]+")
_ATTRIBUTES = re.compile(r"\{[^{}]*\}$")


def _plain(text: str, page: Page) -> str:
    notes: list[bool] = []  # the containers that are open: whether each is a note
    return "\n".join(_line(line, notes) if ":::" in line else line for line in text.split("\n"))


def _line(line: str, notes: list[bool]) -> str:
    stripped = line.strip(" \t")
    if not stripped.startswith(":::"):
        return line
    rest = stripped.lstrip(":").strip(" \t").rstrip(":").rstrip(" \t")
    kind = ""
    if (found := _KIND.match(rest)) is not None:
        kind, rest = found[0], rest[found.end() :].strip(" \t")
    attributes = kind
    if (found := _ATTRIBUTES.search(rest)) is not None and not rest.startswith("["):
        attributes, rest = found[0], rest[: found.start()].rstrip()
    title = _bracketed(rest) if rest.startswith("[") else rest
    title = title.strip() or arguments(attributes).get("title", "") if "title=" in attributes else title.strip()
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    if not (kind or title):
        return f"\n{indent}{NOTE_ENDS}" if notes and notes.pop() else ""
    name = kind_of(kind.strip("{}"))
    notes.append(is_spoken(name) or name == "details")
    return note(name, title, indent) if notes[-1] else indent + title


def _bracketed(text: str) -> str:
    """What stands between a bracket and the one that closes it; all of the text behind it where none does."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if not depth:
            after = text[place + 1 :].strip()
            return text[1:place] + (f" {after}" if after and not after.startswith("{") else "")
    return text[1:]


DIALECT = Dialect("containers", _plain, {":::": None})
