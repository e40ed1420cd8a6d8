"""Bibliographies: entries of .bib files and what a citation of one can be found by; \\cite, \\bibitem, the heading."""

import re
from dataclasses import dataclass, field
from functools import lru_cache

from structformer.document import LinkKind, MarkKind, Section

from structformer_latex.commands import by_name
from structformer_latex.cursor import keys, options
from structformer_latex.output import Part

_CITE = re.compile(r"(?:[a-zA-Z]*[cC]ite[a-zA-Z]*|citation|footfullcite|bibentry)\*?")
_NOT_CITING = frozenset({"nocite", "citestyle", "citename", "setcitestyle", "citetext", "defcitealias"})
_OWN_HEADING = re.compile(r"\\(?:sub)*(?:section|chapter)\*?\s*\{(.*)\}", re.DOTALL)
_ENTRY = re.compile(r"@\s*(\w+)\s*[{(]\s*([^,\s{}]*)\s*,", re.IGNORECASE)
_STRING = re.compile(r"@\s*string\s*[{(]\s*([\w:.+-]+)\s*=\s*", re.IGNORECASE)
_FIELD = re.compile(r"\s*,?\s*([A-Za-z][\w:.-]*)\s*=\s*")
_DOI_BEGINS = re.compile(r"^(?:https?://)?(?:dx\.)?doi\.org/|^doi:\s*", re.IGNORECASE)
_IGNORED = frozenset({"comment", "preamble", "string"})
_MAX_FIELD = 100_000


@dataclass(slots=True)
class Entry:
    """One work: its key and its fields (names in small letters, values as LaTeX)."""

    key: str
    fields: dict[str, str] = field(default_factory=dict)

    def names(self) -> tuple[str, ...]:
        """Return names under which the work may be a document itself."""
        names: list[str] = []
        if doi := self.fields.get("doi"):
            names.append("doi:" + _DOI_BEGINS.sub("", doi.strip()).lower())
        if eprint := self.fields.get("eprint"):
            names.append("arxiv:" + re.sub(r"v\d+$", "", eprint.strip().removeprefix("arXiv:")))
        return tuple(names)

    def line(self) -> str:
        """Author, title, where and when, as LaTeX."""
        fields = self.fields
        places = ("journal", "journaltitle", "booktitle", "publisher", "howpublished")
        parts = [
            fields.get("author") or fields.get("editor"),
            fields.get("title"),
            next(filter(None, map(fields.get, places)), None),
            fields.get("year") or fields.get("date"),
        ]
        return ". ".join(" ".join(part.split()).rstrip(".") for part in parts if part) + "."


@lru_cache(maxsize=8)
def parse_bibtex(text: str) -> dict[str, Entry]:
    """Entries by key. What is broken costs its entry only."""
    entries: dict[str, Entry] = {}
    strings = {found[1].lower(): _value(text, found.end(), {})[0] for found in _STRING.finditer(text)}
    position = 0
    while (found := _ENTRY.search(text, position)) is not None:
        position = found.end()
        if found[1].lower() in _IGNORED:
            continue
        entry = Entry(found[2])
        while (name := _FIELD.match(text, position)) is not None:
            value, position = _value(text, name.end(), strings)
            entry.fields.setdefault(name[1].lower(), value)
        if entry.key:
            entries.setdefault(entry.key, entry)
    return entries


_QUOTED = re.compile(r'\\.|[{}"]', re.DOTALL)
_JOINED = re.compile(r"\s*#\s*")
_WORD = re.compile(r"[\w:.+-]+")


def _value(text: str, start: int, strings: dict[str, str]) -> tuple[str, int]:
    parts: list[str] = []
    position = start
    while position < len(text):
        if text[position] in '{"':
            end = _end(text, position + 1, "}" if text[position] == "{" else '"')
            parts.append(text[position + 1 : end])
            position = end + 1
        elif (word := _WORD.match(text, position)) is not None:
            parts.append(strings.get(word[0].lower(), word[0]))
            position = word.end()
        if (joined := _JOINED.match(text, position)) is None:
            break
        position = joined.end()
    return "".join(parts), position


def _end(text: str, start: int, closing: str) -> int:
    depth = 0
    for mark in _QUOTED.finditer(text, start, start + _MAX_FIELD):
        if mark[0] == closing and not depth:
            return mark.start()
        depth += {"{": 1, "}": -1}.get(mark[0], 0)
    return min(len(text), start + _MAX_FIELD)


@dataclass(eq=False)
class Bibliography(Part):
    """A document's citations, the entries of its .bib files, and the section that lists them."""

    cited: dict[str, None] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)  # files of entries that are not there
    section: Section | None = None

    def cites(self, name: str) -> bool:
        """Whether a command cites by its name: \\parencite, \\citeauthor*."""
        return _CITE.fullmatch(name) is not None and name.removesuffix("*") not in _NOT_CITING

    def cite(self, name: str) -> None:
        """Citations: of each key a link, but no text. \\autocites and its like have any number of arguments."""
        is_list = name.rstrip("*").endswith("ites")
        self._cursor.drop("((" if is_list else "")
        self._cursor.skip_overlay()  # apacite's <see>
        self._cursor.skip_optionals()
        while (argument := self._cursor.group()) is not None:
            if "\\cite" in argument:  # words around citations, of \citetext's kind
                self._output.typeset(argument)
                break
            for key in map(str.strip, keys(argument)):
                self.cited[key] = None
                self._output.builder.add_link(f"cite:{key}", "", LinkKind.CITATION)
            if not is_list:
                break
            self._cursor.skip_optionals()

    def works(self) -> dict[str, list[str]]:
        """By the keys of what is cited, names under which a work may be a document itself."""
        return {key: list(entry.names()) for key, entry in self.entries.items() if key in self.cited and entry.names()}

    def open_section(self, given: str = "") -> None:
        """Begin the bibliography, under the heading that the user or a package has given it."""
        commands = self._macros.commands
        title = next((commands[each].body for each in ("refname", "bibname") if each in commands), "References")
        heading = commands.get("bibsection")
        if heading is not None and (own := _OWN_HEADING.search(heading.body)) is not None:
            title = own[1]
        self._output.flush_footnotes()
        self._output.builder.open_heading(2)
        self._output.typeset(given or title)
        section = self._output.builder.close_heading()
        if self._output.is_document:
            self.section = section

    def _resource(self, name: str) -> None:
        self._cursor.optional()
        for each in keys(self._cursor.argument()):
            if (taken := self._files(each.strip(), (".bib", ""))) is not None:
                self.entries.update(parse_bibtex(taken[1]))
            else:
                self.missing.append(each.strip())

    def _list(self, name: str) -> None:
        self._resource(name)
        if not self._output.only_definitions:
            self.open_section()

    def _print(self, name: str) -> None:
        given = options(self._cursor.optional() or "")
        is_headed = given.get("heading") in ("none", "nobibheading") and self._output.section is not None
        if is_headed and self._output.is_document:  # the author's own heading
            self.section = self._output.section
        else:
            self.open_section(given.get("title", ""))

    def _item(self, name: str) -> None:
        self._cursor.optional()
        key = self._cursor.argument().strip()
        builder = self._output.builder
        builder.line()
        builder.close_mark(MarkKind.ITEM)
        builder.open_mark(MarkKind.ITEM)
        builder.add_anchor(f"cite:{key}")

    COMMANDS = by_name(
        ("cite citep citet", cite),
        ("addbibresource", _resource),
        ("bibliography putbib", _list),
        ("printbibliography", _print),
        ("bibitem", _item),
    )
