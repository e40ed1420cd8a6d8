"""Reads LaTeX as its readers see it: expands the user's own macros within bounds and tells a TreeBuilder what is found.

Not TeX: no catcodes, no registers, no boxes. Braces are groups that need no matching, so that nesting costs nothing;
only commands whose arguments mean something have them read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from structformer.document import LinkKind, Section
from structformer.formats.builder import TreeBuilder
from structformer.formats.references import UNNAMED, UNNAMED_TITLE, UNNAMED_WITH_KIND

from structformer_latex.bibliography import Entry, parse_bibtex
from structformer_latex.commands import (
    CONDITIONALS,
    DROPPED,
    LENGTHS,
    LINES,
    LISTS,
    MATH,
    PARAGRAPHS,
    RANGES,
    REFERENCES,
    SECTIONS,
    SKIPPED,
    TABLES,
    THEOREMS,
    VERBATIM,
)
from structformer_latex.conditions import Conditions
from structformer_latex.glossary import GLOSSARY_COMMANDS, Glossary
from structformer_latex.numbering import Numbering
from structformer_latex.symbols import ACCENTS, SYMBOLS, accented, rare_symbol
from structformer_latex.units import quantity, unit

_SPECIAL = re.compile(r"[\\{}$%~&]|\n[ \t]*\n|--|``|''")
_COMMAND = re.compile(r"\\(?:([a-zA-Z@]+\*?)[ \t]*(?:\n(?![ \t]*\n)[ \t]*)?|(.)|\Z)", re.DOTALL)
_GROUP = re.compile(r"\\.|[{}]|%[^\n]*", re.DOTALL)
_BRACKET = re.compile(r"\\.|[{}\]\[]|%[^\n]*", re.DOTALL)
_SPACE = re.compile(r"(?:[ \t]|%[^\n]*\n)*(?:\n(?![ \t]*\n)(?:[ \t]|%[^\n]*\n)*)?")
_COMMENT = re.compile(r"%[^\n]*(?:\n[ \t]*)?")
_MATH_END = {
    "$": re.compile(r"\\.|\$|\n[ \t]*\n", re.DOTALL),
    "$$": re.compile(r"\\.|\$\$", re.DOTALL),
    "\\(": re.compile(r"\\\)|\n[ \t]*\n"),
    "\\[": re.compile(r"\\\]"),
}
_LABEL = re.compile(r"\\label\s*\{([^{}]*)\}")
_MATH_REFERENCE = re.compile(r"\\(?:eq|auto|[cC])?ref\*?\s*\{([^{}]*)\}")
_CITE = re.compile(r"(?:[a-zA-Z]*[cC]ite[a-zA-Z]*|citation|footfullcite|bibentry)\*?")
_CATCODE = re.compile(r"\s*`?\\?.\s*=?\s*\d*")
_NOT_CITING = frozenset({"nocite", "citestyle", "citename", "setcitestyle"})
_ASSIGNMENT = re.compile(
    r"\s*=?\s*(?:[-+]?\s*(?:\d*[.,]?\d+\s*(?:true\s*)?(?:pt|pc|in|bp|cm|mm|dd|cc|sp|em|ex|mu|fil+)?|\\[a-zA-Z]+)(?:\s*(?:plus|minus)\s*[-\d.,]+\s*\w*)*)?"
)
_PARAMETER = re.compile(r"##|#([1-9])")
_ALTERNATIVE = re.compile(r"(?:^|,)\s*alt\s*=\s*(\{(?:[^{}]|\{[^{}]*\})*\}|[^,]+)")
# What keeps its case, else (group 1) what doesn't.
_KEPT_CASE = re.compile(
    r"\\(?:NoCaseChange|\w*(?:ref|cite)\w*|label|begin|end)\s*(?:\[[^\]]*\]\s*)*\{[^{}]*\}"
    r"|\\\(.*?\\\)|\$[^$]*\$|\\ensuremath\{[^{}]*\}|\\(?:[a-zA-Z]+|.)|([^\\$]+)",
    re.DOTALL,
)
_REFERRING = re.compile(r"\\(?:\w*(?:ref|cite)|NoCaseChange|begin)(?![a-zA-Z])")
_LONGEST_ADDRESS = 4000
_ADDRESS_DEPTH = 8  # macros in macros of an address
_OVERLAY = re.compile(r"\s*<[-\d.,+|@:a-z ]*>")
_WITH_KIND = frozenset("autoref Autoref cref Cref vref Vref thref fullref zref crefrange Crefrange".split())
_WITH_TITLE = frozenset({"nameref", "titleref"})
_NO_XSPACE = frozenset(".,'/?;:!~-)\\{}]&\n\"")
_KEY = re.compile(r"[^,\s][^,]*")
_COMMENT_IN_KEYS = re.compile(r"(?<!\\)%[^\n]*(?:\n\s*|\Z)")
_MACRO_IN_ADDRESS = re.compile(r"\\([a-zA-Z]+)(?:\{\}|[ \t\n]+|(?![a-zA-Z]))")
_MAX_EXPANSIONS = 100_000
_MAX_EXPANDED = 4_000_000  # characters that macros may add to a document
_MAX_DEPTH = 200
_MAX_FILES = 2000
_OPTIONAL_CHARACTERS = 20_000  # of an argument in brackets
_UNCLOSED_CHARACTERS = 4_000_000  # looked through in vain, after which arguments in brackets must be short
_SHORT_OPTIONAL_CHARACTERS = 200
_KEPT_CONDITIONS = 16  # texts: a file and the macros that were expanded last


Handler = Callable[["TexReader", str], None]


class Files(Protocol):
    """Finds the text of another file of the project by its name; None when it is not inside the ingested folder."""

    def __call__(self, name: str, suffixes: tuple[str, ...]) -> tuple[str, str] | None: ...


@dataclass(slots=True)
class Macro:
    """A macro of the user's: how many arguments, the default of the first when it is optional, delimiters, and its
    text.
    """

    arguments: int
    body: str
    default: str | None = None
    pattern: str = ""


class TexReader:
    """Reads one document, with what it takes in, into a builder."""

    def __init__(self, builder: TreeBuilder, files: Files) -> None:
        self._builder = builder
        self._files = files
        self._macros: dict[str, Macro] = {}
        self._environments: dict[str, tuple[Macro, str]] = {}
        self._theorems: dict[str, str] = {}
        self._switches: dict[str, bool] = {}
        self._toggles: dict[str, bool] = {}
        self._glossary = Glossary(self.plain)
        self._items: list[int] = []  # of the lists that are open; -1 where items have no numbers
        self._expanding = ""  # the macro that is being expanded
        self.numbering = Numbering()
        self._frames: list[tuple[str, int]] = []
        self._open: list[str] = []
        self._floats: list[str] = []  # environments that may have a caption
        self._unnumbered: set[str] = set()
        self._was_starred = False
        self._tables = 0
        self._expansions = 0
        self._expanded = 0
        self._taken: set[str] = set()
        self._footnotes: list[str] = []
        self._text = ""
        self._position = 0
        self._nested = 0
        self._lines_before = 0  # those of the preamble
        self._conditions: dict[tuple[int, int], tuple[str, Conditions]] = {}
        self._unclosed = 0  # characters looked through for a bracket's end that was not there
        self._only_definitions = False
        self.title = ""
        self.author = ""
        self.language: str | None = None
        self.external: list[tuple[str, str]] = []
        self.cited: dict[str, None] = {}
        self.entries: dict[str, Entry] = {}
        self.bibliography: Section | None = None
        self.included: list[str] = []
        self.cut = ""

    def read(self, text: str, *, name: str, main: bool) -> None:
        """Read a file. main: take in the files it names; otherwise they are only referred to."""
        self._main = main
        self._taken.add(name)
        body = re.search(r"\\begin\s*\{document\}", text)
        if body is not None:
            self._definitions(text[: body.start()])
            self._lines_before = text.count("\n", 0, body.end())
            end = text.rfind("\\end{document}")
            self._run(text[body.end() : end if end > body.end() else len(text)])
        else:
            self._run(text)
        self._flush_footnotes()

    def _definitions(self, text: str) -> None:
        """Read a preamble or a package: what it defines counts, what it says doesn't."""
        builder, self._builder = self._builder, TreeBuilder(slugs=False)
        before, self._only_definitions = self._only_definitions, True
        self._run(text)
        self._builder, self._only_definitions = builder, before
        self._footnotes.clear()

    def plain(self, text: str) -> str:
        """The text of an argument."""
        builder, self._builder = self._builder, TreeBuilder(slugs=False)
        footnotes, self._footnotes = self._footnotes, []
        self._run(text)
        self._builder.close_heading()
        found = " ".join(self._builder.current_text().split())
        self._builder, self._footnotes = builder, footnotes
        return found

    def _run(self, text: str) -> None:
        if self._nested >= 40:
            self._builder.flow(text)
            return
        outer = self._frames, self._text, self._position
        self._frames, self._text, self._position = [], text, 0
        self._nested += 1
        self._loop()
        self._nested -= 1
        self._frames, self._text, self._position = outer

    def _loop(self) -> None:
        while True:
            text, position = self._text, self._position
            found = _SPECIAL.search(text, position)
            if found is None:
                if position < len(text):
                    self._say(text[position:])
                if not self._frames:
                    self._position = len(text)
                    return
                self._text, self._position = self._frames.pop()
                continue
            start = found.start()
            if start > position:
                self._say(text[position:start])
            character = text[start]
            self._position = found.end()
            if character == "\\":
                self._command(start)
            elif character in "{}":
                continue
            elif character == "%":
                comment = _COMMENT.match(text, start)
                assert comment is not None
                self._position = comment.end()
            elif character == "$":
                self._math("$$" if text.startswith("$$", start) else "$", start)
            elif character == "\n":
                self._paragraph()
            elif character == "~":
                self._builder.flow(" ")
            elif character == "&":
                self._builder.text(" | " if self._tables else "&")
            elif character == "-":
                dashes = 3 if text.startswith("---", start) else 2
                self._position = start + dashes
                self._builder.text("—" if dashes == 3 else "–")
            else:
                self._builder.text("“" if character == "`" else "”")

    def _say(self, text: str) -> None:
        if "'" in text:
            text = text.replace("'", "’")
        if "`" in text:
            text = text.replace("`", "‘")
        self._builder.flow(text)

    def _push(self, text: str) -> None:
        """Go on with a text, then with what comes after it."""
        if len(self._frames) >= _MAX_DEPTH:
            self.cut = self.cut or (
                f"{self._place()}macros nested over {_MAX_DEPTH} deep at \\{self._expanding}: "
                "what it stands for is left out"
            )
            return
        if self._position < len(self._text):
            self._frames.append((self._text, self._position))
        self._text, self._position = text, 0

    def _place(self) -> str:
        """ "line 12: " of the file, from which all other texts came; "" where that is not known any more."""
        if self._nested > 1 or not self._frames:
            return ""
        text, position = self._frames[0]
        return f"line {self._lines_before + text.count(chr(10), 0, position) + 1}: "

    def _next_character(self) -> str:
        """The character that comes next, in whichever text; "" at the end."""
        if self._position < len(self._text):
            return self._text[self._position]
        return next((text[position] for text, position in reversed(self._frames) if position < len(text)), "")

    def _paragraph(self) -> None:
        if self._footnotes and not self._builder.in_heading:
            self._flush_footnotes()
        if self._builder.in_heading:
            self._builder.flow(" ")
        else:
            self._builder.paragraph()

    def _flush_footnotes(self) -> None:
        notes, self._footnotes = self._footnotes, []
        for note in notes[:1000]:
            self._builder.paragraph()
            self._run(note)
            self._builder.paragraph()

    # -- arguments -------------------------------------------------------------------------------------------------

    def _skip_space(self) -> None:
        found = _SPACE.match(self._text, self._position)
        if found is not None:
            self._position = found.end()

    def _argument(self) -> str:
        """The next argument: a group's content, or one token."""
        self._skip_space()
        text, start = self._text, self._position
        if start >= len(text):
            return ""
        if text[start] == "{":
            end = _closing(text, start)
            self._position = min(len(text), end + 1)
            return text[start + 1 : end]
        if text[start] == "\\":
            found = _COMMAND.match(text, start)
            assert found is not None
            self._position = found.end()
            return found[0].rstrip()
        if text[start] in "}\n":
            return ""
        self._position = start + 1
        return text[start]

    def _group(self) -> str | None:
        """The content of a group that comes next; None when there is none."""
        position = self._position
        self._skip_space()
        if self._text[self._position : self._position + 1] == "{":
            return self._argument()
        self._position = position
        return None

    def _optional(self) -> str | None:
        """The content of [...] that comes next; None when there is none."""
        position = self._position
        self._skip_space()
        text, start = self._text, self._position
        if text[start : start + 1] != "[":
            self._position = position
            return None
        depth = 0
        brackets = 0
        # A text of nothing but open brackets must not be read once for each of them.
        longest = _OPTIONAL_CHARACTERS if self._unclosed < _UNCLOSED_CHARACTERS else _SHORT_OPTIONAL_CHARACTERS
        for found in _BRACKET.finditer(text, start + 1):
            token = found[0]
            if token == "{":
                depth += 1
            elif token == "}":
                depth -= 1
                if depth < 0:
                    break
            elif token == "[" and not depth:
                brackets += 1
            elif token == "]" and not depth:
                if brackets:
                    brackets -= 1
                    continue
                self._position = found.end()
                return text[start + 1 : found.start()]
            if found.start() - start > longest:
                break
        self._unclosed += min(len(text) - start, longest)
        self._position = position
        return None

    def _drop(self, signature: str) -> None:
        for each in signature:
            if each == "o":
                self._optional()
            elif self._group() is None:
                self._argument()

    # -- commands --------------------------------------------------------------------------------------------------

    def _command(self, start: int) -> None:
        found = _COMMAND.match(self._text, start)
        assert found is not None
        self._position = found.end()
        name = found[1]
        if name is None:
            self._control_symbol(found[2] or "", start)
            return
        if name in self._macros:
            self._expanding = name
            self._expand(self._macros[name])
            return
        bare = name.removesuffix("*")
        self._was_starred = name != bare
        if bare in SYMBOLS and name == bare:
            self._symbol(bare, start)
        elif name in ("begin", "end"):
            self._environment(name, start)
        elif bare in HANDLERS:
            HANDLERS[bare](self, bare)
        elif _CITE.fullmatch(name) and bare not in _NOT_CITING:
            self._cite()
        elif bare.startswith("if") and bare[2:] in self._switches:
            self._conditional(bare)
        elif self._switches and bare.endswith("true") and bare[:-4] in self._switches:
            self._switches[bare[:-4]] = True
        elif self._switches and bare.endswith("false") and bare[:-5] in self._switches:
            self._switches[bare[:-5]] = False
        elif name in DROPPED:
            self._drop(DROPPED[name])
        elif bare in DROPPED:
            self._drop(DROPPED[bare])
        elif name == bare and (symbol := rare_symbol(bare)):
            self._builder.text(symbol)
            if self._text[start + len(name) + 1 : start + len(name) + 2].isspace() and not symbol.isalpha():
                self._builder.flow(" ")
        elif self._text[self._position : self._position + 1] == "[" and self._position > start + len(name):
            self._optional()  # an unknown command's options are not text; its arguments are

    def _symbol(self, name: str, start: int) -> None:
        text = SYMBOLS[name]
        if text.strip():
            self._builder.text(text)
        else:
            self._builder.flow(text or " ")
        if self._text[start + len(name) + 1 : start + len(name) + 2].isspace() and not text.isalpha():
            self._builder.flow(" ")

    # Each of these is called with the command's name, its arguments next in the text: see HANDLERS.

    def _titled(self, name: str) -> None:
        unnumbered = name.startswith(("add", "minisec", "frametitle"))
        self._section(SECTIONS[name], starred=unnumbered or self._was_starred)

    def _label(self, name: str) -> None:
        if not self._only_definitions:
            self._add_label(self._argument())

    def _add_label(self, label: str) -> None:
        self._builder.add_anchor(label.strip())
        self.numbering.label(label.strip())

    def _one_reference(self, name: str) -> None:
        self._reference(name)

    def _range(self, name: str) -> None:
        self._reference(name)
        self._builder.text("–")
        self._reference(name.removeprefix("c").removeprefix("C"))

    def _citation(self, name: str) -> None:
        self._cite()

    def _command_definition(self, name: str) -> None:
        self._define_command(replace=name != "providecommand")

    def _switch(self, name: str) -> None:
        self._switches.setdefault(self._argument().removeprefix("\\if"), False)

    def _other_branch(self, name: str) -> None:
        self._skip_condition(to_else=False)

    def _print_bibliography(self, name: str) -> None:
        self._optional()
        self._bibliography_heading()

    def _bibliography_of_unit(self, name: str) -> None:
        self._bibliography("bibliography")

    def _footnote(self, name: str) -> None:
        self._optional()
        note = self._argument()
        if not (self._builder.in_heading or self._only_definitions):
            self._footnotes.append(note)

    def _accent(self, name: str) -> None:
        self._builder.text(accented(name, self._letter()))

    def _new_paragraph(self, name: str) -> None:
        self._paragraph()

    def _new_line(self, name: str) -> None:
        self._builder.line()

    def _caption(self, name: str) -> None:
        kind = self._argument() if name == "captionof" else next(reversed(self._floats), "")
        self.numbering.float(kind)
        self._optional()
        self._builder.paragraph()
        self._block(self._argument())

    def _document_title(self, name: str) -> None:
        self._optional()
        self.title = self.plain(self._argument()) or self.title

    def _document_author(self, name: str) -> None:
        self._optional()
        author = self.plain(self._argument().replace("\\and", ", ").replace("\\thanks", "\\footnote"))
        self.author = f"{self.author}, {author}" if self.author else author

    def _front_matter(self, name: str) -> None:
        self._optional()
        self._argument()

    def _abstract(self, name: str) -> None:
        if (content := self._group()) is not None:
            self._paragraph()
            self._block(content)

    def _language_name(self, name: str) -> None:
        self._builder.text(self.language or "english")

    def _select_language(self, name: str) -> None:
        self.language = self._argument().strip() or self.language

    def _external_document(self, name: str) -> None:
        prefix = self._optional() or ""
        self._optional()
        self.external.append((prefix.strip(), self._argument().strip()))
        self._optional()

    def _catcode(self, name: str) -> None:
        found = _CATCODE.match(self._text, self._position)
        self._position = found.end() if found else self._position

    def _end_of_input(self, name: str) -> None:
        self._position = len(self._text)

    def _break(self, name: str) -> None:
        self._optional()

    def _orcid(self, name: str) -> None:
        """The orcidlink package: an author's number as a mark, in full, compact, or behind the name."""
        shown = self.plain(self._argument()) if name == "orcidlinki" else ""
        number = self._argument().strip()
        target = f"https://orcid.org/{number}"
        shown = shown or {"orcidlinkf": target, "orcidlinkc": number}.get(name, "")
        if shown and not self._builder.in_link:
            self._builder.link_text(target, shown)
        else:
            self._builder.add_link(target)

    def _upper(self, name: str) -> None:
        self._cased(self._argument(), str.upper)

    def _lower(self, name: str) -> None:
        self._cased(self._argument(), str.lower)

    def _cased(self, text: str, change: Callable[[str], str]) -> None:
        """Text in one case; keys of references, formulas and names of commands stay as they are."""
        if _REFERRING.search(text) is None:
            self._builder.text(change(self.plain(text)))
        else:
            self._run(_KEPT_CASE.sub(lambda kept: kept[0] if kept[1] is None else change(kept[0]), text))

    def _length(self, name: str) -> None:
        found = _ASSIGNMENT.match(self._text, self._position)
        self._position = found.end() if found else self._position

    def _nothing(self, name: str) -> None:
        return

    def _control_symbol(self, symbol: str, start: int) -> None:
        builder = self._builder
        if symbol in ("(", "["):
            self._math("\\" + symbol, start)
        elif symbol == "\\":
            if self._text[self._position : self._position + 1] == "*":
                self._position += 1
            if self._text[self._position : self._position + 1] == "[" and re.compile(r"\[[-\d.\s\\a-z]*\]").match(
                self._text, self._position
            ):
                self._optional()
            builder.line()
        elif symbol in "%&#$_{}":
            builder.text(symbol)
        elif symbol in ACCENTS:
            builder.text(accented(symbol, self._letter()))
        elif symbol in " \n\t,;:":
            builder.flow(" ")
        elif symbol == "-" or symbol == "/" or symbol == "!":
            return

    def _letter(self) -> str:
        argument = self._argument()
        if argument.startswith("\\") and len(argument) > 1:
            name = argument[1:].strip()
            return (
                SYMBOLS.get(name, "")
                if not (name[:1] in ACCENTS and len(name) == 1)
                else accented(name, self._letter())
            )
        return argument.strip() if "\\" not in argument else self.plain(argument)

    def _section(self, level: int, *, starred: bool) -> None:
        self._flush_footnotes()
        if not self._only_definitions:
            self.numbering.section(level, starred=starred)
        self._overlay()
        if self._optional() is not None:
            self._optional()
        title = self._argument()
        self._builder.open_heading(level)
        self._run(title)
        self._builder.close_heading()

    def _plain_section(self, name: str) -> None:
        """Plain TeX's \\beginsection: the title ends with the paragraph."""
        end = re.compile(r"\n[ \t]*\n|\\par(?![a-zA-Z])|\Z").search(self._text, self._position)
        assert end is not None
        title = self._text[self._position : end.start()]
        self._position = end.end()
        self._builder.open_heading(2)
        self._run(title)
        self._builder.close_heading()

    def _reference(self, name: str = "ref") -> None:
        """References to one label or several; what each shows is known when all has been read."""
        while self._optional() is not None:
            continue
        builder = self._builder
        shown = UNNAMED_WITH_KIND if name in _WITH_KIND else UNNAMED_TITLE if name in _WITH_TITLE else UNNAMED
        for place, label in enumerate(_keys(self._argument())):
            if builder.in_link:
                continue
            builder.text(", " if place else "(" if name == "eqref" else "")
            builder.open_link("#" + label.strip(), LinkKind.XREF)
            builder.text(shown)
            builder.close_link()
            builder.text(")" if name == "eqref" else "")

    def _link(self, name: str) -> None:
        builder = self._builder
        if name == "hyperref":
            label = self._optional()
            if label is None:
                self._argument()
                self._argument()
                anchor = self._argument()
                label = anchor
            target = "#" + label.strip()
            shown: str | None = self._argument()
            kind = LinkKind.XREF
        elif name in ("hyperlink", "hypertarget"):
            target = "#" + self._argument().strip()
            shown = self._argument()
            kind = LinkKind.XREF
            if name == "hypertarget":
                builder.add_anchor(target[1:])
                self._push(shown)
                return
        elif name == "href":
            self._optional()
            target, shown, kind = self._address(self._raw_argument()), self._argument(), LinkKind.HYPERLINK
        else:
            address = self._address(self._raw_argument())
            prefix = (
                "mailto:" if name == "email" else "https://doi.org/" if name == "doi" and "//" not in address else ""
            )
            target, shown, kind = prefix + address, None, LinkKind.HYPERLINK
            if builder.in_link:
                builder.text(address)
                return
            builder.open_link(target, kind)
            builder.text(address)
            builder.close_link()
            return
        if builder.in_link:
            self._run(shown or "")
            return
        builder.open_link(target, kind)
        self._run(shown or "")
        builder.close_link()

    def _raw_argument(self) -> str:
        """An address: in braces, or between two equal characters; % and # are part of it."""
        self._skip_space()
        text, start = self._text, self._position
        if text[start : start + 1] == "{":
            depth = 0
            for found in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, start):
                if found[0] == "{":
                    depth += 1
                elif found[0] == "}":
                    depth -= 1
                    if not depth:
                        self._position = found.end()
                        return text[start + 1 : found.start()]
            self._position = len(text)
            return text[start + 1 :]
        if text[start : start + 1] in ("\\", ""):
            return self._argument()
        end = text.find(text[start], start + 1)
        if end < 0:
            return self._argument()
        self._position = end + 1
        return text[start + 1 : end]

    def _cite(self) -> None:
        while self._optional() is not None:
            continue
        argument = self._group()
        if argument is None:
            return
        for key in _keys(argument):
            key = key.strip()
            self.cited[key] = None
            self._builder.add_link(f"cite:{key}", "", LinkKind.CITATION)

    def _address(self, text: str) -> str:
        """A URL as it is meant: the user's abbreviations spelt out, its escapes undone."""

        def body(found: re.Match[str]) -> str:
            macro = self._macros.get(found[1])
            return macro.body if macro is not None and not macro.arguments else found[0]

        for _ in range(_ADDRESS_DEPTH):
            if "\\" not in text or len(text) > _LONGEST_ADDRESS or (spelt := _MACRO_IN_ADDRESS.sub(body, text)) == text:
                break
            text = spelt
        return _address(text)

    def _math(self, opener: str, start: int) -> None:
        text = self._text
        begin = start + len(opener)
        for found in _MATH_END[opener].finditer(text, begin):
            token = found[0]
            if token[0] == "\\" and opener in ("$", "$$"):
                continue
            if token[0] == "\n":
                # No formula goes over a blank line: the sign stands alone.
                self._position = begin
                self._builder.text("$" if opener == "$" else "")
                return
            self._position = found.end()
            self._formula(text[begin : found.start()], opener, display=opener in ("$$", "\\["))
            return
        self._position = begin
        self._builder.text("$" if opener == "$" else "")

    def _formula(self, source: str, opener: str, *, display: bool) -> None:
        builder = self._builder
        if "\\label" in source:
            if display and opener.rstrip("*") == opener:
                self.numbering.equation()
            for label in _LABEL.findall(source):
                self._add_label(label)
            source = _LABEL.sub("", source)
        if "ref" in source:
            for labels in _MATH_REFERENCE.findall(source):
                for label in _keys(labels):
                    builder.add_link("#" + label.strip(), "", LinkKind.XREF)
        if "%" in source:
            source = re.sub(r"(?<!\\)%[^\n]*\n?[ \t]*", "", source)
        shown = " ".join(source.split())
        if not shown:
            return
        if display and not builder.in_heading:
            builder.line()
            builder.verbatim(shown)
            builder.line()
        elif builder.in_heading:
            builder.text(shown)
        else:
            builder.verbatim(f"${shown}$")

    def _verb(self, name: str) -> None:
        self._optional()
        if name == "mintinline":
            self._argument()
        text, start = self._text, self._position
        if start >= len(text):
            return
        mark = "}" if text[start] == "{" else text[start]
        end = text.find(mark, start + 1)
        line = text.find("\n", start + 1)
        if end < 0 or (0 <= line < end):
            return
        self._position = end + 1
        self._builder.verbatim(text[start + 1 : end])

    def _item(self, name: str) -> None:
        self._overlay()
        label = self._optional()
        self._overlay()
        self._builder.line()
        if self._items and self._items[-1] >= 0:
            self._items[-1] += 1
            self.numbering.item(self._items[-1])
        if label:
            self._run(label)
            self._builder.flow(" ")

    def _block(self, text: str) -> None:
        self._builder.paragraph()
        self._run(text)
        self._builder.paragraph()

    def _bibitem(self, name: str) -> None:
        self._optional()
        key = self._argument().strip()
        self._builder.line()
        self._builder.add_anchor(f"cite:{key}")

    def _graphics(self, name: str) -> None:
        alternative = ""
        while (options := self._optional()) is not None:
            if (found := _ALTERNATIVE.search(options)) is not None:
                alternative = self.plain(found[1].strip("{}"))
        self._builder.add_image(self._argument().strip(), alternative)

    def _overlay(self) -> None:
        """Pass over beamer's <1->, which says when something is shown."""
        found = _OVERLAY.match(self._text, self._position)
        if found is not None:
            self._position = found.end()

    def _shown_later(self, name: str) -> None:
        self._overlay()

    def _quantity(self, name: str) -> None:
        """siunitx: numbers and units as they are printed."""
        self._optional()
        numbers = [self.plain(self._argument())] if name not in ("si", "unit") else []
        if name.endswith("range"):
            numbers.append(self.plain(self._argument()))
        if name in ("num", "numrange", "numlist"):
            source = ""
        elif name == "ang":
            source = "\\degree"
        else:
            self._optional()
            source = self._argument()
        joined = "–".join(numbers) if name.endswith("range") else ", ".join("".join(numbers).split(";"))
        shown = f"{joined}°" if name == "ang" else quantity(joined, source) if numbers else unit(source)
        self._builder.text(shown)

    def _x_space(self, name: str) -> None:
        """The blank after a macro, unless punctuation comes."""
        if (following := self._next_character()) and following not in _NO_XSPACE:
            self._builder.flow(" ")

    def _hyphen(self, name: str) -> None:
        self._group()
        self._builder.text("-")

    def _new_term(self, name: str) -> None:
        self._glossary.define(name, self._optional, self._argument)

    def _term_used(self, name: str) -> None:
        self._optional()
        text = self._glossary.use(name, self._argument().strip())
        self._optional()
        self._builder.text(text)

    def _toggle(self, name: str) -> None:
        """etoolbox's switches: \\newtoggle, \\toggletrue, \\iftoggle{name}{then}{else}."""
        toggle = self._argument().strip()
        if name == "settoggle":
            self._toggles[toggle] = self._argument().strip() == "true"
        elif name in ("newtoggle", "providetoggle"):
            self._toggles.setdefault(toggle, False)
        elif name in ("toggletrue", "togglefalse"):
            self._toggles[toggle] = name == "toggletrue"
        else:
            branches = self._argument(), self._argument()
            self._push(branches[self._toggles.get(toggle, False) == (name == "nottoggle")])

    def _appendices(self, name: str) -> None:
        self._paragraph()
        self.numbering.appendix()

    def _csname(self, name: str) -> None:
        end = self._text.find("\\endcsname", self._position)
        if 0 <= end - self._position < 200:
            name = self._text[self._position : end].strip()
            self._position = end + len("\\endcsname")
            if re.fullmatch(r"[a-zA-Z@]+", name):
                self._push(f"\\{name} ")

    def _choice(self, name: str) -> None:
        if name == "IfStrEq":
            self._argument()
        test = self._argument()
        first, second = self._argument(), self._argument()
        if name in ("IfFileExists", "InputIfFileExists"):
            taken = self._files(test.strip(), ("", ".tex"))
            self._push(first if taken is not None else second)
        elif name in ("ifstrempty", "ifblank"):
            self._push(second if test.strip() else first)
        else:
            self._push(second if re.search(r"\\boolean|\\equal\s*\{\s*\}", test) is None and "false" in test else first)

    def _two(self, name: str) -> None:
        first, second = self._argument(), self._argument()
        self._push(second if name == "foreignlanguage" else first)

    def _quote(self, name: str) -> None:
        while self._optional() is not None:
            continue
        self._push("``" + self._argument() + "''")

    # -- environments ----------------------------------------------------------------------------------------------

    def _environment(self, command: str, start: int) -> None:
        name = (self._group() or "").strip()
        builder = self._builder
        if not name:
            return
        if command == "begin":
            self._overlay()
        if command == "end":
            self._end_environment(name)
            return
        if name in self._environments:
            macro, _end = self._environments[name]
            if "\\comment" in macro.body:
                self._skip_to(name)
                return
            if re.search(
                r"\\(?:verbatim|lstlisting|Verbatim|minted|VerbatimEnvironment)(?![a-zA-Z])|\\lst@", macro.body
            ):
                self._verbatim(name)
                return
            self._open.append(name)
            self._expand(macro)
            return
        if name in SKIPPED:
            self._skip_to(name)
        elif name in VERBATIM:
            self._verbatim(name)
        elif name in MATH:
            self._math_environment(name)
        elif name in TABLES:
            for _ in range(TABLES[name]):
                self._optional()
                self._group()
            self._tables += 1
            builder.paragraph()
        elif name in LISTS:
            self._optional()
            if name == "list":
                self._drop("mm")
            self._items.append(0 if "enum" in name else -1)
            builder.paragraph()
        elif name == "thebibliography":
            self._argument()
            self._bibliography_heading()
        elif name in self._theorems or name.rstrip("*") in THEOREMS:
            builder.paragraph()
            title = self._theorems.get(name) or THEOREMS.get(name.rstrip("*"), name)
            note = self._optional()
            number = ""
            if name in self._theorems and not name.endswith("*") and name not in self._unnumbered:
                number = self.numbering.begin(name, title)
            numbered = f"{title} {number}".strip()
            self._run(f"{numbered} ({note})." if note and name != "proof" else f"{note or numbered}.")
            builder.flow(" ")
        elif name == "document":
            return
        elif name == "frame":
            self._optional()
            self._overlay()
            self._optional()
            if (heading := self._group()) is not None and heading.strip():
                builder.open_heading(4)
                self._run(heading)
                builder.close_heading()
            else:
                builder.paragraph()
        elif name in ("block", "alertblock", "exampleblock"):
            builder.paragraph()
            self._run(self._group() or "")
            builder.line()
        elif name == "multicols" or name == "multicols*":
            self._argument()
            if (above := self._optional()) is not None:
                self._run(above)
        elif name == "subfile":
            return
        else:
            builder.paragraph()
            self._floats.append(name)
            if name in (
                "figure",
                "figure*",
                "table",
                "table*",
                "wrapfigure",
                "minipage",
                "algorithm",
                "algorithmic",
                "SCfigure",
                "adjustbox",
                "spacing",
                "subfigure",
                "subtable",
                "tabbing",
                "wraptable",
                "turn",
                "rotate",
                "column",
                "columns",
                "tcolorbox",
                "mdframed",
            ):
                while self._optional() is not None:
                    continue
                if name in ("wrapfigure", "wraptable"):
                    self._drop("mm")
                elif name in ("minipage", "spacing", "subfigure", "subtable", "adjustbox", "turn", "rotate", "column"):
                    self._group()
            elif self._text[self._position : self._position + 1] == "[":
                self._optional()

    def _end_environment(self, name: str) -> None:
        if name in self._environments:
            if self._open and self._open[-1] == name:
                self._open.pop()
                self._push(self._environments[name][1])
            return
        if name in TABLES and self._tables:
            self._tables -= 1
        if name in LISTS and self._items:
            self._items.pop()
        if self._floats and self._floats[-1] == name:
            self._floats.pop()
        if name == "document" and not self._frames:
            self._position = len(self._text)
        self._paragraph()

    def _skip_to(self, name: str) -> str:
        """Pass over an environment whose content is not LaTeX; returns the content."""
        found = re.compile(rf"\\end\s*\{{{re.escape(name)}\}}").search(self._text, self._position)
        content = self._text[self._position : found.start() if found else len(self._text)]
        self._position = found.end() if found else len(self._text)
        return content

    def _verbatim(self, name: str) -> None:
        if name in ("lstlisting", "Verbatim", "minted", "listing", "BVerbatim"):
            options = self._optional() or ""
            if name == "minted":
                self._group()
            if (label := re.search(r"label\s*=\s*\{?([^,}\]]+)", options)) is not None:
                self._builder.add_anchor(label[1].strip())
            if (caption := re.search(r"caption\s*=\s*(\{(?:[^{}]|\{[^{}]*\})*\}|[^,\]]+)", options)) is not None:
                self._block(caption[1].strip("{}"))
        content = self._skip_to(name)
        self._builder.paragraph()
        self._builder.verbatim(content.strip("\n"))
        self._builder.paragraph()

    def _math_environment(self, name: str) -> None:
        if name in (
            "alignat",
            "alignat*",
            "xalignat",
            "xalignat*",
            "numcases",
            "subnumcases",
            "IEEEeqnarray",
            "IEEEeqnarray*",
        ):
            self._argument()
        self._formula(self._skip_to(name), name, display=True)

    def _bibliography_heading(self) -> None:
        title = next((self._macros[each].body for each in ("refname", "bibname") if each in self._macros), "References")
        section = self._macros.get("bibsection")
        if (
            section is not None
            and (own := re.search(r"\\(?:sub)*(?:section|chapter)\*?\s*\{(.*)\}", section.body, re.DOTALL)) is not None
        ):
            title = own[1]
        self._flush_footnotes()
        self._builder.open_heading(2)
        self._run(title)
        self.bibliography = self._builder.close_heading()

    # -- definitions -----------------------------------------------------------------------------------------------

    def _name(self) -> str:
        name = self._argument().strip()
        return name[1:].strip() if name.startswith("\\") else ""

    def _define_command(self, *, replace: bool) -> None:
        name = self._name()
        count = self._optional()
        default = self._optional()
        body = self._argument()
        if not name or (not replace and name in self._macros):
            return
        number = int(count) if count and count.strip().isdecimal() else 0
        self._macros[name] = Macro(min(number, 9), body, default)

    def _define_tex(self, name: str) -> None:
        found = re.compile(r"\s*\\([a-zA-Z@]+|.)([^{}\n]*)", re.DOTALL).match(self._text, self._position)
        if found is None:
            return
        self._position = found.end()
        body = self._group()
        if body is None:
            return
        pattern = found[2].strip()
        count = len(re.findall(r"#[1-9]", pattern))
        simple = "".join(f"#{number}" for number in range(1, count + 1)) == pattern.replace(" ", "")
        self._macros[found[1]] = Macro(count, body, pattern="" if simple else pattern)

    def _let(self, name: str) -> None:
        name = self._name()
        self._skip_space()
        if self._text[self._position : self._position + 1] == "=":
            self._position += 1
        other = self._argument()
        if name and other.startswith("\\") and other[1:].strip() != name:
            known = self._macros.get(other[1:].strip())
            self._macros[name] = known if known is not None else Macro(0, other + " ")

    def _define_environment(self, name: str) -> None:
        name = self._argument().strip()
        count = self._optional()
        default = self._optional()
        begin, end = self._argument(), self._argument()
        number = int(count) if count and count.strip().isdecimal() else 0
        if name and name not in VERBATIM and name not in MATH and name not in SKIPPED:
            self._environments[name] = Macro(min(number, 9), begin, default), end

    def _define_theorem(self, command: str) -> None:
        if command == "declaretheorem":
            options = self._optional() or ""
            name = self._argument().strip()
            title = re.search(r"name\s*=\s*\{?([^,}]+)", options)
            self._theorems[name] = title[1].strip() if title else name.capitalize()
            within = re.search(r"(?:numberwithin|parent|within)\s*=\s*\{?([^,}]+)", options)
            shared = re.search(r"(?:numberlike|sibling|sharenumber)\s*=\s*\{?([^,}]+)", options)
            self.numbering.theorem(
                name, shared=shared[1].strip() if shared else "", within=within[1].strip() if within else ""
            )
            if re.search(r"numbered\s*=\s*no", options):
                self._unnumbered.add(name)
            return
        starred = self._was_starred
        name = self._argument().strip()
        shared_with = self._optional() or ""
        title_text = self._argument()
        counted_in = self._optional() or ""
        self.numbering.theorem(name, shared=shared_with.strip(), within=counted_in.strip())
        if starred:
            self._unnumbered.add(name)
        if command == "spnewtheorem":
            self._drop("mm")
        self._theorems[name] = self.plain(title_text) or name.capitalize()

    def _expand(self, macro: Macro) -> None:
        self._expansions += 1
        if self._expansions > _MAX_EXPANSIONS or self._expanded > _MAX_EXPANDED:
            self.cut = (
                self.cut
                or f"macros expand to over {_MAX_EXPANDED >> 20} MB or {_MAX_EXPANSIONS} times: "
                "what they say further is left out"
            )
            return
        if macro.pattern:
            arguments = self._delimited(macro.pattern)
        else:
            arguments = []
            if macro.default is not None and macro.arguments:
                given = self._optional()
                arguments.append(macro.default if given is None else given)
            while len(arguments) < macro.arguments:
                arguments.append(self._argument())
        body = macro.body
        if "#" in body:
            body = _PARAMETER.sub(
                lambda found: (
                    "#" if found[1] is None else arguments[int(found[1]) - 1] if int(found[1]) <= len(arguments) else ""
                ),
                body,
            )
        self._expanded += len(body)
        self._push(body)

    def _delimited(self, pattern: str) -> list[str]:
        """Arguments of a macro like \\def\\a#1;#2.{...}: each up to what stands behind it in the definition."""
        arguments: list[str] = []
        pieces = re.split(r"#[1-9]", pattern)
        if pieces[0] and self._text.startswith(pieces[0], self._position):
            self._position += len(pieces[0])
        for delimiter in pieces[1:]:
            if not delimiter.strip():
                arguments.append(self._argument())
                continue
            end = self._text.find(delimiter, self._position, self._position + 20_000)
            if end < 0:
                arguments.append("")
                continue
            arguments.append(self._text[self._position : end])
            self._position = end + len(delimiter)
        return arguments

    # -- conditionals ----------------------------------------------------------------------------------------------

    def _conditional(self, name: str) -> None:
        """Go into the branch that a condition chooses; of one that only TeX could decide, into the first."""
        if name == "unless":
            return
        truth = name != "iffalse"
        if name[2:] in self._switches:
            truth = self._switches[name[2:]]
        elif name in ("ifdefined", "ifx", "ifnum", "ifdim", "if", "ifcat", "ifodd", "ifcase", "ifcsname"):
            self._skip_test(name)
            truth = name != "ifcase" or True
        if not truth:
            self._skip_condition(to_else=True)

    def _skip_test(self, name: str) -> None:
        patterns = {
            "ifdefined": r"\s*\\[a-zA-Z@]+\s*",
            "ifx": r"\s*(?:\\[a-zA-Z@]+|\S)\s*(?:\\[a-zA-Z@]+\s*|\S)?",
            "if": r"\s*(?:\\[a-zA-Z@]+|\S)\s*(?:\\[a-zA-Z@]+\s*|\S)?",
            "ifcat": r"\s*(?:\\[a-zA-Z@]+|\S)\s*(?:\\[a-zA-Z@]+\s*|\S)?",
            "ifodd": r"\s*(?:\\value\s*\{[^{}]*\}|\\[a-zA-Z@]+|\d+)\s*",
            "ifcase": r"\s*(?:\\value\s*\{[^{}]*\}|\\[a-zA-Z@]+|\d+)\s*",
            "ifcsname": r".{0,200}?\\endcsname\s*",
        }
        operand = r"\s*(?:\\value\s*\{[^{}]*\}|[-+]?[\d.]+\s*(?:pt|cm|mm|in|em|ex)?|\\[a-zA-Z@]+|`\\?.)\s*"
        pattern = patterns.get(name, rf"{operand}[<>=]{operand}")
        found = re.compile(pattern, re.DOTALL).match(self._text, self._position)
        if found is not None:
            self._position = found.end()

    def _skip_condition(self, *, to_else: bool) -> None:
        end = self._conditions_of(self._text).end(self._position, to_else=to_else)
        if end is not None:
            self._position = end
            return
        if to_else is False or not self._frames:
            # Without an end in this text, what was to be skipped is all of it only when a macro opened it.
            self._position = len(self._text) if self._frames else self._position

    def _conditions_of(self, text: str) -> Conditions:
        """The conditionals of a text, found once as long as no new kind of them is declared."""
        key = (id(text), len(self._switches))
        known = self._conditions.get(key)
        if known is None or known[0] is not text:
            if len(self._conditions) >= _KEPT_CONDITIONS:
                self._conditions.clear()
            known = self._conditions[key] = (
                text,
                Conditions(text, lambda name: name in CONDITIONALS or name[2:] in self._switches),
            )
        return known[1]

    # -- other files -----------------------------------------------------------------------------------------------

    def _take_in(self, command: str) -> None:
        self._optional()
        folder = ""
        if command in ("import", "subimport"):
            folder = self._argument().strip()
        name = self._group()
        if name is None:  # plain TeX: \input file
            found = re.compile(r"\s*([^\s\\{}%]+)").match(self._text, self._position)
            name = found[1] if found else ""
            self._position = found.end() if found else self._position
        name = (folder + name.strip()).strip('"')
        if not name or name.startswith("|"):
            return
        self.included.append(name)
        if len(self._taken) > _MAX_FILES:
            return
        taken = self._files(name, ("", ".tex") if "." in name.rpartition("/")[2] else (".tex", ""))
        if taken is None:
            return
        path, text = taken
        if path in self._taken:
            return
        if not self._main and not self._only_definitions:
            self._builder.add_link(path, "", LinkKind.EMBED)
            return
        self._taken.add(path)
        body = re.search(r"\\begin\s*\{document\}", text)
        if body is not None and command in ("subfile", "subfileinclude", "includestandalone"):
            self._definitions(text[: body.start()])
            text = text[body.end() :]
        if command == "include":
            self._paragraph()
        text = text.replace("\\end{document}", "")
        if len(self._frames) >= _MAX_DEPTH:
            self.cut = self.cut or f"files nested over {_MAX_DEPTH} deep"
            return
        self._push(text)

    def _package(self, name: str) -> None:
        options = self._optional() or ""
        for name in _keys(self._argument()):
            name = name.strip()
            if name == "babel" and options:
                self.language = options.split(",")[-1].strip() or self.language
            taken = self._files(f"{name}.sty", ("",))
            if taken is not None and taken[0] not in self._taken and len(taken[1]) < 500_000:
                self._taken.add(taken[0])
                self._definitions(taken[1])

    def _bibliography(self, command: str) -> None:
        self._optional()
        for name in _keys(self._argument()):
            taken = self._files(name.strip(), (".bib", ""))
            if taken is not None:
                self.entries.update(parse_bibtex(taken[1]))
        if command == "bibliography" and not self._only_definitions:
            self._bibliography_heading()


