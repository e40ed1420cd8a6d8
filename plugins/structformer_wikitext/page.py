"""Reads a page that was taken apart, line by line, and tells a TreeBuilder what it finds."""

import re
from collections.abc import Sequence
from html import unescape
from urllib.parse import unquote

from structformer.document import LinkKind, MarkKind
from structformer.formats import TreeBuilder

from structformer_html import SCRIPTS, SPANS, Tag, parse_attributes
from structformer_wikitext.markup import (
    ADDRESS,
    MARK,
    MARKS,
    PROTOCOLS,
    URL_CHARACTERS,
    Links,
    Media,
    Page,
    Part,
    Reference,
    Verbatim,
)
from structformer_wikitext.parts import CODE_LINES, Elements, Lists, Tables
from structformer_wikitext.site import Site

_HEADING = re.compile(r"(=+)(.*?)(=+)[ \t]*(?:\x7f\d+\x7f[ \t]*)*", re.DOTALL)
_LIST = re.compile(r"[*#:;]+[ \t]*")
_START = re.compile(r"''|\[|<|\x7f|~~~|-\{")
_GAP = r"(?:[ \t\u00a0]|&nbsp;|&\#0*160;|&\#[xX]0*[aA]0;)"
_LONGEST_LABEL = 1000  # of an external link; each of many without an end reads no further
_TOKEN = re.compile(
    rf"""(?P<quotes>'{{2,}})
      |\[\[(?P<target>[^\[\]{{}}<>\n|\x7f\#]*(?:\#[^\[\]{{}}\n|\x7f]*)?)(?P<shown>\|(?:[^\[\]]|\[(?!\[)[^\[\]]*\]|\[(?!\[)|\](?!\]))*)?\]\](?P<closing>\](?!\]))?
      |\[(?P<address>(?:(?i:{PROTOCOLS})|//){URL_CHARACTERS[:-1]}\[]+|(?:(?i:https?):)?//\[[0-9a-fA-F:.]+\]{URL_CHARACTERS}*)
         (?P<label>(?:[ \t\u00a0\u3000'<"\x7f]|(?=\[))(?:[^\]\n\[]|\[(?!\[)){{0,{_LONGEST_LABEL}}})?(?:\]|(?=\[\[))
      |(?P<tag></?(?P<name>[a-zA-Z][a-zA-Z0-9-]*)(?:[\s/][^<>]*)?>)
      |\x7f(?P<mark>\d+)\x7f
      |(?P<signature>~{{3,5}})
      |-\{{(?:(?P<flags>[-a-zA-Z; ]*)\|)?(?P<rule>\s*[a-z-]+\s*:(?!//))?(?P<variant>[^{{}}\n]*)\}}-""",
    re.VERBOSE,
)
# What is a link in plain text: an address, or the number of a series that everybody knows.
_IN_TEXT = re.compile(
    rf"""(?<![\w/])(?P<url>(?i:{PROTOCOLS})(?:\[[0-9a-fA-F:.]+\])?{URL_CHARACTERS}*)
      |\b(?P<magic>(?P<series>RFC|PMID){_GAP}+(?P<number>\d+)\b|ISBN{_GAP}+(?P<isbn>(?:97[89](?:{_GAP}|-)?)?(?:\d(?:{_GAP}|-)?){{9}}[\dXx])\b)""",
    re.VERBOSE,
)
_INVISIBLE = re.compile("[\u00ad\u200b-\u200d\u2060\ufeff]")
_NO_TITLE = re.compile(r"[<>\[\]|{}]|%[0-9a-fA-F]{2}|&\w+;")
_OUTSIDE = re.compile(rf"(?:{PROTOCOLS}|//)", re.IGNORECASE)
_PLAIN_LINK = re.compile(
    r"\[\[([^\[\]{}<>\n|\x7f%&_:#/]+)(?:\|([^\[\]<&\x7f~{\n]*))?\]\](?!\])([a-zäöüßåæøéèêàâçñóíúа-яёα-ωά-ώ]*)"
)
_SCHEMES = re.compile(r"(?i:mailto|news|sips?|sms|tel|urn|bitcoin|geo|magnet|matrix):")
_TRAIL = re.compile(r"[a-zäöüßåæøéèêàâçñóíúа-яёα-ωά-ώ]+")
_BLOCK_TAGS = frozenset(
    "p div blockquote center table ul ol dl section article aside figure header footer main nav "
    "details address hr pre caption tbody thead".split()
)
_LINE_TAGS = frozenset("br li tr dt dd summary figcaption".split())
_CELL_ATTRIBUTES = re.compile(
    r"[^\[\]|{}<\x7f]*(?:\x7f\d+\x7f[^\[\]|{}<\x7f]*)*\|(?!\|)|[^\[\]|{}<\x7f]*(?=<span class=\"answer\">)"
)
# Of a language's variants, as in -{H|zh-cn:a; zh-tw:b}-: flags of rules for the whole page or its title, not shown here.
_HIDDEN_VARIANT = frozenset("TH-")
_MAX_NESTING = 20
_FORMULAS = frozenset({MarkKind.FORMULA, MarkKind.FORMULA_SPAN})
_LONG_LINE = 200  # characters
_TAG_NAMES = re.compile(r"</?([a-zA-Z]+)")
_HTML_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())


