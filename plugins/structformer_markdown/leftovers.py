"""What site generators put into Markdown: admonitions, tabs, shortcodes, Liquid tags, MDX. The marks go, their text
stays.

Lines keep their numbers. Fenced code is left alone. Sources: the documentation of Docusaurus, MkDocs (Material), Hugo,
Jekyll, MyST."""

from __future__ import annotations

import re

_HINTS = (
    ":::",
    "!!! ",
    "??? ",
    "???+",
    '=== "',
    "{{<",
    "{{%",
    "{%",
    "{{ ",
    "{{site",
    "{/*",
    "///",
    "{* ",
    "[TOC]",
    "[[toc]]",
    "[[_TOC_]]",
    "\nimport ",
    "\nexport ",
    "import ",
    "export ",
)
FENCE = re.compile(r"[ \t]*(?:>[ \t]*)*(```+|~~~+)")
_COLONS = re.compile(r"([ \t]*):{3,}[ \t]*(\{[^{}]*\}|[\w-]+)?[ \t]*(?:\[([^\]]*)\]|(.*?))[ \t]*:*[ \t]*")
_ADMONITION = re.compile(r"([ \t]*)(?:!!!|\?\?\?\+?)[ \t]+([\w -]+?)?[ \t]*(?:\"([^\"]*)\")?[ \t]*")
_BLOCK = re.compile(r"[ \t]*/{3,}[ \t]*(?:([\w-]+)[ \t]*(?:\|[ \t]*(.*?))?)?[ \t]*")  # of PyMdown: /// note | Title
_INSERTED = re.compile(r"\{\*[^{}*\n]*\*\}")  # a file that is shown there
_TAB = re.compile(r"([ \t]*)===[!+]?[ \t]+\"([^\"]*)\"[ \t]*")
_REFERENCE = re.compile(r"\{\{[<%]\s*(?:rel)?ref\s+(?:path=)?[\"“]?([^\"”\s>%]+)[\"”]?\s*[>%]\}\}")
_SHORTCODE = re.compile(r"\{\{[<%]\s*(?!/\*)([^{}]*?)\s*[>%]\}\}")
_SHOWN = re.compile(r"\b(?:title|caption|alt|label|name|heading|summary)\s*=\s*\"([^\"]+)\"")
_LIQUID_LINK = re.compile(r"\{%-?\s*(?:link|post_url)\s+([^\s%]+)\s*-?%\}")
_HIGHLIGHT = re.compile(r"[ \t]*\{%-?\s*(?:(end)?(?:highlight|raw)|raw)\b\s*([\w+-]*)[^%]*-?%\}[ \t]*")
_LIQUID = re.compile(r"\{%-?(?:[^%]|%(?!\}))*-?%\}")
_VARIABLE = re.compile(r"\{\{-?\s*(?:site|page|layout|include|config|relative_root)\.[\w.\[\]\"' |:/-]*-?\}\}")
_MDX_LINE = re.compile(
    r"(?:import\s+(?:[\w*{][^'\"]*\s+from\s+)?['\"][^'\"]+['\"];?|export\s+(?:default|const|let|var|function|async|class|\{|\*).*)\s*"
)
_MDX_COMMENT = re.compile(r"\{/\*.*?\*/\}", re.DOTALL)
_CONTENTS = re.compile(r"[ \t]*(?:\[TOC\]|\[\[_?toc_?\]\])[ \t]*", re.IGNORECASE)


def without_leftovers(text: str) -> str:
    """The text without the marks of site generators."""
    if not any(hint in text for hint in _HINTS):
        return text
    if "{/*" in text:
        text = _MDX_COMMENT.sub(lambda found: "\n" * found[0].count("\n"), text)
    lines = text.split("\n")
    out: list[str] = []
    fence = ""
    indents: list[
        int
    ] = []  # columns of the admonitions and tabs that are open: what they hold stands four columns further in
    exporting = False
    seen_text = False
    for line in lines:
        if indents and line.strip():
            column = len(line) - len(line.lstrip(" \t"))
            while indents and column < indents[-1] + 4 and not (line[:1] == "\t" and indents[-1] == 0):
                indents.pop()
            line = _dedent(line, 4 * len(indents))
        opening = FENCE.match(line)
        if fence:
            if opening is not None and opening[1].startswith(fence) and not line[opening.end() :].strip(" `~"):
                fence = ""
            out.append(line)
            continue
        if opening is not None:
            fence = opening[1]
            out.append(line)
            continue
        if exporting:
            exporting = bool(line.strip())
            out.append("")
            continue
        if (
            line.startswith(("import ", "export "))
            and _MDX_LINE.fullmatch(line)
            and (not seen_text or line.rstrip().endswith(";"))
        ):
            exporting = line.startswith("export ") and line.rstrip()[-1:] in "{[("
            out.append("")
            continue
        if line.strip():
            seen_text = seen_text or not line.startswith("#")
        out.append(_line(line, indents))
    return "\n".join(out)


def _dedent(line: str, columns: int) -> str:
    if not columns:
        return line
    if line[:1] == "\t":
        return line[columns // 4 :] if line.startswith("\t" * (columns // 4)) else line.lstrip("\t")
    return line[columns:] if not line[:columns].strip() else line.lstrip()


def _line(line: str, indents: list[int]) -> str:
    if ":::" in line and (found := _COLONS.fullmatch(line)) is not None:
        kind, title = (found[2] or "").strip("{}"), (found[3] or found[4] or "").strip()
        if not kind and not title:
            return ""
        return found[1] + _heading(kind, title)
    if (
        ("!!!" in line or "???" in line)
        and (found := _ADMONITION.fullmatch(line)) is not None
        and (found[2] or found[3] is not None)
    ):
        indents.append(len(found[1]) + 4 * len(indents))
        return found[1] + _heading(found[2] or "", found[3] or "")
    if "///" in line and (found := _BLOCK.fullmatch(line)) is not None:
        return _heading(found[1] or "", (found[2] or "").strip())
    if "{*" in line:
        line = _INSERTED.sub("", line)
    if "===" in line and (found := _TAB.fullmatch(line)) is not None:
        indents.append(len(found[1]) + 4 * len(indents))
        return f"{found[1]}{found[2]}"
    if "{{" in line:
        line = _REFERENCE.sub(r"\1", line)
        if "{{<" in line or "{{%" in line:
            line = _SHORTCODE.sub(lambda found: " ".join(_SHOWN.findall(found[1])), line)
        line = _VARIABLE.sub("", line)
    if "{%" in line:
        if (found := _HIGHLIGHT.fullmatch(line)) is not None:
            return "```" + ("" if found[1] else found[2] or "") if "highlight" in line else ""
        line = _LIQUID_LINK.sub(r"\1", line)
        line = _LIQUID.sub("", line)
    if _CONTENTS.fullmatch(line):
        return ""
    return line


def _heading(kind: str, title: str) -> str:
    """An admonition's first line: its title, else what it is."""
    name = re.sub(r"[.#]?[\w:-]*=.*|^\.", "", kind.strip()).strip(". ")
    if title:
        return title
    return f"{name.capitalize()}:" if re.fullmatch(r"[\w -]+", name) and name.lower() in _SPOKEN else ""


_SPOKEN = frozenset(
    "note tip info warning danger caution important hint attention error example question success "
    "failure bug abstract seealso".split()
)
