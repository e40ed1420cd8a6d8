"""Builds a Document tree from the stream of headings, text and links that a format plugin finds."""

import gc
import re
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, NamedTuple, TypeVar

from structformer.document import VERBATIM, Document, Link, LinkKind, Mark, MarkKind, Section, Source
from structformer.document.word_counts import has_words
from structformer.formats.link_names import INDEX_STEMS
from structformer.formats.scripts import Script, written
from structformer.text.headings import Slugs, github_slug, is_see_also
from structformer.text.visible_text import without_controls

_TITLELESS_STEMS = INDEX_STEMS | {"home"}  # files that are called after their folder; a wiki's home is none by its path
_DEEPEST = 100  # marks around a mark; what is nested deeper is text alone
_MOST_TITLE_WORDS = 300  # the longest title of the corpora at hand has under 100
_LINE_END = re.compile(r"[ \t]*\n\s*")
_LONGEST_SCRIPT = 200  # characters; what is longer, raised or lowered, is no part of a number
_Cell = TypeVar("_Cell")
_SEPARATORS = {"": 0, " ": 1, "\n": 2, "\n\n": 3}


@dataclass(slots=True)
class _OpenLink:
    kind: LinkKind
    target: str
    start: int = -1


class _OpenScript(NamedTuple):
    """How much a buffer held when raised text, lowered text or a part of a fraction began in it."""

    script: Script
    before: str
    parts: int
    length: int
    links: int
    marks: int


class _Buffer:
    """Text under construction, with the links that are open in it and a separator due before the next text."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.due = ""
        self.held = 0  # line ends of verbatim text, kept only if more of it follows
        self.open_links: list[_OpenLink] = []
        self.links: list[Link] = []
        self.marks: list[Mark] = []
        self.open_marks: list[Mark] = []
        self.open_kinds: dict[MarkKind, int] = {}
        self.waiting: list[Mark] = []  # opened since the last text: they begin with the next
        self.scripts: list[_OpenScript] = []
        self.guarded = False  # a digit that comes next would go on with a number that has ended

    def separate(self, separator: str) -> None:
        if _SEPARATORS[separator] > _SEPARATORS[self.due]:
            self.due = separator

    def append(self, text: str) -> None:
        if not text:
            return
        if self.guarded:
            self.guarded = False
            if text[0].isdecimal():
                self.separate(" ")
        if self.due or self.held:
            if self.length:
                separator = "\n" * self.held if self.held and _SEPARATORS[self.due] < 2 else self.due
                self.parts.append(separator)
                self.length += len(separator)
            self.due = ""
            self.held = 0
        if self.open_links:
            for link in self.open_links:
                if link.start < 0:
                    link.start = self.length
        if self.waiting:
            for mark in self.waiting:
                mark.start = self.length
            self.waiting.clear()
        self.parts.append(text)
        self.length += len(text)

    def flow(self, text: str) -> str:
        """Append inline text, any run of white space as one space; gives what was appended."""
        core = " ".join(text.split())
        if not self.due and text[:1].isspace():
            self.due = " "
        if core:
            self.append(core)
            if text[-1].isspace():
                self.due = " "
        return core

    def append_verbatim(self, text: str) -> None:
        core = text.strip("\n")
        if not core:
            self.held += len(text)
            return
        self.held += len(text) - len(text.lstrip("\n"))
        self.append(core)
        self.held = len(text) - len(text.rstrip("\n"))

    def open_mark(self, kind: MarkKind, detail: str) -> None:
        depth = len(self.open_marks)
        mark = Mark(kind, -1, -1, depth, detail)
        if depth < _DEEPEST:
            self.marks.append(mark)
            self.waiting.append(mark)
        self.open_marks.append(mark)
        self.open_kinds[kind] = self.open_kinds.get(kind, 0) + 1

    def close_mark(self, kind: MarkKind) -> None:
        if not self.open_kinds.get(kind):
            return
        closed = None
        while closed is not kind:
            mark = self.open_marks.pop()
            mark.end = self.length
            if mark.start < 0:  # no text since it was opened: the last of those that wait
                mark.start = self.length
                if mark.depth < _DEEPEST:
                    self.waiting.pop()
            closed = mark.kind
            self.open_kinds[closed] -= 1

    def close_all(self) -> None:
        """End what is still open."""
        while self.open_links:
            self.close_link()
        while self.open_marks:
            self.close_mark(self.open_marks[-1].kind)

    def close_link(self) -> None:
        if not self.open_links:
            return
        link = self.open_links.pop()
        if link.start < 0:
            self.links.append(Link(link.kind, link.target, ""))
        else:
            # The anchor's own parts are few and at the end, so this stays linear in the text.
            self.links.append(Link(link.kind, link.target, self._slice_from(link.start), link.start, self.length))

    def open_script(self, script: Script) -> None:
        before = "" if self.due or self.held or not self.parts else "".join(part[-2:] for part in self.parts[-2:])[-2:]
        self.guarded = False
        counts = len(self.parts), self.length, len(self.links), len(self.marks)
        self.scripts.append(_OpenScript(script, before, *counts))

    def close_script(self) -> None:
        if not self.scripts:
            return
        opened = self.scripts.pop()
        if self.length - opened.length > _LONGEST_SCRIPT:
            return
        text = "".join(self.parts[opened.parts :])
        core = text.strip()
        if core and "\n" not in text and not (core.isalpha() and self._is_reference(opened)):
            front, content, back = written(opened.script, opened.before, core)
            self.guarded = opened.script is not Script.RAISED and (back or content)[-1].isdecimal()
            if front or back or content != core:
                self._rewrite(opened, text.replace(core, front + content + back), len(front))

    def _is_reference(self, opened: _OpenScript) -> bool:
        """Whether a script is a link, as the sign of a note is: no power."""
        starts = [link.start for link in self.links[opened.links :]] + [link.start for link in self.open_links]
        return any(start >= opened.length for start in starts)

    def _rewrite(self, opened: _OpenScript, text: str, shift: int) -> None:
        """Put a text where a script's was, and so much further on the links and marks that began in it."""
        self.parts[opened.parts :] = [text]
        self.length = opened.length + len(text)
        for mark in self.marks[opened.marks :]:
            mark.start += shift if mark.start >= opened.length else 0
            mark.end += shift if mark.end > opened.length else 0
        for link in self.links[opened.links :]:
            if link.end > opened.length:
                link.start += shift if link.start >= opened.length else 0
                link.end += shift
                link.text = self._slice_from(link.start)[: link.end - link.start] if link.text else ""
        for open_link in self.open_links:
            open_link.start += shift if open_link.start > opened.length else 0

    def _slice_from(self, start: int) -> str:
        taken: list[str] = []
        position = self.length
        for part in reversed(self.parts):
            if position <= start:
                break
            position -= len(part)
            taken.append(part)
        return "".join(reversed(taken))[max(0, start - position) :]

    def text(self) -> str:
        return "".join(self.parts)


