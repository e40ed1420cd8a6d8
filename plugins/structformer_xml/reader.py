"""Walks a document's elements by its vocabulary and tells a TreeBuilder what it finds."""

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from lxml import etree
from structformer.document import INLINE, VERBATIM, LinkKind, MarkKind
from structformer.formats import OF_MATHML, UNNAMED, Script, is_external

from structformer_html import TableBuilder
from structformer_xml.including import XML_ID
from structformer_xml.marks import Part, part_of
from structformer_xml.parsing import words_of
from structformer_xml.vocabulary import Vocabulary

_IDENTIFIERS = (XML_ID, "id", "anchor", "eId", "identifier")
_NUMBER = re.compile(r"[\w.]{1,12}")  # of a section
_HEADINGS = frozenset({"heading", "head", "title"})  # a title that holds one is no title
_LAST_TITLE = 10  # among the elements of a section
_OTHER, _SECTION, _TITLE, _SKIPPED, _PARAGRAPH, _LINE, _CELL, _VERBATIM, _INLINE, _WRAPPER, _BLOCK = range(11)
_ROLES = (_SKIPPED, _TITLE, _SECTION, _WRAPPER, _VERBATIM, _CELL, _BLOCK, _LINE, _PARAGRAPH, _INLINE)  # first leads
_PARTING = frozenset({_PARAGRAPH, _LINE, _CELL})  # in a footnote in a sentence, a space
_CHOICES = {"opt": ("[", "]"), "req": ("{", "}")}  # how a command's arguments are chosen
_LISTS_OF_NOTES = frozenset({"fn-group", "table-wrap-foot"})  # in which each is a line, wherever they are
# What elements around one, or it itself, make of all in them. A part that is whole has no others in it: code, formulas.
_SKIPS, _RELATED, _LITERAL, _EXAMPLE, _REMARK, _WHOLE, _NOTE, _TAKES = (1 << bit for bit in range(8))
_INHERITED = frozenset({_INLINE, _PARAGRAPH, _TITLE, _VERBATIM, _CELL})  # in these an element of unknown name is inline


class _Open:
    """An element being read. What most elements are not stands at the class, since making these is most of the work."""

    inline = False
    linked = 0  # references that end with it
    heading = False
    label = ""  # of a section: its number, or its title where it has no other
    begun = False  # a section, by something that is no title
    lasting = 0  # depth of the sections in it that go on to its end
    has_text = False
    own_text = False  # directly in it
    unnamed = False  # a reference that shows what it points to if it has no text
    address = ""  # of one that shows that
    closing = ""  # what follows its text
    taken: list[str] | None = None  # text gathered for the metadata or a title that is not a heading
    key = ""
    note: list[str] | None = None  # text of a footnote in a title, which follows the title, or of a reference to it
    sign = ""  # where that reference leads
    texts = 0  # that precede it
    scripted = 0  # how often it is raised, lowered or a part of a fraction
    scripts: tuple[Script, ...] = ()  # of its children that are still to come
    call: tuple[str, str] | None = None  # elements of a function's name and of a parameter, in what shows its call
    part: MarkKind | None = None  # what part of the text it is

    def __init__(self, name: str, role: int, depth: int, within: int) -> None:
        self.name = name
        self.role = role
        self.depth = depth  # sections around it
        self.within = within


