"""Tags in text: a tokenizer for HTML-like markup that never builds a tree, never fails and takes linear time.

For markup inside other formats (Markdown, wikitext) and for HTML that no tree builder takes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from html import unescape

from structformer.document import MarkKind, word_count
from structformer.formats import Script

_NO_PROSE = re.compile(r"\s*(?:#(?!#{0,5} )|//|--|/\*|;|%|@|\$|\.\.?/|[\w.-]+\s*[:=]\s)")
_HEADING = re.compile(r"\s*#{1,6} ")
_SENTENCE = re.compile(r"[\W_]*[^\x00-@\[-\u00BF].*[.!?:;。！？…][\W_]*\Z", re.DOTALL)
_FEWEST_WORDS, _MANY_WORDS = 3, 8
_LETTERS = 0.75  # share of a line's characters that are letters or spaces

_TAG = re.compile(
    r"""<(?P<close>/?)(?P<name>[a-zA-Z][a-zA-Z0-9:.-]*)(?P<attributes>(?:[^"'<>]|"[^"]*"|'[^']*'){0,65536}?)/?>""",
    re.VERBOSE,
)
_OPENING = re.compile(r"</?[a-zA-Z]|<[!?]")
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")
# Words that stand where a language of code does and name none.
NO_LANGUAGES = frozenset("text txt plain plaintext plain_text plain-text none default nohighlight no-highlight".split())
# What part of a text an element is, as HTML and the markup around it have them.
PARTS = {
    **dict.fromkeys(("ul", "ol"), MarkKind.LIST),
    "li": MarkKind.ITEM,
    "dl": MarkKind.DEFINITIONS,
    "dt": MarkKind.TERM,
    "dd": MarkKind.DEFINITION,
    "table": MarkKind.TABLE,
    "caption": MarkKind.CAPTION,
    "tr": MarkKind.ROW,
    **dict.fromkeys(("td", "th"), MarkKind.CELL),
    "blockquote": MarkKind.QUOTE,
}
SPANS = {
    **dict.fromkeys(("code", "kbd", "samp", "tt"), MarkKind.CODE_SPAN),
    **dict.fromkeys(("em", "i"), MarkKind.EMPHASIS),
    **dict.fromkeys(("strong", "b"), MarkKind.STRONG),
}
SCRIPTS = {"sup": Script.RAISED, "sub": Script.LOWERED}
# What these contain is not markup.
RAW_TEXT = frozenset({"script", "style", "xmp", "iframe", "noembed", "noframes", "textarea", "title"})


@dataclass(slots=True)
class Tag:
    """An opening or closing tag; its attributes are parsed when they are asked for."""

    name: str
    closing: bool
    raw_attributes: str
    empty: bool = False
    _attributes: dict[str, str] | None = None

    def __bool__(self) -> bool:
        """Whether it has attributes."""
        return bool(self.raw_attributes)

    def get(self, key: str, default: str | None = None) -> str | None:
        """Return an attribute's value, decoded; an attribute without a value is the empty string."""
        if self._attributes is None:
            self._attributes = parse_attributes(self.raw_attributes)
        return self._attributes.get(key, default)


def tokens(text: str, *, raw_text: frozenset[str] = RAW_TEXT) -> Iterator[str | Tag]:
    """Yield text (entities decoded) and tags in order; comments, declarations and processing instructions are left out.

    raw_text: elements whose content is given as one text, without looking for tags.
    """
    position = plain_from = 0
    exhausted: set[str] = set()  # closing marks that don't come any more, so that none is sought twice
    while (opening := _OPENING.search(text, position)) is not None:
        start = opening.start()
        is_tag = text[start + 1] not in "!?"
        found = _TAG.match(text, start) if is_tag else None
        end = found.end() if found is not None else -1 if is_tag else _skip_declaration(text, start, exhausted)
        if end < 0:
            position = start + 1
            continue
        if start > plain_from:
            yield unescape(text[plain_from:start])
        position = plain_from = end
        if found is None:
            continue
        name = found["name"].lower()
        tag = Tag(name, bool(found["close"]), found["attributes"], found[0].endswith("/>"))
        yield tag
        if name in raw_text and not tag.closing and not tag.empty and name not in exhausted:
            closing = end_of(name).search(text, position)
            if closing is None:
                exhausted.add(name)
            else:
                if (end := closing.start()) > position:
                    yield text[position:end] if name in ("script", "style") else unescape(text[position:end])
                position = plain_from = end
    if plain_from < len(text):
        yield unescape(text[plain_from:])


@cache
def end_of(name: str) -> re.Pattern[str]:
    """Return the pattern of an element's end tag; of "!--", of a comment's end."""
    return re.compile("-->" if name == "!--" else rf"</{name}(?=[\s/>])", re.IGNORECASE)


def _skip_declaration(text: str, start: int, exhausted: set[str]) -> int:
    """Return where a comment, CDATA mark, declaration or processing instruction ends; -1 when it is text after all."""
    if text.startswith("<!--", start):
        if text.startswith((">", "->"), start + 4):
            return text.index(">", start) + 1
        mark = "-->"
    elif text.startswith("<![CDATA[", start):
        mark = "]]>"
    elif text.startswith("<?", start) or text[start + 2 : start + 3].isalpha():
        mark = ">"
    else:
        return -1
    if mark in exhausted:
        return -1
    end = text.find(mark, start + 2)
    if end < 0:
        exhausted.add(mark)
        return len(text) if mark == "-->" else -1
    return end + len(mark)


def parse_attributes(raw: str) -> dict[str, str]:
    """Return a tag's attributes, names in lower case, the first of repeated ones winning, entities decoded."""
    attributes: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(raw):
        value = match[2] or ""
        if value[:1] in "\"'":
            value = value[1:-1]
        attributes.setdefault(match[1].lower(), unescape(value))
    return attributes


def has_prose(text: str) -> bool:
    """Whether any line reads like a sentence: words, mostly letters, begun with a capital and ended with a stop, or
    long; and is neither a comment nor a setting.
    """
    return any(_is_prose(line) for line in text.split("\n"))


def _is_prose(line: str) -> bool:
    line = line.strip()
    if len(line) < 8 or _NO_PROSE.match(line) or _HEADING.match(line):
        return False
    letters = sum(char.isalpha() or char.isspace() for char in line)
    if letters < _LETTERS * len(line):
        return False
    words = word_count(line)
    return words >= _MANY_WORDS or (words >= _FEWEST_WORDS and _SENTENCE.match(line) is not None)
