"""Blocks in tags: `{% tab title="A" %}`, `{% hint style="info" %}`, `{% embed url="..." %}`."""

import re

from structformer_markdown.dialects.page import Dialect
from structformer_markdown.dialects.shown import NOTE_ENDS, arguments, beside, link, note

_NAMES = (
    r"tabs?|hint|content-ref|embed|file|code|stepper|step|swagger(?:-[\w-]+)?|api-[\w-]+|openapi(?:-[\w-]+)?|columns?"
    r"|updates?|prompt"
)
_BLOCK = re.compile(rf"\{{%[ \t]*(end)?({_NAMES})(?![\w-])([^%{{}}\n]*)%\}}")


def _block(found: re.Match[str]) -> str:
    given = arguments(found[3])
    before, after = beside(found)
    alone = not (before.strip() or after.strip())
    if found[1]:
        return NOTE_ENDS if found[2] == "hint" and alone else ""
    if found[2] == "hint":
        return note(given.get("style", "info"), "", before).lstrip(" \t") if alone else ""
    title = given.get("title", "")
    if found[2] == "embed" and "url" in given:
        return link(given["url"], given["url"])
    if found[2] == "file" and "src" in given:
        return link(given.get("caption") or given["src"].rpartition("/")[2], given["src"])
    return title and f"{title}\n"


_ENDS = re.compile(rf"\{{%[ \t]*end(?:{_NAMES})[ \t]*%\}}|\{{%[ \t]*embed url=")

DIALECT = Dialect("hints", lambda text, page: _BLOCK.sub(_block, text), {"{%": _ENDS})
