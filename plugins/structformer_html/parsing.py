"""A page's text to its element tree by HTML's own algorithm, however deep it is nested."""

import re
from bisect import bisect
from collections import Counter

from selectolax.lexbor import LexborHTMLParser, LexborNode
from structformer.text import spliced

from structformer_html.tags import end_of

MAX_DEPTH = 2000  # the standard's scope rules cost time with depth; no page written by people comes near this
_ANY_DEPTH = 20_000  # tags that a page may have whatever their nesting: half a second at worst
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*+)[^<>]*+>")
# Elements that hold nothing, or that the next of their kind ends.
_FLAT = frozenset(
    "area base br col embed hr img input link meta param source track wbr p li dt dd td th tr "
    "thead tbody tfoot option optgroup a h1 h2 h3 h4 h5 h6".split()
)


_HEAD = 4000  # characters
# By the last of which one sees cheaply that all have ends.
_LAST = (("<!--", "-->"), *((f"<{name}", f"</{name}") for name in ("script", "style", "textarea", "template")))
_NESTED = frozenset("code pre template aside nav footer noscript object".split())
_COUNTED = tuple((f"<{name}", f"</{name}") for name in (_NESTED - {"template"}) | {"xmp", "iframe", "noframes"})
_HEADING = re.compile(r"<h[1-6](?=[\s>])", re.IGNORECASE)
# A comment; a tag of an element that holds no tags, or code, or what is left out; a heading.
_REGION = re.compile(
    r"<!--|<(?P<close>/?)(?P<name>script|style|textarea|title|xmp|iframe|noembed|noframes|"
    rf"{'|'.join(sorted(_NESTED))})(?=[\s/>])|<h[1-6](?=[\s>])",
    re.IGNORECASE,
)
_PIECE = 16_000  # characters
_START = re.compile(r"</?[a-z][a-z0-9]*")
_FLAT_STARTS = {f"{start}{name}" for name in _FLAT for start in ("<", "</")}
_LONG_TAG = re.compile(r"<[a-zA-Z][^<>]{20000,}>")
_MAX_ATTRIBUTES = 1000


def without_attribute_floods(text: str) -> tuple[str, int]:
    """The text with at most some thousand characters of any tag that has over a thousand attributes; and how many such
    there were.

    The standard has every attribute compared with those before it.
    """
    floods = 0

    def cut(found: re.Match[str]) -> str:
        nonlocal floods
        if len(found[0].split()) <= _MAX_ATTRIBUTES:
            return found[0]
        floods += 1
        return found[0][:5000].rpartition(" ")[0] + ">"

    return _LONG_TAG.sub(cut, text), floods


def without_deep_tags(text: str) -> tuple[str, bool]:
    """A large page without the tags of elements that are nested over MAX_DEPTH deep; and whether there were such.

    What these elements hold stays, with its headings and links."""
    depth, deepest = 0, 0

    def kept(found: re.Match[str]) -> str:
        nonlocal depth, deepest
        if found[2].lower() in _FLAT:
            return found[0]
        inner = depth
        depth = max(0, depth - 1) if found[1] else depth + 1
        inner = max(inner, depth)
        deepest = max(deepest, inner)
        return found[0] if inner <= MAX_DEPTH else ""

    if text.count("<") <= _ANY_DEPTH or not _may_be_deep(text):
        return text, False
    flattened = _TAG.sub(kept, text)
    return (flattened, True) if deepest > MAX_DEPTH else (text, False)


def _may_be_deep(text: str) -> bool:
    """Whether tags may be nested over MAX_DEPTH deep, by how many open and close in each piece of a text."""
    depth = 0
    for start in range(0, len(text), _PIECE):
        tags = Counter(_START.findall(text[start : start + _PIECE].lower()))
        nested = [(tag, count) for tag, count in tags.items() if tag not in _FLAT_STARTS]
        opened = sum(count for tag, count in nested if tag[1] != "/")
        if depth + opened > MAX_DEPTH:
            return True
        depth = max(depth + 2 * opened - sum(count for _, count in nested), opened)
    return False


def with_ends(text: str) -> tuple[str, list[str]]:
    """Return the text with an end before the next heading for each comment, script or code that has none, and the
    names of these in order.

    The standard lets them go on to the end of the page, with all headings in them.
    """
    is_old = "<BODY" in text[:_HEAD] or "<HTML" in text[:_HEAD]  # counted only by its whole scan
    if not (
        is_old
        or any(text.rfind(start) > text.rfind(end) for start, end in _LAST)
        or any(text.count(start) > text.count(end) for start, end in _COUNTED)
        or ("<title" in text[:_HEAD] and "</title" not in text)
    ):
        return text, []
    ends = _missing_ends(text)
    closings = ((place, place, "-->" if name == "!--" else f"</{name}>") for place, name in ends)
    return spliced(text, closings), [name for _, name in ends]


def _missing_ends(text: str) -> list[tuple[int, str]]:
    """Return (place, name) of each end that is missing, in order: what is open last ends first."""
    ends: list[tuple[int, int, str]] = []  # place, where it is open from, name
    headings: list[int] = []
    is_open: dict[str, list[int]] = {}
    exhausted: set[str] = set()
    position = 0
    while (match := _REGION.search(text, position)) is not None:
        start, position = match.start(), match.end()
        name = "!--" if match[0] == "<!--" else (match["name"] or "h").lower()
        if name == "h":
            headings.append(start)
        elif name in _NESTED:
            if not match["close"]:
                is_open.setdefault(name, []).append(start)
            elif is_open.get(name):
                is_open[name].pop()
        elif not match["close"]:
            end = None if name in exhausted else end_of(name).search(text, start + 2)
            if end is None:
                exhausted.add(name)
                if (heading := _HEADING.search(text, position)) is None:
                    break
                ends.append((heading.start(), -start, name))
                position = heading.start()
            else:
                position = end.end()
    for name, starts in is_open.items():
        for start in starts:
            after = bisect(headings, start)
            if after < len(headings):
                ends.append((headings[after], -start, name))
    return [(place, name) for place, _, name in sorted(ends)]


def parse(text: str) -> LexborNode:
    """Return the page's root element."""
    root = LexborHTMLParser(text).root
    assert root is not None  # the standard gives every text one
    return root
