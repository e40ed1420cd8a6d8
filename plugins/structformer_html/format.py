"""The HTML format, plainest form: h1-h6, links with anchor text, ids and readable text of the body."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from bs4.dammit import EncodingDetector
from lxml import etree, html
from structformer.builder import TreeBuilder
from structformer.document import Document, Link, LinkKind, Source
from structformer.errors import ReadError
from structformer.names import link_names, path_names
from structformer.sources import SourceFile, decode

_HIDDEN = frozenset({"script", "style", "template", "noscript", "head", "nav"})
_PARAGRAPHS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "details",
        "div",
        "dl",
        "fieldset",
        "figure",
        "footer",
        "form",
        "header",
        "hr",
        "main",
        "ol",
        "p",
        "pre",
        "section",
        "table",
        "ul",
    ]
)
_LINES = frozenset({"br", "dd", "dt", "li", "tr", "summary", "caption", "figcaption"})


class HtmlFormat:
    """Headings, links, anchors and text of a page's body; navigation and scripts left out."""

    name = "html"
    suffixes = (".html", ".htm", ".xhtml")
    media_types = ("text/html", "application/xhtml+xml")
    completeness = "plain: h1-h6, links, ids, text of the body; no main-content extraction yet"

    def sniff(self, head: bytes, path: str) -> float:
        """Certainty that a file of unknown suffix is HTML, from its first bytes."""
        return 0.95 if re.match(rb"(?:\xef\xbb\xbf)?\s*(?:<\?xml[^>]*>\s*)?<(?:!doctype html|html)", head, re.IGNORECASE) else 0.0

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """One Document."""
        data = source.read()
        if not data.strip():
            source.warn("empty: no document")
            return
        text = _decode(source, data)
        try:
            # Bytes, not text: lxml refuses a text that carries an encoding declaration.
            page = html.document_fromstring(text.encode(), parser=html.HTMLParser(encoding="utf-8", no_network=True))
        except (etree.ParserError, etree.XMLSyntaxError) as error:
            raise ReadError(f"no HTML in it ({error})") from error
        builder = TreeBuilder()
        _walk(page, builder)
        title = page.findtext(".//title")
        document = builder.finish(
            Source(source.path, self.name),
            title=" ".join(title.split()) if title and title.strip() else None,
            language=page.get("lang"),
        )
        document.names = path_names(source.path)
        yield document

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Names the target may mean: a place on the same page, a path, a site's address."""
        return link_names(document.id, document.source.path, link.target)


def _decode(source: SourceFile, data: bytes) -> str:
    """The page's text, in the encoding that it declares when it is not UTF-8."""
    declared = EncodingDetector.find_declared_encoding(data, is_html=True)
    if declared and declared.lower().replace("_", "-") not in ("utf-8", "utf8"):
        try:
            return data.decode(declared)
        except (LookupError, UnicodeDecodeError):
            source.warn(f"not in the encoding that it declares ({declared})")
    return decode(source)


def _walk(page: Any, builder: TreeBuilder) -> None:
    hidden = 0
    preformatted = 0
    for event, element in etree.iterwalk(page, events=("start", "end", "comment", "pi")):
        if event in ("comment", "pi") or not isinstance(element.tag, str):
            if not hidden:
                _text(builder, element.tail, preformatted)
            continue
        tag = element.tag
        if event == "start":
            hidden += tag in _HIDDEN
            preformatted += tag == "pre"
            if not hidden:
                _open(builder, element, tag)
                _text(builder, element.text, preformatted)
            continue
        if not hidden:
            _close(builder, element, tag)
        hidden -= tag in _HIDDEN
        preformatted -= tag == "pre"
        if not hidden:
            _text(builder, element.tail, preformatted)


def _text(builder: TreeBuilder, text: str | None, preformatted: int) -> None:
    if not text:
        return
    if preformatted and not builder.in_heading:
        builder.verbatim(text.strip("\n"))
    else:
        builder.text(re.sub(r"\s+", " ", text))


def _open(builder: TreeBuilder, element: Any, tag: str) -> None:
    anchors = tuple(value for key in ("id", "name") if (value := element.get(key)))
    if re.fullmatch(r"h[1-6]", tag):
        builder.open_heading(int(tag[1]), anchors)
        return
    if tag in _PARAGRAPHS:
        builder.paragraph()
    elif tag in _LINES:
        builder.line()
    elif tag in ("td", "th") and element.getprevious() is not None:
        builder.text(" | ")
    for anchor in anchors if tag != "input" else ():
        builder.add_anchor(anchor)
    if tag == "a" and element.get("href") is not None:
        builder.open_link(element.get("href"))
    elif tag == "img" and element.get("src"):
        builder.add_link(element.get("src"), element.get("alt", ""), LinkKind.EMBED)


def _close(builder: TreeBuilder, element: Any, tag: str) -> None:
    if re.fullmatch(r"h[1-6]", tag):
        builder.close_heading()
    elif tag == "a" and element.get("href") is not None:
        builder.close_link()
    elif tag in _PARAGRAPHS:
        builder.paragraph()
    elif tag in _LINES:
        builder.line()
