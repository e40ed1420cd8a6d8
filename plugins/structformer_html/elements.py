"""Kinds of elements, by their names, classes and roles: blocks, spans, headings; navigation and its like; the kind of
note that one is, the language that its code is in. HTML's own words for them are merged with those of all known site
generators, once.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Protocol

from structformer.document import MarkKind
from structformer.formats import OF_MATHML, HtmlPages, HtmlRules, SiteGenerator
from structformer.plugins import load_plugins

from structformer_html import tags


class Attributes(Protocol):
    """Protocol of an element's or a tag's attributes."""

    def get(self, key: str, /) -> str | None: ...


PARAGRAPHS = """address aside body center div fieldset footer form frameset header hgroup hr html legend main optgroup p
    search section select tbody tfoot""".split()
# Elements that are blocks of their own, and spans; what has no mark here has a method of Page.
BLOCKS = {
    **dict.fromkeys(("dir", "menu", "ul"), MarkKind.LIST),
    "blockquote": MarkKind.QUOTE,
    "dl": MarkKind.DEFINITIONS,
    "figure": MarkKind.FIGURE,
    "summary": MarkKind.TITLE,
}
BLOCK_LINES = {name: tags.PARTS[name] for name in ("caption", "dd", "li")} | {"figcaption": MarkKind.CAPTION}
SPANS = tags.SPANS | dict.fromkeys(("cite", "dfn", "var"), MarkKind.EMPHASIS)
# Of MathML, those that have others in them or stand in these.
MATHML = {*"math mi mn mo mtext mrow mstyle mpadded msqrt mtable mtr mtd mover munder semantics".split(), *OF_MATHML}
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
FURNITURE_ROLES = frozenset("navigation banner contentinfo search complementary menu menubar tablist".split())
FURNITURE_LINKS = frozenset({"src", "srclink"})  # classes of links to the source, and of code
# Elements of pages written by hand that are menus and tables of contents by their class or id, if they hold little but
# links.
MENUS = frozenset({"div", "ul", "ol", "dl", "table", "td", "center"})
MENU = re.compile(r"(?:^|[\s_-])(?:\w*menu\d?|nav\w*|\w*toc\d?|topbar|breadcrumbs?|sidebar)(?=$|[\s_-])", re.IGNORECASE)
RELATED = frozenset({"related", "see-also", "seealso"})
# Words that make an element a note by themselves: kinds that pages use for nothing else, and words for notes.
NOTES = frozenset(
    """note tip warning important caution danger hint attention seealso theorem lemma proof corollary proposition remark
    versionadded versionchanged versionremoved deprecated topic sidebar""".split()
)
CONTENTS_CLASSES = frozenset({"toc", "table-of-contents"})
# Words that pages of any origin use.
_ANY = HtmlRules(
    furniture=frozenset(
        """breadcrumb breadcrumbs pagination prev-next edit-page-link skip-link skip-to-content back-to-top noprint
        metadata-stub katex-html hideme footnote-back footnote-backref data-footnote-backref reversefootnote sourceLink
        functionSourceLink dont-index onthispage sidebar-overlay footer TOCbug""".split()
    ),
    furniture_ids=frozenset({"toc", "footer", "site-nav", "sidebar", "navbar", "breadcrumbs", "cookie-banner"}),
    notes=NOTES | {"see-also", "admonition", "alert"},
    note_prefixes=frozenset({"admonition", "alert"}),
    note_titles=frozenset({"admonition-title", "admonition-heading", "alert-title", "alert-heading", "title"}),
    code_languages=frozenset({"language", "highlight"}),
    # Of highlighters of code, where they hold nothing else.
    line_numbers=frozenset(
        """linenos lineno linenodiv ln lnum gutter gl hljs-ln-numbers hljs-ln-n linenumber line-number linenumbers
        code-line-number sourceLineNo source-line-no""".split()
    ),
    see_also=frozenset({"seealso", "see-also", "related-topics", "related-links", "relatedlinks", "seealsolist"}),
    side_notes=frozenset({"marginnote", "sidenote"}),
    formula_images=frozenset({"math", "latex", "tex"}),
)
_WORDS = tuple(field.name for field in fields(HtmlRules) if isinstance(getattr(_ANY, field.name), frozenset))
_KINDS = NOTES.union("error todo info success question failure bug example abstract summary quote definition".split())
_NOTE_ELEMENTS = frozenset({"div", "aside", "p", "blockquote", "details"})
_NOTE_ROLES = {"note": "note", "doc-tip": "tip", "doc-notice": "note"}
_HIGHLIGHTERS = frozenset({"hljs", "sourcecode", "prettyprint", "prism-code"})
# And the words of highlighters that name none either.
_NO_LANGUAGES = tags.NO_LANGUAGES | frozenset("undefined auto numberlines lineanchors linenums copy copyable".split())
# What a page's first link says that passes over its navigation, in the languages that themes are written in.
_SKIP_TEXT = re.compile(
    r"(?:skip|jump)\s+(?:(?:directly\s+)?to\s+)?(?:the\s+)?(?:main|page|content|article|nav|search)|zum\s+(?:haupt)?inhalt"
    r"|(?:aller|passer)\s+(?:directement\s+)?au\s+contenu|(?:saltar|ir|pasar)\s+al?\s+contenido|(?:vai|salta)\s+al\s+contenuto"
    r"|(?:pular|saltar|ir)\s+para\s+o\s+conteúdo|(?:spring\s+)?naar\s+(?:de\s+)?(?:hoofd)?inhoud|(?:перейти|перейдите)\s+к"
    r"|跳[到至转過过]|コンテンツ[にへ]スキップ|メインコンテンツ",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, eq=False)
class Rules:
    """Rules of all generators, as flat sets; a theme's rules hold on every page and come first."""

    words: HtmlRules
    """The words of all together."""
    pages: tuple[tuple[SiteGenerator, HtmlPages], ...]
    by_meta: tuple[tuple[str, SiteGenerator], ...]
    theme: HtmlRules
    changes: tuple[Callable[[Any], None], ...]
    signs: frozenset[str]
    """Classes that say what an element is, if it is not furniture."""
    kind_at_end: re.Pattern[str]
    language: re.Pattern[str]
    language_around: re.Pattern[str]
    beside: str
    """A selector of what is not content, wherever it is."""
    navigation: str

    def made_by(self, generator: object) -> SiteGenerator | None:
        """Return the generator that a page's `<meta name=generator>` names."""
        name = generator.lower() if isinstance(generator, str) else ""
        return next((each for start, each in self.by_meta if name.startswith(start)), None) if name else None


