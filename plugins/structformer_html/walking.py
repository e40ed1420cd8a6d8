"""Walks a page's trees of elements in the order of the document, and tells a Page what it comes upon."""

from collections.abc import Iterable
from itertools import islice, takewhile
from urllib.parse import unquote

from selectolax.lexbor import LexborNode

from structformer_html import elements
from structformer_html.elements import HEADINGS, SPANS, Attributes
from structformer_html.main_content import ancestors, has_ancestor, is_page_header, outermost, outwards
from structformer_html.page import Page

_DRAWN_TEXT = "svg title, svg desc, svg metadata"  # that no one sees
_TOLD_BEFORE = frozenset({"button", "div", "img", "label", "rt", "table", "tr", *HEADINGS})
_FOR_LISTENERS = frozenset({"sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "show-for-sr"})
_UNSEEN = ", ".join((_DRAWN_TEXT, *(f".{each}" for each in sorted(_FOR_LISTENERS))))
_ICONS = frozenset({"i", "img", "svg"})
_IN_LINES = frozenset({"a", "b", "cite", "em", "i", "small", "span", "strong", "sup"})
_ASIDES = frozenset({"aside", "footer", "nav"})
_MEDIA = frozenset({"audio", "object", "video"})  # what they hold is shown where they are not
_LONGEST_FALLBACK = 500  # characters
_FEWEST_LINKS = 3
_MOST_MENUS = 40  # of a page that are looked at
_DEPTH = 100  # elements that a link is in, as far as they are looked at
FAR = 10  # texts and elements between an icon and the title that repeats it


def read_tree(roots: list[LexborNode], page: Page) -> None:
    """Walk element trees in document order."""
    linked = _Linked(roots)
    for root in roots:
        _walk(root, page, linked)
    page.flush_ids()


def with_linked_asides(roots: list[LexborNode], root: LexborNode) -> list[LexborNode]:
    """Return the parts of a page that are its content, then the asides beside them that their text links to."""
    linked, inside = _Linked(roots), {each.mem_id for each in roots}
    beside = [each for each in root.css("aside, footer, [role=complementary]") if not has_ancestor(each, inside)]
    around = inside.union(above.mem_id for part in roots for above in ancestors(part))
    return [*roots, *outermost([each for each in beside if each.mem_id not in around and linked.holds(each)])]


def _walk(root: LexborNode, page: Page, linked: "_Linked") -> None:
    menus = _Menus(root)
    callouts = page.words.callouts
    start, end, say, span_text = page.start, page.end, page.text, page.span_text
    starts, ends, zones = page.starts, page.ends, page.zones
    above: list[tuple[LexborNode, str]] = []
    node = root
    while True:
        name = node.tag or ""
        if name == "-text":
            if text := node.text_content:
                say(text)
        elif name[:1] not in ("-", "!"):
            attributes: Attributes = node.attributes
            child = node.child
            if (
                not attributes
                and (span := SPANS.get(name)) is not None
                and child is not None
                and child.next is None
                and child.tag == "-text"
            ):
                if text := child.text_content:
                    span_text(span, text)
            elif name == "i" and attributes.get("class") in callouts:  # whose number may be written after it once more
                node = number if (number := node.next) is not None and number.tag == "b" else node
            elif not above or not (
                (attributes or name in elements.SOMETIMES_SKIPPED)
                and _is_left_out(node, name, attributes, page, menus, linked)
            ):
                if name in _TOLD_BEFORE:
                    name, attributes = _tell_before(node, name, attributes, page)
                code = _numbered_code(node) if name == "table" else None
                if attributes or zones:
                    start(name if code is None else "-", attributes)
                elif code is None and (handler := starts.get(name)) is not None:  # the most of what start() does
                    handler(name, attributes)
                if code is not None:
                    above.append((node, "-"))
                    node = code
                    continue
                if child is None:
                    end(name)
                elif name in HEADINGS and (child.next or child.child) and (inner := _inner_headings(node)):
                    _walk_nested(node, inner, page, linked)
                elif name in _MEDIA and menus.are_closed(node):
                    for each in node.css("[src]"):
                        if each.mem_id != node.mem_id:
                            start("source", {"src": each.attributes.get("src")})
                            end("source")
                    end(name)
                else:
                    above.append((node, name))
                    node = child
                    continue
        while above:
            following = node.next
            if following is not None:
                node = following
                break
            node, name = above.pop()
            if zones or page.heading_element:
                end(name)
            elif (ending := ends.get(name)) is not None:  # the most of what end() does
                ending()
        else:
            return


def _is_left_out(
    node: LexborNode, name: str, attributes: Attributes, page: Page, menus: "_Menus", linked: "_Linked"
) -> bool:
    """Whether an element and all in it are left out."""
    is_aside = (
        page.skips(name, attributes)
        or (name == "aside" and page.skips_aside(node))
        or (name == "footer" and node.parent is not None and node.parent.tag != "blockquote" and page.skips_aside(node))
    )
    if is_aside:  # which is text if the page's text links to it
        may_be_note = name in elements.MAYBE_FURNITURE or attributes.get("role") in ("complementary", "contentinfo")
        return not (page.without_furniture and may_be_note and linked.holds(node))
    return bool(
        (name == "span" and page.without_furniture and _is_unseen(node, attributes, page))
        or (attributes and page.may_be_menu(name, attributes) and menus.holds(node))
        or (name == "header" and page.without_furniture and not page.inside["article"] and is_page_header(node))
        or (name == "a" and _is_link_to_skip(node, attributes, page))
        or (attributes and page.may_number_lines(attributes) and _holds_numbers(node) and page.keeps_place(attributes))
        or (
            name == "button" and (page.in_code or (page.heading_has_text if page.in_heading else _is_beside_code(node)))
        )
    )


def _is_unseen(span: LexborNode, attributes: Attributes, page: Page) -> bool:
    """Whether nobody sees what is in a line: what is hidden, or said to listeners next to what others see; and the
    name of a language that a theme shows above code.
    """
    classes = attributes.get("class") or ""
    if "display:none" in (attributes.get("style") or "").replace(" ", ""):
        return True
    if page.in_code:
        return False
    if classes == "lang":
        return _first_pre(_past_blanks(span.next)) is not None
    if _FOR_LISTENERS.isdisjoint(classes.split()):
        return False
    spans = islice(takewhile(lambda each: each.tag == "span", outwards(span)), FAR)
    beside = (each for node in spans for each in (_past_blanks(node.prev, back=True), _past_blanks(node.next)))
    return any(each is not None and each.tag not in _ICONS for each in beside)


def _begins_with_icon(table: LexborNode) -> bool:
    """Whether a table's first cell holds a note's icon: it is the note's layout."""
    cell = table
    for name in ("tbody", "tr", "td"):
        inner = _past_blanks(cell.child)
        if inner is None or inner.tag != name:
            return False
        cell = inner
    first = _past_blanks(cell.child)
    return "icon" in (cell.attributes.get("class") or "").split() or (first is not None and first.tag == "img")


def _tell_before(node: LexborNode, name: str, attributes: Attributes, page: Page) -> tuple[str, Attributes]:
    """Tell the page what is around or in an element that begins; gives the name and attributes that it is read by."""
    if name == "tr":
        cells = {cell.tag for cell in node.iter()}
        page.is_title_row = page.is_title_row or ("th" in cells and "td" not in cells)
    elif name == "img" and page.in_note:
        page.after_image = _text_after(node)
    elif name in HEADINGS and "alert-heading" in (attributes.get("class") or "").split():
        return "div", attributes
    elif name in ("label", "button") and node.prev is not None and node.prev.tag in (name, "input"):
        page.text(" ")
    elif name == "div" and attributes.get("class") in page.words.listings:  # of code, if it holds its lines
        line = _past_blanks(node.child)
        if line is not None and line.attributes.get("class") == "line":
            return "pre", attributes
    elif name == "rt" and ((before := _past_blanks(node.prev, back=True)) is None or before.tag != "rp"):
        return "reading", attributes  # that has no brackets of its own
    elif name == "table" and page.in_note and _begins_with_icon(node):
        return name, {"role": "none"}
    return name, attributes


class _Menus:
    """Tells menus from other elements of their names."""

    def __init__(self, root: LexborNode) -> None:
        self._root = root
        self._are_closed = True
        self._size = -1
        self._looked_at = 0

    def are_closed(self, medium: LexborNode) -> bool:
        """Whether media hold little, as far as this one: what follows one that nothing closes is in it."""
        self._are_closed = self._are_closed and len(medium.text(deep=True)) <= _LONGEST_FALLBACK
        return self._are_closed

    def holds(self, node: LexborNode) -> bool:
        """Whether an element holds links, next to nothing else, and not most of what there is."""
        if node.mem_id == self._root.mem_id or self._looked_at == _MOST_MENUS:
            return False
        self._looked_at += 1
        links = node.css("a[href]")
        if len(links) < _FEWEST_LINKS:
            return False
        if self._size < 0:
            self._size = len(" ".join(self._root.text(deep=True).split()))
        size = len(" ".join(node.text(deep=True).split()))
        linked = sum(len(each.text(deep=True).strip()) for each in links)
        return elements.MOSTLY_LINKS * size < linked and 2 * size < self._size


class _Linked:
    """Tells what the text of a page links to."""

    def __init__(self, roots: Iterable[LexborNode]) -> None:
        self._roots = tuple(roots)
        self._targets: set[str] | None = None

    def holds(self, node: LexborNode) -> bool:
        """Whether a link in a sentence leads to an element or into it."""
        names = {node.attributes.get("id"), *(each.attributes.get("id") for each in node.css("[id]"))} - {None}
        if names and self._targets is None:
            links = (each for root in self._roots for each in root.css('a[href^="#"]') if _is_in_sentence(each))
            self._targets = {unquote((each.attributes["href"] or "")[1:]) for each in links}
        return bool(self._targets) and not names.isdisjoint(self._targets or ())


def _is_in_sentence(link: LexborNode) -> bool:
    """Whether a link stands beside words, in no part of the page that may itself be furniture."""
    for node in takewhile(lambda each: each.tag in _IN_LINES, outwards(link)):
        beside = (each.text_content for each in (node.prev, node.next) if each is not None and each.tag == "-text")
        if any(character.isalnum() for text in beside for character in text or ""):
            above = list(islice(takewhile(lambda each: each.tag != "body", ancestors(node)), _DEPTH))
            return len(above) < _DEPTH and _ASIDES.isdisjoint(each.tag for each in above)
    return False


def _holds_numbers(node: LexborNode, depth: int = 5) -> bool:
    """Whether an element holds numbers and nothing else, a few elements deep at most."""
    return all(
        all(word.rstrip(".:|").isdecimal() for word in (child.text_content or "").split())
        if child.tag == "-text"
        else depth and _holds_numbers(child, depth - 1)
        for child in node.iter(include_text=True)
    )


def _numbered_code(table: LexborNode) -> LexborNode | None:
    """Return the second cell's code in a table of one row whose first cell has its line numbers; else None."""
    inner: LexborNode | None = table
    while inner is not None and inner.tag in ("table", "tbody"):
        parts = _children(inner)
        inner = parts[0] if len(parts) == 1 else None
    cells = [] if inner is None else _children(inner)
    if len(cells) != 2 or _first_pre(cells[1]) is None or not _holds_numbers(cells[0]):
        return None
    return cells[1].child


def _children(node: LexborNode) -> list[LexborNode]:
    """Return the first elements in an element, as many as a numbered row of code has and one more."""
    return list(islice((child for child in node.iter(include_text=True) if not _is_blank(child)), 3))


def _is_blank(node: LexborNode) -> bool:
    """Whether a node is white space or a button."""
    return node.tag == "button" or (node.tag == "-text" and not (node.text_content or "").strip())


def _past_blanks(node: LexborNode | None, *, back: bool = False) -> LexborNode | None:
    """Return a node, or the next one that is no white space and no button."""
    for _ in range(FAR):
        if node is None or not _is_blank(node):
            break
        node = node.prev if back else node.next
    return node


def _first_pre(node: LexborNode | None) -> LexborNode | None:
    """Return the preformatted text that an element begins with."""
    for _ in range(FAR):
        node = _past_blanks(node)
        if node is None or node.tag == "pre":
            return node
        node = node.child
    return None


def _is_beside_code(button: LexborNode) -> bool:
    """Whether a button, alone in what holds it, stands next to code: it copies that."""
    for node in islice(outwards(button), FAR):
        before, following = _past_blanks(node.prev, back=True), _past_blanks(node.next)
        if before is not None or following is not None:
            return _first_pre(before) is not None or _first_pre(following) is not None
    return False


def _is_link_to_skip(link: LexborNode, attributes: Attributes, page: Page) -> bool:
    if page.in_heading:
        return page.skips_sign(attributes, _shown(link))
    only = link.child
    if only is None or (only.tag == "-text" and only.next is None):
        sign = "" if only is None else only.text_content or ""
        if page.skips_sign(attributes, sign):
            return True
    return page.precedes_text and elements.is_skip_link(attributes, _shown(link))


def _shown(link: LexborNode) -> str:
    """Return a link's text, or that of an image in it; next to others without what is said to listeners."""
    text = link.text(deep=True)
    is_alone = _past_blanks(link.prev, back=True) is None and _past_blanks(link.next) is None
    for each in link.css(_DRAWN_TEXT if is_alone else _UNSEEN):
        text = text.replace(each.text(deep=True), "", 1)
    return text if text.strip() else " ".join(each.attributes.get("alt") or "" for each in link.css("img"))


def _text_after(node: LexborNode) -> str:
    """Return the next text after an element without content, if there is some near."""
    for _ in range(FAR):
        following = next((each.next for each in outwards(node) if each.next is not None), None)
        if following is None:
            return ""
        node = following
        while node.child is not None:
            node = node.child
        if node.tag == "-text" and (text := (node.text_content or "").strip()):
            return text
    return ""


def _inner_headings(heading: LexborNode) -> list[LexborNode]:
    own = heading.mem_id
    return [each for each in heading.css("h1, h2, h3, h4, h5, h6") if each.mem_id != own]


def _walk_nested(heading: LexborNode, inner: list[LexborNode], page: Page, linked: _Linked) -> None:
    """A heading with headings in it: its own text is its title, the inner ones come after it."""
    above = {each.mem_id for each in (*inner, *heading.css(_DRAWN_TEXT))}
    for node in heading.traverse(include_text=True):
        if node.tag == "-text" and not has_ancestor(node, above, heading.mem_id) and (text := node.text_content):
            page.text(text)
    page.end(heading.tag or "")
    for each in inner:
        if not has_ancestor(each, above, heading.mem_id):
            _walk(each, page, linked)
