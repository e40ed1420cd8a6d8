"""Classes and names in braces, as markdown-it-attrs (VitePress) and Pandoc have them: `Text {.lead}`,
`[text]{.mark}`.
"""

from __future__ import annotations

import re

from structformer_markdown.dialects.dialect import Dialect
from structformer_markdown.dialects.page import Page

_LIST = r"""\{[.#][\w:.-]+(?:[ \t]+(?:[.#][\w:.-]+|[\w:-]+=(?:"[^"{}\n]*"|'[^'{}\n]*'|[^\s"'{}]+)))*[ \t]*\}"""
_SPAN = re.compile(rf"(?<!!)\[([^\[\]\n]*)\]{_LIST}")
_AT_END = re.compile(rf"^(?![ \t]*#)([^\n]*[^\s\\$^_{{}}])[ \t]?{_LIST}[ \t]*$", re.MULTILINE)


def _plain(text: str, page: Page) -> str:
    return _AT_END.sub(r"\1", _SPAN.sub(r"\1", text))


DIALECT = Dialect("attributes", _plain, {"{.": re.compile(r"(?<!\{)\{\.[\w-]")})
