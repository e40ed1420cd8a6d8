"""Reads LaTeX as its readers see it: expands the user's own macros within bounds and tells a TreeBuilder what is found.

Not TeX: no catcodes, no registers, no boxes. Only commands whose arguments mean something have them read. Each part of
the reader is in a file of its own and says in its COMMANDS what it reads."""

import re
from typing import Any, ClassVar

from structformer.formats import TreeBuilder

from structformer_latex.algorithms import Algorithms
from structformer_latex.bibliography import Bibliography
from structformer_latex.commands import DROPPED, LENGTHS, Handler, by_name
from structformer_latex.conditions import Branches
from structformer_latex.cursor import COMMAND, Cursor
from structformer_latex.environments import Environments
from structformer_latex.fonts import Fonts
from structformer_latex.formulas import Formulas
from structformer_latex.front_matter import FrontMatter
from structformer_latex.glossary import Glossary
from structformer_latex.inputs import BODY, Files, Inputs
from structformer_latex.macros import Macros
from structformer_latex.numbering import Numbering
from structformer_latex.output import Output
from structformer_latex.references import References
from structformer_latex.sections import Sections
from structformer_latex.symbols import SYMBOLS, accented
from structformer_latex.tables import Tables
from structformer_latex.theorems import Theorems
from structformer_latex.typography import Typography
from structformer_latex.units import Quantities
from structformer_latex.verbatim import Verbatim

_SPECIAL = re.compile(r"[\\{}$%~&]|\n[ \t]*\n|--|``|''")
_COMMENT = re.compile(r"%[^\n]*(?:\n(?![ \t]*\n)[ \t]*)?")  # a blank line below it ends the paragraph
_DRAWING = re.compile(r"[^;]{0,2000};")
_CATCODE = re.compile(r"\s*`?\\?.\s*=?\s*\d*")
_ASSIGNMENT = re.compile(
    r"\s*(?:=|by\b)?\s*(?:[-+]?\s*(?:\d*[.,]?\d+\s*(?:true\s*)?(?:pt|pc|in|bp|cm|mm|dd|cc|sp|em|ex|mu|fil+)?|\\[a-zA-Z]+)(?:\s*(?:plus|minus)\s*[-\d.,]+\s*\w*)*)?"
)
_GERMAN = frozenset("german ngerman austrian naustrian swissgerman nswissgerman".split())
_SHORTHAND = re.compile(r"\"([`'<>|~=\"aouAOUsz-])")
_SHORTHANDS = {"`": "„", "'": "“", "<": "«", ">": "»", "~": "-", "=": "-", "s": "ß", "z": "ß"}
_OF_MANUALS = frozenset("ltxdoc ltxguide ltnews l3doc".split())
_MAX_DEPTH = 40  # of arguments in arguments