@lru_cache(maxsize=8)
def rules_of(theme: str = "") -> Rules:
    """Return the rules of all generators, and of a user's theme in TOML. Raises UsageError if that is none."""
    own = load_plugins().theme(theme)
    generators = (own, *load_plugins().site_generators.values())
    words = HtmlRules(
        **{name: getattr(_ANY, name).union(*(getattr(each.html, name) for each in generators)) for name in _WORDS}
    )
    ends = "|".join(map(re.escape, sorted(words.note_prefixes, key=len, reverse=True)))
    around = "|".join(map(re.escape, sorted(words.code_languages, key=len, reverse=True)))
    sidebars = [f".{each}" for each in sorted(words.furniture) if "sidebar" in each]
    bars = [f".{each}" for each in sorted(words.furniture) if each.startswith("nav")]
    return Rules(
        words,
        tuple((each, pages) for each in generators for pages in each.html.pages),
        tuple((start, each) for each in generators for start in each.html.meta),
        own.html,
        tuple(change for each in generators if (change := each.html.change) is not None),
        words.see_also | words.notes | words.side_notes | words.callouts | {"math", "figure"},
        re.compile(rf"(?:{ends})-{{1,2}}(\w+)"),
        # language-c, lang-c, brush: c
        re.compile(rf"(?:^|\s)(?:{around}|lang|src|brush)[-:]\s*([\w+#.-]+)", re.IGNORECASE),
        # Around code; `lang-` would be the page's own language there.
        re.compile(rf"(?:^|\s)(?:{around})-([\w+#.-]+)"),
        ", ".join(("nav, header, footer, aside, button, dialog, [role=navigation], [role=search]", *sidebars)),
        ", ".join(("nav", *bars)),
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


def note_kind(name: str, words: Sequence[str], role: str, rules: Rules) -> str | None:
    """Return what kind of note an element is: "" if it does not say; None if it is not a note."""
    if role in _NOTE_ROLES:
        return _NOTE_ROLES[role]
    if name not in _NOTE_ELEMENTS:
        return None
    known = [word.lower() for word in words]
    is_page = ("topic" in known and len(known) > 1) or ("sidebar" in known and name != "aside")  # as DITA's topics are
    if is_page or known == ["alert"] or rules.words.notes.isdisjoint(known):
        return None
    for word in known:
        if word in _KINDS:
            return word
        if word == "see-also":
            return "seealso"
    ends = (match[1] for word in known if (match := rules.kind_at_end.fullmatch(word)) is not None)
    return next((end for end in ends if end in _KINDS), "details" if name == "details" else "")


def kind_said(text: str) -> str:
    """Return the kind of note that a note's first words name; "" if they name none."""
    word = text.split("\n", 1)[0].split("|", 1)[0].strip(" :.!").lower()
    return word if word in _KINDS else ""


def is_note_title(words: Sequence[str], rules: Rules) -> bool:
    """Whether an element in a note is its title. CSS modules add a hash to a class, after an underscore."""
    titles = rules.words.note_titles
    return any(word in titles or word.partition("_")[0] in titles for word in words)


def language(classes: str, rules: Rules) -> str:
    """Return the language that the class of preformatted text, or of the code in it, names; "" without one."""
    match = rules.language.search(classes)
    if match is not None:
        return _real(match[1])
    words = classes.lower().split()
    if _HIGHLIGHTERS.isdisjoint(words):
        return ""
    return next((name for word in words if word not in _HIGHLIGHTERS and (name := _real(word))), "")


def language_around(classes: str, rules: Rules) -> str:
    """Return the language that the class of an element around preformatted text names; "" without one."""
    match = rules.language_around.search(classes)
    return _real(match[1]) if match is not None else ""


def _real(name: str) -> str:
    name = name.lower().strip("-.")
    return name if any(character.isalpha() for character in name) and name not in _NO_LANGUAGES else ""
