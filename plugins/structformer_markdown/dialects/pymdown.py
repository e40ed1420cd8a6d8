"""Extensions of Python-Markdown, PyMdown and autorefs: admonitions (`!!! note "Title"`), tabs (`=== "Tab"`),
blocks (`/// note | Title`), places of contents, icons, keys, abbreviations, changes (`{++new++}`) and marked text
(`==x==`), `[](){#spot}`, `::: pkg.mod`, `[pkg.Class][]`.
"""

import re
from collections.abc import Callable

from structformer_markdown.dialects.page import Dialect, Page
from structformer_markdown.dialects.shown import DEFINED, NOTE_ENDS, anchor, note

_ADMONITION = re.compile(r"([ \t]*+)(?:!!!|\?\?\?\+?)[ \t]*+([\w-]+(?: +[\w-]+)*+)?[ \t]*+(?:\"(.*)\")?[ \t]*+")
_BLOCK = re.compile(r"([ \t]*)/{3,}[ \t]*(?:([\w-]+)[ \t]*(?:\|(.*))?)?")
_INSERTED = re.compile(r"\{\*[^{}*\n]*\*\}")  # a file that is shown there
_TAB = re.compile(r"([ \t]*)===[!+]?[ \t]+\"(.*)\"[ \t]*")
_NO_NOTES = frozenset("tab define html caption figure-caption table-caption apply".split())
_CONTENTS = re.compile(r"[ \t]*(?:\[TOC\]|\[\[_?toc_?\]\])[ \t]*", re.IGNORECASE)
_OPTIONS = re.compile(r"^([ \t]*/{3,}[ \t]*[\w-][^\n]*\n)(?:(?: {4}|\t)[ \t]*[\w-]+:[^\n]*\n)+", re.MULTILINE)
_ICON = re.compile(r":(?:material|fontawesome|octicons|simple)-[a-z0-9-]+:(?:\{[^{}\n]*\})?(?:[ \t]+(?=\S))?")
_KEYS = re.compile(r"(?<![\w+])\+\+([A-Za-z0-9_-]+(?:\+[A-Za-z0-9_-]+)*)\+\+(?![\w+])")
_CHANGE = re.compile(  # what is added or marked, what replaces something, or what shows nothing: deleted, or a comment
    r"\{(?:(\+\+|==)(?P<new>[^{}]{1,500}?)\1|~~(?:[^{}~]|~(?!>)){0,500}~>(?P<newer>[^{}]{0,500}?)~~|--[^{}]{1,500}?--|>>[^{}]{0,500}?<<)\}"
)
_MARKED = re.compile(r"(?<![\w=!<>])==(?=[^\s=])([^=\n]{1,300})(?<=\S)==(?![\w=])")
_ABBREVIATION = re.compile(r"^ {0,3}\*\[[^\[\]\n]+\]:.*$", re.MULTILINE)
_SPOT = re.compile(r"(^[ \t]*)?\[\]\(\)\{:?[ \t]*#([\w:.-]+)[^{}\n]*\}([ \t]*$)?", re.MULTILINE)
_OBJECT = re.compile(  # of code, whose documentation is written there
    r"^([ \t]*):::[ \t]+([A-Za-z_]\w*(?:[.:]\w+)*)[ \t]*\n((?:(?:\1(?: {2,}|\t)[^\n]*|[ \t]*)(?:\n|\Z))*)", re.MULTILINE
)
_OBJECT_OPTIONS = re.compile(r"[ \t]*(?:options|handler|selection|rendering|inventories)[ \t]*:")
_REFERENCE = re.compile(r"(?<![\w\]\\!])\[([^\[\]\n]+)\]\[((?:[^\[\]\n\x00])*)\]")
_NAME = re.compile(r"[A-Za-z_][\w-]*(?:[.:/][\w-]+)*")


def _plain(text: str, page: Page) -> str:
    text = _MARKED.sub(r"\1", _CHANGE.sub(lambda found: found["new"] or found["newer"] or "", text))
    text = _ABBREVIATION.sub("", _KEYS.sub(_keys, _ICON.sub("", text)))
    if "][" in text:
        text = _REFERENCE.sub(_linked(text, page), text)
    text = _OBJECT.sub(_object, _SPOT.sub(_spot, text))
    return _blocks(_OPTIONS.sub(r"\1", text))


