"""A section's text as HTML: its lists, tables, code and notes as what they are. All that the text says is escaped."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import takewhile

from markupsafe import Markup, escape
from structformer.document import Block, MarkKind, Section
from structformer.text import visible

from structformer_serve.language import ENGLISH, Language
from structformer_serve.notes import opening
from structformer_serve.spans import Resolve, Span, leaves, spans_of_leaves

_SPANS = {
    MarkKind.EMPHASIS: ("<em>", "</em>"),
    MarkKind.STRONG: ("<strong>", "</strong>"),
    MarkKind.CODE_SPAN: ("<code>", "</code>"),
    MarkKind.FORMULA_SPAN: ('<code class="formula">', "</code>"),
}
_NAME = re.compile(r"[a-z0-9][a-z0-9.+#_-]{0,39}")  # of a language
_NUMBER = re.compile(r"[0-9]{1,9}")
_TASK = re.compile(r"\[([ xX])\] ")  # how an item begins that is to be done
_DEEPEST = 40  # blocks in blocks
_LONG = 40  # characters of a cell that wants room
_COLOURED = frozenset("warning caution attention important danger error tip hint".split())  # notes


def section_html(section: Section, resolve: Resolve | None = None, t: Language = ENGLISH) -> Markup:
    """Return a section's text. resolve: gives a link's address, else links are plain text. t: words beside the text."""
    blocks = section.blocks
    first, second, *_ = *(section.text[each.start : each.end] for each in blocks[:2]), "", ""
    if first.count(" ") > 3 and second.startswith(first):  # a description, which the first paragraph repeats
        blocks = blocks[1:]
    writer = _Writer(section.text, spans_of_leaves(section, blocks, resolve, pictures=True), t)
    writer.blocks(blocks)
    return Markup("").join(writer.parts)


class _Writer:
    def __init__(self, text: str, spans: dict[int, list[Span]], t: Language) -> None:
        self._text = text
        self._spans = spans
        self._t = t
        self._depth = 0
        self._begins: dict[int, int] = {}  # where leaves begin whose first words are said otherwise
        self.parts: list[Markup] = []

    def _add(self, markup: str) -> None:
        """Markup of ours, never of a text."""
        self.parts.append(Markup(markup))

    @contextmanager
    def _tag(self, name: str, attributes: str = "") -> Iterator[None]:
        """Put all that is written within it into an element."""
        self._add(f"<{name}{attributes}>")
        yield
        self._add(f"</{name}>")

    def _plain(self, start: int, end: int) -> None:
        if start < end:
            self.parts.append(escape(visible(self._text[start:end])))

    def _within(self, start: int, end: int, spans: Sequence[Span]) -> None:
        for span in spans:
            if span.end <= start:
                continue
            self._plain(start, span.start)
            if span.kind is None and not span.address:
                opening, closing = f'<em class="picture">[{self._t("picture")}: ', "]</em>"
            elif span.kind is None:
                self.parts.append(Markup('<a href="{}">').format(span.address))
                opening, closing = "", "</a>"
            else:
                opening, closing = _SPANS[span.kind]
            self._add(opening)
            self._within(max(start, span.start), span.end, span.children)
            self._add(closing)
            start = span.end
        self._plain(start, end)

    def _leaf(self, block: Block) -> None:
        start = self._begins.get(block.start, block.start)
        self._within(start, block.end, self._spans.get(block.start, ()))

    def blocks(self, blocks: Iterable[Block]) -> None:
        """Blocks, one after the other; what is too deep in others as if it stood in none."""
        self._depth += 1
        for block in blocks if self._depth <= _DEEPEST else leaves(blocks):
            self._block(block)
        self._depth -= 1

    def _content(self, block: Block) -> None:
        """Write the content of a part: a single paragraph as its text alone."""
        if len(block.children) == 1 and block.children[0].kind is MarkKind.PARAGRAPH:
            self._leaf(block.children[0])
        else:
            self.blocks(block.children)

    def _in(self, tag: str, block: Block, attributes: str = "", *, whole: bool = False) -> None:
        """whole: shows the block itself, not only what it holds."""
        with self._tag(tag, attributes):
            self._block(block) if whole else self._content(block)

    def _captions(self, tag: str, captions: Sequence[Block]) -> None:
        if captions:
            with self._tag(tag):
                for caption in captions:
                    self._content(caption)
                    self._add(" " if caption is not captions[-1] else "")

    def _block(self, block: Block) -> None:
        match block.kind:
            case MarkKind.PARAGRAPH:
                with self._tag("p"):
                    self._plain(self._indented(block.start), block.start)
                    self._leaf(block)
            case MarkKind.LIST:
                self._list(block)
            case MarkKind.DEFINITIONS:
                self._definitions(block)
            case MarkKind.TABLE:
                self._table(block)
            case MarkKind.CODE | MarkKind.RAW:
                self._code(block)
            case MarkKind.FORMULA:
                with self._tag("pre", ' class="formula"'), self._tag("code", ' class="formula"'):
                    self._leaf(block)
            case MarkKind.QUOTE:
                with self._tag("blockquote"):
                    self.blocks(block.children)
            case MarkKind.NOTE:
                self._note(block)
            case MarkKind.FIGURE:
                self._figure(block)
            case MarkKind.TITLE if all(child.kind is MarkKind.PARAGRAPH for child in block.children):
                self._in("p", block, ' class="note-title"')
            case MarkKind.TITLE:
                self.blocks(block.children)
            case _:  # a caption of nothing
                self._in("div", block)

    def _indented(self, start: int) -> int:
        """Return where the white space in front of a paragraph's first line begins: without marks it may be code."""
        line = self._text.rfind("\n", 0, start) + 1
        return start if self._text[line:start].strip(" \t") else line

    def _list(self, block: Block) -> None:
        number = int(block.detail) if _NUMBER.fullmatch(block.detail) else 1
        with self._tag("ol" if block.detail else "ul", f' start="{number}"' if number != 1 else ""):
            for child in block.children:
                if child.kind is not MarkKind.ITEM:
                    self._in("li", child, ' class="plain"', whole=True)
                elif task := _TASK.match(self._text, child.start, child.end):
                    self._begins[child.start] = task.end()
                    self._in("li", child, f' class="task {"done" if task[1].strip() else "open"}"')
                else:
                    self._in("li", child)

    def _definitions(self, block: Block) -> None:
        with self._tag("dl"):
            for child in block.children:
                whole = child.kind not in (MarkKind.TERM, MarkKind.DEFINITION)
                self._in("dt" if child.kind is MarkKind.TERM else "dd", child, whole=whole)

    def _table(self, block: Block) -> None:
        captions = [child for child in block.children if child.kind is MarkKind.CAPTION]
        rows = [child for child in block.children if child.kind is not MarkKind.CAPTION]
        heads = list(takewhile(lambda row: row.kind is MarkKind.ROW and row.detail, rows))
        with self._tag("div", ' class="wide"'), self._tag("table"):
            self._captions("caption", captions)
            for tag, some in (("thead", heads), ("tbody", rows[len(heads) :])):
                if some:
                    with self._tag(tag):
                        for row in some:
                            self._row(row)

    def _row(self, row: Block) -> None:
        with self._tag("tr"):
            if row.kind is not MarkKind.ROW:
                self._in("td", row, whole=True)
            for cell in row.children if row.kind is MarkKind.ROW else ():
                if row.detail and cell.children:
                    self._in("th", cell, ' scope="col"')
                elif cell.kind is MarkKind.CELL:
                    self._in("td", cell, ' class="long"' if cell.end - cell.start > _LONG else "")
                else:
                    self._in("td", cell, whole=True)

    def _code(self, block: Block) -> None:
        language = block.detail if _NAME.fullmatch(block.detail) else ""
        with self._tag("div", ' class="code" dir="ltr"'):
            with self._tag("pre"), self._tag("code", f' class="language-{language}"' if language else ""):
                self._leaf(block)
            if language:
                self._add(f'<div class="tools"><span>{language}</span></div>')

    def _note(self, block: Block) -> None:
        label, title, content, begins = opening(self._text, block)
        if begins:
            self._begins[content[0].start] = begins
        # Of the kinds only those that the page's style knows: others may be its names for something else.
        kind = f" {block.detail}" if block.detail in _COLOURED else ""
        with self._tag("aside", f' role="note" class="note{kind}"'):
            if title is not None:
                self._block(title)
            elif label:
                label = self._t(block.detail.lower()) if block.detail.lower() in self._t.notes else label
                self.parts.append(Markup('<p class="note-title">{}</p>').format(label))
            self.blocks(content)

    def _figure(self, block: Block) -> None:
        captions = [child for child in block.children if child.kind is MarkKind.CAPTION]
        with self._tag("figure"):
            self.blocks(child for child in block.children if child.kind is not MarkKind.CAPTION)
            self._captions("figcaption", captions)
