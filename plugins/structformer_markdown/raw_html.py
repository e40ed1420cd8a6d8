"""Raw HTML in Markdown: its headings, links, anchors, text and parts, from a stream of tags across blocks."""

import re

from structformer.document import INLINE, MarkKind
from structformer.formats import TreeBuilder

from structformer_html import PARTS, SCRIPTS, SPANS, Tag, tokens
from structformer_markdown.fence_info import language
from structformer_markdown.inline_text import ATTRIBUTES, names_in, without_attributes

_HIDDEN = frozenset({"script", "style", "template", "noscript"})
_BLOCKS = frozenset(
    """address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer form
    header hr html legend listing main nav ol option p pre search section select summary table ul xmp""".split()
)
_LINES = frozenset({"br", "li", "tr", "thead", "tbody", "tfoot"})
_HEADINGS = frozenset("h1 h2 h3 h4 h5 h6".split())
_SHOWN = frozenset({"img", "iframe", "video", "audio", "source", "embed"})
_MARKS = {
    **PARTS,
    **dict.fromkeys(("pre", "listing", "xmp"), MarkKind.CODE),
    "details": MarkKind.NOTE,
    "summary": MarkKind.TITLE,
    "figure": MarkKind.FIGURE,
    "figcaption": MarkKind.CAPTION,
    **SPANS,
}
# What is in what: an end tag, or the next of its like, reaches no further.
_WITHIN = {
    MarkKind.ITEM: MarkKind.LIST,
    **dict.fromkeys((MarkKind.TERM, MarkKind.DEFINITION), MarkKind.DEFINITIONS),
    **dict.fromkeys((MarkKind.ROW, MarkKind.CELL), MarkKind.TABLE),
}
_LIKE = {  # end tags that may be missing: which open parts each ends when it begins
    MarkKind.ITEM: (MarkKind.ITEM,),
    MarkKind.TERM: (MarkKind.TERM, MarkKind.DEFINITION),
    MarkKind.DEFINITION: (MarkKind.TERM, MarkKind.DEFINITION),
    MarkKind.ROW: (MarkKind.ROW, MarkKind.CAPTION),
    MarkKind.CELL: (MarkKind.CELL,),
}
_DEEPEST = 100  # open parts; what is nested deeper is text alone
_LANGUAGE_CLASS = re.compile(r"(?<!\S)lang(?:uage)?-\S+")

# Markdown between tags is text to CommonMark. Who leaves it there has a site that reads it, as MDX does.
_WRITTEN = re.compile(
    r"(?<![`\\])(?P<ticks>`{1,3})(?!`)(?P<code>.{1,300}?)(?<!`)(?P=ticks)(?!`)"
    r"|(?P<image>!?)\[(?P<label>[^\[\]]{1,300})\]\((?P<target>[^()\s]{1,500})\)",
    re.DOTALL,
)
_HEADING_LINE = re.compile(r"(?:\A|(?<=\n))[ \t]*(#{2,6})[ \t]+(?=\S|\Z)")