def _keys(found: re.Match[str]) -> str:
    return "+".join(f"<kbd>{key.replace('-', ' ').title()}</kbd>" for key in found[1].split("+"))


def _spot(found: re.Match[str]) -> str:
    """A place: on a line of its own it names what comes next, as MyST's targets do."""
    alone = found[1] is not None and found[3] is not None
    return f"{found[1]}({found[2]})=\n" if alone else f"{found[1] or ''}{anchor(found[2])}{found[3] or ''}"


def _object(found: re.Match[str]) -> str:
    """An object's name in the place of its documentation; `::: tip` is none."""
    indent, name, below = found.groups()
    if "." not in name and ":" not in name and not _OBJECT_OPTIONS.match(below):
        return found[0]
    return f"{indent}({name})=\n\n{indent}`{name}`\n\n"


def _linked(text: str, page: Page) -> Callable[[re.Match[str]], str]:
    """Return what writes references that the page does not define: names of objects, on some sites of any place."""
    defined = {name.strip().lower() for name in DEFINED.findall(text)}
    to_places = _SPOT.search(text) is not None or page.has("references_to_places")

    def linked(found: re.Match[str]) -> str:
        shown = page.restored(found[1])
        name = found[2] or shown.strip("`")
        if (found[2] or found[1]).strip().lower() in defined or not (to_places or _NAME.fullmatch(name)):
            return found[0]
        is_object = "." in name or (not found[2] and shown.startswith("`"))
        return f"[{found[1]}](<xref:{name}>)" if is_object or to_places else found[0]

    return linked


def _blocks(text: str) -> str:
    out: list[str] = []
    opened: list[tuple[int, str | None]] = []  # columns of admonitions and tabs; what precedes each admonition
    blocks: list[str | None] = []  # what `///` has opened: what precedes each note
    for line in text.split("\n"):
        if opened and line.strip():
            column = len(line) - len(line.lstrip(" \t"))
            while opened and column < opened[-1][0] + 4 and not (line[:1] == "\t" and opened[-1][0] == 0):
                if (indent := opened.pop()[1]) is not None:
                    out.append(indent + NOTE_ENDS)
            line = _dedented(line, 4 * len(opened))
        out.append(_line(line, opened, blocks))
    return "\n".join(out)


def _dedented(line: str, columns: int) -> str:
    if not columns:
        return line
    if line[:1] == "\t":
        return line[columns // 4 :] if line.startswith("\t" * (columns // 4)) else line.lstrip("\t")
    return line[columns:] if not line[:columns].strip() else line.lstrip()


def _line(line: str, opened: list[tuple[int, str | None]], blocks: list[str | None]) -> str:
    found = _ADMONITION.fullmatch(line) if "!!!" in line or "???" in line else None
    if found is not None and (found[2] or found[3] is not None):
        opened.append((len(found[1]) + 4 * len(opened), found[1]))
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
        opened.append((len(found[1]) + 4 * len(opened), None))
        return f"{found[1]}{found[2]}"
    return "" if "[" in line and _CONTENTS.fullmatch(line) else line


_OPENS = re.compile(r"^[ \t]*(?:!!!|\?\?\?|===[!+]? \"|///+[ \t]*(?:[\w-]+[ \t]*(?:\||$)|$))", re.MULTILINE)

_ICON_BEGINS = (":material-", ":fontawesome-", ":octicons-", ":simple-")

DIALECT = Dialect(
    "pymdown",
    _plain,
    {
        **dict.fromkeys(("!!!", "???", '=== "', '===! "', '===+ "', "///"), _OPENS),
        **dict.fromkeys(("{* ", "[TOC]", "[[toc]]", "[[_TOC_]]", "[](){", *_ICON_BEGINS)),
        **dict.fromkeys(("{++", "{--", "{~~", "{==", "{>>"), _CHANGE),
        "==": _MARKED,
        "++": _KEYS,
        "*[": _ABBREVIATION,
        "::: ": re.compile(r"^[ \t]*:::[ \t]+[A-Za-z_]\w*(?:(?:[.:]\w+)+[ \t]*$|[ \t]*\n[ \t]+options:)", re.MULTILINE),
        "][]": None,
        "][": re.compile(r"\]\[[A-Za-z_]\w*\.[\w.]+\]"),
    },
)