class XmlReader:
    """Feeds one document's events to a builder; `title` and `metadata` are what its elements say of it."""

    def __init__(self, builder: TableBuilder, vocabulary: Vocabulary) -> None:
        self._builder = builder
        self._vocabulary = vocabulary
        self._meanings = vocabulary.meanings
        self._has_tree = False  # all of it, and not a stream of events
        self._stack: list[_Open] = []
        self._ids: list[str] = []
        self._after_title: list[str] = []
        self._ended = ""  # the element that has just ended, with no text since
        self._texts = 0
        self._silent_links: list[tuple[str, LinkKind, list[str], int]] = []
        self.title = ""
        self.metadata: dict[str, Any] = {}
        self.titled = False

    def read_tree(self, root: Any) -> None:
        """Read a parsed document."""
        self._has_tree = True
        start, end, say = self._start, self._end, self._text
        for event, element in etree.iterwalk(root, events=("start", "end", "comment", "pi")):
            if event == "start":
                start(element)
                if text := element.text:
                    say(text)
                continue
            if event == "end":
                end()
            if element is not root and (tail := element.tail):
                say(tail)
        self._flush_ids()

    def read_stream(self, events: Iterable[tuple[str, Any]]) -> None:
        """Read a document as `stream` gives it."""
        for event, value in events:
            if event == "text":
                self._text(value)
            elif event == "start":
                self._start(value)
            else:
                self._end()
        self._flush_ids()

    def _meaning(self, tag: str) -> tuple[str, int, bool, Part | None]:
        """Return (local name, role, whether more is to be asked about elements of this name, what part they are)."""
        name = tag.rpartition("}")[2]
        vocabulary = self._vocabulary
        tables = (
            *(vocabulary.skipped, vocabulary.titles, vocabulary.sections, vocabulary.wrappers, vocabulary.verbatim),
            *(vocabulary.cells, vocabulary.blocks, vocabulary.lines, vocabulary.paragraphs, vocabulary.inline),
        )
        role = next((role for role, names in zip(_ROLES, tables, strict=True) if name in names), _OTHER)
        named = (
            *(vocabulary.metadata, vocabulary.skipped_in, vocabulary.brackets, vocabulary.breaks, vocabulary.choices),
            *(vocabulary.examples, vocabulary.man_pages, vocabulary.named_by, vocabulary.labels, vocabulary.readings),
            *(vocabulary.calls, vocabulary.titled_by, OF_MATHML, ("msqrt",)),
        )
        listed = vocabulary.raised | vocabulary.lowered | vocabulary.see_also
        marked = (
            any(name in each for each in named)
            or any(mark.partition("[")[0] == name for mark in listed)
            or any(mark.rpartition("/")[2] == name for mark in vocabulary.document_titles)
        )
        meaning = name, role, marked, part_of(name, vocabulary.marks)
        vocabulary.meanings[tag] = meaning
        return meaning

    def _start(self, element: Any) -> None:
        tag = element.tag
        name, role, marked, part = self._meanings.get(tag) or self._meaning(tag)
        above = self._stack[-1] if self._stack else None
        attributes = element.attrib
        within = above.within if above is not None else 0
        opened = _Open(name, role, above.depth if above is not None else 0, within)
        self._stack.append(opened)
        if role == _TITLE and self._is_division(element):
            opened.role = role = _SECTION
        ended, self._ended = self._ended, ""
        if (within & _TAKES or self._builder.in_heading) and self._is_note(opened, element):
            opened.note = []
            opened.within |= _NOTE
        if opened.within & (_NOTE | _EXAMPLE):
            opened.role, opened.inline = _OTHER, True
            if ended and not opened.within & _NOTE:
                self._builder.space()
            return
        if within & _SKIPS or role == _SKIPPED or (above is not None and self._is_passed_over(name, above)):
            self._skip(opened, element)
            return
        if (
            above is not None
            and (above.role == _SECTION or above.lasting)
            and not (above.heading or above.begun or role in (_TITLE, _WRAPPER))
        ):
            self._begin_untitled(above, name)
        if attributes and (identifier := identifier_of(attributes)) is not None:
            self._ids.append(identifier)
        if marked and self._takes(opened, above, attributes):
            return
        hint = self._vocabulary.titled_by.get(name, "-")
        if self._has_tree and role in (_SECTION, _WRAPPER):
            _bring_title_first(element, self._vocabulary.titles)
        elif role == _VERBATIM and not len(element):  # the line of the closing tag is no code
            element.text = (element.text or "").rstrip()
        if role == _SECTION:
            if above is not None and above.inline:
                opened.role = role = _OTHER
            else:
                opened.depth += 1
                if name == "refentry" and above is not None:  # in a larger document, called by what it describes
                    if title := words_of(element.find("{*}refnamediv/{*}refname")):
                        opened.heading = True
                        self._give_title(title, opened.depth)
                elif title := attributes.get("name" if self._stack[0].name == "document" else hint):  # Maven's sites
                    opened.heading = True
                    self._give_title(title, opened.depth)
                elif self._has_tree and _NUMBER.fullmatch(number := attributes.get("n", "")):
                    kinds = map(attributes.get, self._vocabulary.numbered)
                    opened.label = f"{next(filter(None, kinds), '')} {number}".strip()
        elif role == _TITLE and above is not None and (section := self._titled_section()) is not None:
            self._open_title(section, opened)
            return
        elif role == _TITLE and name in self._vocabulary.inline:
            opened.role = role = _INLINE
        self._begin(opened, above, element, ended)
        if part is not None and not within & _WHOLE:
            self._open_part(opened, above, part, attributes)
        if above is not None and above.scripts:
            self._open_script(opened, above.scripts[0])
            above.scripts = above.scripts[1:]
        if marked:
            self._mark(opened, attributes)
            if role != _SECTION and (words := attributes.get(hint)):
                self._text(words)
                self._builder.space() if role in _PARTING else self._builder.paragraph()
        if attributes or (marked and (opened.within & _RELATED or name in self._vocabulary.man_pages)):
            self._target(opened, name, element)

    def _is_division(self, element: Any) -> bool:
        """Whether an element called a title holds a heading, sections or several paragraphs, as in laws."""
        if not self._has_tree:  # in a stream nothing is known of what it holds, but laws call divisions by paths
            return str(element.get("identifier", "")).startswith("/")
        vocabulary = self._vocabulary
        names = [child.tag.rpartition("}")[2] for child in element.iterchildren("*")]
        paragraphs = sum(name in vocabulary.paragraphs for name in names)
        return paragraphs > 1 or any(name in vocabulary.sections or name in _HEADINGS for name in names)

    def _begin(self, opened: _Open, above: _Open | None, element: Any, ended: str) -> None:
        """An element goes on in its line, or breaks it."""
        name, role, inline = opened.name, opened.role, self._vocabulary.inline
        in_line = above is not None and (
            above.inline or above.has_text or above.role in _INHERITED or above.call is not None
        )
        in_remark = above is not None and above.within & _REMARK
        is_note = name in self._vocabulary.notes and not in_remark
        can_be_inline = role == _VERBATIM or (
            role == _LINE and above is not None and (above.role == _PARAGRAPH or above.own_text or above.inline)
        )
        goes_on = in_line and (role in (_OTHER, _WRAPPER) or (can_be_inline and name in inline))
        if above is not None and above.name in _LISTS_OF_NOTES:
            self._break(role, above, ended)
        elif in_line and is_note:
            self._open_remark(opened, element)
        elif role == _INLINE or in_remark or goes_on:
            opened.role = _INLINE if can_be_inline or in_remark else role
            opened.inline = True
            if in_remark and role in _PARTING and above is not None and (ended or above.has_text):
                self._builder.space()
            if above is not None and above.call is not None:
                self._builder.text(_between(above.call, ended, name))
            elif ended and above is not None and not above.scripts:
                self._join(name, ended, above)
        else:
            self._break(role, above, ended)
            if role == _VERBATIM:
                opened.within |= _LITERAL

    def _open_title(self, section: _Open, title: _Open) -> None:
        """Open the title of a section, which follows."""
        section.heading = title.heading = title.inline = True
        title.role = _TITLE
        ids = tuple(self._ids)
        self._ids.clear()
        self._builder.open_heading(max(1, section.depth), ids)
        self.titled = self.titled or section.depth <= 1

    def _begin_untitled(self, section: _Open, name: str) -> None:
        """Begin an element without a title, before its child of this name: a section's label is its title, or its
        usual title, where it stands on its own.
        """
        around = self._stack[-3] if len(self._stack) > 2 else None
        usual = self._vocabulary.default_titles
        if section.role == _SECTION and name not in self._vocabulary.labels:
            section.begun = True
            stands_alone = around is not None and (
                self._holds_sections(around) or around.name in self._vocabulary.roots
            )
            if title := section.label or (usual.get(section.name, "") if stands_alone else ""):
                section.heading = True
                self._give_title(title, section.depth)
        elif section.lasting and name in usual and name not in self._vocabulary.sections:
            section.begun = True
            self._give_title(usual[name], section.lasting)

    def _open_remark(self, opened: _Open, element: Any) -> None:
        """Put a footnote in a sentence into brackets there, with all that it holds in that line."""
        opened.role, opened.inline = _INLINE, True
        if len(element) or element.text:
            opened.closing = ")"
            opened.within |= _REMARK
            self._builder.text(" (")

    def _holds_sections(self, opened: _Open) -> bool:
        """Whether an element holds sections and has no title, so that what follows a section in it belongs to that."""
        vocabulary = self._vocabulary
        return opened.name in vocabulary.matter and (not opened.heading or opened.name in vocabulary.inner_documents)

    def _give_title(self, title: str, depth: int) -> None:
        self._builder.open_heading(max(1, depth), tuple(self._ids))
        self._ids.clear()
        self._builder.text(title)
        self._builder.close_heading()

    def _is_note(self, opened: _Open, element: Any) -> bool:
        """Whether an element in a title is a footnote, or the sign of one."""
        vocabulary = self._vocabulary
        if not _is_listed(opened.name, element.attrib, vocabulary.signs):
            return opened.name in vocabulary.notes
        opened.sign = next(iter(self._references(opened.name, element)[0]), "")
        return True

    def _is_passed_over(self, name: str, above: _Open) -> bool:
        """Whether an element is not text because of the one around: there is another reading, or a display has it."""
        vocabulary = self._vocabulary
        inside = vocabulary.skipped_in.get(name)
        if inside is not None and any(each.name in inside for each in self._stack[:-1]):
            return True
        return above.name in vocabulary.readings and (name in vocabulary.variants or self._texts > above.texts)

    def _join(self, name: str, ended: str, above: _Open) -> None:
        """Part two elements that follow each other where only elements stand, as in <surname>Bee</surname><given>."""
        vocabulary = self._vocabulary
        if not above.own_text and name not in vocabulary.within_words and ended not in vocabulary.within_words:
            if (joint := vocabulary.joints.get(above.name)) is not None:
                self._builder.text(joint)
            elif name not in vocabulary.brackets:
                self._builder.space()

    def _mark(self, opened: _Open, attributes: Any) -> None:
        vocabulary = self._vocabulary
        if (brackets := vocabulary.brackets.get(opened.name)) is not None and len(self._stack) > 1:
            self._builder.text(brackets[0])
            opened.closing = brackets[1]
        elif opened.name in vocabulary.choices:
            before, after = _CHOICES.get(attributes.get("choice", "opt"), ("", ""))
            self._builder.text(before)
            opened.closing = "..." * (attributes.get("rep") == "repeat") + after
        is_layout = attributes.get("break") == "no" or (opened.name == "break" and self._builder.in_heading)
        if opened.name in vocabulary.breaks and not is_layout:
            self._builder.space()
        if opened.name in vocabulary.examples:
            opened.within |= _EXAMPLE
        if _is_listed(opened.name, attributes, vocabulary.raised):
            self._open_script(opened, Script.RAISED)
        elif _is_listed(opened.name, attributes, vocabulary.lowered):
            self._open_script(opened, Script.LOWERED)
        elif opened.name == "msqrt":
            self._builder.text("√")
            self._open_script(opened, Script.OPERAND)
        opened.scripts = OF_MATHML.get(opened.name, ())
        opened.texts = self._texts
        opened.call = vocabulary.calls.get(opened.name)

    def _open_script(self, opened: _Open, script: Script) -> None:
        opened.scripted += 1
        self._builder.open_script(script)

    def _open_part(self, opened: _Open, above: _Open | None, part: Part, attributes: Any) -> None:
        """Open a list, code, a stressed word... until the element ends."""
        around = above.part if above is not None else None
        part = part.here(above.name if above is not None else "", around, attributes)
        if part.kind is None:
            return
        kind = MarkKind.CODE_SPAN if part.kind is MarkKind.CODE and opened.inline else part.kind
        if kind is around and kind in INLINE:
            return
        if kind in VERBATIM:
            opened.within |= _WHOLE
        opened.part = kind
        has_detail = kind is part.kind and (part.words or kind is MarkKind.NOTE)
        self._builder.open_mark(kind, part.detail(opened.name, attributes) if has_detail else "")

    def _skip(self, opened: _Open, element: Any) -> None:
        above = self._stack[-2].name if len(self._stack) > 1 else ""
        is_title = not opened.within & _TAKES and f"{above}/{opened.name}" in self._vocabulary.document_titles
        self._pass_over(opened, "/title" if is_title else "")
        targets, kind = self._references(opened.name, element)
        self._silent_links += [(target, kind, [], len(self._stack) - 1) for target in targets]

    def _takes(self, opened: _Open, above: _Open | None, attributes: Any) -> bool:
        """Take from an element's name what it says beyond its role; True when it is not part of the text."""
        vocabulary = self._vocabulary
        if opened.name in vocabulary.labels and self._stack[self._index_around()].role == _SECTION:
            self._pass_over(opened, "/label")
            return True
        if above is not None and f"{above.name}/{opened.name}" in vocabulary.document_titles:
            inner = next((each for each in reversed(self._stack) if each.name in vocabulary.inner_documents), None)
            if inner is not None and not inner.heading:
                self._open_title(inner, opened)
                return True
            self._pass_over(opened, "/title")
            return True
        self._take(opened)
        if _is_listed(opened.name, attributes, vocabulary.see_also):
            opened.within |= _RELATED
        return False

    def _pass_over(self, opened: _Open, key: str) -> None:
        """An element is not text, but what it says is kept."""
        self._take(opened, key)
        opened.within |= _SKIPS
        opened.role = _SKIPPED

    def _take(self, opened: _Open, key: str = "") -> None:
        """Gather what an element says under a key, or as the metadata that it is."""
        if key := key or ("" if opened.within & _TAKES else self._vocabulary.metadata.get(opened.name, "")):
            opened.taken, opened.key = [], key
            opened.within |= _TAKES

    def _index_around(self) -> int:
        """Return where on the stack the element is that holds what begins here, wrappers left out."""
        index = len(self._stack) - 2
        while index > 0 and self._stack[index].role == _WRAPPER:
            index -= 1
        return index

    def _titled_section(self) -> _Open | None:
        """Return the section that a title beginning here names, if it has no title yet."""
        index = self._index_around()
        if index < 0:
            return None
        candidate = self._stack[index]
        if candidate.heading:
            return None
        if candidate.role == _SECTION:
            return candidate
        if self._vocabulary.any_section and candidate.name not in self._vocabulary.untitled and not candidate.inline:
            # A section by its title: what is in it is one level deeper.
            candidate.role = _SECTION
            for each in self._stack[index:]:
                each.depth += 1
            return candidate
        return None

    def _break(self, role: int, above: _Open | None, ended: str) -> None:
        builder = self._builder
        starts = above is not None and above.role in (_LINE, _CELL)  # a line, or goes on behind its label
        if role == _LINE:
            builder.line()
        elif role == _CELL:
            builder.open_cell(first=above is None or not above.has_text, as_words=True)
        elif role != _PARAGRAPH or not starts or (above and above.has_text and ended not in self._vocabulary.labels):
            builder.paragraph()

    def _text(self, text: str) -> None:
        current = self._stack[-1]
        if current.within & _NOTE:
            next(opened.note for opened in reversed(self._stack) if opened.note is not None).append(text)
            return
        if current.within & _TAKES or self._silent_links:
            for opened in self._stack:
                if opened.taken is not None:
                    opened.taken.append(text)
            for _, _, parts, _ in self._silent_links:
                parts.append(text)
        if current.within & _SKIPS:
            return
        if text.isspace() and (
            current.name in self._vocabulary.joints or any(each.call is not None for each in self._stack[-2:])
        ):
            return
        self._ended = ""
        if not text.isspace():
            current.own_text = True
            self._texts += 1
        if current.within & _LITERAL and not self._builder.in_heading:
            current.has_text = True
            self._builder.verbatim(text)
            return
        if text.isspace():
            if not current.has_text and not current.inline:
                return  # white space between blocks
        else:
            if self._ids:
                self._flush_ids()
            if not current.has_text:
                current.has_text = True
                if current.inline and not self._builder.in_heading:
                    for opened in reversed(self._stack[:-1]):  # around it, up to the first that is not inline
                        opened.has_text = True
                        if not opened.inline:
                            break
        if current.name == "tex-math" and "\\begin{document}" in text:  # around it, as publishers send it
            text = text.partition("\\begin{document}")[2].partition("\\end{document}")[0].strip()
        self._builder.flow(text)

    def _end(self) -> None:
        opened = self._stack.pop()
        if opened.within & _NOTE:
            if opened.note is not None:
                text = " ".join("".join(opened.note).split())
                if opened.sign:
                    self._builder.add_link(opened.sign, text, LinkKind.XREF)
                else:
                    self._after_title.append(text)
            return
        for _ in range(opened.scripted):
            self._builder.close_script()
        if opened.call is not None:
            self._builder.text(")" if self._ended != opened.call[0] else "()")
        if opened.closing:
            self._builder.text(opened.closing)
        if opened.part is not None:
            self._builder.close_mark(opened.part)
        if opened.taken is not None:
            self._keep(opened, " ".join("".join(opened.taken).split()))
        while self._silent_links and self._silent_links[-1][3] == len(self._stack):
            target, kind, parts, _ = self._silent_links.pop()
            self._builder.add_link(target, " ".join("".join(parts).split()), kind)
        if opened.role == _SKIPPED:
            if opened.key == "/title":
                self._flush_notes()
            return
        self._ended = opened.name
        if opened.unnamed and not opened.has_text:
            self._builder.text(UNNAMED)
            if self._stack:
                self._stack[-1].has_text = True
        for _ in range(opened.linked):
            self._builder.close_link()
        if opened.address and not opened.has_text and self._stack:  # no text of the link, as nobody wrote it
            self._text(opened.address)
        self._end_role(opened)
        if opened.lasting:
            self._builder.leave(opened.lasting)

    def _end_role(self, opened: _Open) -> None:
        """End an element's role: write another line or a paragraph, or return to what is around a section."""
        if opened.heading and opened.role == _TITLE:
            self._flush_ids()
            self._builder.close_heading()
            self._flush_notes()
        elif opened.role == _SECTION:
            self._flush_ids()
            if opened.heading:  # what follows belongs to what is around it, or still to the section
                around = self._stack[-1] if self._stack else None
                if around is not None and self._holds_sections(around):
                    around.lasting = max(1, opened.depth)
                else:
                    self._builder.leave(max(1, opened.depth))
            self._builder.paragraph()
        elif opened.role == _LINE:
            self._builder.line()
        elif opened.role == _CELL:
            # After a cell of several lines of code the row goes on in another line.
            ends_line = self._builder.close_cell()
            if self._stack:
                self._stack[-1].has_text = not ends_line
        elif not opened.inline:
            in_line = bool(self._stack) and self._stack[-1].role in (_LINE, _CELL)
            self._builder.line() if in_line else self._builder.paragraph()

    def _flush_notes(self) -> None:
        """The footnotes of a title follow it."""
        for note in self._after_title:
            self._builder.paragraph()
            self._builder.flow(note)
            self._builder.paragraph()
        self._after_title.clear()

    def _keep(self, opened: _Open, text: str) -> None:
        key = opened.key
        if not text:
            return
        if key == "/title":
            self.title = self.title or text
        elif key == "/label":
            next(each for each in reversed(self._stack) if each.role == _SECTION).label = text
        elif key in self.metadata:
            if key in ("refname", "keywords"):
                self.metadata[key] = f"{self.metadata[key]}, {text}"
        else:
            self.metadata[key] = text

    def _references(self, name: str, element: Any) -> tuple[list[str], LinkKind]:
        attributes = element.attrib
        vocabulary = self._vocabulary
        if not attributes or name in vocabulary.unreferring:
            return [], LinkKind.HYPERLINK
        anywhere = name not in vocabulary.references
        if anywhere and not vocabulary.referring_anywhere and name not in vocabulary.embedded:
            return [], LinkKind.HYPERLINK
        for key, prefix in vocabulary.targets:
            value = attributes.get(key)
            if value is None or (anywhere and not key.endswith(("href", "linkend", "fileref"))):
                continue
            targets = value.split()  # several are ids, each with its sign
            if prefix or not all(each.startswith("#") for each in targets):
                targets = [prefix + each for each in targets] if prefix else [value.strip()]
            if not targets:
                continue
            kind = LinkKind.XREF if targets[0].startswith("#") else LinkKind.HYPERLINK
            if _is_listed(name, attributes, vocabulary.citations):
                kind = LinkKind.CITATION
            elif name in vocabulary.embedded:
                kind = LinkKind.EMBED
            within = self._stack[-1].within
            related = within & _RELATED or (within & _SKIPS and _is_listed(name, attributes, vocabulary.see_also))
            return targets, LinkKind.SEE_ALSO if related and kind is not LinkKind.EMBED else kind
        return [], LinkKind.HYPERLINK

    def _target(self, opened: _Open, name: str, element: Any) -> None:
        targets, kind = self._references(name, element)
        if name in self._vocabulary.man_pages and not targets and (page := _man_page(element)):
            targets = [f"name:{page}"]
        if not targets:
            is_listed = opened.within & _RELATED and name in self._vocabulary.named_by
            if is_listed and not any(each.linked for each in self._stack) and (page := words_of(element)):
                opened.linked = 1  # a function or a command refers to its page there
                self._builder.open_link(f"name:{page}", LinkKind.SEE_ALSO)
            return
        if any(each.linked for each in self._stack[:-1]):
            for target in targets:
                self._builder.add_link(target, "", kind)
            return
        self._flush_ids()
        opened.linked = len(targets)
        if name in self._vocabulary.references and kind not in (LinkKind.EMBED, LinkKind.CITATION):
            opened.unnamed = not is_external(targets[0])
            if not len(element) and ("://" in targets[0] or targets[0].startswith("mailto:")):
                opened.address = targets[0].removeprefix("mailto:")
        for target in reversed(targets):  # the last opened is the first closed
            self._builder.open_link(target, kind)

    def _flush_ids(self) -> None:
        for identifier in self._ids:
            self._builder.add_anchor(identifier)
        self._ids.clear()