def _closing(text: str, start: int) -> int:
    """Where the group that opens at `start` closes; the end of the text when it doesn't."""
    depth = 0
    for found in _GROUP.finditer(text, start):
        token = found[0]
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if not depth:
                return found.start()
    return len(text)


def _keys(text: str) -> list[str]:
    """Labels and keys between commas, without comments."""
    return _KEY.findall(_COMMENT_IN_KEYS.sub("", text) if "%" in text else text)


def _address(text: str) -> str:
    """A URL as it is meant: its escapes undone."""
    text = re.sub(r"\\([%#&_~{}$^])", r"\1", text.strip())
    text = re.sub(r"\\(?:textasciitilde|string)\s*(?:\{\})?", "~", text) if "\\" in text else text
    return re.sub(r"\s+", "", text)


def _handlers() -> dict[str, Handler]:
    """What each command does, by its name without a star; of two groups that name one, the first has it."""
    reader = TexReader
    groups: list[tuple[Iterable[str], Handler]] = [
        (SECTIONS, reader._titled),
        (("label",), reader._label),
        (REFERENCES, reader._one_reference),
        (RANGES, reader._range),
        ("url nolinkurl path href hyperref hyperlink hypertarget hyperdef email doi".split(), reader._link),
        ("cite citep citet".split(), reader._citation),
        (
            "newcommand renewcommand providecommand DeclareRobustCommand newrobustcmd".split(),
            reader._command_definition,
        ),
        ("def gdef edef xdef".split(), reader._define_tex),
        (("let",), reader._let),
        ("newenvironment renewenvironment".split(), reader._define_environment),
        ("newtheorem spnewtheorem declaretheorem".split(), reader._define_theorem),
        (("newif",), reader._switch),
        (CONDITIONALS, reader._conditional),
        ("else or".split(), reader._other_branch),
        (
            "input include subfile import subimport subfileinclude loadglsentries includestandalone".split(),
            reader._take_in,
        ),
        ("bibliography addbibresource".split(), reader._bibliography),
        (("printbibliography",), reader._print_bibliography),
        ("footnote footnotetext endnote marginpar sidenote tablefootnote".split(), reader._footnote),
        ((accent for accent in ACCENTS if len(accent) == 1), reader._accent),
        ("verb lstinline mintinline Verb verbdef".split(), reader._verb),
        (PARAGRAPHS, reader._new_paragraph),
        (LINES, reader._new_line),
        (("item",), reader._item),
        ("caption captionof".split(), reader._caption),
        (("bibitem",), reader._bibitem),
        ("title Title".split(), reader._document_title),
        ("author authors".split(), reader._document_author),
        ("date subjclass address curraddr dedicatory translator".split(), reader._front_matter),
        (("abstract",), reader._abstract),
        ("appendix appendices".split(), reader._appendices),
        ("SI qty si unit num ang SIrange qtyrange numrange SIlist qtylist numlist".split(), reader._quantity),
        (("xspace",), reader._x_space),
        ("hyp fshyp bshyp".split(), reader._hyphen),
        ("newacronym newglossaryentry DeclareAcronym acrodef newacro longnewglossaryentry".split(), reader._new_term),
        (GLOSSARY_COMMANDS, reader._term_used),
        (
            "newtoggle providetoggle settoggle toggletrue togglefalse iftoggle nottoggle".split(),
            reader._toggle,
        ),
        ("only onslide uncover visible invisible pause alert structure temporal".split(), reader._shown_later),
        (("beginsection",), reader._plain_section),
        (("includegraphics",), reader._graphics),
        ("usepackage RequirePackage".split(), reader._package),
        (("languagename",), reader._language_name),
        (("putbib",), reader._bibliography_of_unit),
        (("selectlanguage",), reader._select_language),
        (("externaldocument",), reader._external_document),
        (("catcode",), reader._catcode),
        (("csname",), reader._csname),
        ("ifthenelse IfFileExists InputIfFileExists ifstrempty ifblank IfStrEq".split(), reader._choice),
        ("texorpdfstring foreignlanguage mathchoice".split(), reader._two),
        ("enquote say textquote".split(), reader._quote),
        ("endinput bye".split(), reader._end_of_input),
        ("linebreak pagebreak nopagebreak".split(), reader._break),
        ("MakeUppercase MakeTextUppercase uppercase".split(), reader._upper),
        ("MakeLowercase MakeTextLowercase lowercase".split(), reader._lower),
        ("orcidlink orcidlinkf orcidlinkc orcidlinki".split(), reader._orcid),
        (LENGTHS - DROPPED.keys(), reader._length),
        ("fi relax".split(), reader._nothing),
    ]
    found: dict[str, Handler] = {}
    for names, handler in groups:
        for name in names:
            found.setdefault(name, handler)
    return found


HANDLERS = _handlers()
