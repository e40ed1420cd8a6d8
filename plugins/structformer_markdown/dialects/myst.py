"""MyST: directives between colons (`:::{note}`), comments (`% ...`) and breaks of cells (`+++`). Its directives between
backticks are code to Markdown, which the reader tells from code.
"""

import re

from structformer_markdown.dialects.page import Dialect, Page

_COLONS = re.compile(r"([ \t]*(?:(?:>|(?:[-*+]|[0-9]{1,9}[.)])[ \t])[ \t]*)*)(:{3,})[ \t]*(.*)")
_DIRECTIVE = re.compile(r"\{[A-Za-z][\w:-]*\}(?!\{)")
_SIGN = re.compile(r"[^>\t]")
_NOTHING = re.compile(r"^(?:%.*|\+\+\+(?:[ \t].*)?)$", re.MULTILINE)
_TARGET = re.compile(r"^([ \t>]*)\((?! )[\w:. -]+\)=[ \t]*$", re.MULTILINE)
_DEEPEST = 50  # directives in directives
# A directive, a target or a role, but no code that is run, which R Markdown and Quarto have as well.
_IS_MYST = re.compile(
    r"^[ \t>]*(?:```+|~~~+)\{(?!(?:r|python|julia|bash|sh|sql|ojs|dot|mermaid|rcpp|stan)\b)[A-Za-z][\w:-]*\}"
    r"|^\((?! )[\w:. -]+\)=[ \t]*$|\{[a-z][\w:-]*\}`[^`\n]",
    re.MULTILINE,
)


def _plain(text: str, page: Page) -> str:
    text = _TARGET.sub(r"\g<0>\n\1", _NOTHING.sub("", text))  # a paragraph may follow it on the next line
    if ":::" not in text:
        return text
    opened: list[tuple[int, str]] = []  # the colons of each container, and what ends it in Markdown, "" of others
    return "\n".join(_line(line, opened) if ":::" in line else line for line in text.split("\n"))


def _line(line: str, opened: list[tuple[int, str]]) -> str:
    """A directive's first or last line as that of a fenced block: the deeper it is, the shorter the fence."""
    found = _COLONS.match(line)
    if found is None:
        return line
    before, colons, rest = found[1], len(found[2]), found[3].rstrip()
    if not rest:
        ends = bool(opened) and (opened[-1][0] <= colons or not opened[-1][1])
        return (opened.pop()[1] if ends else "") or line
    fence = "~" * (_DEEPEST + 3 - len(opened))
    is_directive = _DIRECTIVE.match(rest) is not None and len(opened) < _DEEPEST
    if not rest.endswith(":::"):
        opened.append((colons, _SIGN.sub(" ", before) + fence if is_directive else ""))
    return f"{before}{fence}{rest}" if is_directive else line


DIALECT = Dialect(
    "myst", _plain, {":::{": re.compile(r":::\{[A-Za-z][\w:-]*\}"), **dict.fromkeys(("\n%", "\n+++", ")=\n"), _IS_MYST)}
)
