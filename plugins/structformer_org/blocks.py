"""Org's headings and elements: lines to sections, paragraphs, lists, blocks, tables."""

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise

from structformer.document import MarkKind
from structformer.formats import TreeBuilder

from structformer_org.inline import Inline

HEADLINE = re.compile(r"(\*+)[ \t]+(.*)")
_TAGS = re.compile(r"(?:\A|[ \t]+):([\w@#%:]+):\Z")
_PRIORITY = re.compile(r"\[#\w{1,2}\][ \t]*")
_COOKIE = re.compile(r"[ \t]*\[(?:\d{0,6}/\d{0,6}|\d{0,3}%)\]")
_PLANNING = re.compile(r"[ \t]*(?:SCHEDULED|DEADLINE|CLOSED|CLOCK):.*|%%\(.*")
_PROPERTY = re.compile(r"[ \t]*:(?!(?i:end):)([\w-]+)\+?:[ \t]*(.*)")
_KEYWORD = re.compile(r"[ \t]*#\+([\w-]+)(?:\[.*\])?:[ \t]*(.*)")
_BEGIN = re.compile(r"[ \t]*#\+begin_(\S+)(?:[ \t]+(.*))?", re.IGNORECASE)
_END = re.compile(r"[ \t]*(?:#\+end_(\S+)|:(end):|\\end\{([^{}]+)\})[ \t]*", re.IGNORECASE)
_DRAWER = re.compile(r"[ \t]*:([\w-]+):[ \t]*")
_FIXED = re.compile(r"[ \t]*:(?: (.*))?")
_COMMENT = re.compile(r"[ \t]*#(?: .*)?")
_RULE = re.compile(r"[ \t]*-{5,}[ \t]*")
_LATEX = re.compile(r"[ \t]*\\begin\{([^{}]+)\}.*")
_FOOTNOTE = re.compile(r"\[fn:[\w-]+\][ \t]*")
_ITEM = re.compile(
    r"(?P<indent>[ \t]*)(?:(?P<bullet>[-+]|(?<=[ \t])\*)|(?P<number>\d+|[a-zA-Z])[.)])(?:[ \t]+(?P<text>.*))?"
)
_COUNTER = re.compile(r"\A(?:\[@\w+\][ \t]*)?(?:\[[ xX-]\](?:[ \t]+|\Z))?")  # and a check box
_TERM = re.compile(r"(.*?)[ \t]+::(?:[ \t]+(.*))?")
_ROW = re.compile(r"[ \t]*\|.*")
_ALIGNMENT = re.compile(r"\|(?=[^<>]*[<>])(?:[ \t]*+(?:<[lrc]?\d{0,3}>|[/<>])?+[ \t]*+\|)++")  # what only Emacs heeds
_LEFT_OUT = frozenset(("properties", "logbook", "comment"))
_CODE = frozenset(("src", "example", "verbatim"))
_NOTES = frozenset(
    "note tip warning important caution info danger definition theorem lemma proof remark attention hint".split()
)
_META = frozenset(("title", "subtitle", "author", "date", "description", "keywords", "language", "filetags"))
_DEEPEST = 20


