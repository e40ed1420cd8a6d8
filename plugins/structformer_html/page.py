"""Walks a page's elements and tells a TreeBuilder what it finds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Protocol

from selectolax.lexbor import LexborNode
from structformer.document import LinkKind
from structformer.formats.builder import TreeBuilder
from structformer.text.headings import is_see_also

_LEVEL = re.compile("[1-9][0-9]?")
_PARAGRAPHS = (
    "address article aside blockquote body center dd details dir div dl fieldset figure footer "
    "form frameset header hgroup hr html "
    "legend main menu ol optgroup p search section select summary table tbody tfoot thead ul"
).split()
_LINES = "br caption dt figcaption li option tr".split()
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_NEVER = frozenset({"script", "style", "template", "head", "noscript"})
_FURNITURE = frozenset({"nav", "annotation", "annotation-xml"})  # annotations repeat the formula that they stand in
_MAYBE_FURNITURE = frozenset({"footer", "aside"})  # of the page, not of its content
_MOSTLY_LINKS = 0.7  # share of an aside's text
_FURNITURE_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar", "tablist"}
)
_FURNITURE_CLASSES = frozenset(
    """headerlink anchor-link anchorjs-link hash-link header-anchor mw-editsection mw-jump-link navbox navbox-styles vertical-navbox
    breadcrumb breadcrumbs sphinxsidebar md-sidebar pagination pagination-nav prev-next edit-page-link
    mw-cite-backlink katex-html noprint skip-link skip-to-content copybtn metadata-stub navheader navfooter""".split()
)
_BACK_TO_CONTENTS = "toc-backref"  # docutils' headings, of contents that are left out
CONTENTS_CLASSES = frozenset({"toc", "table-of-contents"})
_FURNITURE_IDS = frozenset(
    {"toc", "catlinks", "footer", "site-nav", "sidebar", "navbar", "breadcrumbs", "cookie-banner", "mw-navigation"}
)
_SEE_ALSO_CLASSES = frozenset({"seealso", "see-also", "related-topics", "related-links", "relatedlinks", "seealsolist"})
_RELATED = frozenset({"related", "see-also", "seealso"})


class Attributes(Protocol):
    """What is asked of an element or a tag."""

    def get(self, key: str, /) -> str | None: ...


class Page:
    """Receives starts and ends of elements and the text between them.

    base: what a relative target is joined to. furniture: whether navigation and its like are left out. content: whether
    all that is read is known to be content, so that asides are. contents: whether lists of contents are text too.
    """

    def __init__(
        self,
        builder: TreeBuilder,
        base: Callable[[str], str],
        *,
        furniture: bool = True,
        content: bool = False,
        contents: bool = False,
    ) -> None:
        self._builder = builder
        self._flow, self._space = builder.flow, builder.space
        self._base = base
        self._without_furniture = furniture
        self._ids: list[
            str
        ] = []  # seen since the last text: they name the heading that comes next, else the current section
        self._links: list[bool] = []  # anchors not yet closed: whether each has a target
        self._link_is_open = False
        self._first_cell = True
        self._preformatted = 0
        self._zones: list[tuple[str, int]] = []  # elements that list related pages, with the depth of their own name
        self._term_is_see_also = False
        self._in_term: list[str] | None = None
        self._heading_element = ""
        self._in_article = int(content)
        self._furniture_classes = _FURNITURE_CLASSES if contents else _FURNITURE_CLASSES | CONTENTS_CLASSES
        self._starts: dict[str, Callable[[str, Attributes], None]] = {
            **dict.fromkeys(_PARAGRAPHS, self._paragraph),
            **dict.fromkeys(_LINES, self._line),
            **dict.fromkeys(_HEADINGS, self._heading),
            **dict.fromkeys(("td", "th"), self._cell),
            **dict.fromkeys(("img", "iframe", "video", "audio", "source", "embed", "frame"), self._embed),
            "article": self._article,
            "a": self._anchor,
            "area": self._anchor,
            "pre": self._pre,
            "listing": self._pre,
            "dt": self._term,
            "dd": self._definition,
        }
        self._ends: dict[str, Callable[[], None]] = {
            **dict.fromkeys(_PARAGRAPHS, self._end_paragraph),
            **dict.fromkeys(("li", "tr", "caption", "figcaption", "option"), self._end_line),
            **dict.fromkeys(_HEADINGS, self._end_heading),
            "article": self._end_article,
            "a": self._end_anchor,
            "pre": self._end_pre,
            "listing": self._end_pre,
            "dt": self._end_term,
        }

    def skips(self, name: str, element: Attributes) -> bool:
        """Whether an element and all in it is not content."""
        if name in _NEVER:
            if name == "script" and (element.get("type") or "").startswith("math/tex"):
                return False  # MathJax's source of a formula
            return name != "noscript" or self._without_furniture
        if not element:
            return self._without_furniture and (
                name in _FURNITURE or (name in _MAYBE_FURNITURE and not self._in_article)
            )
        classes = element.get("class")
        if classes and not self._furniture_classes.isdisjoint(classes.split()):
            return self._without_furniture or name == "a"
        if name == "aside" and _is_note(element.get("role") or "", classes or ""):
            return False
        return self._without_furniture and (
            name in _FURNITURE
            or (element.get("role") or "") in _FURNITURE_ROLES
            or (element.get("id") or "") in _FURNITURE_IDS
            or (name in _MAYBE_FURNITURE and not self._in_article)
        )

    def skips_aside(self, node: LexborNode) -> bool:
        """Whether an aside in the content is a list of links and not a note."""
        if not self._without_furniture or _is_note(
            node.attributes.get("role") or "", node.attributes.get("class") or ""
        ):
            return False
        linked = sum(len(each.text(deep=True).strip()) for each in node.css("a[href]"))
        return linked > _MOSTLY_LINKS * len(" ".join(node.text(deep=True).split()))

    def start(self, name: str, element: Attributes) -> None:
        if not element and not self._zones:
            if (handler := self._starts.get(name)) is not None:
                handler(name, element)
            return
        if (identifier := element.get("id")) is not None:
            self._ids.append(identifier)
        if (classes := element.get("class")) and not _SEE_ALSO_CLASSES.isdisjoint(classes.split()):
            self._zones.append((name, 0))
        elif self._zones and self._zones[-1][0] == name:
            self._zones[-1] = (name, self._zones[-1][1] + 1)
        if element.get("role") == "heading" and name not in _HEADINGS:
            level = element.get("aria-level") or ""
            self._open_heading(int(level) if _LEVEL.fullmatch(level) else 2)
            self._heading_element = name
        elif (handler := self._starts.get(name)) is not None:
            handler(name, element)

    def end(self, name: str) -> None:
        if self._heading_element == name:
            self._end_heading()
        elif (handler := self._ends.get(name)) is not None:
            handler()
        if self._zones and self._zones[-1][0] == name:
            depth = self._zones[-1][1]
            self._zones[-1:] = [(name, depth - 1)] if depth else []

    def text(self, text: str) -> None:
        if self._preformatted and not self._builder.in_heading:
            self._flush_ids()
            self._builder.verbatim(text)
            return
        if text.isspace():
            self._space()
            return
        if self._ids:
            self._flush_ids()
        if self._in_term is not None:
            self._in_term.append(text)
        self._flow(text)

    def finish(self) -> None:
        self._flush_ids()

    def _flush_ids(self) -> None:
        for identifier in self._ids:
            self._builder.add_anchor(identifier)
        self._ids.clear()

    def _paragraph(self, name: str, element: Attributes) -> None:
        self._builder.paragraph()

    def _end_paragraph(self) -> None:
        self._builder.paragraph()

    def _article(self, name: str, element: Attributes) -> None:
        self._in_article += 1
        self._builder.paragraph()

    def _end_article(self) -> None:
        self._in_article -= 1
        self._builder.paragraph()

    def _line(self, name: str, element: Attributes) -> None:
        if name == "br" and self._preformatted:
            self._builder.verbatim("\n")
            return
        self._builder.line()
        self._first_cell = True

    def _end_line(self) -> None:
        self._builder.line()

    def _cell(self, name: str, element: Attributes) -> None:
        if self._first_cell:
            self._first_cell = False
        else:
            self._builder.text(" | ")

    def _heading(self, name: str, element: Attributes) -> None:
        self._open_heading(_HEADINGS[name])

    def _open_heading(self, level: int) -> None:
        ids = tuple(self._ids)
        self._ids.clear()
        self._builder.open_heading(level, ids)

    def _end_heading(self) -> None:
        self._flush_ids()
        self._builder.close_heading()
        self._heading_element = ""

    def _pre(self, name: str, element: Attributes) -> None:
        self._builder.paragraph()
        self._preformatted += 1

    def _end_pre(self) -> None:
        if self._preformatted:
            self._preformatted -= 1
        self._builder.paragraph()

    def _term(self, name: str, element: Attributes) -> None:
        self._builder.line()
        self._in_term = []
        self._term_is_see_also = False

    def _end_term(self) -> None:
        if self._in_term is not None:
            self._term_is_see_also = is_see_also(" ".join("".join(self._in_term).split()))
        self._in_term = None
        self._builder.line()

    def _definition(self, name: str, element: Attributes) -> None:
        self._builder.line()

    def _anchor(self, name: str, element: Attributes) -> None:
        if (identifier := element.get("name")) and name == "a":
            self._ids.append(identifier)
        target = element.get("href")
        if _BACK_TO_CONTENTS in (element.get("class") or ""):
            target = None
        if name == "area":
            if target is not None:
                self._builder.add_link(self._base(target), element.get("alt") or "")
            return
        # HTML allows no link inside a link: a second <a> ends the first.
        if target is not None and self._link_is_open:
            self._builder.close_link()
            self._links.clear()
        self._links.append(target is not None)
        if target is not None:
            self._link_is_open = True
            related = (
                bool(self._zones)
                or self._term_is_see_also
                or not _RELATED.isdisjoint((element.get("rel") or "").lower().split())
            )
            self._builder.open_link(self._base(target), LinkKind.SEE_ALSO if related else LinkKind.HYPERLINK)

    def _end_anchor(self) -> None:
        if self._links and self._links.pop():
            self._builder.close_link()
            self._link_is_open = False

    def _embed(self, name: str, element: Attributes) -> None:
        target = element.get("src")
        if not target:
            return
        if target.startswith("data:"):
            target = "data:"
        alt = " ".join((element.get("alt") or element.get("title") or "").split())
        self._builder.add_image(self._base(target), alt)


def _is_note(role: str, classes: str) -> bool:
    """Whether an aside is part of the content by its own mark: a note, a footnote, related pages."""
    return (
        "admonition" in classes
        or "footnote" in classes
        or role in ("note", "doc-footnote", "doc-endnote", "doc-tip")
        or not _SEE_ALSO_CLASSES.isdisjoint(classes.split())
    )


def read_tree(roots: Iterable[LexborNode], page: Page) -> None:
    """Walk element trees in document order."""
    for root in roots:
        _walk(root, page)
    page.finish()


def _walk(root: LexborNode, page: Page) -> None:
    start, end, say, skips = page.start, page.end, page.text, page.skips
    node: LexborNode | None = root
    while node is not None:
        name = node.tag or ""
        child: LexborNode | None = None
        if name[:1] in ("-", "!"):
            if name == "-text" and (text := node.text_content):
                say(text)
        else:
            attributes = node.attributes
            if node is root or not (skips(name, attributes) or (name == "aside" and page.skips_aside(node))):
                start(name, attributes)
                child = node.child
                if child is not None and name in _HEADINGS and (inner := _inner_headings(node)):
                    _walk_nested(node, inner, page)
                    child = None
                elif child is None:
                    end(name)
        if child is not None:
            node = child
            continue
        while node is not root:
            following = node.next
            if following is not None:
                break
            parent = node.parent
            assert parent is not None
            end(parent.tag or "")
            node = root if parent.mem_id == root.mem_id else parent
        node = None if node is root else following


def _inner_headings(heading: LexborNode) -> list[LexborNode]:
    own = heading.mem_id
    return [each for each in heading.css("h1, h2, h3, h4, h5, h6") if each.mem_id != own]


def _walk_nested(heading: LexborNode, inner: list[LexborNode], page: Page) -> None:
    """A heading with headings in it: its own text is its title, the inner ones come after it."""
    above = {each.mem_id for each in inner}
    for node in heading.traverse(include_text=True):
        if node.tag == "-text" and not _is_below(node, above, heading.mem_id) and (text := node.text_content):
            page.text(text)
    page.end(heading.tag or "")
    for each in inner:
        if not _is_below(each, above, heading.mem_id):
            _walk(each, page)


def _is_below(node: LexborNode, above: set[int], stop: int) -> bool:
    parent = node.parent
    while parent is not None and parent.mem_id != stop:
        if parent.mem_id in above:
            return True
        parent = parent.parent
    return False
