"""The emphases, code, formulas and links within the lines of a text, as trees: one list for each leaf of its blocks.
And how a note says what it is: by a title of its own, or by its kind, which its first words may say already.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from structformer.document import Block, Link, LinkKind, Mark, MarkKind, Section, inline_marks

_PICTURE = re.compile(r"\.(?:apng|avif|bmp|gif|ico|jpe?g|png|svg|tiff?|webp)(?:[?#]|\Z)", re.IGNORECASE)
Resolve = Callable[[Link], str]  # the address that a link leads to; "" for none


@dataclass(slots=True)
class Span:
    """[start, end) of a text."""

    kind: MarkKind | None
    """None for a link, which has an address."""
    start: int
    end: int
    address: str = ""
    """Where a link leads; "" of a picture, whose alternative text it is."""
    children: list[Span] = field(default_factory=list)


def leaves(blocks: Iterable[Block]) -> Iterator[Block]:
    """Return the blocks in these that hold text of their own, in order."""
    return (each for block in blocks for each in block.walk() if each.is_leaf)


def spans_of_leaves(
    section: Section, blocks: Sequence[Block], resolve: Resolve | None = None, *, pictures: bool = False
) -> dict[int, list[Span]]:
    """By the start of each leaf the spans in it, cut at its ends. Links keep whole: a mark across the end of one is
    left out. pictures: with the alternative texts of pictures.
    """
    links = _links(section.links, resolve, pictures=pictures) if resolve else []
    spans = [
        *links,
        *(Span(mark.kind, mark.start, mark.end) for mark in _single_beside(inline_marks(section.marks), links)),
    ]
    spans.sort(key=lambda span: (span.start, -span.end))  # stable: of two alike, the link is the outer
    by_leaf: dict[int, list[Span]] = {}
    open_spans: list[Span] = []
    following = 0
    for leaf in sorted(leaves(blocks), key=lambda each: each.start):
        while following < len(spans) and spans[following].start < leaf.end:
            open_spans.append(spans[following])
            following += 1
        open_spans = [span for span in open_spans if span.end > leaf.start]
        cut = [
            Span(span.kind, max(span.start, leaf.start), min(span.end, leaf.end), span.address)
            for span in open_spans
            if span.start < leaf.end
        ]
        if cut:
            by_leaf[leaf.start] = _nested(cut)
    return by_leaf


def _links(links: Iterable[Link], resolve: Resolve, *, pictures: bool) -> list[Span]:
    """Return the links that lead somewhere, without those that begin in another."""
    spans: list[Span] = []
    for link in sorted(links, key=lambda each: (each.start, -each.end)):
        if link.start < link.end and (not spans or link.start >= spans[-1].end):
            is_picture = pictures and link.kind is LinkKind.EMBED and _PICTURE.search(link.target)
            if (address := resolve(link)) or is_picture:
                spans.append(Span(None, link.start, link.end, address))
    return spans


def _single_beside(marks: Iterable[Mark], links: Sequence[Span]) -> Iterator[Mark]:
    """Yield the marks that cross no link, except those inside a mark of the same kind."""
    starts = [link.start for link in links]
    ends: dict[MarkKind, int] = {}
    for mark in marks:
        before = bisect_left(starts, mark.start) - 1  # the last link that begins before the mark
        within = bisect_left(starts, mark.end) - 1  # the last that begins before its end
        if before >= 0 and mark.start < links[before].end < mark.end:
            continue
        if within > before and links[within].end > mark.end and links[within].start > mark.start:
            continue
        if mark.end > ends.get(mark.kind, -1):
            ends[mark.kind] = mark.end
            yield mark


def _nested(spans: Iterable[Span]) -> list[Span]:
    root: list[Span] = []
    around: list[Span] = []
    for span in spans:
        while around and around[-1].end <= span.start:
            around.pop()
        if around and around[-1].end < span.end:
            continue  # marks of a reader that does not nest them
        (around[-1].children if around else root).append(span)
        around.append(span)
    return root


_LABELS = {"seealso": "See also"}
_KIND = re.compile(r"[^\W_][\w .+#-]{0,39}")


def note_opening(text: str, note: Block) -> tuple[str, Block | None, Sequence[Block], int]:
    """Return the name of a note's kind, "" for none; the block that is its title; its other blocks; and where in the
    first of these the words after "Note: " begin, 0 for at its start. A title or a first paragraph that says its kind
    alone is left out: the label says it.
    """
    name, content = " ".join(note.detail.split()), note.children
    label = _LABELS.get(name, name[:1].upper() + name[1:]) if _KIND.fullmatch(name) else ""
    if content and content[0].kind is MarkKind.TITLE:
        title, *content = content
        is_label = text[title.start : title.end].rstrip(": ").casefold() == label.casefold()
        return label, None if is_label else title, content, 0
    if label and content and content[0].kind is MarkKind.PARAGRAPH:
        first = content[0]
        match = re.compile(rf"{re.escape(label)}(?::\s+|:?\Z)", re.IGNORECASE).match(text[first.start : first.end])
        if match is not None:
            begins = first.start + match.end()
            return (label, None, content, begins) if begins < first.end else (label, None, content[1:], 0)
    return label, None, content, 0