class PageReader:
    """Reads one page into a builder. `categories` are those that it names."""

    def __init__(self, builder: TreeBuilder, site: Site) -> None:
        self._builder = builder
        self._site = site
        self._page = Page("")
        self._depth = 0
        self._lists = Lists(builder)
        self._tables = Tables(builder)
        self._elements = Elements(builder)
        self._spans: list[MarkKind] = []  # within the line, opened and not yet closed
        self._cells = 0
        self._captions = 0  # open, of more than one line
        self.categories: list[str] = []

    def read(self, page: Page) -> None:
        """Read the whole page."""
        self._page = page
        self._lines(page.text)

    def _lines(self, text: str) -> None:
        builder = self._builder
        lists = self._lists
        in_paragraph = False
        lines = text.split("\n")
        for number, line in enumerate(lines):
            goes_on, in_paragraph = in_paragraph, False
            if not line:
                if lists.shape:
                    lists.end()
                builder.paragraph()
                continue
            first = line[0]
            if first == "=" and (heading := _HEADING.fullmatch(line)) is not None and self._heading(heading):
                continue
            if first in "*#:;":
                self._list_item(line)
                continue
            if lists.shape and (first != " " or lists.shape != CODE_LINES):
                lists.end()
            if first in "{|!" or (self._tables and first.isspace()):
                if self._table_line(line, lines, number):
                    continue
                if line.startswith("|-|"):  # the next of a page's tabs
                    builder.paragraph()
                    line = line[3:]
            elif first in " \t" and not self._tables and line.lstrip(" :\t").startswith("{|"):
                lists.end()
                if self._table_line(line.lstrip(" :\t")):
                    continue
            elif first == "-" and line.startswith("----"):
                builder.paragraph()
                line = line.lstrip("-")
            elif first == " " and line.strip():
                if goes_on:
                    builder.line()
                if self._is_code(line, lines[number + 1] if number + 1 < len(lines) else ""):
                    lists.code()
                elif lists.shape:
                    lists.end()
                self.inline(line)
                builder.line()
                continue
            elif not line.strip():
                builder.paragraph()
                continue
            is_own = first == MARK and not goes_on and lines[number + 1 : number + 2] in ([], [""])
            if not (is_own and self._formula(line)):
                self.inline(line)
            builder.text(" ")
            in_paragraph = True

    def _heading(self, found: re.Match[str]) -> bool:
        left, title, right = len(found[1]), found[2], len(found[3])
        if not title:
            # A line of equals signs alone: a heading of the one in the middle, when there are three or more.
            left += right
            if left < 3:
                return False
            level = min(6, (left - 1) // 2)
            title = "=" * (left - 2 * level)
        else:
            level = min(left, right, 6)
            title = "=" * (left - level) + title + "=" * (right - level)
        self._tables.forget()
        self._forget()
        self._builder.open_heading(level, ())
        self.inline(title)
        section = self._builder.close_heading()
        if section is not None and section.title:
            self._builder.add_anchor(section.title)
        return True

    def _forget(self) -> None:
        """A heading ends the parts that are open."""
        self._lists.forget()
        self._elements.forget()

    def _is_code(self, line: str, following: str) -> bool:
        """Whether a line that begins with a blank is code, and not a file, a formula or a block of HTML; a sentence
        that stands alone is prose after a template that was left out."""
        is_alone = self._lists.shape != CODE_LINES and following[:1] != " "
        is_prose = len(line) > _LONG_LINE or (line.rstrip()[-1] in ".:!?" and len(line.split()) > 4)
        if self._captions or (is_alone and is_prose):
            return False
        if "<" in line and any(name[1].lower() in _BLOCK_TAGS for name in _TAG_NAMES.finditer(line)):
            return False
        return MARK not in line or not any(
            isinstance(part := self._page.part(match[1]), Media)
            or (isinstance(part, Links) and part.lead)
            or (isinstance(part, Verbatim) and (part.block or part.kind in _FORMULAS))
            for match in MARKS.finditer(line)
        )

    def _formula(self, text: str) -> bool:
        """Read a formula that stands alone; False when it is something else."""
        match = MARKS.fullmatch(text.strip())
        part = self._page.part(match[1]) if match else None
        if not isinstance(part, Verbatim) or part.kind not in _FORMULAS:
            return False
        self._verbatim(part, MarkKind.FORMULA)
        return True

    def _list_item(self, line: str) -> None:
        found = _LIST.match(line)
        assert found is not None
        builder = self._builder
        builder.line()
        rest = line[found.end() :]
        if rest.startswith("{|"):
            self._lists.end()
            self._table_line(rest)
            return
        signs = found[0].rstrip(" \t")
        displayed = signs[-1] == ":" and rest[:1] == MARK
        if displayed and signs == ":" and not self._lists.shape and self._formula(rest):
            builder.line()
            return
        self._lists.item(signs)
        if ";" in found[0] and (term := _split_term(rest)) is not None:
            self.inline(term[0])
            builder.line()
            self._lists.meaning()
            rest = term[1]
        if not (displayed and self._formula(rest)):
            self.inline(rest)
        builder.line()

    def _table_line(self, line: str, lines: Sequence[str] = (), number: int = 0) -> bool:
        """A line of table markup; False when it is none. lines, number: among which and where it stands."""
        builder = self._builder
        line = line.lstrip() if self._tables else line
        if line.startswith("{|"):
            self._tables.begin()
            self._cells = 0
            builder.paragraph()
            return True
        if not self._tables:
            return False
        if line.startswith("|}"):
            self._tables.end()
            builder.paragraph()
            if line[2:].strip():
                self.inline(line[2:])
            return True
        if line.startswith("|-"):
            self._tables.end_row()
            builder.line()
            self._cells = 0
            return True
        if line.startswith("|+"):
            self._tables.end_row()
            builder.line()
            with builder.marked(MarkKind.CAPTION):
                self.inline(_content(line[2:]))
            builder.line()
            return True
        if line[:1] not in ("|", "!"):
            return False
        marks = ("||", "!!") if line[0] == "!" else ("||",)
        self._tables.begin_row(line, lines, number)
        for cell in _cells(line[1:], marks):
            self._tables.end_cell()
            if self._cells:
                builder.text(" | ")
            self._cells += 1
            self._tables.begin_cell()
            self.inline(_content(cell))
        return True

    def inline(self, text: str) -> None:
        """Read inline markup."""
        if self._depth >= _MAX_NESTING:
            self._builder.flow(MARKS.sub("", text))
            return
        found = _START.search(text)
        if found is None:
            self._say(text)
            return
        if "'''" in text and "\n" not in text:
            text = _balance_quotes(text)
            found = _START.search(text)
        self._depth += 1
        around, self._spans = self._spans, []
        say = self._say if _may_hold_links(text) else self._flow
        plain_links = not self._builder.in_link
        link_text = self._builder.link_text
        position = 0
        while found is not None:
            start = found.start()
            # The commonest by far: a page's name, with or without a text that holds no markup.
            if plain_links and (link := _PLAIN_LINK.match(text, start)) is not None:
                label, target = link[2], link[1].strip()
                if target and (label is None or (label.strip() and "''" not in label)):
                    if start > position:
                        say(text[position:start])
                    link_text(target, (target if label is None else label) + link[3])
                    position = link.end()
                    found = _START.search(text, position)
                    continue
            token = _TOKEN.match(text, start)
            if token is None or (text[start] == "[" and text.startswith("//", max(0, start - 2))):
                found = _START.search(text, start + 1)
                continue
            if start > position:
                say(text[position:start])
            position = self._token(token, text)
            found = _START.search(text, position)
        say(text[position:])
        if self._spans:  # a line's end ends what it has opened
            self._builder.close_mark(self._spans[0])
        self._spans = around
        self._depth -= 1

    def _span(self, kind: MarkKind) -> None:
        """Begin a span, or end it; those within it go on after it."""
        spans, builder = self._spans, self._builder
        if kind not in spans:
            builder.open_mark(kind)
            spans.append(kind)
            return
        place = spans.index(kind)
        builder.close_mark(kind)
        del spans[place]
        for each in spans[place:]:
            builder.open_mark(each)

    def _quotes(self, number: int) -> None:
        """Apostrophes: two are emphasis, three are strong, five are both; what is more is text."""
        if number == 4 or number > 5:
            self._say("'" * (1 if number == 4 else number - 5))
        if number == 2:
            self._span(MarkKind.EMPHASIS)
        elif number in (3, 4):
            self._span(MarkKind.STRONG)
        else:
            both = (MarkKind.EMPHASIS, MarkKind.STRONG)
            for kind in reversed(both) if self._spans[-1:] == [MarkKind.STRONG] or not self._spans else both:
                self._span(kind)

    def _say(self, text: str) -> None:
        """Plain text, with the addresses and numbers in it that are links."""
        if not self._builder.in_link and _may_hold_links(text):
            position = 0
            for found in _IN_TEXT.finditer(text):
                start = found.start()
                if start < position:
                    continue
                self._flow(text[position:start])
                if found["url"]:
                    position = self._bare_url(found)
                else:
                    self._magic(found)
                    position = found.end()
            text = text[position:]
        self._flow(text)

    def _flow(self, text: str) -> None:
        self._builder.flow(unescape(text) if "&" in text else text)

    def _token(self, found: re.Match[str], text: str) -> int:
        """Read one piece of markup; where the text goes on."""
        if found["target"] is not None:
            return self._wiki_link(found, text)
        if found["quotes"]:
            self._quotes(len(found["quotes"]))
        elif found["mark"]:
            self._mark(self._page.part(found["mark"]))
        elif found["address"]:
            label = (found["label"] or "").strip()
            if label or found[0][-1:] == "]":
                self._external(unescape(found["address"]), label)
        elif found["tag"]:
            self._tag(found["tag"], found["name"].lower())
        elif found["variant"] is not None:
            if not _HIDDEN_VARIANT & set((found["flags"] or "").split(";")):
                self.inline(found["variant"].partition(";")[0] if found["rule"] else found["variant"])
        else:
            self._say(found[0])
        return found.end()

    def _wiki_link(self, found: re.Match[str], text: str) -> int:
        builder = self._builder
        raw, shown = found["target"], found["shown"]
        end = found.end()
        if found["closing"]:
            end -= 1  # the third bracket of [[a]]] is text
            if shown is not None and "[" in shown and "]" not in shown:
                shown += "]"
                end += 1
        target = (
            " ".join(unescape(raw).replace("_", " ").split()) if "%" in raw or "&" in raw or "_" in raw else raw.strip()
        )
        if _OUTSIDE.match(target):
            address, _, label = (raw + (shown or "")).strip().partition(" ")
            self._external(address, label)
            return end
        if not target.strip(" :"):
            self._say(found[0][: end - found.start()])
            return end
        if "%" in raw:
            raw = unquote(raw)
        page_part = unquote(target).partition("#")[0]
        if shown == "|" or _NO_TITLE.search(page_part):  # no page can be called so, or the wiki would have filled it in
            self._flow(found[0][: end - found.start()])
            return end
        if self._builder.in_link:
            self.inline(shown[1:] if shown else target)
            return end
        trail = _TRAIL.match(text, end)
        builder.open_link(target.lstrip(":").strip() if target[:1] == ":" else target)
        if shown is None:
            self._say(raw.strip().removeprefix(":"))
        else:
            self.inline(shown[1:])
        if trail:
            self._say(trail[0])
            end = trail.end()
        builder.close_link()
        return end

    def _external(self, address: str, label: str) -> None:
        builder = self._builder
        address = _INVISIBLE.sub("", MARKS.sub("", address))
        if "''" in address:
            address, quotes, rest = address.partition("''")
            label = quotes + rest + " " + label
        if builder.in_link:
            self.inline(label)
            return
        builder.open_link(address)
        self.inline(label.strip())
        builder.close_link()

    def _bare_url(self, found: re.Match[str]) -> int:
        address = re.split(r"''|\x7f|&(?:lt|gt|nbsp|#160|#x[aA]0|#60|#62|quot);", found["url"])[0]
        kept = address.rstrip(",;\\.:!?" + ("" if "(" in address else ")"))
        if not re.match(rf"(?:{PROTOCOLS}).", kept, re.IGNORECASE):
            self._flow(found[0])
            return found.end()
        target = _INVISIBLE.sub("", unescape(kept))
        self._builder.link_text(target, target)
        return found.start() + len(kept)

    def _magic(self, found: re.Match[str]) -> None:
        if found["isbn"]:
            target = "Special:BookSources/" + re.sub(r"[^\dXx]", "", unescape(found["isbn"])).upper()
        elif found["series"] == "RFC":
            target = f"https://datatracker.ietf.org/doc/html/rfc{found['number']}"
        else:
            target = f"//www.ncbi.nlm.nih.gov/pubmed/{found['number']}?dopt=Abstract"
        self._builder.link_text(target, unescape(found["magic"]))

    def _tag(self, tag: str, lower: str) -> None:
        builder, closing = self._builder, tag[1] == "/"
        if lower in _HTML_HEADINGS:
            if closing:
                builder.close_heading()
            else:
                self._forget()
                identifier = Tag(lower, False, tag[len(lower) + 1 : -1]).get("id")
                builder.open_heading(int(lower[1]), (identifier,) if identifier else ())
            return
        if lower in _BLOCK_TAGS:
            builder.paragraph()
        elif lower in _LINE_TAGS:
            builder.line()
            if lower == "tr":
                self._cells = 0
        elif lower in ("td", "th"):
            if not closing:
                builder.text(" | " if self._cells else "")
                self._cells += 1
        elif lower not in _INLINE_TAGS:
            self._say(tag)
            return
        if (span := SPANS.get(lower)) is not None:
            if closing == (span in self._spans):
                self._span(span)
        elif (script := SCRIPTS.get(lower)) is not None:
            if closing:
                builder.close_script()
            elif tag[-2] != "/":
                builder.open_script(script)
        elif closing:
            self._elements.end(lower)
        elif tag[-2] != "/":
            start = parse_attributes(tag[3:-1]).get("start") if lower == "ol" and "start" in tag else None
            self._elements.begin(lower, start)
        if not closing and "id" in tag and (identifier := parse_attributes(tag[len(lower) + 1 : -1]).get("id")):
            builder.add_anchor(identifier)

    def _mark(self, part: Part | None) -> None:
        builder = self._builder
        if isinstance(part, Verbatim):
            self._verbatim(part)
        elif isinstance(part, Media):
            builder.add_link(part.target, "", LinkKind.EMBED)
            if part.caption.strip() and not builder.in_link:
                if not builder.in_heading:
                    builder.paragraph()
                builder.open_mark(MarkKind.FIGURE)
                builder.open_mark(MarkKind.CAPTION)
                if "\n" in part.caption:
                    around, self._lists = self._lists, Lists(builder)
                    self._captions += 1
                    self._lines(part.caption)
                    self._captions -= 1
                    self._lists = around
                else:
                    self.inline(part.caption)
                builder.close_mark(MarkKind.FIGURE)
                if not builder.in_heading:
                    builder.paragraph()
        elif isinstance(part, Links) and part.lead:
            builder.line()
            builder.text(part.lead)
            for index, (target, shown) in enumerate(part.links):
                builder.text(", " if index else "")
                builder.link_text(target, unescape(shown), part.kind)
            builder.line()
        elif isinstance(part, Links):
            for target, shown in part.links:
                builder.add_link(target, shown, part.kind)
                if part.kind is LinkKind.CATEGORY:
                    self.categories.append(target)
        elif isinstance(part, Reference):
            self._reference(part.text)

    def _verbatim(self, part: Verbatim, kind: MarkKind | None = None) -> None:
        """Text that is not markup. kind: what it is, where that is not for its tag to say."""
        builder = self._builder
        if part.block and not builder.in_heading:
            builder.paragraph()
            builder.code(part.text, part.detail)
            builder.paragraph()
        elif (kind := kind or part.kind) is not None:
            builder.marked_text(kind, part.text)
        else:
            builder.flow(part.text)

    def _reference(self, text: str) -> None:
        """A footnote's links, as citations; its text would stand in the middle of a sentence."""
        builder = self._builder
        position = 0
        while (found := _START.search(text, position)) is not None:
            token = _TOKEN.match(text, found.start())
            self._addresses(text[position : found.start()])
            position = token.end() if token is not None else found.start() + 1
            if token is None:
                continue
            if token["address"]:
                label = (token["label"] or "").replace("''", "")
                builder.add_link(unescape(token["address"]), " ".join(label.split()), LinkKind.CITATION)
            elif token["target"] and token["target"].strip() and self._site.kind(token["target"]) == "page":
                shown = (token["shown"] or "|" + token["target"])[1:].replace("''", "")
                builder.add_link(token["target"].strip().lstrip(":"), " ".join(shown.split()), LinkKind.HYPERLINK)
        self._addresses(text[position:])

    def _addresses(self, text: str) -> None:
        for address in ADDRESS.findall(text) if "://" in text else ():
            address = address.rstrip(",;.:!?")
            self._builder.add_link(address, address, LinkKind.CITATION)


_INLINE_TAGS = frozenset(
    """a abbr b bdi bdo big cite code data del dfn em font i ins kbd mark q rb rbc rp rt rtc ruby s samp small span strike strong sub sup
    time tt u var wbr nowiki ref noinclude includeonly onlyinclude gallery poem math img link meta img col colgroup tfoot button input
    translate tvar langconvert syntaxhighlight source references section""".split()
)


def _may_hold_links(text: str) -> bool:
    return (
        (":" in text and ("://" in text or _SCHEMES.search(text) is not None))
        or "RFC" in text
        or "PMID" in text
        or "ISBN" in text
    )


def _split_term(text: str) -> tuple[str, str] | None:
    """Return a definition's term and what it means, parted by the first colon outside of links and URLs."""
    depth = 0
    for found in re.finditer(rf"{PROTOCOLS}\S|\[\[|\]\]|\[|\]|:", text, re.IGNORECASE):
        piece = found[0]
        if piece[0] in "[]":
            depth += 1 if piece[0] == "[" else -1
        elif piece == ":" and depth <= 0:
            return text[: found.start()], text[found.end() :]
    return None


def _cells(line: str, marks: tuple[str, ...]) -> list[str]:
    if not any(mark in line for mark in marks):
        return [line]
    pieces = re.split("(" + "|".join(map(re.escape, marks)) + ")", line)
    cells = [pieces[0]]
    for mark, piece in zip(pieces[1::2], pieces[2::2], strict=True):
        if cells[-1].count("[[") > cells[-1].count("]]"):
            cells[-1] += mark + piece  # within a link
        else:
            cells.append(piece)
    return cells


def _content(cell: str) -> str:
    """Return a cell without the attributes in front of its content."""
    found = _CELL_ATTRIBUTES.match(cell)
    return cell[found.end() :] if found else cell


def _balance_quotes(line: str) -> str:
    """MediaWiki's rule: when bold and italic marks are odd in a line, one bold mark is an apostrophe and italic."""
    runs = [(run.end(), len(run[0])) for run in re.finditer(r"'{2,}", line)]
    bold, italic = sum(length > 2 for _, length in runs), sum(length == 2 or length > 4 for _, length in runs)
    places = [end - 3 for end, length in runs if length in (3, 4)]
    if not (bold % 2 and italic % 2 and places):
        return line

    def rank(place: int) -> int:
        return 2 if line[place - 1 : place] in ("", " ") else 0 if line[place - 2 : place - 1] == " " else 1

    place = min(places, key=rank)
    return line[:place] + "&#39;''" + line[place + 3 :]