class TreeBuilder:
    """Receives a document's content in source order and returns its tree.

    slugs: give every section the anchors that generators make of titles, for formats whose anchors are not written
    down.

    Headings nest under the nearest shallower heading, whatever levels are jumped; text before any heading is the
    root's. White space between inline texts is one space; `line` and `paragraph` ask for a break before what follows.
    """

    def __init__(self, *, slugs: bool = True) -> None:
        self.root = Section("")
        self._stack = [self.root]
        self._buffers: dict[int, _Buffer] = {id(self.root): _Buffer()}
        self._body = self._buffers[id(self.root)]
        self._heading: _Buffer | None = None
        self._heading_level = 0
        self._heading_anchors: list[str] = []
        self._slugs = Slugs() if slugs else None
        self._order = [self.root]

    @property
    def in_heading(self) -> bool:
        return self._heading is not None

    def text(self, text: str) -> None:
        """Append inline text; white space at its ends becomes one space at most, or nothing at a block's start."""
        target = self._heading or self._body
        core = text.strip(" \t\r\n\f\v")
        if not core:
            if text:
                target.separate(" ")
            return
        if text[0] != core[0]:
            target.separate(" ")
        target.append(core)
        if text[-1] != core[-1]:
            target.separate(" ")

    def flow(self, text: str) -> None:
        """Append inline text as markup languages have it: any run of white space is one space."""
        (self._heading or self._body).flow(text)

    def space(self) -> None:
        """White space between inline texts."""
        (self._heading or self._body).separate(" ")

    def verbatim(self, text: str) -> None:
        """Append text as it stands: code, math. Line ends at a block's ends are not text, in a row each is a space."""
        if "\n" in text and self._is_in_line:
            self.text(_LINE_END.sub(" ", text))
        else:
            (self._heading or self._body).append_verbatim(text)

    @property
    def _is_in_line(self) -> bool:
        """Whether a block is a space here: in a heading, and in a table's cell, whose row is a line."""
        return self._heading is not None or bool(self._body.open_kinds.get(MarkKind.CELL))

    def line(self) -> None:
        """Begin a new line with what follows; in a heading and in a table's cell, a block is a space."""
        (self._heading or self._body).separate(" " if self._is_in_line else "\n")

    def paragraph(self) -> None:
        """Begin a paragraph with what follows; in a heading and in a table's cell, a block is a space."""
        (self._heading or self._body).separate(" " if self._is_in_line else "\n\n")

    def open_link(self, target: str, kind: LinkKind = LinkKind.HYPERLINK) -> None:
        (self._heading or self._body).open_links.append(_OpenLink(kind, target))

    def link_text(self, target: str, text: str, kind: LinkKind = LinkKind.HYPERLINK) -> None:
        """A link whose anchor text is plain: the same as opening it, letting the text flow, and closing it."""
        buffer = self._heading or self._body
        core, end = buffer.flow(text), buffer.length
        buffer.links.append(Link(kind, target, core, end - len(core), end) if core else Link(kind, target, ""))

    def close_link(self) -> None:
        """Close the innermost open link; without one, nothing happens."""
        (self._heading or self._body).close_link()

    @property
    def in_link(self) -> bool:
        return bool((self._heading or self._body).open_links)

    def add_link(self, target: str, text: str = "", kind: LinkKind = LinkKind.HYPERLINK) -> None:
        """A reference with no place in the text: an image, a category, a redirect."""
        (self._heading or self._body).links.append(Link(kind, target, text))

    def add_image(self, target: str, alternative: str) -> None:
        """An image: its alternative text is text, except within a link, where it is a badge or a logo."""
        if self.in_link or not alternative:
            self.add_link(target, alternative, LinkKind.EMBED)
        else:
            self.open_link(target, LinkKind.EMBED)
            self.text(alternative)
            self.close_link()

    def open_mark(self, kind: MarkKind, detail: str = "") -> None:
        """Mark what follows until `close_mark`, from its first text on; in a heading nothing happens."""
        if self._heading is None:
            self._body.open_mark(kind, detail)

    def close_mark(self, kind: MarkKind) -> None:
        """End the innermost open part of this kind, and all that is open in it; without one, nothing happens."""
        if self._heading is None:
            self._body.close_mark(kind)

    @contextmanager
    def marked(self, kind: MarkKind | None, detail: str = "") -> Iterator[None]:
        """Make what is written within such a part of the text; with None, write it alone."""
        if kind is not None:
            self.open_mark(kind, detail)
        yield
        if kind is not None:
            self.close_mark(kind)

    def row(self, cells: Iterable[_Cell], write: Callable[[_Cell], object], *, is_header: bool = False) -> None:
        """Write a table's row on a line of its own, each cell by `write`, bars between them."""
        self.line()
        self.open_mark(MarkKind.ROW, "header" if is_header else "")
        for place, cell in enumerate(cells):
            if place:
                self.text(" | ")
            self.open_mark(MarkKind.CELL)
            write(cell)
            self.close_mark(MarkKind.CELL)
        self.close_mark(MarkKind.ROW)

    def marked_text(self, kind: MarkKind, text: str) -> None:
        """Text all of which is such a part: the same as opening it, letting the text flow, and closing it."""
        body = self._body
        if self._heading is not None or len(body.open_marks) >= _DEEPEST:
            self.flow(text)
        elif core := body.flow(text):
            body.marks.append(Mark(kind, body.length - len(core), body.length, len(body.open_marks)))

    def code(self, text: str, language: str = "") -> None:
        """A block of code, its lines as they stand."""
        with self.marked(MarkKind.CODE, language):
            self.verbatim(text)

    def code_span(self, text: str) -> None:
        """Code within a line, as it stands."""
        with self.marked(MarkKind.CODE_SPAN):
            self.verbatim(text)

    def open_script(self, script: Script) -> None:
        """Begin raised or lowered text, or a part of a fraction, until `close_script`; see formats/scripts.py."""
        (self._heading or self._body).open_script(script)

    def close_script(self) -> None:
        """End the innermost of these; without one, nothing happens."""
        (self._heading or self._body).close_script()

    def in_mark(self, kind: MarkKind) -> bool:
        """Whether such a part is open."""
        return self._heading is None and bool(self._body.open_kinds.get(kind))

    @property
    def is_empty(self) -> bool:
        """True while there is neither text nor a heading."""
        return len(self._order) == 1 and self._heading is None and not self._body.length

    def current_text(self) -> str:
        """Return the own text, so far, of the section being read."""
        return self._body.text()

    def has_anchor_prefix(self, prefix: str) -> bool:
        """Whether any section so far has an anchor that begins so."""
        return any(anchor.startswith(prefix) for section in self._order for anchor in section.anchors)

    def add_anchor(self, *anchors: str) -> None:
        """Names by which links lead here: to the heading being read or, outside one, to the current section."""
        for anchor in filter(None, anchors):
            if self._heading is not None:
                self._heading_anchors.append(anchor)
            elif anchor not in self._stack[-1].anchors:
                self._stack[-1].anchors += (anchor,)

    def open_heading(self, level: int, anchors: tuple[str, ...] = ()) -> None:
        """Begin a heading; all text until `close_heading` is its title."""
        if self._heading is not None:
            self.close_heading()
        self._body.close_all()
        self._heading = _Buffer()
        self._heading_level = level
        self._heading_anchors = list(anchors)

    def close_heading(self) -> Section | None:
        """End the heading and return its section; None if none is open, or if it is so long that it is text."""
        if self._heading is None:
            return None
        heading, self._heading = self._heading, None
        heading.close_all()
        title, links = _without_signs(heading.text(), heading.links)
        title = title or next((link.text for link in links if link.kind is LinkKind.EMBED), "")
        explicit = self._heading_anchors
        if len(title) > _MOST_TITLE_WORDS and has_words(title, _MOST_TITLE_WORDS):
            self._write_paragraph(title, links, explicit)
            return None
        anchors = self._slugs.anchors(title, explicit) if self._slugs else tuple(dict.fromkeys(filter(None, explicit)))
        section = Section(title, self._heading_level, anchors=anchors)
        while len(self._stack) > 1 and self._stack[-1].level >= section.level:
            self._stack.pop()
        self._stack[-1].children.append(section)
        self._stack.append(section)
        self._order.append(section)
        self._body = self._buffers[id(section)] = _Buffer()
        # A title's links have no place in the section's text, so their spans are empty.
        self._body.links += [Link(link.kind, link.target, link.text) for link in links]
        return section

    def _write_paragraph(self, text: str, links: Iterable[Link], anchors: Iterable[str]) -> None:
        self.add_anchor(*anchors)
        self._body.separate("\n\n")
        self._body.flow(text)
        self._body.links += [Link(link.kind, link.target, link.text) for link in links]
        self._body.separate("\n\n")

    def leave(self, level: int) -> None:
        """End the sections of this level and deeper: what follows belongs to the section around them."""
        self.close_heading()
        self._body.close_all()
        while len(self._stack) > 1 and self._stack[-1].level >= level:
            self._stack.pop()
        self._body = self._buffers[id(self._stack[-1])]
        self._body.separate("\n\n")

    def return_to(self, section: Section) -> None:
        """Continue at the end of an earlier section's own text, until the next heading."""
        self.close_heading()
        self._stack.append(section)
        self._body = self._buffers[id(section)]
        self._body.separate("\n\n")

    def finish(
        self,
        source: Source,
        *,
        id: str | None = None,
        title: str | None = None,
        names: tuple[str, ...] = (),
        language: str | None = None,
        metadata: dict[str, Any] | None = None,
        promote: bool | None = None,
    ) -> Document:
        """Return the finished Document. Its title is, in order: `title`, the first level-1 heading, the file's stem.

        promote: make a level-1 heading that comes first and is the only one the root; None does so unless `title` says
        that the document is called otherwise, so that the heading is a section of it."""
        self.close_heading()
        for section in self._order:
            buffer = self._buffers[id_(section)]
            buffer.close_all()
            section.text = without_controls(buffer.text())
            section.links = buffer.links
            section.marks = settled(buffer.marks)
            section.title = without_controls(section.title)
            section.anchors = tuple(map(without_controls, section.anchors))
            for link in section.links:
                link.target, link.text = without_controls(link.target), without_controls(link.text)
        tops = [section for section in self._order[1:] if section.level == 1]
        root = self.root
        # A heading without a letter names nothing, so it stays a section of its own.
        same = title is None or " ".join(title.split()).casefold() == (tops[0].title.casefold() if tops else "")
        if (
            (same if promote is None else promote)
            and len(tops) == 1
            and self._order[1] is tops[0]
            and any(c.isalnum() for c in tops[0].title)
        ):
            promote_to_root(root, tops[0])
        first = tops[0].title if tops else ""
        document_title = without_controls(title or first or stem_title(source.path))
        root.title = root.title or document_title
        mark_see_also(root)
        return Document(
            id=id or source.path,
            title=document_title,
            root=root,
            source=source,
            names=names,
            language=language,
            metadata=metadata or {},
        )


