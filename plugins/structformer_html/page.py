"""Tells a TreeBuilder what a page's elements and texts are, as they come one after the other."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from urllib.parse import unquote

from selectolax.lexbor import LexborNode
from structformer.document import LinkKind, MarkKind
from structformer.formats import OF_MATHML, Script
from structformer.text import is_see_also

from structformer_html import elements
from structformer_html.elements import CONTENTS_CLASSES, FURNITURE, HEADINGS, MAYBE_FURNITURE, SPANS, Attributes, Rules
from structformer_html.tables import TableBuilder
from structformer_html.tags import SCRIPTS

# of a class
_SAYS_SOMETHING, _IS_FURNITURE, _NUMBERS_LINES, _MAY_BE_MENU, _IS_LINK_OF_FURNITURE = 1, 2, 4, 8, 16
_LAYOUT_ROLES = frozenset({"presentation", "none"})
# By what a table is, what its rows are.
_ROWS: dict[MarkKind | None, MarkKind] = {MarkKind.TABLE: MarkKind.ROW, MarkKind.LIST: MarkKind.ITEM}
# Of a note, which stands before its title or in its place.
_ICON = re.compile(r"(?:.*/)?(?:note|tip|warning|caution|important)\.(?:png|svg|gif)", re.IGNORECASE)
# Texts of links to where they stand, or back from a note; and of a heading's links to itself.
_PRE = ("pre", "listing", "textarea", "emu-alg", "emu-grammar")  # and the steps and rules of ECMA's standards
_SIGNS = frozenset({"¶", "§", "\U0001f517", "^", "↩", "↑", "⤴", "⏎", "ⓘ"})
_ANCHOR_SIGNS = _SIGNS | {"", "#"}
_TO_THE_TOP = re.compile(
    r"[\[(]top[\])]|[\[(]?(?:back|return|go)\s+to\s+(?:the\s+)?top(?:\s+of\s+(?:the\s+)?page)?[\])]?", re.IGNORECASE
)
_OF_GOOGLE = re.compile(r"https?://www\.google\.com/url\?q=([^&]+)&sa=D&")  # around each link of an exported document
_BETWEEN_WORDS = re.compile(r"(?<=[\w>\],?])\xa0(?=[A-Za-z_])")  # of code, that its line be not broken there
_SOFT_BREAK = re.compile(r"(?<=[!-~])\u200b|\u200b(?=[!-~])")  # where a long name may go on in the next line
_UNSEEN = frozenset("\u200b\u200c\u200d\u2060\ufeff")  # characters that hold the place of a text
_TEX_START = ("\\(", "\\[", "$", "\\begin{")  # how a formula's source begins, where it is not set as text


@dataclass(slots=True)
class _Zone:
    """An element that says by its class or role what it is."""

    mark: MarkKind | None = None
    detail: str = ""
    related: bool = False
    language: str = ""
    table: MarkKind = MarkKind.TABLE  # what a table is that stands directly in it
    closing: str = ""  # what follows it
    depth: int = 0  # elements open in it


@dataclass(slots=True)
class _Table:
    """A table that is open."""

    kind: MarkKind | None  # none, if it is a layout
    has_titles: bool = False
    is_line: bool = False  # its rows are lines of words


class Page:
    """Receives starts and ends of elements and the text between them.

    base: what a relative target is joined to. furniture: whether navigation and its like are left out. content: whether
    all that is read is known to be content, so that asides are. contents: whether lists of contents are text too.
    rules: the words of generators. more_furniture: classes that are navigation on this page.
    """

    def __init__(
        self,
        builder: TableBuilder,
        base: Callable[[str], str],
        rules: Rules,
        *,
        furniture: bool = True,
        content: bool = False,
        contents: bool = False,
        more_furniture: frozenset[str] = frozenset(),
    ) -> None:
        self._builder = builder
        self._flow, self._space = builder.flow, builder.space
        self._open_mark, self._close_mark = builder.open_mark, builder.close_mark
        self._marked_text = builder.marked_text
        self._base, self._rules, self.words = base, rules, rules.words
        self.without_furniture = furniture
        # seen since the last text: they name the heading that comes next, else the current section
        self._ids: list[str] = []
        self._links: list[tuple[bool, bool]] = []  # anchors not yet closed: whether each has a target, marks a note
        self._first_cell = True
        self._after_break = False
        self._preformatted = self._codes = 0
        self._code_due = False  # preformatted text is code from its next text on
        self._language = ""
        self._formula_due: MarkKind | None = None  # if the next text is TeX
        # Of the elements open in MathML: what their next children are, the last first; how many scripts each opened.
        self._math: list[tuple[list[Script], int]] = []
        self._tables: list[_Table] = []
        self.is_title_row = False  # whether the row that comes next has column titles only
        self._row_is_lost = False  # a heading in a cell has closed it
        self.after_image: str | None = None  # the text after the image that comes next, which may repeat what it says
        self._flags = cache(self._classified)
        self.zones: list[_Zone] = []
        self._related = 0  # zones that list related pages
        self.has_unnamed_notes = False
        self._term_is_see_also = False
        self._in_term: list[str] | None = None
        self.in_heading = self.heading_has_text = False
        self.heading_element = ""
        self.inside = {"article": int(content), "svg": 0, "thead": 0}  # how many of each are open
        self._is_contents = contents
        self._furniture_classes = self.words.furniture.union(more_furniture, () if contents else CONTENTS_CLASSES)
        blocks = {name: (builder.paragraph, kind) for name, kind in elements.BLOCKS.items()}
        blocks |= {name: (builder.line, kind) for name, kind in elements.BLOCK_LINES.items()}
        self.starts: dict[str, Callable[[str, Attributes], None]] = {
            **dict.fromkeys(elements.PARAGRAPHS, self._paragraph),
            **{name: partial(self._begin_block, *block) for name, block in blocks.items()},
            **dict.fromkeys(SPANS, self._span),
            **dict.fromkeys(SCRIPTS, lambda name, element: builder.open_script(SCRIPTS[name])),
            **dict.fromkeys(elements.MATHML, self._math_start),
            **dict.fromkeys(HEADINGS, lambda name, element: self._open_heading(HEADINGS[name])),
            **dict.fromkeys(("br", "option"), self._line),
            **dict.fromkeys(("td", "th"), self._cell),
            **dict.fromkeys(("img", "iframe", "video", "audio", "source", "embed", "frame", "object"), self._embed),
            "q": lambda name, element: self.text("“"),
            "reading": lambda name, element: self.text("("),
            **dict.fromkeys(self.inside, partial(self._count, 1)),
            "details": self._details,
            "ol": self._ordered,
            "table": self._table,
            "tr": self._row,
            **dict.fromkeys(("code", "kbd", "samp", "tt"), self._code),
            **dict.fromkeys(("script", "annotation"), self._tex),
            **dict.fromkeys(("a", "area"), self._anchor),
            **dict.fromkeys(_PRE, self._pre),
            "dt": self._term,
        }
        self.ends: dict[str, Callable[[], None]] = {
            **dict.fromkeys((*elements.PARAGRAPHS, "details"), self._paragraph),
            **{name: partial(self._end_block, *block) for name, block in blocks.items()},
            **{name: partial(self._end_span, kind) for name, kind in SPANS.items()},
            **dict.fromkeys(SCRIPTS, builder.close_script),
            **dict.fromkeys(elements.MATHML, self._math_end),
            **dict.fromkeys(HEADINGS, self._end_heading),
            **dict.fromkeys(("td", "th"), self._end_cell),
            **dict.fromkeys(("script", "annotation"), self._end_tex),
            "option": builder.line,
            **dict.fromkeys(("code", "kbd", "samp", "tt"), self._end_code),
            "q": lambda: self.text("”"),
            "reading": lambda: self.text(")"),
            **{name: partial(self._count, -1, name) for name in self.inside},
            "ol": partial(self._end_block, builder.paragraph, MarkKind.LIST),
            "dd": partial(self._end_block, builder.paragraph, MarkKind.DEFINITION),
            "table": self._end_table,
            "tr": self._end_row,
            "a": self._end_anchor,
            **dict.fromkeys(_PRE, self._end_pre),
            "dt": self._end_term,
        }

    def skips(self, name: str, element: Attributes) -> bool:
        """Whether an element and all in it is not content."""
        if name in elements.NEVER:
            if name == "script" and (element.get("type") or "").startswith("math/tex"):
                return False  # MathJax's source of a formula
            return name not in elements.FALLBACKS or self.without_furniture
        if self.inside["svg"] and name in elements.SVG_DESCRIPTIONS:
            return True
        if not element:
            may_be = name in MAYBE_FURNITURE and not self.inside["article"]
            return self.without_furniture and (name in FURNITURE or may_be)
        classes = element.get("class")
        if classes and name != "pre" and self._flags(classes) & (_IS_FURNITURE | _IS_LINK_OF_FURNITURE * (name == "a")):
            # In code, classes are a highlighter's; but links that themes add have these.
            return name == "a" or (
                self.without_furniture and (not self.in_code or not self.words.callouts.isdisjoint(classes.split()))
            )
        if name == "aside" and elements.is_aside_of_content(element, self._rules):
            return False
        return self.without_furniture and (
            name in FURNITURE
            or (
                (element.get("role") or "") in elements.FURNITURE_ROLES
                and not elements.is_aside_of_content(element, self._rules)
            )
            or ((element.get("id") or "") in self.words.furniture_ids and not self.in_code and name != "pre")
            or (name in MAYBE_FURNITURE and not self.inside["article"])
        )

    def may_be_menu(self, name: str, element: Attributes) -> bool:
        """Whether an element is a menu or a table of contents by its class or id, if it holds links."""
        if name not in elements.MENUS or not self.without_furniture or self._is_contents or self.in_code:
            return False
        of_class = self._flags(element.get("class") or "") & _MAY_BE_MENU
        return bool(of_class or elements.MENU.search(element.get("id") or ""))

    def _classified(self, classes: str) -> int:
        """Return what is to be done with elements of a class, as flags."""
        words = classes.split()
        numbers = not self.words.line_numbers.isdisjoint(words)
        signs = not self._rules.signs.isdisjoint(words) or "highlight-" in classes or "language-" in classes
        flags = _SAYS_SOMETHING * signs | _NUMBERS_LINES * numbers
        flags |= _IS_FURNITURE * (not self._furniture_classes.isdisjoint(words))
        flags |= _IS_LINK_OF_FURNITURE * (not elements.FURNITURE_LINKS.isdisjoint(words))
        return flags | _MAY_BE_MENU * (elements.MENU.search(classes) is not None)

    def may_number_lines(self, element: Attributes) -> bool:
        """Whether an element holds numbers of lines of code by its class, or its style, if it holds numbers."""
        if self._preformatted and "user-select:none" in (element.get("style") or ""):
            return True
        return bool(self._flags(element.get("class") or "") & _NUMBERS_LINES)

    @property
    def in_code(self) -> bool:
        """Whether code is open, in lines of its own or in a line of text."""
        return self._preformatted > 0 or self._codes > 0

    def skips_sign(self, element: Attributes, text: str) -> bool:
        """Whether a link only shows its address, as "#" or an icon does in a heading, or leads back, and is left out."""
        sign, target = text.strip().rstrip("\ufe0e\ufe0f"), element.get("href") or ""
        signs = _ANCHOR_SIGNS if self.in_heading else _SIGNS if self.without_furniture else ()
        shown = sign in signs or (bool(signs) and _TO_THE_TOP.fullmatch(sign) is not None and not self.in_heading)
        if (not shown and (sign or not self._preformatted)) or not (target.startswith("#") or (sign and "#" in target)):
            return False
        return self.keeps_place(element)

    def keeps_place(self, element: Attributes) -> bool:
        """Keep the names of an element that is left out: always True."""
        self._ids += filter(None, (element.get("id"), element.get("name")))
        return True

    @property
    def precedes_text(self) -> bool:
        """Whether a link here can be one that leads past the navigation."""
        return self.without_furniture and self._builder.is_empty

    @property
    def in_note(self) -> bool:
        """Whether the innermost element that says what it is makes a note."""
        return bool(self.zones) and self.zones[-1].mark is MarkKind.NOTE

    def skips_aside(self, node: LexborNode) -> bool:
        """Whether an aside in the content is a list of links, or says when the page changed, and is not a note."""
        if not self.without_furniture or elements.is_aside_of_content(node.attributes, self._rules):
            return False
        linked = sum(len(each.text(deep=True).strip()) for each in node.css("a[href], time"))
        return linked > elements.MOSTLY_LINKS * len(" ".join(node.text(deep=True).split()))

    def start(self, name: str, element: Attributes) -> None:
        if not element and not self.zones:
            if (handler := self.starts.get(name)) is not None:
                handler(name, element)
            return
        if (identifier := element.get("id")) is not None:
            self._ids.append(identifier)
        if self.zones:
            self.zones[-1].depth += 1
        role, classes = elements.role_of(element), element.get("class") or ""
        says = role or (classes and not self._preformatted and (self.zones or self._flags(classes) & _SAYS_SOMETHING))
        if says and (zone := self._zone(name, classes, role)) is not None:
            self._open_zone(zone)
        if role == "heading" and name not in HEADINGS and "alert-heading" not in classes.split():
            level = element.get("aria-level") or ""
            self._open_heading((int(level) if level.isdecimal() and len(level) < 3 else 0) or 2)
            self.heading_element = name
        elif (handler := self.starts.get(name)) is not None:
            handler(name, element)

    def end(self, name: str) -> None:
        if self.heading_element == name:
            self._end_heading()
        elif (handler := self.ends.get(name)) is not None:
            handler()
        if self.zones:
            self._end_zone()

    def _zone(self, name: str, classes: str, role: str) -> _Zone | None:
        """Return the zone that an element's class or role declares, if any."""
        words = classes.split()
        if role or not self._rules.signs.isdisjoint(words):
            related = not self.words.see_also.isdisjoint(words)
            if (kind := elements.note_kind(name, words, role, self._rules)) is not None:
                return _Zone(MarkKind.NOTE, kind, related)
            if not self.words.callouts.isdisjoint(words):
                return _Zone(table=MarkKind.LIST)
            if related:
                return _Zone(related=True)
            if "math" in words and name in ("span", "div"):
                shown = name == "div" or "display" in words
                self._formula_due = MarkKind.FORMULA if shown else MarkKind.FORMULA_SPAN
                self.zones.append(_Zone(self._formula_due))  # its text opens its mark, if it is TeX
                return None
            if name == "span" and not self.words.side_notes.isdisjoint(words):
                self.text(" (")
                return _Zone(closing=")")
            if "figure" in words and name == "div":
                return _Zone(MarkKind.FIGURE)
        if "highlight-" in classes or "language-" in classes:
            return _Zone(language=elements.language_around(classes, self._rules)) if name in ("div", "figure") else None
        around = self.zones[-1].mark if self.zones and name in ("p", "div") else None
        if around is MarkKind.NOTE and elements.is_note_title(words, self._rules):
            return _Zone(MarkKind.TITLE)
        return _Zone(MarkKind.CAPTION) if around is MarkKind.FIGURE and "caption" in words else None

    def _open_zone(self, zone: _Zone) -> None:
        self.zones.append(zone)
        self._related += zone.related
        if zone.mark is not None:
            self._builder.open_mark(zone.mark, zone.detail)
            if zone.mark is MarkKind.NOTE and not zone.detail:
                self.has_unnamed_notes = True

    def _end_zone(self) -> None:
        """The end of an element in a zone, or of the zone."""
        zone = self.zones[-1]
        if zone.depth:
            zone.depth -= 1
            return
        self.zones.pop()
        self._related -= zone.related
        if zone.closing:
            self.text(zone.closing)
        if zone.mark is not None:
            self._builder.close_mark(zone.mark)
            self._formula_due = None
        if self.zones:
            self.zones[-1].depth -= 1

    def text(self, text: str) -> None:
        if "\u200b" in text:
            text = _SOFT_BREAK.sub("", text)
        if text in _UNSEEN:
            return
        if self._preformatted and not self._builder.in_heading:
            self.flush_ids()
            if text.strip("\n"):
                self._open_code()
            self._builder.verbatim(_BETWEEN_WORDS.sub(" ", text) if "\xa0" in text else text)
            return
        if text.isspace():
            self._space()
            return
        if self._ids:
            self.flush_ids()
        self.heading_has_text, self._after_break = self.in_heading, False
        if self._formula_due is not None:
            if text.lstrip().startswith(_TEX_START):
                self._builder.open_mark(self._formula_due)
            self._formula_due = None
        if self._in_term is not None:
            self._in_term.append(text)
        self._flow(text)

    def flush_ids(self) -> None:
        """Name the current section by what has been seen since the last text."""
        self._builder.add_anchor(*self._ids)
        self._ids.clear()

    def _paragraph(self, name: str = "", element: Attributes | None = None) -> None:
        """A block begins or ends, which in preformatted text is a line."""
        self._builder.line() if self._preformatted else self._builder.paragraph()

    def _count(self, step: int, name: str, element: Attributes | None = None) -> None:
        """One more or less of an element is open."""
        self.inside[name] += step
        if name != "svg":
            self._builder.paragraph()

    def _begin_block(self, part: Callable[[], None], kind: MarkKind, name: str, element: Attributes) -> None:
        part()
        self._open_mark(kind)

    def _end_block(self, part: Callable[[], None], kind: MarkKind) -> None:
        part()
        self._close_mark(kind)

    def span_text(self, kind: MarkKind, text: str) -> None:
        """An element without attributes whose content is a text: the same as its start, the text and its end."""
        if self._preformatted:
            self.text(text)
            return
        is_plain = not (self._ids or self._formula_due or self.in_heading or self._after_break)
        if is_plain and self._in_term is None and "\u200b" not in text:
            self._marked_text(kind, text)
        else:
            with self._builder.marked(kind):
                self.text(text)

    def _span(self, name: str, element: Attributes) -> None:
        if not self._preformatted:
            self._open_mark(SPANS[name])

    def _end_span(self, kind: MarkKind) -> None:
        if not self._preformatted:
            self._close_mark(kind)

    def _math_start(self, name: str, element: Attributes) -> None:
        opened = 0
        if self._math and self._math[-1][0]:
            self._builder.open_script(self._math[-1][0].pop())
            opened += 1
        if name == "msqrt":
            self._builder.text("√")
            self._builder.open_script(Script.OPERAND)
            opened += 1
        self._math.append((list(reversed(OF_MATHML.get(name, ()))), opened))

    def _math_end(self) -> None:
        for _ in range(self._math.pop()[1] if self._math else 0):
            self._builder.close_script()

    def _code(self, name: str, element: Attributes) -> None:
        self._codes += 1
        if self._preformatted:
            self._language = _language(element, self._rules) or self._language
        else:
            self._open_mark(MarkKind.CODE_SPAN)

    def _end_code(self) -> None:
        self._codes -= 1
        self._end_span(MarkKind.CODE_SPAN)

    def _tex(self, name: str, element: Attributes) -> None:
        """The source of a formula: MathJax's scripts, MathML's annotations; other scripts are never read."""
        kind = (element.get("type") or element.get("encoding") or "").lower()
        if "tex" in kind:
            self._open_mark(MarkKind.FORMULA if "mode=display" in kind else MarkKind.FORMULA_SPAN)

    def _end_tex(self) -> None:
        self._close_mark(MarkKind.FORMULA_SPAN)
        self._close_mark(MarkKind.FORMULA)

    def _ordered(self, name: str, element: Attributes) -> None:
        self._builder.paragraph()
        start = (element.get("start") or "1").strip()[:9] if element else "1"
        self._open_mark(MarkKind.LIST, str(int(start)) if start.removeprefix("-").isdecimal() else "1")

    def _details(self, name: str, element: Attributes) -> None:
        self._builder.paragraph()
        if not self.zones or self.zones[-1].depth:  # else its class has said what kind of note it is
            self._open_zone(_Zone(MarkKind.NOTE, "details"))

    def _line(self, name: str, element: Attributes) -> None:
        """A break, of which two are a paragraph's end; or an option of a form."""
        if name == "br" and self._preformatted:
            self._builder.verbatim("\n")
        else:
            self._builder.paragraph() if self._after_break else self._builder.line()
            self._after_break = name == "br"

    def _table(self, name: str, element: Attributes) -> None:
        self._builder.paragraph()
        is_line = not self.words.line_tables.isdisjoint((element.get("class") or "").split())
        kind: MarkKind | None = MarkKind.TABLE
        if is_line or self._preformatted or (element and element.get("role") in _LAYOUT_ROLES):
            kind = None
        elif self.zones and self.zones[-1].depth == 1:
            kind = self.zones[-1].table
        self._tables.append(_Table(kind, is_line=is_line))
        if kind is not None:
            self._open_mark(kind, "1" if kind is MarkKind.LIST else "")

    def _end_table(self) -> None:
        self._builder.paragraph()
        if self._tables and (kind := self._tables.pop().kind) is not None:
            self._close_mark(kind)

    def _row(self, name: str, element: Attributes) -> None:
        self._builder.line()
        self._first_cell = True
        if self._tables and (row := _ROWS.get(self._tables[-1].kind)) is not None:
            is_title = row is MarkKind.ROW and (self.is_title_row or self.inside["thead"] > 0)
            self._tables[-1].has_titles |= is_title
            self._open_mark(row, "header" if is_title else "")
        self.is_title_row = self._row_is_lost = False

    def _end_row(self) -> None:
        self._builder.line()
        if self._tables and (row := _ROWS.get(self._tables[-1].kind)) is not None:
            self._close_mark(row)

    def _cell(self, name: str, element: Attributes) -> None:
        if not self._tables or self._tables[-1].kind is not MarkKind.TABLE:
            self._space() if self._tables and self._tables[-1].is_line else self._builder.line()
            return
        if self._row_is_lost:
            self._open_mark(MarkKind.ROW)
            self._row_is_lost = False
        self._builder.open_cell(first=self._first_cell, as_words=self._tables[-1].has_titles)
        self._first_cell = False
        self._open_mark(MarkKind.CELL)

    def _end_cell(self) -> None:
        if self._tables and self._tables[-1].kind is MarkKind.TABLE:
            self._first_cell |= self._builder.close_cell()
            self._close_mark(MarkKind.CELL)

    def _open_heading(self, level: int) -> None:
        if self._builder.in_data:
            self._builder.paragraph()
            return
        ids = tuple(self._ids)
        self._ids.clear()
        self._builder.open_heading(level, ids)
        self.in_heading, self.heading_has_text = True, False

    def _end_heading(self) -> None:
        self.flush_ids()
        self.heading_element = ""
        self.in_heading = False
        if self._builder.close_heading() is None:  # text of a cell, or too long for a title
            self._builder.paragraph()
            return
        # A heading closes all marks. What surrounds it goes on below it: a note that has a heading,
        # preformatted text.
        if self.zones and self.zones[-1].mark is MarkKind.NOTE:
            self._open_mark(MarkKind.NOTE, self.zones[-1].detail)
        self._code_due = bool(self._preformatted)
        self._row_is_lost = bool(self._tables)

    def _pre(self, name: str, element: Attributes) -> None:
        self._builder.paragraph()
        self._preformatted += 1
        if self._preformatted == 1:
            self._close_mark(MarkKind.CODE_SPAN)  # <code> around it
            around = self.zones[-1].language if self.zones else ""
            self._language = _language(element, self._rules) or around
            self._code_due = True

    def _end_pre(self) -> None:
        if self._preformatted:
            self._preformatted -= 1
        self._builder.paragraph()
        if not self._preformatted:
            self._close_mark(MarkKind.CODE)
            self._code_due = False

    def _open_code(self) -> None:
        if self._code_due:
            self._open_mark(MarkKind.CODE, self._language)
            self._code_due = False

    def _term(self, name: str, element: Attributes) -> None:
        self._builder.line()
        self._open_mark(MarkKind.TERM)
        self._in_term = []
        self._term_is_see_also = False

    def _end_term(self) -> None:
        if self._in_term is not None:
            self._term_is_see_also = is_see_also(" ".join("".join(self._in_term).split()))
        self._in_term = None
        self._builder.line()
        self._close_mark(MarkKind.TERM)

    def _anchor(self, name: str, element: Attributes) -> None:
        if (identifier := element.get("name")) and name == "a":
            self._ids.append(identifier)
        target = element.get("href")
        classes = element.get("class")
        is_sign = classes and not self.words.anchors.isdisjoint(classes.split())
        if is_sign or (target and target[:11].lower() == "javascript:"):
            target = None
        if target is not None and (wrapped := _OF_GOOGLE.match(target)) is not None:
            target = unquote(wrapped[1])
        if name == "area":
            if target is not None:
                self._builder.add_link(self._base(target), element.get("alt") or "")
            return
        # HTML allows no link inside a link: a second <a> ends the first.
        if target is not None and any(leads for leads, _ in self._links):
            self._builder.close_link()
            for _ in range(sum(marks for _, marks in self._links)):
                self._builder.close_script()
            self._links.clear()
        marks_note = elements.is_note_mark(element) if element else False
        if marks_note:
            self._builder.open_script(Script.RAISED)
        self._links.append((target is not None, marks_note))
        if target is not None:
            is_related = not elements.RELATED.isdisjoint((element.get("rel") or "").lower().split())
            related = self._related > 0 or self._term_is_see_also or is_related
            self._builder.open_link(self._base(target), LinkKind.SEE_ALSO if related else LinkKind.HYPERLINK)

    def _end_anchor(self) -> None:
        leads, marks_note = self._links.pop() if self._links else (False, False)
        if leads:
            self._builder.close_link()
        if marks_note:
            self._builder.close_script()

    def _embed(self, name: str, element: Attributes) -> None:
        target = element.get("data" if name == "object" else "src")
        after, self.after_image = self.after_image, None
        if not target:
            return
        if target.startswith("data:"):
            target = "data:"
        alt = " ".join((element.get("alt") or element.get("title") or "").split())
        if after is not None and _ICON.fullmatch(target):
            icon = alt.strip("[]").lower()
            if after.lower().startswith(icon) and not after[len(icon) : len(icon) + 1].isalnum():
                self._first_cell = True  # its cell says nothing, so none stands before the title's
            else:
                self._builder.text(alt)
            return
        if alt:
            self._open_code()
        formula = elements.formula_image(element.get("class") or "", self._rules)
        with self._builder.marked(formula):
            self._builder.add_image(self._base(target), alt)


def _language(element: Attributes, rules: Rules) -> str:
    if not element:
        return ""
    named = f"lang-{element.get('data-lang') or element.get('data-language') or ''}"
    return elements.language(element.get("class") or "", rules) or elements.language(named, rules)
