"""Raw HTML in Markdown: its headings, links, anchors and text, read as a stream of tags across blocks."""

from __future__ import annotations

import re

from structformer.formats.builder import TreeBuilder
from structformer.text.markup import Tag, tokens

_NO_RAW_TEXT: frozenset[str] = frozenset()
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
        self._link_is_open = False

    def feed(self, fragment: str) -> None:
        """Read one html_block or html_inline token."""
        for token in tokens(fragment, raw_text=_NO_RAW_TEXT):
            if isinstance(token, Tag):
                self._tag(token)
            elif not self._hidden:
                self._builder.flow(token)

    @property
    def hidden(self) -> bool:
        """True inside <script>, <style> and their like, whose content is not text."""
        return bool(self._hidden)

    def _tag(self, tag: Tag) -> None:
        builder, name, closing = self._builder, tag.name, tag.closing
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
                builder.open_heading(int(name[1]), tuple(a for a in (tag.get("id"),) if a))
            return
        if name == "a":
            self._anchor(tag)
        elif name in _BLOCKS:
            builder.paragraph()
        elif name in _LINES:
            builder.line()
        elif name in ("td", "th") and not closing:
            builder.text(" ")
        elif (
            name in ("img", "iframe", "video", "audio", "source", "embed")
            and not closing
            and (source := tag.get("src"))
        ):
            builder.add_image(source, tag.get("alt") or "")
        if not closing and name != "a" and "id" in tag.raw_attributes and (anchor := tag.get("id")):
            builder.add_anchor(anchor)

    def _anchor(self, tag: Tag) -> None:
        if tag.closing:
            if self._anchors_open and self._anchors_open.pop():
                self._builder.close_link()
                self._link_is_open = False
            return
        for key in ("id", "name"):
            self._builder.add_anchor(tag.get(key) or "")
        target = tag.get("href")
        # HTML allows no link inside a link: a second <a> ends the first.
        if target is not None and self._link_is_open:
            self._builder.close_link()
            self._anchors_open.clear()
        self._anchors_open.append(target is not None)
        if target is not None:
            self._link_is_open = True
            self._builder.open_link(target)
