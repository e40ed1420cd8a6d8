"""Blocks in tags: `{% tab title="A" %}`, `{% hint style="info" %}`, `{% embed url="..." %}`."""

import re
from functools import partial

from structformer_markdown.dialects.containers import Container, Fence
from structformer_markdown.dialects.page import Dialect, Page, arguments, beside, kind_of, link

_NAMES = (
    r"tabs?|hint|content-ref|embed|file|code|stepper|step|swagger(?:-[\w-]+)?|api-[\w-]+|openapi(?:-[\w-]+)?|columns?"
    r"|updates?|prompt"
)
_BLOCK = re.compile(rf"\{{%[ \t]*(end)?({_NAMES})(?![\w-])([^%{{}}\n]*)%\}}")


def _block(found: re.Match[str], page: Page) -> str:
    given = arguments(found[3])
    before, after = beside(found)
    alone = not (before.strip() or after.strip())
    if found[2] == "hint":
        return page.keep(found[0]) if alone else ""
    if found[1]:
        return ""
    title = given.get("title", "")
    if found[2] == "embed" and "url" in given:
        return link(given["url"], given["url"])
    if found[2] == "file" and "src" in given:
        return link(given.get("caption") or given["src"].rpartition("/")[2], given["src"])
    return title and f"{title}\n"


_ENDS = re.compile(rf"\{{%[ \t]*end(?:{_NAMES})[ \t]*%\}}|\{{%[ \t]*embed url=")


def _words(line: str) -> str | None:
    match = _BLOCK.fullmatch(line.rstrip())
    return None if match is None or match[2] != "hint" else "" if match[1] else match[0]


def _hint(words: str) -> Container:
    return Container(kind_of(arguments(words).get("style", "info")), "", True)


DIALECT = Dialect(
    "hints",
    lambda text, page: _BLOCK.sub(partial(_block, page=page), text),
    {"{%": _ENDS},
    blocks=(Fence("{%", _words, _hint),),
)
