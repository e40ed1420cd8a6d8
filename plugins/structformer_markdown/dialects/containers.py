"""Containers of colons, as Docusaurus, Starlight, VitePress, MyST, Quarto and Pandoc have them:
`:::note[Title]{.class}`, `::: tip Title`.
"""

import re

from structformer_markdown.dialects.page import Dialect, Page
from structformer_markdown.dialects.shown import NOTE_ENDS, anchors, arguments, is_spoken, kind_of, note

_OPENING = re.compile(r"([ \t]*(?:(?:>|(?:[-*+]|[0-9]{1,9}[.)])[ \t])[ \t]*)*):::")  # in quotes and items too
_NOTHING = "<!-- -->"  # behind an item's sign, which alone would underline a heading
_SIGN = re.compile(r"[^>\t]")  # of an item: the lines below it have blanks there
_HEADED = re.compile(  # Quarto's callouts, with a heading as their title
    r"^(:::+[ \t]*\{[^{}\n]*\.callout-(?:(?!title=)[^{}\n])*)\}[ \t]*\n+#{1,6}[ \t]+([^\n{}\"]+)$", re.MULTILINE
)
_LIST = r"\{(?:[^{}\"]|\"[^\"\n]*\")*\}"
_KIND = re.compile(rf"{_LIST}|[\w-]+")
_HEADING = re.compile(r" {0,3}#{1,6}[ \t]+(?=\S)")
_VIDEO = re.compile(r"^@\[[\w-]+\]\([^()\n]+\)[ \t]*$", re.MULTILINE)  # that VuePress shows there
_ATTRIBUTES = re.compile(rf"{_LIST}$")


def _plain(text: str, page: Page) -> str:
    text = _VIDEO.sub("", text)
    if ".callout" in text:
        text = _HEADED.sub(r'\1 title="\2"}', text)
    notes: list[str | None] = []  # the containers that are open: what precedes the lines of each note
    if ".panel-tabset" not in text:
        return "\n".join(_line(line, notes) if ":::" in line else line for line in text.split("\n"))
    out: list[str] = []
    tabs = 0  # how many containers are open up to the tabs'
    for line in text.split("\n"):
        if ":::" in line:
            out.append(_line(line, notes))
            tabs = (tabs or len(notes) * (".panel-tabset" in line)) * (len(notes) >= tabs)
        else:
            out.append(_label(line) if tabs and _HEADING.match(line) else line)
    return "\n".join(out)


def _label(heading: str) -> str:
    """The label of one of Quarto's tabs, which is a heading and none of the page's."""
    return f"\n**{_ATTRIBUTES.sub('', heading.strip()).lstrip('#').strip()}**\n"


def _line(line: str, notes: list[str | None]) -> str:
    opening = _OPENING.match(line)
    if opening is None:
        return line
    before = opening[1]
    rest = line[len(before) :].strip(" \t").lstrip(":").strip(" \t").rstrip(":").rstrip(" \t")
    kind = ""
    if (found := _KIND.match(rest)) is not None:
        kind, rest = found[0], rest[found.end() :].strip(" \t")
    attributes = kind
    if (found := _ATTRIBUTES.search(rest)) is not None and not rest.startswith("["):
        attributes, rest = found[0], rest[: found.start()].rstrip()
    title = _bracketed(rest) if rest.startswith("[") else rest
    title = title.strip() or arguments(attributes).get("title", "") if "title=" in attributes else title.strip()
    indent = _SIGN.sub(" ", before)
    if not (kind or title):
        begun = notes.pop() if notes else None
        blank = indent.rstrip(" \t")
        # The note ends as far in as it began, or less: further in it might be code.
        return blank if begun is None else f"{blank}\n{min(begun, indent, key=len)}{NOTE_ENDS}"
    name = kind_of(kind.strip("{}"))
    is_note = is_spoken(name) or name == "details"
    notes.append(indent if is_note else None)
    if attributes.startswith("{") and (named := anchors(attributes)):
        before += named + f"\n{indent.rstrip()}\n{indent}"
    if is_note:
        return before + note(name, title, indent)[len(indent) :]
    return before + (title or (_NOTHING if before.strip() else ""))


def _bracketed(text: str) -> str:
    """What is between a bracket and the one that closes it; all of the text behind it where none does."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if not depth:
            after = text[place + 1 :].strip()
            return text[1:place] + (f" {after}" if after and not after.startswith("{") else "")
    return text[1:]


DIALECT = Dialect("containers", _plain, {":::": None, "@[": _VIDEO})