class TexReader:
    """Reads one document, with what it takes in, into a builder."""

    def __init__(self, builder: TreeBuilder, files: Files) -> None:
        cursor = self._cursor = Cursor()
        output = self._output = Output(builder, self._typeset)
        self.numbering = Numbering()
        self.front_matter = FrontMatter(cursor, output)
        self._macros = Macros(cursor)
        self._branches = Branches(cursor, files)
        self._inputs = Inputs(cursor, output, self.front_matter, files)
        self.references = References(cursor, output, self._macros, self.numbering)
        self.bibliography = Bibliography(cursor, output, self._macros, files)
        self._formulas = Formulas(cursor, output, self.references, self.numbering)
        self._tables = Tables(cursor, output)
        self._typography = Typography(cursor, output, self._tables)
        self._sections = Sections(cursor, output, self.numbering)
        self._algorithms = Algorithms(cursor, output, self._macros)
        theorems = Theorems(cursor, output, self.numbering)
        verbatim = Verbatim(cursor, output, files)
        lists = (self._formulas, verbatim, self.bibliography, self._tables)
        self._environments = Environments(
            cursor, output, self._macros, self.numbering, self._sections, theorems, *lists
        )
        parts = (
            *(self, self.front_matter, self._macros, self._branches, self._inputs, self.references, self.bibliography),
            *(self._typography, self._sections, theorems, verbatim, self._environments, Fonts(cursor, output)),
            *(Glossary(cursor, output), Quantities(cursor, output), self._algorithms, self._tables, self._formulas),
        )
        self._parts: dict[type, Any] = {type(part): part for part in parts}
        self._special = _SPECIAL
        self._arguments: list[int] = []  # of unknown commands that are being read: the depths of groups around them

    @property
    def cut(self) -> str:
        """What was left out, and why; "" when nothing was."""
        return self._cursor.cut

    def read(self, text: str, *, name: str, main: bool) -> None:
        """Read a file. main: take in the files it names; otherwise they are only referred to."""
        self._inputs.begin(name, whole=main)
        self._cursor.file_characters += len(text)
        body = BODY.search(text)
        if body is not None:
            self._output.definitions(text[: body.start()])
            self._cursor.lines_before = text.count("\n", 0, body.end())
            end = text.rfind("\\end{document}")
            self._typeset(text[body.end() : end if end > body.end() else len(text)])
        else:
            self._typeset(text)
        self._output.flush_footnotes()

    def plain(self, text: str) -> str:
        """The text of some LaTeX."""
        return self._output.plain(text)

    def _typeset(self, text: str) -> None:
        cursor = self._cursor
        if cursor.depth >= _MAX_DEPTH:
            self._output.builder.flow(text)
            return
        place, around = cursor.enter(text), self._output.groups.enter()
        self._read_to_end()
        self._output.groups.leave(around, self._output.builder)
        cursor.leave(place)

    def _read_to_end(self) -> None:
        cursor, builder, groups = self._cursor, self._output.builder, self._output.groups
        while True:
            text, position = cursor.text, cursor.position
            found = self._special.search(text, position)
            if found is None:
                if position < len(text):
                    builder.flow(self._with_marks(text[position:]))
                if not cursor.resume():
                    return
                continue
            start = found.start()
            if start > position:
                builder.flow(self._with_marks(text[position:start]))
            character = text[start]
            cursor.position = found.end()
            if character == "\\":
                self._command(start)
            elif character == "{":
                groups.depth += 1
            elif character == "}":
                groups.close(builder)
                if self._arguments:
                    self._end_argument()
            elif character == "%":
                comment = _COMMENT.match(text, start)
                assert comment is not None
                cursor.position = comment.end()
            elif character == "$":
                self._formulas.read("$$" if text.startswith("$$", start) else "$", start)
            elif character == "\n":
                self._output.paragraph()
            elif character == "~":
                builder.flow(" ")
            elif character == "&":
                if self._tables.in_table:
                    self._tables.next_cell()
                else:
                    builder.text("&")
            elif _SPECIAL.match(character) is None and len(found[0]) == 1:
                self._parts[Verbatim].short(start)
            elif groups.in_code:
                builder.text({"``": "‘‘", "''": "’’"}.get(found[0], found[0]))  # no ligatures
            elif character == "-":
                dashes = 3 if text.startswith("---", start) else 2
                cursor.position = start + dashes
                builder.text("—" if dashes == 3 else "–")
            else:
                builder.text("“" if character == "`" else "”")

    def _with_marks(self, text: str) -> str:
        """Text with apostrophes, quotation marks and babel's German shorthands as they are printed."""
        if '"' in text and (self.front_matter.language or "") in _GERMAN:
            text = _SHORTHAND.sub(_shorthand, text)
        if "'" in text:
            text = text.replace("'", "’")
        return text.replace("`", "‘") if "`" in text else text

    def _command(self, start: int) -> None:
        cursor = self._cursor
        found = COMMAND.match(cursor.text, start)
        assert found is not None
        cursor.position = found.end()
        name = found[1]
        if name is None:
            symbol = found[2] or ""
            if symbol in ("(", "["):
                self._formulas.read("\\" + symbol, start)
            elif symbol == ";" and self._environments.in_algorithm:
                self._output.builder.line()
            else:
                self._typography.control_symbol(symbol)
            return
        own, bare = self._macros.commands, name.removesuffix("*")
        if bare in own and own[bare].same in own:  # what LaTeX's own command was before the author changed it
            name, bare = own[bare].same + name[len(bare) :], own[bare].same
        elif name in own:
            cursor.settle()
            self._macros.use(name)
            return
        elif bare in own:  # the star is its first argument, or text
            cursor.position = found.end(1) - 1
            self._macros.use(bare)
            return
        cursor.starred = name != bare
        if name in SYMBOLS:
            self._typography.symbol(name, start)
        elif name == "begin":
            cursor.settle()
            self._environments.begin()
        elif name == "end":
            self._environments.end()
        elif bare in HANDLERS:
            part, handler = HANDLERS[bare]
            cursor.settle()
            handler(self._parts[part], bare)
        elif self.bibliography.cites(name):
            cursor.settle()
            self.bibliography.cite(name)
        elif self._branches.read_switch(bare) or self._algorithms.read_own(bare) or self.front_matter.read_own(bare):
            return
        elif name in DROPPED or bare in DROPPED:
            cursor.settle()
            cursor.drop(DROPPED[name if name in DROPPED else bare])
        elif name == bare and self._typography.rare_symbol(name, start):
            return
        elif not self.references.read_own(bare) and not self._sections.read_own(bare, start):
            cursor.skip_option()  # an unknown command's options are not text; its arguments are
            if cursor.peek() == "{":
                self._arguments.append(self._output.groups.depth)

    def _end_argument(self) -> None:
        """A group ends; where it was an unknown command's argument, a blank separates it from the next one."""
        arguments, depth = self._arguments, self._output.groups.depth
        while arguments and arguments[-1] > depth:
            arguments.pop()
        if arguments and arguments[-1] == depth:
            if self._cursor.peek() == "{":
                self._output.builder.flow(" ")
            else:
                arguments.pop()

    def _class(self, name: str) -> None:
        """The class of a document; those for manuals of packages make a sign of code of |."""
        self._cursor.optional()
        if self._cursor.argument().strip() in _OF_MANUALS:
            self._cursor.push("\\MakeShortVerb{\\|}")
        self._cursor.optional()

    def _short_verb(self, name: str) -> None:
        """What comes between two such signs is code: \\MakeShortVerb{\\|}."""
        self._cursor.optional()
        sign = self._cursor.argument().strip().removeprefix("\\")
        begins = name != "DeleteShortVerb" and len(sign) == 1 and not sign.isalnum()
        self._special = re.compile(f"{_SPECIAL.pattern}|{re.escape(sign)}") if begins else _SPECIAL

    def _skip_drawing(self, name: str) -> None:
        """\\tikz{...}, or \\tikz ...;."""
        self._cursor.optional()
        if self._cursor.group() is None:
            self._cursor.take(_DRAWING)

    # -- commands that only TeX needs ------------------------------------------------------------------------------

    COMMANDS: ClassVar[dict[str, Handler]] = by_name(
        ("catcode", lambda reader, name: reader._cursor.take(_CATCODE)),
        (LENGTHS - DROPPED.keys(), lambda reader, name: reader._cursor.take(_ASSIGNMENT)),
        ("endinput bye", lambda reader, name: reader._cursor.to_end()),
        ("nopagebreak", lambda reader, name: reader._cursor.optional()),
        (
            "only onslide uncover visible invisible alert structure temporal",
            lambda reader, name: reader._cursor.skip_overlay(),
        ),
        ("relax", lambda reader, name: None),
        ("tikz", _skip_drawing),
        ("MakeShortVerb DeleteShortVerb lstMakeShortInline", _short_verb),
        ("documentclass LoadClass", _class),
    )


def _shorthand(found: re.Match[str]) -> str:
    letter = found[1]
    return accented('"', letter) if letter in "aouAOU" else _SHORTHANDS.get(letter, "")


# What each command does, by its name without a star, and the part of the reader that does it.
HANDLERS: dict[str, tuple[type, Handler]] = {
    name: (part, handler)
    for part in (
        *(TexReader, FrontMatter, Macros, Branches, Inputs, References, Bibliography, Typography, Sections, Theorems),
        *(Verbatim, Environments, Fonts, Glossary, Quantities, Algorithms, Tables, Formulas),
    )
    for name, handler in part.COMMANDS.items()
}