def _man_page(element: Any) -> str:
    """ "name(number)" of the page that an element names by its title and its volume."""
    parts = {child.tag.rpartition("}")[2]: "".join(child.itertext()).strip() for child in element.iterchildren("*")}
    name, number = parts.get("refentrytitle", ""), parts.get("manvolnum", "")
    return f"{name}({number})" if name and number else name


def _bring_title_first(element: Any, titles: frozenset[str]) -> None:
    """Move the title before its siblings: a chapter's info may name an author first."""
    for place, child in enumerate(islice(element.iterchildren("*"), _LAST_TITLE)):
        if child.tag.rpartition("}")[2] in titles:
            if place:
                element.insert(0, child)
            return


def identifier_of(attributes: Mapping[str, str]) -> str | None:
    """Return the id that an element has, however its vocabulary calls it."""
    return next(filter(None, map(attributes.get, _IDENTIFIERS)), None)


def _is_listed(name: str, attributes: Any, listed: frozenset[str]) -> bool:
    """Whether a table names an element, by itself or with one of its attributes."""
    return name in listed or any(f"{name}[{key}={value}]" in listed for key, value in attributes.items())


def _between(call: tuple[str, str], ended: str, name: str) -> str:
    """Return the separator of two elements of a function's call, which say its name and its parameters."""
    of_name, of_parameter = call
    return "(" if ended == of_name else ", " if ended == name == of_parameter else " " if ended else ""
