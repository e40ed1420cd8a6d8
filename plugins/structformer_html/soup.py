"""The second engine: BeautifulSoup's tree, slower, for pages that the fast one refuses and for comparison.

Its tree is html.parser's, which does not follow the standard's rules of implied and misnested elements; on well-formed
pages both engines give the same Document."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from bs4 import BeautifulSoup
from bs4.element import CData, NavigableString, Script, Tag

from structformer_html.main_content import ENOUGH, MARKED, OF_CONTENT, TITLES
from structformer_html.page import Page
from structformer_html.walking import FAR

_CONTENT = ("main", "article")


class _Attributes:
    """A tag's attributes as the reader asks for them: one string each."""

    def __init__(self, tag: Tag) -> None:
        self._attributes = tag.attrs

    def __bool__(self) -> bool:
        return bool(self._attributes)

    def get(self, key: str, /) -> str | None:
        value: Any = self._attributes.get(key)
        return " ".join(map(str, value)) if isinstance(value, list) else None if value is None else str(value)


def make_soup(text: str) -> BeautifulSoup:
    """The tree of a page, by Python's own parser, which no depth of nesting stops."""
    return BeautifulSoup(text, "html.parser")


def soup_content(soup: BeautifulSoup) -> tuple[list[Tag], str]:
    """The elements that hold the content and how they were recognised: "main", "article" or "body"."""
    body = soup.body or soup
    whole = len(body.get_text())
    for name in _CONTENT:
        found = [tag for tag in body.find_all(name) if not any(above.name == name for above in tag.parents)]
        if name == "main" and not found:
            found = body.find_all(True, attrs={"role": "main"})
        if (
            found
            and (name == "main" or len(found) == 1)
            and sum(len(tag.get_text()) for tag in found) >= ENOUGH * whole
        ):
            return found, name
    return [body], "body"


def head_elements(soup: BeautifulSoup) -> Iterator[tuple[str, _Attributes, str]]:
    """(name, attributes, text) of what says something of the page."""
    for tag in soup.find_all(["html", "base", "link", "meta", "title"]):
        if tag.name != "title" or (tag.parent is not None and tag.parent.name == "head"):
            yield tag.name, _Attributes(tag), tag.get_text() if tag.name == "title" else ""


def read_soup(roots: list[Tag], page: Page) -> None:
    """Walk element trees in document order, without recursion."""
    for root in roots:
        _walk(root, page)
    page.finish()


def _walk(root: Tag, page: Page) -> None:
    stack: list[Iterator[Any]] = [iter([root])]
    names: list[str] = []
    while stack:
        node = next(stack[-1], None)
        if node is None:
            stack.pop()
            if names:
                page.end(names.pop())
            continue
        if isinstance(node, Tag):
            attributes = _Attributes(node)
            if node is not root and page.skips(node.name, attributes):
                continue
            if node.name == "tr" and _has_titles_only(node):
                page.expect_titles()
            elif node.name == "img" and page.in_note:
                page.precede(_text_after(node))
            elif (node.name == "a" and _is_link_to_skip(node, attributes, page)) or (
                node.name == "header" and page.may_skip_header and _is_page_header(node)
            ):
                continue
            page.start(node.name, attributes)
            names.append(node.name)
            stack.append(iter(node.contents))
        elif isinstance(node, NavigableString) and (
            type(node) is NavigableString or isinstance(node, CData | Script)  # a script that is read is a formula
        ):
            page.text(str(node))


def _is_link_to_skip(link: Tag, attributes: _Attributes, page: Page) -> bool:
    if page.in_heading:
        return page.skips_sign(attributes, _shown(link))
    return page.may_skip(attributes.get("href")) and page.skips_link(attributes, _shown(link))


def _is_page_header(header: Tag) -> bool:
    parents = list(header.parents)
    if any(each.name in OF_CONTENT or each.get("role") == "main" for each in parents):
        return False
    top = parents[-1] if parents else header
    return header.select_one(f"{MARKED}, {TITLES}") is None and top.select_one(MARKED) is not None


def _shown(link: Tag) -> str:
    text = link.get_text()
    for each in link.select("svg title, svg desc, svg metadata"):
        text = text.replace(each.get_text(), "", 1)
    return text if text.strip() else " ".join(str(each.get("alt") or "") for each in link.find_all("img"))


def _text_after(node: Tag) -> str:
    texts = (str(each).strip() for each in islice(node.next_elements, 2 * FAR) if isinstance(each, NavigableString))
    return next(filter(None, texts), "")


def _has_titles_only(row: Tag) -> bool:
    cells = {cell.name for cell in row.contents if isinstance(cell, Tag)}
    return "th" in cells and "td" not in cells
