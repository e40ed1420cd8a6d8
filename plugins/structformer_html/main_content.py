"""Which part of a page is its content: by the marks of known site generators, by HTML's own, or all of the body."""

from collections.abc import Collection

from selectolax.lexbor import LexborNode

# (generator, a word of such a page, what it must hold to have been made by it, where its content is); the first that
# fits leads.
_GENERATORS = (
    ("mediawiki", "mw-content-text", "#mw-content-text", "#mw-content-text"),
    ("docusaurus", "theme-doc-markdown", ".theme-doc-markdown", "article"),
    ("mkdocs-material", "md-content__inner", "article.md-content__inner", "article.md-content__inner"),
    ("mkdocs", "col-md-9", "div.col-md-9[role=main]", "div.col-md-9[role=main]"),
    (
        "sphinx",
        "ection",
        "div.body > section, div.body > div.section, div[role=main] section, div[role=main] "
        "div.section, article[role=main] > section",
        "article[role=main], div[role=main], div.body",
    ),
    ("javadoc", "contentContainer", "div.contentContainer", "div.header, div.contentContainer"),
    ("doxygen", "contents", "div.contents", "div.header, div.contents"),
    ("hugo-docsy", "td-content", "div.td-content", "div.td-content"),
    ("mdbook", "mdbook", "#content main", "#content main"),
    ("phpdocumentor", "phpdocumentor-content", "div.phpdocumentor-content", "div.phpdocumentor-content"),
    ("typedoc", "tsd-", "div.col-content .tsd-panel, div.col-content .tsd-page-title", "div.col-content"),
    ("yard", "nav_wrap", "div.nav_wrap", "div#content"),
    ("boostbook", "spirit-nav", "body > div.spirit-nav", "body > div:not(.spirit-nav)"),
    ("docbook-xsl", "refentry", "div.refentry", "div.refentry"),
    ("docbook-xsl", "navheader", "div.navheader", "body"),
)
# By generator, where its pages say their titles, and classes of theirs that are no text.
_TITLES_OF = {"doxygen": ".headertitle .title", "mediawiki": "h1#firstHeading"}
FURNITURE_OF = {
    "doxygen": frozenset({"headertitle", "summary"}),
    "phpdocumentor": frozenset({"phpdocumentor-breadcrumbs", "phpdocumentor-on-this-page__sidebar"}),
}
MARKED = "main, article, [role=main]"
TITLES = "h1, h2, h3, h4, h5, h6, [role=heading]"
OF_CONTENT = frozenset({"main", "article", "section", "aside", "nav"})  # a header in one of these is its own
_CONTENTS = ".toc, .table-of-contents"
_ALL_CONTENTS = 0.5  # share of a page's text from which on its list of contents is what it says
ENOUGH = 0.35  # a part marked as content that holds less of the text than this is not believed
_BESIDE = "nav, header, footer, aside, button, dialog, [role=navigation], [role=search], .sphinxsidebar"  # and no text


def main_content(root: LexborNode, text: str) -> tuple[list[LexborNode], str]:
    """The elements that hold the content, in order, and how they were recognised: a generator's name,
    "main", "article" or "body"."""
    body = root.css_first("body") or root
    whole, beside = -1, -1
    choices = [
        (name, content)
        for name, word, sign, content in _GENERATORS
        if word in text and root.css_first(sign) is not None
    ]
    if "<main" in text or "role=" in text:
        choices.append(("main", "main, [role=main]"))
    if "<article" in text:
        choices.append(("article", "article"))
    for name, content in choices:
        found = outermost(root.css(content))
        if not found or (name == "article" and len(found) != 1):
            continue
        if whole < 0:
            whole = _length(body)
        held = sum(_length(each) for each in found)
        if held < ENOUGH * whole and beside < 0 and name != "article":  # which may lack the page's title
            beside = sum(_length(each) for each in outermost(body.css(_BESIDE)))
        if held >= ENOUGH * (whole - max(0, beside) * (name != "article")):
            return found, name
    return [body], "body"


def title_of(root: LexborNode, generator: str) -> str:
    """What a page is called where its generator says that outside of the text; "" where it doesn't."""
    found = root.css_first(_TITLES_OF[generator]) if generator in _TITLES_OF else None
    parts = found.iter(include_text=True) if found is not None else ()
    said = (each.text_content if each.tag == "-text" else each.text(deep=True) for each in parts if each.tag != "div")
    return " ".join("".join(each or "" for each in said).split())  # without the groups that a class is in


def is_list_of_contents(roots: list[LexborNode], text: str) -> bool:
    """Whether most of what a page says is a list of contents, which then is its content."""
    if "toc" not in text and "table-of-contents" not in text:
        return False
    listed = sum(_length(each) for root in roots for each in outermost(root.css(_CONTENTS)))
    navigation = sum(_length(each) for root in roots for each in root.css("div.navheader, div.navfooter, nav"))
    return listed > _ALL_CONTENTS * max(1, sum(_length(root) for root in roots) - navigation)


def is_page_header(header: LexborNode) -> bool:
    """Whether a header is a banner: outside of the content, which the page marks, and without a heading of it."""
    above = header.parent
    top = header
    while above is not None:
        if above.tag in OF_CONTENT or above.attributes.get("role") == "main":
            return False
        top, above = above, above.parent
    return header.css_first(f"{MARKED}, {TITLES}") is None and top.css_first(MARKED) is not None


def outermost(nodes: list[LexborNode]) -> list[LexborNode]:
    """Return the elements that are in none of the others."""
    chosen = {node.mem_id: node for node in nodes}  # one may fit several of the selectors
    return [node for node in chosen.values() if not has_ancestor(node, chosen.keys())]


def has_ancestor(node: LexborNode, chosen: Collection[int], stop: int = 0) -> bool:
    """Whether an element is in one of those chosen, looking no further than `stop`."""
    above = node.parent
    while above is not None and above.mem_id != stop:
        if above.mem_id in chosen:
            return True
        above = above.parent
    return False


def _length(node: LexborNode) -> int:
    return _characters(node) - sum(_characters(each) for each in node.css("script, style, template"))


def _characters(node: LexborNode) -> int:
    return sum(map(len, node.text(deep=True).split()))
