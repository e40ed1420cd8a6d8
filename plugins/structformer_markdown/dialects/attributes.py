"""Classes and names in braces: `Text {.lead}`, `[text]{.mark}`, `[text]{#name}`."""

import re

from structformer_markdown.dialects.page import Dialect, Inline, Page, anchors

_LIST = r"""\{[ \t]*[.#][\w:.-]+(?:[ \t]+(?:[.#][\w:.-]+|[\w:-]+=(?:"[^"{}\n]*"|'[^'{}\n]*'|[^\s"'{}]+)))*[ \t]*\}"""
_STYLED = r"""\{[\w-]+=(?:"[^"{}\n]*"|'[^'{}\n]*')\}"""
_WORDS = r"(?:[^\[\]\n`]|`[^`\n]*`)*+"
_SPAN = re.compile(rf"(?<!!)\[({_WORDS}(?:\[{_WORDS}\]{_WORDS})*+)\](?:\(\))?({_LIST}|{_STYLED})")
_AT_END = re.compile(rf"^(?![ \t]*#)([^\n]*(?:[^\s\\$^_{{}}\]]|\](?=[ \t])))[ \t]?\\?({_LIST})[ \t]*$", re.MULTILINE)
_SIZE = re.compile(r"(!\[[^\[\]\n]*\]\([^()\s]+)[ \t]+=\d*(?:x\d*)?%?(?=\))")  # of an image: `![a](b.png =300x)`
_ALONE = re.compile(rf"(?<=[^\s\x00|])\n[ \t]*({_LIST})[ \t]*$", re.MULTILINE)  # the last line of what it is of


def _plain(text: str, page: Page) -> str:
    text = _ALONE.sub(lambda found: anchors(found[1]), _SIZE.sub(r"\1", text))
    return _AT_END.sub(lambda match: match[1] + anchors(match[2]), text)


DIALECT = Dialect(
    "attributes",
    _plain,
    {
        **dict.fromkeys(("{.", "{ ."), re.compile(r"(?<!\{)\{[ \t]*\.[\w-]")),
        **dict.fromkeys(("{#", "{ #"), re.compile(r"(?:[\])]|\n[ \t]*|[ \t]\\?)\{[ \t]*#[\w-]")),
        " =": _SIZE,
        "]{": _SPAN,
    },
    inline=(Inline("[", _SPAN, lambda match: anchors(match[2]) + match[1]),),
)