class Blocks:
    """Reads lines into a builder. keywords: what the document says of itself; warn: takes warnings."""

    def __init__(self, builder: TreeBuilder, warn: Callable[[str], None]) -> None:
        self._warn = warn
        self.keywords: dict[str, str] = {}
        self.ids: list[str] = []  # of sections, by which other files name them
        self._builder = builder
        self._inline = Inline(builder)
        self._lines: list[str] = []
        self._ends: dict[str, list[int]] = {}  # by what ends there, the numbers of the lines
        self._lists: list[tuple[int, MarkKind]] = []  # that are open: indent and kind
        self._blanks = 0
        self._caption = ""
        self._depth = 0
        self._states = {"TODO", "DONE"}

    def read(self, lines: list[str]) -> None:
        """Read all lines of a document."""
        self._lines = lines
        headlines = []
        for number, line in enumerate(lines):
            if line.startswith("*") and HEADLINE.match(line):
                headlines.append(number)
            elif (closing := _END.fullmatch(line)) is not None:
                self._ends.setdefault((closing[1] or closing[2] or f"\\{closing[3]}").lower(), []).append(number)
            elif "#+" in line and (keyword := _KEYWORD.fullmatch(line)) is not None:
                self._define(keyword[1].lower(), keyword[2])
        start, ids = self._properties(0)
        for id in ids:
            self._builder.add_anchor(id)
        self._region(start, headlines[0] if headlines else len(lines))
        hidden = 0  # level of a heading that is not to be exported, with all below it
        for start, end in pairwise([*headlines, len(lines)]):
            level = len(lines[start]) - len(lines[start].lstrip("*"))
            if hidden and level > hidden:
                continue
            hidden = 0 if self._section(start, end, level) else level

    def plain(self, text: str) -> str:
        """Return the words of a text, without its marks."""
        builder = TreeBuilder(slugs=False)
        Inline(builder, self._inline.macros).write(text)
        return " ".join(builder.current_text().split())

    def _define(self, name: str, value: str) -> None:
        if name in _META:
            self.keywords[name] = f"{self.keywords[name]} {value}" if self.keywords.get(name) else value
        elif name in ("todo", "seq_todo", "typ_todo"):
            self._states |= {word.partition("(")[0] for word in value.split() if word != "|"}
        elif name in ("macro", "link"):
            key, _, body = value.partition(" ")
            kept = self._inline.macros if name == "macro" else self._inline.abbreviations
            if not body.startswith("(eval"):
                kept[key.lower() if name == "macro" else key] = body.strip()

    def _section(self, number: int, end: int, level: int) -> bool:
        """Read a heading and what is its own; False where it is not to be exported."""
        title = self._lines[number][level:].strip()
        tags = _TAGS.search(title)
        title = title[: tags.start()] if tags else title
        state, _, rest = title.partition(" ")
        title = rest.strip() if state in self._states else title
        title = _PRIORITY.sub("", title, count=1) if title.startswith("[#") else title
        if title.partition(" ")[0] == "COMMENT" or (tags is not None and "noexport" in tags[1].split(":")):
            return False
        start, ids = self._properties(_run(self._lines, number + 1, end, _PLANNING))
        self._builder.open_heading(level, tuple(ids))
        self._inline.write(_COOKIE.sub("", title))
        self._builder.close_heading()
        self._region(start, end)
        return True

    def _properties(self, number: int) -> tuple[int, list[str]]:
        """Return the number of the line after the drawer of properties that may begin on a line, and its ids."""
        lines = self._lines
        if number >= len(lines) or lines[number].strip().upper() != ":PROPERTIES:":
            return number, []
        ids: list[str] = []
        number += 1
        while number < len(lines) and (found := _PROPERTY.fullmatch(lines[number])) is not None:
            name, value = found[1].upper(), found[2].strip()
            ids = [value, *ids] if name == "CUSTOM_ID" else [*ids, value] if name == "ID" else ids
            self.ids += [f"{name.lower()}:{value}"] * (name in ("ID", "CUSTOM_ID"))
            number += 1
        return number + (number < len(lines) and lines[number].strip().upper() == ":END:"), ids

    def _region(self, start: int, end: int) -> None:
        number = start
        while number < end:
            number = self._element(number, end)
        self._end_lists()

    def _element(self, number: int, end: int) -> int:
        """Read the element that begins on a line; returns the number of the line after it."""
        line = self._lines[number]
        if not line:
            self._blanks += 1
            if self._blanks > 1:
                self._end_lists()
            return number + 1
        self._blanks = 0
        indent = _indent(line)
        if (item := _ITEM.fullmatch(line)) is not None and not _RULE.fullmatch(line):
            return self._item(item, indent, number, end)
        while self._lists and self._lists[-1][0] >= indent:
            self._end_list()
        if line.lstrip()[0] in "#:\\-|%SDC" and (after := self._marked(number, end)):
            return after
        after = self._text_end(number + 1, end)
        text = "\n".join(map(str.strip, self._lines[number:after]))
        footnote = _FOOTNOTE.match(line)
        self._gap()
        with self._builder.marked(MarkKind.FIGURE if self._caption else None):
            self._inline.write(text[footnote.end() :] if footnote else text)
            self._write_caption()
        self._gap()
        return after

    def _marked(self, number: int, end: int) -> int:
        """Read an element that its first line names; returns the number of the line after it, 0 for a paragraph."""
        line = self._lines[number]
        if (begin := _BEGIN.fullmatch(line)) is not None:
            name = begin[1].lower()
            return self._block(name, begin[2] or "", number, self._end_of(name, number, end))
        if (keyword := _KEYWORD.fullmatch(line)) is not None:
            name = keyword[1].lower()
            if name == "caption":
                self._caption = f"{self._caption} {keyword[2]}".strip()
            elif name == "name":
                self._builder.add_anchor(keyword[2].strip())
            elif name == "html":
                self._gap()
                self._inline.html(keyword[2])
            return number + 1
        if (drawer := _DRAWER.fullmatch(line)) is not None:
            close = self._end_of("end", number, end)
            if drawer[1].lower() == "end":  # of nothing
                return number + 1
            if close < end and drawer[1].lower() not in _LEFT_OUT:
                self._nested(number + 1, close)
            return close + 1 if close < end else number + 1
        if (latex := _LATEX.fullmatch(line)) is not None:
            close = self._end_of(f"\\{latex[1]}".lower(), number, end)
            self._verbatim(self._lines[number : close + 1], MarkKind.FORMULA)
            return close + 1
        if line.lstrip()[0] == "|":
            return self._table(number, end)
        if _FIXED.fullmatch(line):
            after = _run(self._lines, number, end, _FIXED)
            self._verbatim([each.lstrip()[2:] for each in self._lines[number:after]], MarkKind.CODE)
            return after
        is_left_out = _COMMENT.fullmatch(line) or _PLANNING.fullmatch(line) or _RULE.fullmatch(line)
        return number + 1 if is_left_out else 0

    def _end_of(self, name: str, number: int, end: int) -> int:
        numbers = self._ends.get(name, [])
        place = bisect_right(numbers, number)
        if place < len(numbers) and numbers[place] < end:
            return numbers[place]
        if name != "end":
            self._warn(f"{self._lines[number].strip()[:60]} without an end: it ends before the next heading")
        return end

    def _text_end(self, number: int, end: int) -> int:
        """Return the number of the first line from one on with which a paragraph does not go on."""
        while number < end and (line := self._lines[number]):
            first = line.lstrip()[0]
            kinds = (_BEGIN, _KEYWORD, _DRAWER, _FIXED, _COMMENT, _LATEX, _ROW) if first in "#:\\|" else ()
            if any(kind.fullmatch(line) for kind in (*kinds, _ITEM, _RULE)) or (first == "[" and _FOOTNOTE.match(line)):
                break
            if self._lists and _indent(line) <= self._lists[-1][0]:
                break
            number += 1
        return number

    def _gap(self) -> None:
        """End the block; within a list, the line."""
        (self._builder.line if self._lists else self._builder.paragraph)()

    def _write_caption(self) -> None:
        if self._caption:
            self._builder.line()
            with self._builder.marked(MarkKind.CAPTION):
                self._inline.write(self._caption)
            self._builder.line()
            self._caption = ""

    # Lists

    def _item(self, item: re.Match[str], indent: int, number: int, end: int) -> int:
        builder = self._builder
        while self._lists and self._lists[-1][0] > indent:
            self._end_list()
        text = _COUNTER.sub("", item["text"] or "")
        term = _TERM.fullmatch(text) if item["bullet"] and "::" in text else None
        kind = MarkKind.LIST if term is None else MarkKind.DEFINITIONS
        if self._lists and self._lists[-1][0] == indent and self._lists[-1][1] is not kind:
            self._end_list()
        if not self._lists or self._lists[-1][0] < indent:
            self._gap()
            builder.open_mark(kind, item["number"] or "")
            self._lists.append((indent, kind))
        else:
            builder.close_mark(MarkKind.ITEM if term is None else MarkKind.DEFINITION)
        builder.line()
        if term is not None:
            with builder.marked(MarkKind.TERM):
                self._inline.write(term[1])
            builder.line()
            text = term[2] or ""
        builder.open_mark(MarkKind.ITEM if term is None else MarkKind.DEFINITION)
        after = self._text_end(number + 1, end) if text else number + 1
        self._inline.write("\n".join((text, *self._lines[number + 1 : after])))
        builder.line()
        return after

    def _end_list(self) -> None:
        self._builder.close_mark(self._lists.pop()[1])
        self._gap()

    def _end_lists(self) -> None:
        while self._lists:
            self._end_list()

    # Blocks

    def _block(self, name: str, arguments: str, start: int, close: int) -> int:
        """Read a block from the line that begins it to the one that ends it, or to the end of the section."""
        builder, lines = self._builder, self._lines[start + 1 : close]
        if name in _CODE:
            language = arguments.split()[0] if name == "src" and arguments else ""
            unescaped = [re.sub(r"^([ \t]*),(?=,*(?:\*|#\+))", r"\1", line) for line in lines]
            self._verbatim(unescaped, MarkKind.CODE, "" if language.startswith((":", "-")) else language.lower())
        elif name in ("verse", "quote") or name in _NOTES:
            kind = MarkKind.NOTE if name in _NOTES else MarkKind.QUOTE
            builder.paragraph()
            with builder.marked(kind, name if kind is MarkKind.NOTE else ""):
                if name != "verse":
                    self._nested(start + 1, close)
                for line in lines if name == "verse" else ():
                    self._inline.write(line)
                    builder.line()
            builder.paragraph()
        elif name == "html" or (name == "export" and arguments.strip().lower() == "html"):
            self._gap()
            self._inline.html("\n".join(lines))
        elif name != "export" and name not in _LEFT_OUT:
            builder.paragraph()
            self._nested(start + 1, close)
            builder.paragraph()
        return close + 1

    def _nested(self, start: int, end: int) -> None:
        if self._depth >= _DEEPEST:
            self._inline.write("\n".join(self._lines[start:end]))
            return
        lists, self._lists = self._lists, []
        self._depth += 1
        self._region(start, end)
        self._depth -= 1
        self._lists = lists

    def _verbatim(self, lines: list[str], kind: MarkKind, detail: str = "") -> None:
        builder = self._builder
        least = min((len(line) - len(line.lstrip()) for line in lines if line), default=0)
        builder.paragraph()
        self._write_caption()
        with builder.marked(kind, detail):
            builder.verbatim("\n".join(line[least:] for line in lines))
        builder.paragraph()

    def _table(self, number: int, end: int) -> int:
        builder, after = self._builder, _run(self._lines, number, end, _ROW)
        rows = [line.strip() for line in self._lines[number:after]]
        rule = next((place for place, row in enumerate(rows) if row.startswith("|-")), 0)
        headed = rule if any(not row.startswith("|-") for row in rows[rule + 1 :]) else 0
        builder.paragraph()
        with builder.marked(MarkKind.TABLE):
            self._write_caption()
            for place, row in enumerate(rows):
                if not row.startswith("|-") and not _ALIGNMENT.fullmatch(row):
                    cells = map(str.strip, row[1:].removesuffix("|").split("|"))
                    builder.row(cells, self._inline.write, is_header=place < headed)
        builder.paragraph()
        return after


def _run(lines: list[str], number: int, end: int, kind: re.Pattern[str]) -> int:
    """Return the number of the first line from one on that is not of a kind."""
    while number < end and kind.fullmatch(lines[number]):
        number += 1
    return number


def _indent(line: str) -> int:
    spaced = line.expandtabs()
    return len(spaced) - len(spaced.lstrip(" "))