class RawHtml:
    """Feeds fragments of raw HTML, in order, into a TreeBuilder. marked: whether Markdown between tags is read."""

    def __init__(self, builder: TreeBuilder, *, marked: bool) -> None:
        self._builder = builder
        self._marked = marked
        self._in_line = False  # of a heading in Markdown
        self.hidden = ""  # the open element, if its content is not text: <script>, <style>
        self._anchors_open: list[bool] = []
        self._link_is_open = False
        self._open: list[MarkKind] = []
        self._floors: list[int] = []
        self._header = False  # whether the row that begins is one of column titles
        self._row_begins = False

    def feed(self, fragment: str) -> None:
        """Read one html_block or html_inline token."""
        pieces = list(tokens(fragment, raw_text=frozenset()))
        for index, token in enumerate(pieces):
            if isinstance(token, Tag):
                if token.name == "tr" and not token.closing:
                    self._header = _has_titles(pieces, index)
                self._tag(token)
            elif not self.hidden:
                token = token.replace("\u00ad", "")
                if self._builder.in_mark(MarkKind.CODE):
                    self._builder.verbatim(token)
                elif self._marked and not self._builder.in_mark(MarkKind.CODE_SPAN):
                    self._lines(token)
                else:
                    self._builder.flow(token)
        if self._in_line:
            self._in_line = False
            self._builder.close_heading()

    def _lines(self, text: str) -> None:
        """Read text with headings in Markdown, each of which ends with its line, whatever tags there are in it."""
        while text:
            if self._in_line:
                line, end, text = text.partition("\n")
                line, names = without_attributes(line)
                self._builder.add_anchor(*names)
                self._inline(line)
                if end:
                    self._in_line = False
                    self._builder.close_heading()
            elif (heading := _HEADING_LINE.search(text)) is not None and not self._builder.in_heading:
                self._inline(text[: heading.start()])
                self.forget()
                self._builder.open_heading(len(heading[1]))
                self._in_line, text = True, text[heading.end() :]
            else:
                self._inline(text)
                return

    def _inline(self, text: str) -> None:
        builder, place = self._builder, 0
        for found in _WRITTEN.finditer(text) if "`" in text or "](" in text else ():
            builder.flow(text[place : found.start()])
            place = found.end()
            if found["image"]:
                builder.add_image(found["target"], found["label"])
            elif found["target"] and not self._link_is_open:
                builder.open_link(found["target"])
                self._inline(found["label"])
                builder.close_link()
            elif found["label"]:
                self._inline(found["label"])
            else:
                builder.marked_text(MarkKind.CODE_SPAN, found["code"])
            if (attributes := ATTRIBUTES.match(text, place)) is not None:
                builder.add_anchor(*names_in(attributes[0]))
                place = attributes.end()
        builder.flow(text[place:])

    def enter(self) -> None:
        """A part of the Markdown begins: no tag in it ends what is open around it."""
        self._floors.append(len(self._open))

    def leave(self) -> None:
        """That part ends, and what tags have left open in it."""
        self.end_to(self._floors.pop())

    def forget(self) -> None:
        """A heading ends all that is open, hidden or not."""
        self.hidden = ""
        self._open.clear()
        self._floors = [0] * len(self._floors)

    @property
    def depth(self) -> int:
        """How many parts are open."""
        return len(self._open)

    def end_to(self, depth: int) -> None:
        """End the parts that are open in so many others: a paragraph's tags open nothing behind it."""
        while len(self._open) > depth:
            self._builder.close_mark(self._open.pop())

    def end_spans(self) -> None:
        """A block ends: what is within lines goes no further."""
        while len(self._open) > self._floor and self._open[-1] in INLINE:
            self._builder.close_mark(self._open.pop())

    def _tag(self, tag: Tag) -> None:
        builder, name, closing = self._builder, tag.name, tag.closing
        if self.hidden or (name in _HIDDEN and not closing):
            self.hidden = "" if closing and name == self.hidden else self.hidden or name
            return
        if name in _HEADINGS:
            if closing:
                builder.close_heading()
            else:
                self.forget()
                builder.open_heading(int(name[1]), tuple(a for a in (tag.get("id"),) if a))
            return
        mark = _MARKS.get(name) if not builder.in_heading else None
        if mark in _LIKE and not closing:
            self._end(_LIKE[mark], _WITHIN[mark])
        if name == "a":
            self._anchor(tag)
        elif name in _LINES:
            builder.line()
        elif name in _BLOCKS:
            builder.paragraph()
        elif name in ("td", "th") and not closing:
            builder.text(" ")
        elif (script := SCRIPTS.get(name)) is not None:
            if closing:
                builder.close_script()
            else:
                builder.open_script(script)
        elif name in _SHOWN and not closing and (source := tag.get("src")):
            builder.add_image(source, tag.get("alt") or "")
        if mark is not None:
            self._mark(mark, tag)
        if not closing and name != "a" and "id" in tag.raw_attributes and (anchor := tag.get("id")):
            builder.add_anchor(anchor)

    def _mark(self, kind: MarkKind, tag: Tag) -> None:
        if tag.closing:
            self._end((kind,), _WITHIN.get(kind))
            return
        if kind is MarkKind.CODE_SPAN and self._open[-1:] == [MarkKind.CODE] and _language(tag):
            self._end((MarkKind.CODE,))  # <pre><code class="language-sh">: the inner one says what the outer is
            kind = MarkKind.CODE
        if kind is MarkKind.CELL:
            around = self._open[-1] if len(self._open) > self._floor else None
            if around is MarkKind.TABLE:
                self._begin(MarkKind.ROW, "")
                self._row_begins = True
            elif around is not MarkKind.ROW:
                return  # no cell of a table
            if not self._row_begins:
                self._builder.text("| ")
        self._row_begins = kind is MarkKind.ROW
        self._begin(kind, self._detail(kind, tag))
        if tag.empty:
            self._end((kind,))

    def _begin(self, kind: MarkKind, detail: str) -> None:
        if len(self._open) < _DEEPEST:
            self._builder.open_mark(kind, detail)
            self._open.append(kind)

    @property
    def _floor(self) -> int:
        """How many of the open parts are out of reach: around the part of the Markdown that is being read."""
        return self._floors[-1] if self._floors else 0

    def _detail(self, kind: MarkKind, tag: Tag) -> str:
        if kind is MarkKind.ROW:
            return "header" if self._header else ""
        if kind is MarkKind.CODE:
            return _language(tag)
        if kind is MarkKind.NOTE:
            return tag.name
        if tag.name == "ol":
            start = tag.get("start") or ""
            return start if start.isdecimal() and start.isascii() else "1"
        return ""

    def _end(self, kinds: tuple[MarkKind, ...], within: MarkKind | None = None) -> None:
        """End the innermost open part of these kinds, and all in it."""
        for place in range(len(self._open) - 1, self._floor - 1, -1):
            if self._open[place] in kinds:
                self.end_to(place)
                return
            if self._open[place] is within:
                return

    def _anchor(self, tag: Tag) -> None:
        if tag.closing:
            if self._anchors_open and self._anchors_open.pop():
                self._builder.close_link()
                self._link_is_open = False
            return
        self._builder.add_anchor(tag.get("id") or "", tag.get("name") or "")
        if (target := tag.get("href")) is not None:
            if self._link_is_open:  # HTML allows no link inside a link: a second <a> ends the first
                self._builder.close_link()
                self._anchors_open.clear()
            self._link_is_open = True
            self._builder.open_link(target)
        self._anchors_open.append(target is not None)


def _has_titles(pieces: list[str | Tag], row: int) -> bool:
    """Whether all cells of the row that begins there are <th>."""
    titles = False
    for index in range(row + 1, len(pieces)):
        token = pieces[index]
        if isinstance(token, Tag) and not token.closing:
            if token.name in ("tr", "td"):
                return titles and token.name == "tr"
            titles = titles or token.name == "th"
    return titles


def _language(tag: Tag) -> str:
    named = _LANGUAGE_CLASS.search(tag.get("class") or "")
    return language(named[0] if named else tag.get("lang") or "")