def _without_signs(text: str, links: list[Link]) -> tuple[str, list[Link]]:
    """A heading's title and its links, without those that only a sign shows: to the heading itself, or to a note."""
    signs = [link for link in links if _is_sign(link)] if links else links
    title = text
    for link in reversed(signs):
        title = title[: link.start] + title[link.end :]
    if not signs or not title.strip():
        return " ".join(text.split()), links
    return " ".join(title.split()), [link for link in links if not _is_sign(link)]


def _is_sign(link: Link) -> bool:
    if not link.target.startswith("#") or not link.start < link.end < link.start + 3:
        return False
    return link.text.isprintable() and not any(map(str.isalnum, link.text))  # the place of a title is not printable


id_ = id  # `finish` has a parameter of the built-in's name, since that is what the field is called.


def settled(marks: list[Mark]) -> list[Mark]:
    """Return the marks that hold text, and the empty cells of rows that do; none within code."""
    kept: list[Mark] = []
    row: Mark | None = None
    verbatim: Mark | None = None
    for mark in marks:
        if verbatim is not None:
            if mark.depth > verbatim.depth:
                continue
            verbatim = None
        if row is not None and mark.depth <= row.depth:
            row = None
        if mark.start >= mark.end:
            if mark.kind is not MarkKind.CELL or row is None or mark.depth != row.depth + 1:
                continue
            mark.start = mark.end = min(max(mark.start, row.start), row.end)
        elif mark.kind is MarkKind.ROW:
            row = mark
        elif mark.kind in VERBATIM:
            verbatim = mark
        kept.append(mark)
    return kept


