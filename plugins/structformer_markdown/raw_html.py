"""Raw HTML in Markdown: its headings, links, anchors and text, read as a stream of tags across blocks."""

from __future__ import annotations

import re
from html import unescape

from structformer.builder import TreeBuilder
from structformer.document import LinkKind

_TAG = re.compile(
    r"""<!--(?:>|->|.*?-->)|<\?.*?\?>|<!\[CDATA\[.*?\]\]>|<![A-Za-z][^<>]*>
      |<(?P<close>/?)(?P<name>[a-zA-Z][a-zA-Z0-9:.-]*)(?P<attributes>(?:[^"'<>]|"[^"]*"|'[^']*'){0,65536}?)/?>""",
    re.DOTALL | re.VERBOSE,
)
_ATTRIBUTE = re.compile(r"""([^\s"'<>/=]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'=<>`]+))?""")
_HIDDEN = frozenset({"script", "style", "template", "noscript"})
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "header",
        "hr",
        "html",
        "legend",
        "main",
        "nav",
        "ol",
        "option",
        "p",
        "pre",
        "search",
        "section",
        "select",
        "summary",
        "table",
        "tbody",
        "tfoot",
        "thead",
        "ul",
    ]
)
_LINES = frozenset({"br", "li", "tr"})
_HEADING = re.compile(r"h[1-6]$")


class RawHtml:
    """Feeds fragments of raw HTML, in source order, into a TreeBuilder."""

    def __init__(self, builder: TreeBuilder) -> None:
        self._builder = builder
        self._hidden = ""
        self._anchors_open: list[bool] = []

    def feed(self, fragment: str) -> None:
        """Read one html_block or html_inline token."""
        position = 0
        while (start := fragment.find("<", position)) >= 0:
            self._text(fragment[position:start])
            found = _TAG.match(fragment, start)
            if found is None:
                self._text("<")
                position = start + 1
                continue
            if found["name"]:
                self._tag(found["name"].lower(), bool(found["close"]), found["attributes"])
            position = found.end()
        self._text(fragment[position:])

    @property
    def hidden(self) -> bool:
        """True inside <script>, <style> and their like, whose content is not text."""
        return bool(self._hidden)

    def _text(self, text: str) -> None:
        if text and not self._hidden:
            self._builder.text(re.sub(r"\s+", " ", unescape(text)))

    def _tag(self, name: str, closing: bool, raw_attributes: str) -> None:
        builder = self._builder
        if self._hidden:
            if closing and name == self._hidden:
                self._hidden = ""
            return
        if name in _HIDDEN and not closing:
            self._hidden = name
            return
        if _HEADING.match(name):
            if closing:
                builder.close_heading()
            else:
                attributes = parse_attributes(raw_attributes)
                builder.open_heading(int(name[1]), tuple(a for a in (attributes.get("id"),) if a))
            return
        if name == "a":
            self._anchor(closing, raw_attributes)
        elif name in _BLOCKS:
            builder.paragraph()
        elif name in _LINES:
            builder.line()
        elif name in ("td", "th") and not closing:
            builder.text(" ")
        elif name in ("img", "iframe", "video", "audio", "source", "embed") and not closing:
            attributes = parse_attributes(raw_attributes)
            if source := attributes.get("src"):
                embed(builder, source, attributes.get("alt", ""))
        if not closing and name != "a" and "id" in raw_attributes and (anchor := parse_attributes(raw_attributes).get("id")):
            builder.add_anchor(anchor)

    def _anchor(self, closing: bool, raw_attributes: str) -> None:
        if closing:
            if self._anchors_open and self._anchors_open.pop():
                self._builder.close_link()
            return
        attributes = parse_attributes(raw_attributes)
        for key in ("id", "name"):
            self._builder.add_anchor(attributes.get(key, ""))
        has_target = "href" in attributes
        # HTML allows no link inside a link: a second <a> ends the first.
        if has_target and any(self._anchors_open):
            self._builder.close_link()
            self._anchors_open = [False] * len(self._anchors_open)
        self._anchors_open.append(has_target)
        if has_target:
            self._builder.open_link(attributes["href"])


def embed(builder: TreeBuilder, target: str, alt: str) -> None:
    """An image: its alternative text is text, except within a link, where it is a badge or a logo."""
    if builder.in_link or not alt:
        builder.add_link(target, alt, LinkKind.EMBED)
    else:
        builder.open_link(target, LinkKind.EMBED)
        builder.text(alt)
        builder.close_link()


def parse_attributes(raw: str) -> dict[str, str]:
    """A tag's attributes, names in lower case, the first of repeated ones winning, entities decoded."""
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(raw):
        value = match[2] or ""
        if value[:1] in "\"'":
            value = value[1:-1]
        found.setdefault(match[1].lower(), unescape(value))
    return found
