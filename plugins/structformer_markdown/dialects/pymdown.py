"""Extensions of Python-Markdown, PyMdown and autorefs: admonitions (`!!! note "Title"`), tabs (`=== "Tab"`),
blocks (`/// note | Title`), places of contents, icons, keys, abbreviations, changes (`{++new++}`) and marked text
(`==x==`), `[](){#spot}`, `::: pkg.mod`, `[pkg.Class][]`.
"""

import re
from collections.abc import Callable

from markdown_it.rules_block import StateBlock

from structformer_markdown.dialects.containers import Container, Fence, push_container
from structformer_markdown.dialects.page import DEFINED, HEADING, Dialect, Page, anchor, kind_of
from structformer_markdown.formulas import line_of

_ADMONITION = re.compile(r"(?:!!!|\?\?\?\+?)[ \t]*+([\w-]+(?: +[\w-]+)*+)?[ \t]*+(?:\"(.*)\")?[ \t]*+")
_BLOCK = re.compile(r"/{3,}[ \t]*(?:([\w-]+)[ \t]*(?:\|(.*))?)?")
_INSERTED = re.compile(r"\{\*[^{}*\n]*\*\}")  # a file that is shown there
_TAB = re.compile(r"===[!+]?[ \t]+\"(.*)\"[ \t]*")
_NO_NOTES = frozenset("tab define html caption figure-caption table-caption apply".split())
_CONTENTS = re.compile(r"^[ \t]*(?:\[TOC\]|\[\[_?toc_?\]\])[ \t]*$", re.IGNORECASE | re.MULTILINE)
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
_NEAR = 300  # lines above an indented one in which a definition's first line is looked for
_NAME = re.compile(r"[A-Za-z_][\w-]*(?:[.:/][\w-]+)*")


def _plain(text: str, page: Page) -> str:
    text = _MARKED.sub(r"\1", _CHANGE.sub(lambda found: found["new"] or found["newer"] or "", text))
    text = _ABBREVIATION.sub("", _KEYS.sub(_keys, _ICON.sub("", text)))
    if "][" in text:
        text = _REFERENCE.sub(_linked(text, page), text)
    text = _OBJECT.sub(_object, _SPOT.sub(_spot, text))
    text = _INSERTED.sub("", _OPTIONS.sub(r"\1", text))
    return _CONTENTS.sub("", text) if "[" in text else text


def _keys(found: re.Match[str]) -> str:
    return "+".join(f"<kbd>{key.replace('-', ' ').title()}</kbd>" for key in found[1].split("+"))


def _spot(found: re.Match[str]) -> str:
    """Return a place: on a line of its own it names what comes next, as MyST's targets do."""
    alone = found[1] is not None and found[3] is not None
    return f"{found[1]}({found[2]})=\n" if alone else f"{found[1] or ''}{anchor(found[2])}{found[3] or ''}"


def _object(found: re.Match[str]) -> str:
    """Return an object's name in the place of its documentation; `::: tip` is none."""
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


def _words(line: str) -> str | None:
    """Return the words of a line of slashes."""
    return line.lstrip("/").strip() if _BLOCK.fullmatch(line) is not None else None


def _block(words: str) -> Container:
    kind, _, title = words.partition("|")
    return Container(kind_of(kind), HEADING.sub("", title.strip()), kind.strip() not in _NO_NOTES)


def _indented(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block rule for markdown-it: an admonition or a tab, whose blocks are four columns further in."""
    begin = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith(("!!!", "???", "==="), begin) or _is_code(state, start):
        return False
    line = line_of(state, start)
    tab, note = _TAB.fullmatch(line), _ADMONITION.fullmatch(line)
    if tab is not None:
        made = Container("", tab[1], is_note=False)
    elif note is not None and (note[1] or note[2]) is not None:
        made = Container(kind_of(note[1] or "note"), HEADING.sub("", note[2] or ""), is_note=True)
    else:
        return False
    if silent:
        return True
    indent = state.sCount[start] + 4
    first = last = start + 1
    while last < end and (state.isEmpty(last) or state.sCount[last] >= indent):
        last += 1
    while last > first and state.isEmpty(last - 1):
        last -= 1
    push_container(state, made, start, first, last, indent)
    state.line = last
    return True


def _is_code(state: StateBlock, start: int) -> bool:
    """Whether a line is indented code: not below a definition, even if that is without a term."""
    line = start if state.is_code_block(start) else -1
    while line > max(0, start - _NEAR) and (state.isEmpty(line) or state.is_code_block(line)):
        line -= 1
    return line >= 0 and not line_of(state, line).startswith((": ", ":\t"))


_OPENS = re.compile(r"^[ \t]*(?:!!!|\?\?\?|===[!+]? \"|///+[ \t]*(?:[\w-]+[ \t]*(?:\||$)|$))", re.MULTILINE)

DIALECT = Dialect(
    "pymdown",
    _plain,
    {
        **dict.fromkeys(("!!!", "???", '=== "', '===! "', '===+ "', "///"), _OPENS),
        **dict.fromkeys(("{* ", "[TOC]", "[[toc]]", "[[_TOC_]]", "[](){")),
        **dict.fromkeys((":material-", ":fontawesome-", ":octicons-", ":simple-"), _ICON),
        **dict.fromkeys(("{++", "{--", "{~~", "{==", "{>>"), _CHANGE),
        "==": _MARKED,
        "++": _KEYS,
        "*[": _ABBREVIATION,
        "::: ": re.compile(r"^[ \t]*:::[ \t]+[A-Za-z_]\w*(?:(?:[.:]\w+)+[ \t]*$|[ \t]*\n[ \t]+options:)", re.MULTILINE),
        "][]": None,
        "][": re.compile(r"\]\[[A-Za-z_]\w*\.[\w.]+\]"),
    },
    blocks=(Fence("///", _words, _block), _indented),
)