def promote_to_root(root: Section, only: Section) -> None:
    """Make the only level-1 heading, when it comes first, the root itself; text before it stays in front."""
    shift = len(root.text) + 2 if root.text and only.text else 0 if only.text else len(root.text)
    for link in only.links:
        if link.end > link.start:
            link.start += shift
            link.end += shift
    for mark in only.marks:
        mark.start += shift
        mark.end += shift
    root.title = only.title
    root.text = "\n\n".join(text for text in (root.text, only.text) if text)
    # also without explicit anchors, so that a root that is a heading can be told from one that is none
    slug = github_slug(only.title)
    root.anchors = tuple(dict.fromkeys((*root.anchors, *only.anchors, *((slug,) if slug else ()))))
    root.links += only.links
    root.marks += only.marks
    root.children = only.children


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Keep Python from searching the many small objects of readers for garbage, a fifth of their time, in vain."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


_PLAIN_KINDS = (LinkKind.HYPERLINK, LinkKind.XREF)
# "See also" with neither the end of a sentence nor that of a line before the link; a dot in a name is none.
_SEE_ALSO_BEFORE = re.compile(r"\bsee also\b(?:[^.!?;\n]|[.](?=\S))*$", re.IGNORECASE)
_SEE_ALSO_REACH = 2000  # characters


def mark_see_also(root: Section, titles: Collection[str] = ()) -> None:
    """Turn plain links below a "See also" heading, or after these words in a sentence, into see-also links.

    titles: other headings that mean the same, in lower case.
    """
    for section in root.walk():
        if section is not root and (is_see_also(section.title) or section.title.casefold() in titles):
            for listed in section.walk():
                for link in listed.links:
                    if link.kind in _PLAIN_KINDS:
                        link.kind = LinkKind.SEE_ALSO
        elif section.links and "ee also" in section.text:
            for link in section.links:
                if link.kind in _PLAIN_KINDS and link.end > link.start:
                    line = section.text.rfind("\n", 0, link.start) + 1
                    before = section.text[max(line, link.start - _SEE_ALSO_REACH) : link.start]
                    if "ee also" in before and _SEE_ALSO_BEFORE.search(before):
                        link.kind = LinkKind.SEE_ALSO


def stem_title(path: str) -> str:
    """Return a file's stem as its title; an index page is called after its folder."""
    file = PurePosixPath(re.sub(r"[?#].*$", "", path) or path)
    if file.stem.lower() in _TITLELESS_STEMS and file.parent.name:
        return file.parent.name
    return file.stem or path
