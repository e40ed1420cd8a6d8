"""GitBook's blocks: `{% tab title="A" %}`, `{% hint style="info" %}`, `{% embed url="..." %}`."""

import re

from structformer_markdown.dialects.dialect import Dialect
from structformer_markdown.dialects.shown import NOTE_ENDS, arguments, link, note

_NAMES = (
    r"tabs?|hint|content-ref|embed|file|code|stepper|step|swagger(?:-[\w-]+)?|api-[\w-]+|openapi(?:-[\w-]+)?|columns?"
    r"|updates?|prompt"
)
_BLOCK = re.compile(rf"\{{%[ \t]*(end)?({_NAMES})(?![\w-])([^%{{}}\n]*)%\}}")


def _block(found: re.Match[str]) -> str:
    given = arguments(found[3])
    alone = not (_line_before(found).strip() or _line_after(found).strip())
    if found[1]:
        return NOTE_ENDS if found[2] == "hint" and alone else ""
    if found[2] == "hint":
        return note(given.get("style", "info"), "", _line_before(found)).lstrip(" \t") if alone else ""
    title = given.get("title", "")
    if found[2] == "embed" and "url" in given:
        return link(given["url"], given["url"])
    if found[2] == "file" and "src" in given:
        return link(given.get("caption") or given["src"].rpartition("/")[2], given["src"])
    return title and f"{title}\n"


def _line_before(found: re.Match[str]) -> str:
    return found.string[found.string.rfind("\n", 0, found.start()) + 1 : found.start()]


def _line_after(found: re.Match[str]) -> str:
    end = found.string.find("\n", found.end())
    return found.string[found.end() : end if end >= 0 else None]


_ENDS = re.compile(rf"\{{%[ \t]*end(?:{_NAMES})[ \t]*%\}}|\{{%[ \t]*embed url=")

DIALECT = Dialect("gitbook", lambda text, page: _BLOCK.sub(_block, text), {"{%": _ENDS})
