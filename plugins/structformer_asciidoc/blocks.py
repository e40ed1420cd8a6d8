"""AsciiDoc's blocks: lines to headings, paragraphs, lists, delimited blocks and tables."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from textwrap import dedent

from structformer.document import LinkKind, MarkKind
from structformer.formats import TreeBuilder
from structformer.text import github_slug

from structformer_asciidoc.attributes import Attributes, Element
from structformer_asciidoc.inline import FORMULAS, Inline
from structformer_asciidoc.tables import Cell, table_rows

_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_UNDERLINES = {"=": 1, "-": 2, "~": 3, "^": 4, "+": 5}
_DELIMITER = re.compile(r"-{4,}|\.{4,}|={4,}|\*{4,}|_{4,}|\+{4,}|/{4,}|--|`{3}[^\s`]*(?:,.*)?|[|,:!]={3,}")
_IDS = re.compile(r"\[\[([\w:][\w:.-]*)(?:,\s*(.*))?\]\]")
_ELEMENT = re.compile(r"\[(?:[\w.#%\"'{,=+*-].*)?\]")
_TITLE = re.compile(r"\.(\.?[^\s.].*)")
_MACRO = re.compile(r"(?!xref:)(\w+)::(\S*?|(?<=image::)\S[^\[]*)\[(.*)\]")
_ITEM = re.compile(
    r"[ \t]*(?:(?P<bullet>-|\*{1,5}|•)|(?P<dots>\.{1,5})|(?P<number>\d+)\.|(?P<letter>[a-zA-Z])\."
    r"|(?P<roman>[ivxIVX]+)\)|<(?P<callout>\d+|\.)>)"
    r"[ \t]+(?P<text>\S.*)"
)
_TERM = re.compile(r"[ \t]*(?!//)(?P<term>\S.*?)(?P<colons>:{2,4}|;;)(?:[ \t]+(?P<text>.*))?")
_CHECKBOX = re.compile(r"\A\[[ xX*]\][ \t]+")
_ADMONITIONS = frozenset("NOTE TIP IMPORTANT WARNING CAUTION".split())
_CODE = frozenset("source listing literal".split())
_BREAKS = frozenset(("'''", "<<<", "---", "- - -", "***", "* * *", "+"))
_CALLOUT = re.compile(  # numbers at the end of a line of code, in its comment or without one
    r"(?<![ \t])[ \t]*(?:(?://|#|--|;;)[ \t]*)?(?:<(?:!--)?(?:\d{1,3}|\.)(?:--)?>[ \t]*)+$", re.MULTILINE
)
_QUOTES = tuple(  # of one line, where code has such marks
    re.compile(rf"(?<![\w;:}}])(?:\[[^\[\]\n]{{1,100}}\])?({mark}{{1,2}})(?=\S)([^\n]{{1,200}}?)(?<=\S)\1(?!\w)")
    for mark in (r"\*", "`", "_", "#")
)
_NO_ROWS = ("//", ":leveloffset:")  # in tables; the second comes with an included file
_PLAIN = re.compile(r"\w[^\n]*")  # a cell of one line is a paragraph
_NOT_ID = re.compile(r"[^\w .-]+")
_DEEPEST = 20


class Blocks:
    """Reads lines into a builder. title: the document's; texts: what references to an id show; warn: takes warnings."""

    def __init__(self, builder: TreeBuilder, attributes: Attributes, warn: Callable[[str], None]) -> None:
        self.title = self.author = ""
        self._warn = warn
        self._level = 2  # of the open section; a heading of this level or a higher one ends an open block
        self._builder = builder
        self._attributes = attributes
        self._inline = Inline(builder, attributes)
        self.texts = self._inline.texts
        self._element = Element()  # what has been said of the next block
        self._lines: list[str] = []
        self._delimiters: dict[str, list[int]] = {}  # by the delimiter, the numbers of its lines
        self._lists: list[tuple[str, MarkKind]] = []  # that are open, the innermost last: marker and kind
        self._blanks = 0  # blank lines right before
        self._is_attached = False  # the next block belongs to the item before
        self._depth = 0
        self._used_ids: dict[str, int] = {}
        self.made_ids = set[str]()  # of sections, by their titles

    def read(self, lines: list[str]) -> None:
        """Read all lines of a document."""
        self._take(lines)
        self._region(self._header(), len(lines))

    def _take(self, lines: list[str]) -> None:
        self._lines, self._delimiters = lines, {}
        for number, line in enumerate(lines):
            if line and line[0] in "-.=*_+/`|,:!" and _DELIMITER.fullmatch(line):
                self._delimiters.setdefault(line, []).append(number)

    def _header(self) -> int:
        """Read a document's title and what stands below it; returns the number of the first line after it."""
        lines = self._lines
        number = next((place for place, line in enumerate(lines) if not self._is_prelude(line)), len(lines))
        if number == len(lines):
            return 0
        heading = _HEADING.fullmatch(lines[number])
        below = number + 1
        if heading is None or len(heading[1]) > 1:
            if not self._is_underlined(number) or lines[number + 1][0] != "=":
                return 0
            self._inline.has_compat_marks = True
            below += 1
        for line in lines[:number]:
            if not self._attributes.enter(line):
                self._preamble(line)
        self._heading(1, heading[2] if heading else lines[number])
        is_author = True
        while below < len(lines) and lines[below]:
            line = lines[below]
            if not line.startswith("//") and not self._attributes.enter(line) and is_author:
                self.author, is_author = re.sub(r"\s*<[^<>]*>", "", line).replace("_", " "), False
            below += 1
        return below

    def _is_prelude(self, line: str) -> bool:
        is_comment = line.startswith("//") and not line.startswith("////")
        return not line or is_comment or line.startswith(":") or _ELEMENT.fullmatch(line) is not None

    def _region(self, start: int, end: int) -> None:
        number = start
        while number < end:
            number = self._block(number, end)
        self._end_lists()

    def _block(self, number: int, end: int) -> int:
        """Read the block that begins on a line; returns the number of the line after it."""
        line, builder = self._lines[number], self._builder
        if not line.strip():
            self._blanks += 1
            return number + 1
        blanks, self._blanks = self._blanks, 0
        is_comment = line.startswith("//") and not _DELIMITER.fullmatch(line)
        if is_comment or self._attributes.enter(line) or self._preamble(line):
            return number + 1
        if line == "+" and self._lists:
            for _ in range(min(blanks, len(self._lists) - 1)):
                self._end_list()
            self._is_attached = True
            return number + 1
        if (item := self._item_of(line)) is not None:
            return self._item(item, number, end)
        if self._lists and not self._is_attached and (line[0] not in " \t" or not blanks):
            self._end_lists()
        if (heading := self._heading_at(number)) is not None:
            level, title, after = heading
            if not self._depth:
                self._heading(level, title)
                return after
            builder.line()  # within a block it is a line of its text
            self._inline.write(title)
            builder.line()
            self._element = Element()
            return after
        is_in_item, self._is_attached = self._is_attached, False
        element, self._element = self._element, Element()
        if line in _BREAKS:
            builder.paragraph()
            return number + 1
        if _DELIMITER.fullmatch(line):
            return self._delimited(number, end, element)
        macro = _MACRO.fullmatch(line) if line[-1] == "]" else None
        if macro is not None:
            self._media(macro, element)
            return number + 1
        if line[0] in " \t" and not is_in_item:
            return self._literal(number, end, element)
        lines, after = self._gathered(number + 1, end)
        self._styled([line, *lines], element)
        return after

    def _preamble(self, line: str) -> bool:
        """Take a line that says something of the block below it; False for any other line."""
        if (ids := _IDS.fullmatch(line)) is not None:
            self._element.ids.append(ids[1])
            if ids[2]:
                self.texts[ids[1]] = ids[2]
        elif _ELEMENT.fullmatch(line):
            self._element.add(self._attributes.spelt_out(line[1:-1]))
        elif (title := _TITLE.fullmatch(line)) is not None:
            self._element.title = title[1]
        else:
            return False
        return True

    # Headings

    def _heading_at(self, number: int) -> tuple[int, str, int] | None:
        """Return the level and the title of the heading that begins on a line, and the number of the line after it."""
        line = self._lines[number]
        heading = _HEADING.fullmatch(line)
        if heading is not None:
            level, title, after = len(heading[1]), heading[2], number + 1
            title = title.removesuffix(heading[1]).rstrip() if title.endswith(f" {heading[1]}") else title
        elif self._is_underlined(number):
            level, title, after = _UNDERLINES[self._lines[number + 1][0]], line.strip(), number + 2
        else:
            return None
        return min(max(level + self._attributes.level_offset, 1), 9), title, after

    def _is_underlined(self, number: int) -> bool:
        line, below = (*self._lines[number : number + 2], "")[:2]
        if below[:1] not in _UNDERLINES or len(below) < 2 or below != below[0] * len(below):
            return False
        return abs(len(line) - len(below)) <= 1 and re.match(r"\w|[`{\"'<$*(\[._@-]+\w", line) is not None

    def _heading(self, level: int, title: str) -> None:
        self._end_lists()
        builder, element = self._builder, self._element
        self._element, self._is_attached, self._level = Element(), False, max(2, level)
        if reftext := element.named.get("reftext"):
            self.texts.update(dict.fromkeys(element.ids, reftext))
        builder.open_heading(level, tuple(element.ids))
        self._inline.write(title)
        section = builder.close_heading()
        if section is not None:
            if not self.title and level == 1:
                self.title = section.title
            separator = self._attributes.get("idseparator", "_")  # as Asciidoctor makes an id
            words = re.sub(r"[ .-]+", separator or "", _NOT_ID.sub("", section.title.lower())).strip(separator)
            id = self._attributes.get("idprefix", "_") + words
            self._used_ids[id] = used = self._used_ids.get(id, 0) + 1
            builder.add_anchor(id := f"{id}{separator}{used}" if used > 1 else id)
            self.made_ids.update({id, github_slug(section.title)}.difference(element.ids))

    # Lists

    def _item_of(self, line: str) -> re.Match[str] | None:
        return _ITEM.fullmatch(line) or (_TERM.fullmatch(line) if "::" in line or ";;" in line else None)

    def _item(self, item: re.Match[str], number: int, end: int) -> int:
        """Read a list's item up to its first blank line or block; returns the number of the line after it."""
        builder, is_term = self._builder, item.re is _TERM
        numbered = ("number", "letter", "roman", "callout")  # the same of all items of a list, as its bullet is
        marker = item["colons"] if is_term else item["bullet"] or item["dots"] or next(filter(item.group, numbered))
        place = next((place for place, (other, _) in enumerate(self._lists) if other == marker), -1)
        if place < 0:
            start = "" if is_term or item["bullet"] else self._element.named.get("start") or item["number"] or "1"
            (builder.line if self._lists else builder.paragraph)()
            self._block_title(self._element)
            self._lists.append((marker, MarkKind.DEFINITIONS if is_term else MarkKind.LIST))
            builder.open_mark(self._lists[-1][1], start)
        else:
            while len(self._lists) > place + 1:
                self._end_list()
            builder.close_mark(MarkKind.DEFINITION if is_term else MarkKind.ITEM)
        self._is_attached = False
        builder.line()
        self._add_anchors(self._element)
        self._element = Element()
        text = item["text"] or ""
        if is_term:
            with builder.marked(MarkKind.TERM):
                self._inline.write(item["term"])
            builder.line()
            builder.open_mark(MarkKind.DEFINITION)
            if not text:  # it begins on a line below, maybe after blank ones
                self._is_attached = True
                return number + 1
        else:
            builder.open_mark(MarkKind.ITEM)
            text = _CHECKBOX.sub("", text)
        lines, after = self._gathered(number + 1, end)
        self._inline.write("\n".join((text, *lines)))
        builder.line()
        return after

    def _end_list(self) -> None:
        self._builder.close_mark(self._lists.pop()[1])
        self._builder.line()

    def _end_lists(self) -> None:
        if self._lists:
            while self._lists:
                self._end_list()
            self._builder.paragraph()

    # Paragraphs

    def _gathered(self, number: int, end: int) -> tuple[list[str], int]:
        """Return the lines of a paragraph from one on, and the number of the line after them."""
        lines: list[str] = []
        while number < end and (line := self._lines[number]).strip():
            is_item = self._lists and (line == "+" or self._item_of(line) is not None)
            is_list = line[0] == "[" and (_ELEMENT.fullmatch(line) or _IDS.fullmatch(line))
            is_delimiter = line[0] in "-.=*_+/`|,:!" and _DELIMITER.fullmatch(line)
            # The preprocessor sets levels right below an included file.
            if line.startswith(":leveloffset:") or is_item or is_list or is_delimiter:
                break
            if not line.startswith("//"):
                lines.append(line)
            number += 1
        return lines, number

    def _literal(self, number: int, end: int, element: Element) -> int:
        """Read an indented paragraph, its lines as they stand."""
        after = number
        while after < end and self._lines[after].strip() and self._lines[after] != "+":
            after += 1
        if self._lists and element.style not in _CODE:
            after = max(number + 1, self._gathered(number, end)[1])
        if element.style in ("", "normal") and not element.named and not element.positional:
            element.style = "literal"
        self._styled(self._lines[number:after], element)
        return after

    def _styled(self, lines: list[str], element: Element) -> None:
        """Read a paragraph as its style says."""
        builder, style = self._builder, element.style
        if style == "comment":
            return
        if style in _CODE or style in FORMULAS or style == "pass":
            self._verbatim(lines, element)
            return
        label, colon, text = lines[0].partition(": ")
        if colon and label in _ADMONITIONS:
            lines[0], style = text.lstrip(), label
        kind = MarkKind.NOTE if style in _ADMONITIONS else MarkKind.QUOTE if style in ("quote", "verse") else None
        (builder.line if self._lists and kind is None else builder.paragraph)()
        self._add_anchors(element)
        with self._marked(kind, style.lower() if kind is MarkKind.NOTE else "", element):
            if style == "verse" or "hardbreaks" in element.options:
                for line in lines:
                    self._inline.write(line.strip())
                    builder.line()
            else:
                self._inline.write("\n".join(lines))
        (builder.line if self._lists else builder.paragraph)()

    # Delimited blocks

    def _delimited(self, number: int, end: int, element: Element) -> int:
        """Read a delimited block, one without an end up to a heading as high; return the line after it."""
        delimiter = self._lines[number]
        numbers = self._delimiters.get("```" if delimiter[0] == "`" else delimiter, [])
        place = bisect_right(numbers, number)
        if is_ended := place < len(numbers) and numbers[place] < end:
            close = numbers[place]
        else:
            self._warn(f"{delimiter[:20]} without an end: it ends before the next heading")
            below = range(number + 1, number + 1 if self._depth else end)  # where "#" begins a script's comment
            headings = ((at, self._heading_at(at)) for at in below if self._lines[at][:1] != "#")
            close = next((at for at, heading in headings if heading and heading[0] <= self._level), end)
        sign, style = delimiter[0], element.style
        if sign == "/" or style == "comment":
            pass
        elif delimiter[1:2] == "=" and sign in "|,:!":
            self._table(self._lines[number + 1 : close], delimiter, element)
        elif (sign in "-.+`" and delimiter != "--") or style in _CODE or style in FORMULAS:
            if sign == "`":
                element.positional = ["source", delimiter[3:].partition(",")[0]]
            elif sign == "+" and style not in FORMULAS:
                element.style = "pass"
            self._verbatim(self._lines[number + 1 : close], element)
        elif style == "verse":
            self._styled(self._lines[number + 1 : close] or [""], element)
        else:  # a block of blocks: an example, a quotation, a sidebar, a note
            is_note, is_quote = style in _ADMONITIONS or sign == "*", sign == "_" or style == "quote"
            kind = MarkKind.NOTE if is_note else MarkKind.QUOTE if is_quote else None
            self._builder.paragraph()
            self._add_anchors(element)
            with self._marked(kind, style.lower() if style in _ADMONITIONS else "sidebar" * is_note, element):
                self._nested(number + 1, close)
            self._builder.paragraph()
        return close + is_ended

    def _nested(self, start: int, end: int) -> None:
        if self._depth >= _DEEPEST:
            self._inline.write("\n".join(self._lines[start:end]))
            return
        lists, self._lists = self._lists, []
        self._depth += 1
        self._region(start, end)
        self._depth -= 1
        self._lists, self._element, self._blanks = lists, Element(), 0

    def _verbatim(self, lines: list[str], element: Element) -> None:
        builder, style = self._builder, element.style
        builder.paragraph()
        self._add_anchors(element)
        self._block_title(element)
        text = dedent("\n".join(lines))
        if style == "pass":
            self._inline.html(text)
        elif style in FORMULAS:
            with builder.marked(MarkKind.FORMULA):
                builder.verbatim(text)
        else:
            default = self._attributes.get("source-language") if style == "source" else ""
            language = element.value(1, "language") if style != "literal" else ""
            subs = element.named.get("subs", "")
            if "attributes" in subs or "normal" in subs or "+a" in subs:
                text = self._attributes.spelt_out(text)
            if "quotes" in subs or "normal" in subs:
                for marked in _QUOTES:
                    text = marked.sub(r"\2", text)
            builder.code(_CALLOUT.sub("", text) if "<" in text else text, (language or default).lower())
        builder.paragraph()

    @contextmanager
    def _marked(self, kind: MarkKind | None, detail: str, element: Element) -> Iterator[None]:
        """Write a block's title, what is within, and whom a quotation is of."""
        with self._builder.marked(kind, detail):
            self._block_title(element, MarkKind.TITLE if kind is MarkKind.NOTE else None)
            yield
            if kind is MarkKind.QUOTE and len(element.positional) > 1:
                self._builder.line()
                self._inline.write(", ".join(filter(None, element.positional[1:3])))

    def _block_title(self, element: Element, kind: MarkKind | None = None) -> None:
        if element.title:
            with self._builder.marked(kind):
                self._inline.write(element.title)
            self._builder.line()

    def _add_anchors(self, element: Element) -> None:
        for id in element.ids:
            self._builder.add_anchor(id)
            shown = self._attributes.spelt_out(element.named.get("reftext") or element.title)
            for marked in _QUOTES if shown else ():
                shown = marked.sub(r"\2", shown)
            if shown:
                self.texts.setdefault(id, shown)

    def _media(self, macro: re.Match[str], element: Element) -> None:
        """A macro that is a block: an image with its title; any other, but a table of contents, is a reference."""
        name, target, text = macro[1], self._attributes.spelt_out(macro[2]), macro[3]
        if name in ("toc", "include"):
            return
        builder = self._builder
        builder.paragraph()
        element.add(text)
        self._add_anchors(element)
        with builder.marked(MarkKind.FIGURE):
            if name == "image":
                text = self._attributes.spelt_out(element.named.get("alt") or element.value(0, "alt"))
                builder.add_image(self._attributes.image(target), text)
            elif name in ("video", "audio"):
                builder.add_link(target, "", LinkKind.EMBED)
            builder.line()
            self._block_title(element, MarkKind.CAPTION)
        builder.paragraph()

    # Tables

    def _table(self, lines: list[str], delimiter: str, element: Element) -> None:
        builder = self._builder
        rows, is_headed = table_rows([line for line in lines if not line.startswith(_NO_ROWS)], delimiter, element)
        builder.paragraph()
        self._add_anchors(element)
        with builder.marked(MarkKind.TABLE):
            self._block_title(element, MarkKind.CAPTION)
            for number, row in enumerate(rows):
                is_header = is_headed and number == 0
                builder.row(row, partial(self._cell, is_title=is_header), is_header=is_header)
        builder.paragraph()

    def _cell(self, cell: Cell, *, is_title: bool) -> None:
        has_blocks = cell.style == "a" and not is_title and _PLAIN.fullmatch(cell.text) is None
        if has_blocks and self._depth < _DEEPEST:
            around, delimiters = self._lines, self._delimiters
            self._take(cell.text.split("\n"))
            self._nested(0, len(self._lines))
            self._lines, self._delimiters = around, delimiters
        elif cell.style == "l":
            self._builder.verbatim(cell.text)
        elif cell.style == "m":
            with self._builder.marked(MarkKind.CODE_SPAN):
                self._inline.write(cell.text)
        else:
            for paragraph in cell.text.split("\n\n"):
                self._inline.write(f"{paragraph} ")
