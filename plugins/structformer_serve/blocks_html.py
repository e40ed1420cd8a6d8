"""A section's text as HTML: its lists, tables, code and notes as what they are. All that the text says is escaped."""

import re
from collections.abc import Iterable, Sequence
from itertools import takewhile

from markupsafe import Markup, escape
from structformer.document import Block, MarkKind, Section
from structformer.text import visible

from structformer_serve.language import ENGLISH, Language
from structformer_serve.spans import Resolve, Span, leaves, note_opening, spans_of_leaves

_FORMULA = ' class="formula"'
# The element of each kind of span, and its attributes.
_SPANS = {
    MarkKind.EMPHASIS: ("em", ""),
    MarkKind.STRONG: ("strong", ""),
    MarkKind.CODE_SPAN: ("code", ""),
    MarkKind.FORMULA_SPAN: ("code", _FORMULA),
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
    return _Writer(section.text, spans_of_leaves(section, blocks, resolve, pictures=True), t).blocks(blocks)


def _element(name: str, content: Markup, attributes: str = "") -> Markup:
    """attributes: markup of ours, never of a text."""
    return Markup(f"<{name}{attributes}>{content}</{name}>")


def _joined(parts: Iterable[Markup]) -> Markup:
    return Markup("").join(parts)


class _Writer:
    def __init__(self, text: str, spans: dict[int, list[Span]], t: Language) -> None:
        self._text = text
        self._spans = spans
        self._t = t
        self._depth = 0
        self._begins: dict[int, int] = {}  # where leaves begin whose first words are said otherwise

    def _plain(self, start: int, end: int) -> Markup:
        return escape(visible(self._text[start:end]))

    def _within(self, start: int, end: int, spans: Sequence[Span]) -> Markup:
        parts: list[Markup] = []
        for span in spans:
            if span.end <= start:
                continue
            parts.append(self._plain(start, span.start))
            inner = self._within(max(start, span.start), span.end, span.children)
            if span.kind is not None:
                name, attributes = _SPANS[span.kind]
                parts.append(_element(name, inner, attributes))
            elif span.address:
                parts.append(Markup('<a href="{}">{}</a>').format(span.address, inner))
            else:
                parts.append(Markup('<em class="picture">[{}: {}]</em>').format(self._t("picture"), inner))
            start = span.end
        return _joined([*parts, self._plain(start, end)])

    def _leaf(self, block: Block) -> Markup:
        start = self._begins.get(block.start, block.start)
        return self._within(start, block.end, self._spans.get(block.start, ()))

    def blocks(self, blocks: Iterable[Block]) -> Markup:
        """Blocks, one after the other; what is too deep in others as if it stood in none."""
        self._depth += 1
        written = _joined(map(self._block, blocks if self._depth <= _DEEPEST else leaves(blocks)))
        self._depth -= 1
        return written

    def _content(self, block: Block) -> Markup:
        """Return the content of a part: of a single paragraph its text alone."""
        if len(block.children) == 1 and block.children[0].kind is MarkKind.PARAGRAPH:
            return self._leaf(block.children[0])
        return self.blocks(block.children)

    def _captions(self, tag: str, captions: Sequence[Block]) -> Markup:
        return _element(tag, Markup(" ").join(map(self._content, captions))) if captions else Markup("")

    def _block(self, block: Block) -> Markup:
        match block.kind:
            case MarkKind.PARAGRAPH:
                return _element("p", self._plain(self._indented(block.start), block.start) + self._leaf(block))
            case MarkKind.LIST:
                return self._list(block)
            case MarkKind.DEFINITIONS:
                return self._definitions(block)
            case MarkKind.TABLE:
                return self._table(block)
            case MarkKind.CODE | MarkKind.RAW:
                return self._code(block)
            case MarkKind.FORMULA:
                return _element("pre", _element("code", self._leaf(block), _FORMULA), _FORMULA)
            case MarkKind.QUOTE:
                return _element("blockquote", self.blocks(block.children))
            case MarkKind.NOTE:
                return self._note(block)
            case MarkKind.FIGURE:
                return self._figure(block)
            case MarkKind.TITLE if all(child.kind is MarkKind.PARAGRAPH for child in block.children):
                return _element("p", self._content(block), ' class="note-title"')
            case MarkKind.TITLE:
                return self.blocks(block.children)
            case _:  # a caption of nothing
                return _element("div", self._content(block))

    def _indented(self, start: int) -> int:
        """Return where the white space in front of a paragraph's first line begins: without marks it may be code."""
        line = self._text.rfind("\n", 0, start) + 1
        return start if self._text[line:start].strip(" \t") else line

    def _list(self, block: Block) -> Markup:
        items: list[Markup] = []
        for child in block.children:
            if child.kind is not MarkKind.ITEM:
                items.append(_element("li", self._block(child), ' class="plain"'))
            elif task := _TASK.match(self._text, child.start, child.end):
                self._begins[child.start] = task.end()
                state = "done" if task[1].strip() else "open"
                items.append(_element("li", self._content(child), f' class="task {state}"'))
            else:
                items.append(_element("li", self._content(child)))
        number = int(block.detail) if _NUMBER.fullmatch(block.detail) else 1
        return _element("ol" if block.detail else "ul", _joined(items), f' start="{number}"' if number != 1 else "")

    def _definitions(self, block: Block) -> Markup:
        parts: list[Markup] = []
        for child in block.children:
            own = child.kind in (MarkKind.TERM, MarkKind.DEFINITION)
            content = self._content(child) if own else self._block(child)
            parts.append(_element("dt" if child.kind is MarkKind.TERM else "dd", content))
        return _element("dl", _joined(parts))

    def _table(self, block: Block) -> Markup:
        captions = [child for child in block.children if child.kind is MarkKind.CAPTION]
        rows = [child for child in block.children if child.kind is not MarkKind.CAPTION]
        heads = list(takewhile(lambda row: row.kind is MarkKind.ROW and row.detail, rows))
        parts = [self._captions("caption", captions)]
        for tag, some in (("thead", heads), ("tbody", rows[len(heads) :])):
            if some:
                parts.append(_element(tag, _joined(map(self._row, some))))
        return _element("div", _element("table", _joined(parts)), ' class="wide"')

    def _row(self, row: Block) -> Markup:
        if row.kind is not MarkKind.ROW:
            return _element("tr", _element("td", self._block(row)))
        cells: list[Markup] = []
        for cell in row.children:
            if row.detail and cell.children:
                cells.append(_element("th", self._content(cell), ' scope="col"'))
            elif cell.kind is MarkKind.CELL:
                long = ' class="long"' if cell.end - cell.start > _LONG else ""
                cells.append(_element("td", self._content(cell), long))
            else:
                cells.append(_element("td", self._block(cell)))
        return _element("tr", _joined(cells))

    def _code(self, block: Block) -> Markup:
        language = block.detail if _NAME.fullmatch(block.detail) else ""
        code = _element("code", self._leaf(block), f' class="language-{language}"' if language else "")
        tools = Markup(f'<div class="tools"><span>{language}</span></div>') if language else ""
        return _element("div", _element("pre", code) + tools, ' class="code" dir="ltr"')

    def _note(self, block: Block) -> Markup:
        label, title, content, begins = note_opening(self._text, block)
        if begins:
            self._begins[content[0].start] = begins
        # Of the kinds only those that the page's style knows: others may be its names for something else.
        kind = f" {block.detail}" if block.detail in _COLOURED else ""
        head = Markup("")
        if title is not None:
            head = self._block(title)
        elif label:
            label = self._t(block.detail.lower()) if block.detail.lower() in self._t.notes else label
            head = _element("p", escape(label), ' class="note-title"')
        return _element("aside", head + self.blocks(content), f' role="note" class="note{kind}"')

    def _figure(self, block: Block) -> Markup:
        captions = [child for child in block.children if child.kind is MarkKind.CAPTION]
        shown = self.blocks(child for child in block.children if child.kind is not MarkKind.CAPTION)
        return _element("figure", shown + self._captions("figcaption", captions))
