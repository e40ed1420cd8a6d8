"""Kinds of elements, by their names, classes and roles: blocks, spans, headings; navigation and its like."""

import re
from typing import Protocol

from structformer.document import MarkKind
from structformer.formats import OF_MATHML

from structformer_html import tags
from structformer_html.rules import Rules


class Attributes(Protocol):
    """Protocol of an element's or a tag's attributes."""

    def get(self, key: str, /) -> str | None: ...


PARAGRAPHS = (
    "address aside body center div fieldset footer form frameset header hgroup hr html "
    "legend main optgroup p search section select tbody tfoot"
).split()
# Elements that are blocks of their own, and spans; what has no mark here has a method of Page.
BLOCKS = {
    "blockquote": MarkKind.QUOTE,
    "dir": MarkKind.LIST,
    "dl": MarkKind.DEFINITIONS,
    "figure": MarkKind.FIGURE,
    "menu": MarkKind.LIST,
    "summary": MarkKind.TITLE,
    "ul": MarkKind.LIST,
}
BLOCK_LINES = {
    **dict.fromkeys(("caption", "figcaption"), MarkKind.CAPTION),
    "dd": MarkKind.DEFINITION,
    "li": MarkKind.ITEM,
}
SPANS = tags.SPANS | dict.fromkeys(("cite", "dfn", "var"), MarkKind.EMPHASIS)
# Of MathML, those that have others in them or stand in these.
MATHML = frozenset("math mi mn mo mtext mrow mstyle mpadded msqrt mtable mtr mtd mover munder semantics".split()) | {
    *OF_MATHML
}
HEADINGS = {f"h{level}": level for level in range(1, 7)}
FALLBACKS = frozenset({"noscript", "noframes", "noembed"})  # the text of the latter two is markup that nobody parses
NEVER = frozenset({"script", "style", "template", "head"}) | FALLBACKS
FURNITURE = frozenset({"nav", "annotation", "annotation-xml"})  # annotations repeat the formula that they stand in
MAYBE_FURNITURE = frozenset({"footer", "aside"})  # of the page, not of its content
SVG_DESCRIPTIONS = frozenset({"title", "desc", "metadata"})  # of a drawing's parts; none is drawn
# without any attribute
SOMETIMES_SKIPPED = NEVER | FURNITURE | MAYBE_FURNITURE | SVG_DESCRIPTIONS | {"header", "button"}
MOSTLY_LINKS = 0.7  # share of an aside's text
_DIRECTORIES = frozenset({"doc-toc", "doc-landmarks", "doc-page-list", "doc-pagelist"})  # of a book
FURNITURE_ROLES = frozenset(
    {"navigation", "banner", "contentinfo", "search", "complementary", "menu", "menubar", "tablist"}
)
FURNITURE_LINKS = frozenset({"src", "srclink"})  # classes of links to the source, and of code
# Elements of pages written by hand that are menus and tables of contents by their class or id, if they hold little but
# links.
MENUS = frozenset({"div", "ul", "ol", "dl", "table", "td", "center"})
MENU = re.compile(r"(?:^|[\s_-])(?:\w*menu\d?|nav\w*|\w*toc\d?|topbar|breadcrumbs?|sidebar)(?=$|[\s_-])", re.IGNORECASE)
RELATED = frozenset({"related", "see-also", "seealso"})

# What a page's first link says that passes over its navigation, in the languages that themes are written in.
_SKIP_TEXT = re.compile(
    r"(?:skip|jump)\s+(?:(?:directly\s+)?to\s+)?(?:the\s+)?(?:main|page|content|article|nav|search)|zum\s+(?:haupt)?inhalt"
    r"|(?:aller|passer)\s+(?:directement\s+)?au\s+contenu|(?:saltar|ir|pasar)\s+al?\s+contenido|(?:vai|salta)\s+al\s+contenuto"
    r"|(?:pular|saltar|ir)\s+para\s+o\s+conteúdo|(?:spring\s+)?naar\s+(?:de\s+)?(?:hoofd)?inhoud|(?:перейти|перейдите)\s+к"
    r"|跳[到至转過过]|コンテンツ[にへ]スキップ|メインコンテンツ",
    re.IGNORECASE,
)


def is_skip_link(link: Attributes, text: str) -> bool:
    """Whether a link that precedes all text leads past the navigation to the content of its own page."""
    target, classes = link.get("href") or "", link.get("class") or ""
    is_near = len(target) > 1 and target.startswith("#")
    return is_near and ("skip" in classes.lower() or _SKIP_TEXT.match(text.strip()) is not None)


def formula_image(classes: str, rules: Rules) -> MarkKind | None:
    """Return what an image is whose alternative text is the source of the formula that it shows; None of others."""
    words = rules.words.formula_images.intersection(classes.split())
    is_display = any(word.endswith("display") for word in words)
    return MarkKind.FORMULA if is_display else MarkKind.FORMULA_SPAN if words else None


def role_of(element: Attributes) -> str:
    """Return the role of an element, as ARIA names it: of books, what EPUB says it is."""
    kinds = element.get("epub:type")
    return f"doc-{kinds.split()[0]}" if kinds and kinds.strip() else element.get("role") or ""


def is_aside_of_content(element: Attributes, rules: Rules) -> bool:
    """Whether an aside is part of the content by its own mark: a note, a part of a book, related pages."""
    classes, role = element.get("class") or "", role_of(element)
    return (
        "admonition" in classes
        or "footnote" in classes
        or role == "note"
        or (role.startswith("doc-") and role not in _DIRECTORIES)
        or not rules.words.see_also.isdisjoint(classes.split())
    )


def is_note_mark(element: Attributes) -> bool:
    """Whether a link is the mark of a note."""
    kinds = f"{element.get('role')} {element.get('epub:type')} {element.get('class')}".split()
    return not {"doc-noteref", "noteref", "footnote-ref"}.isdisjoint(kinds)
