"""MkDocs with Material and PyMdown: admonitions (`!!! note "Title"`), tabs (`=== "Tab"`), blocks (`/// note | Title`),
places of contents.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from structformer_markdown.dialects.dialect import Dialect
from structformer_markdown.dialects.page import Page
from structformer_markdown.dialects.shown import EAST_ASIAN_STRONG, NOTE_ENDS, note, with_strong

_ADMONITION = re.compile(r"([ \t]*)(?:!!!|\?\?\?\+?)[ \t]+([\w-]+(?: +[\w-]+)*+)?[ \t]*(?:\"([^\"]*)\")?[ \t]*")
_BLOCK = re.compile(r"([ \t]*)/{3,}[ \t]*(?:([\w-]+)[ \t]*(?:\|(.*))?)?")
_INSERTED = re.compile(r"\{\*[^{}*\n]*\*\}")  # a file that is shown there
_TAB = re.compile(r"([ \t]*)===[!+]?[ \t]+\"([^\"]*)\"[ \t]*")
_NO_NOTES = frozenset("tab define html caption figure-caption table-caption apply".split())
_CONTENTS = re.compile(r"[ \t]*(?:\[TOC\]|\[\[_?toc_?\]\])[ \t]*", re.IGNORECASE)


class _Opened(NamedTuple):
    """An admonition or a tab: what it holds stands four columns further in than it. indent: what is in front."""

    column: int
    indent: str
    is_note: bool


def _plain(text: str, page: Page) -> str:
    if "**" in text and EAST_ASIAN_STRONG.search(text) and page.settings("mkdocs.yml") is not None:
        text = with_strong(text)
    out: list[str] = []
    opened: list[_Opened] = []
    blocks: list[str | None] = []  # what `///` has opened: what precedes each note
    for line in text.split("\n"):
        if opened and line.strip():
            column = len(line) - len(line.lstrip(" \t"))
            while opened and column < opened[-1].column + 4 and not (line[:1] == "\t" and opened[-1].column == 0):
                ended = opened.pop()
                if ended.is_note:
                    out.append(ended.indent + NOTE_ENDS)
            line = _dedented(line, 4 * len(opened))
        out.append(_line(line, opened, blocks))
    return "\n".join(out)


def _dedented(line: str, columns: int) -> str:
    if not columns:
        return line
    if line[:1] == "\t":
        return line[columns // 4 :] if line.startswith("\t" * (columns // 4)) else line.lstrip("\t")
    return line[columns:] if not line[:columns].strip() else line.lstrip()


def _line(line: str, opened: list[_Opened], blocks: list[str | None]) -> str:
    if (
        ("!!!" in line or "???" in line)
        and (found := _ADMONITION.fullmatch(line)) is not None
        and (found[2] or found[3] is not None)
    ):
        opened.append(_Opened(len(found[1]) + 4 * len(opened), found[1], True))
        return note(found[2] or "note", found[3] or "", found[1])
    if "///" in line and (found := _BLOCK.fullmatch(line)) is not None:
        indent, kind = found[1], found[2]
        if not kind:
            begun = blocks.pop() if blocks else None
            return "" if begun is None else f"\n{min(begun, indent, key=len)}{NOTE_ENDS}"
        title = (found[3] or "").strip()
        blocks.append(None if kind in _NO_NOTES else indent)
        return title if kind in _NO_NOTES else note(kind, title, indent)
    if "{*" in line:
        line = _INSERTED.sub("", line)
    if "===" in line and (found := _TAB.fullmatch(line)) is not None:
        opened.append(_Opened(len(found[1]) + 4 * len(opened), found[1], False))
        return f"{found[1]}{found[2]}"
    return "" if "[" in line and _CONTENTS.fullmatch(line) else line


_OPENS = re.compile(r"^[ \t]*(?:!!!|\?\?\?|===[!+]? \"|///+[ \t]*(?:[\w-]+[ \t]*(?:\||$)|$))", re.MULTILINE)

DIALECT = Dialect(
    "mkdocs",
    _plain,
    {
        **dict.fromkeys(("!!! ", "???", "===", "///"), _OPENS),
        **dict.fromkeys(("{* ", "[TOC]", "[[toc]]", "[[_TOC_]]")),
        "。": EAST_ASIAN_STRONG,
    },
)
