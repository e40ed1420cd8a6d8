"""kramdown: attribute lists `{: #id .class}`, `{:toc}`, `{::comment}`, HTML with Markdown in it."""

import re

from structformer.text import spliced

from structformer_markdown.dialects.page import HEADING, Dialect, Page, anchor, anchors, between
from structformer_markdown.inline_text import names_in

_OWN_LINE = re.compile(r"([ \t]*(?:>[ \t]*)*)((?:\{:[^:{}\n][^{}\n]*\}[ \t]*)++)")
_SPAN = re.compile(r"(?:(?<=[^\s{}])|(?<=[:*+-] ))\{:[^:{}\n][^{}\n]*\}")
# HTML ends with its tag, where CommonMark goes on up to a blank line.
_HTML = re.compile(
    r"^( {0,3}(?:<[a-z]\w*(?=[^<>\n]*\smarkdown\b)[^<>\n]*+|</(?:div|section|details|figure|aside|table))>[ \t]*\n)"
    r"(?= {0,3}[^\s<])",
    re.MULTILINE,
)
_EXTENSION = re.compile(r"\{:(?::[^{}\n]*|/[\w-]*)\}")


def _plain(text: str, page: Page) -> str:
    text = spliced(text, ((start, end, "") for start, end, _ in between(text, "{::comment}", "{:/comment}")))
    lines = _HTML.sub(r"\1\n", text).split("\n")
    names: list[str] = []  # of a list before a block
    for index, line in enumerate(lines):
        if "{:" not in line:
            if names and line.strip():
                if HEADING.match(line.lstrip(" ")):
                    lines[index] = _with_ids(line, names)
                else:  # on the line before, which is the list's own or a blank one
                    lines[index - 1] = "".join(map(anchor, names)) + "\n"
                names = []
            continue
        if (list_ := _OWN_LINE.fullmatch(line)) is None:
            line = _SPAN.sub(lambda span: anchors(span[0]), line) if not HEADING.match(line.lstrip(" ")) else line
            lines[index] = _EXTENSION.sub("", line)
            continue
        before = lines[index - 1] if index else ""
        lines[index] = list_[1].rstrip()
        if list_[2][2:].lstrip().startswith("toc"):
            if before.lstrip().startswith(("* ", "- ", "+ ", "1. ")):
                lines[index - 1] = ""
            continue
        ids = names_in(list_[2])
        if ids and not before.strip():
            names += ids
        elif ids and HEADING.match(before.lstrip(" ")):
            lines[index - 1] = _with_ids(before, ids)
        elif ids and index > 1 and set(before.strip()) in ({"="}, {"-"}) and lines[index - 2].strip():
            lines[index - 2] = _with_ids(lines[index - 2], ids)
        else:
            lines[index] = list_[1] + anchors(list_[2])
    return "\n".join(lines)


def _with_ids(line: str, ids: list[str]) -> str:
    return f"{line.rstrip().rstrip('#').rstrip()} {{{' '.join('#' + each for each in ids)}}}"


DIALECT = Dialect("kramdown", _plain, {"{:": None, "markdown=": _HTML})
