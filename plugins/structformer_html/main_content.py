"""Which part of a page is its content: by the marks of known site generators, by HTML's own, or all of the body."""

from collections.abc import Collection, Iterator
from itertools import chain, takewhile

from selectolax.lexbor import LexborNode
from structformer.formats import SiteGenerator

from structformer_html.elements import Rules

MARKED = "main, article, [role=main]"
TITLES = "h1, h2, h3, h4, h5, h6, [role=heading]"
OF_CONTENT = frozenset({"main", "article", "section", "aside", "nav"})  # a header in one of these is its own
_CONTENTS = ".toc, .table-of-contents"
_ALL_CONTENTS = 0.5  # share of a page's text from which on its list of contents is what it says
ENOUGH = 0.35  # a part marked as content that holds less of the text than this is not believed


def main_content(root: LexborNode, text: str, rules: Rules) -> tuple[list[LexborNode], str, SiteGenerator | None]:
    """Return the elements that hold the content, in order, how they were recognised (the name of a generator's pages,
    "main", "article" or "body"), and the generator."""
    body = root.css_first("body") or root
    whole, beside = -1, -1
    choices: list[tuple[str, str, SiteGenerator | None]] = [
        (pages.name or generator.name, pages.content, generator)
        for generator, pages in rules.pages
        if pages.word in text and root.css_first(pages.made_by) is not None
    ]
    if "<main" in text or "role=" in text:
        choices.append(("main", "main, [role=main]", None))
    if "<article" in text:
        choices.append(("article", "article", None))
    for name, content, generator in choices:
        parts = outermost(root.css(content))
        if not parts or (name == "article" and len(parts) != 1):
            continue
        if generator is not None and generator.html is rules.theme:
            return parts, name, generator  # the user knows
        if whole < 0:
            whole = _length(body)
        held = sum(_length(each) for each in parts)
        if held < ENOUGH * whole and beside < 0 and name != "article":  # which may lack the page's title
            beside = sum(_length(each) for each in outermost(body.css(rules.beside)))
        if held >= ENOUGH * (whole - max(0, beside) * (name != "article")):
            return parts, name, generator
    return [body], "body", None


def title_of(root: LexborNode, selector: str) -> str:
    """Return what a page is called where its generator says that outside of the text; "" if it does not."""
    title = root.css_first(selector) if selector else None
    parts = title.iter(include_text=True) if title is not None else ()
    texts = (each.text_content if each.tag == "-text" else each.text(deep=True) for each in parts if each.tag != "div")
    return " ".join("".join(each or "" for each in texts).split())  # without the groups that a class is in


def is_list_of_contents(roots: list[LexborNode], text: str, rules: Rules) -> bool:
    """Whether most of what a page says is a list of contents, which then is its content."""
    if "toc" not in text and "table-of-contents" not in text:
        return False
    lists = outermost([each for root in roots for each in root.css(_CONTENTS)])
    if not lists:
        return False
    listed = sum(map(_length, lists))
    navigation = sum(_length(each) for root in roots for each in root.css(rules.navigation))
    return listed > _ALL_CONTENTS * max(1, sum(_length(root) for root in roots) - navigation)


def is_page_header(header: LexborNode) -> bool:
    """Whether a header is a banner: outside of the content, which the page marks, and without a heading of it."""
    top = header
    for top in ancestors(header):
        if top.tag in OF_CONTENT or top.attributes.get("role") == "main":
            return False
    return header.css_first(f"{MARKED}, {TITLES}") is None and top.css_first(MARKED) is not None


def outermost(nodes: list[LexborNode]) -> list[LexborNode]:
    """Return the elements that are in none of the others."""
    chosen = {node.mem_id: node for node in nodes}  # one may fit several of the selectors
    return [node for node in chosen.values() if not has_ancestor(node, chosen.keys())]


def has_ancestor(node: LexborNode, chosen: Collection[int], stop: int = 0) -> bool:
    """Whether an element is in one of those chosen, looking no further than `stop`."""
    return any(above.mem_id in chosen for above in takewhile(lambda each: each.mem_id != stop, ancestors(node)))


def outwards(node: LexborNode) -> Iterator[LexborNode]:
    """Yield a node and the elements that it is in."""
    return chain((node,), ancestors(node))


def ancestors(node: LexborNode) -> Iterator[LexborNode]:
    """Yield the elements that a node is in, the innermost first."""
    above = node.parent
    while above is not None:
        yield above
        above = above.parent


def _length(node: LexborNode) -> int:
    return _characters(node) - sum(_characters(each) for each in node.css("script, style, template"))


def _characters(node: LexborNode) -> int:
    return sum(map(len, node.text(deep=True).split()))
