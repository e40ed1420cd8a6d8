"""Reads LaTeX as its readers see it: expands the user's own macros within bounds and tells a TreeBuilder what is found.

Not TeX: no catcodes, no registers, no boxes. Only commands whose arguments mean something have them read. Each part of
the reader is in a file of its own and says in its COMMANDS what it reads."""

import re
from typing import Any

from structformer.formats import TreeBuilder

from structformer_latex.algorithms import Algorithms
from structformer_latex.bibliography import Bibliography
from structformer_latex.commands import LENGTHS, Handler, by_name
from structformer_latex.conditions import Branches
from structformer_latex.cursor import COMMAND, Cursor
from structformer_latex.declared import Declared, built_in, known_arguments
from structformer_latex.environments import Environments
from structformer_latex.formulas import Formulas
from structformer_latex.front_matter import FrontMatter
from structformer_latex.glossary import Glossary
from structformer_latex.inputs import BODY, Inputs
from structformer_latex.macros import Macros
from structformer_latex.numbering import Numbering
from structformer_latex.output import Files, Output
from structformer_latex.references import References
from structformer_latex.sections import Sections
from structformer_latex.symbols import SYMBOLS, accented, rare_symbols
from structformer_latex.tables import Tables
from structformer_latex.theorems import Theorems
from structformer_latex.typography import Typography
from structformer_latex.units import Quantities
from structformer_latex.verbatim import Verbatim

_SPECIAL = re.compile(r"[\\{}$%~&]|\n[ \t]*\n|\"?--|``|''")
_COMMENT = re.compile(r"%[^\n]*(?:\n(?![ \t]*\n)[ \t]*)?")  # a blank line below it ends the paragraph
_DRAWING = re.compile(r"[^;]{0,2000};")
_CATCODE = re.compile(r"\s*`?\\?.\s*=?\s*\d*")
_ASSIGNMENT = re.compile(
    r"\s*(?:=|by\b)?\s*(?:[-+]?\s*(?:\d*[.,]?\d+\s*(?:true\s*)?(?:pt|pc|in|bp|cm|mm|dd|cc|sp|em|ex|mu|fil+)?|\\[a-zA-Z]+)(?:\s*(?:plus|minus)\s*[-\d.,]+\s*\w*)*)?"
)
_CYRILLIC = frozenset("russian ukrainian belarusian bulgarian".split())
_ENGLISH = frozenset("english british american UKenglish USenglish".split())
# Babel's shorthands by language.
_SHORTHAND = dict.fromkeys(_CYRILLIC, re.compile(r"\"([`'<>|~=\"-])")) | dict.fromkeys(
    "german ngerman austrian naustrian swissgerman nswissgerman".split(), re.compile(r"\"([`'<>|~=\"aouAOUsz-])")
)
_SHORTHANDS = {"`": "„", "'": "“", "<": "«", ">": "»", "~": "-", "=": "-", "s": "ß", "z": "ß"} | {
    letter: accented('"', letter) for letter in "aouAOU"
}
_OF_MANUALS = frozenset("ltxdoc ltxguide ltnews l3doc".split())
_MAX_DEPTH = 40  # of arguments in arguments
_ANY_ARGUMENTS = 9 * "{"  # of a command that nothing is known of


class TexReader:
    """Reads one document, with what it takes in, into a builder."""

    def __init__(self, builder: TreeBuilder, files: Files, declared: Declared) -> None:
        cursor = self._cursor = Cursor()
        output = self._output = Output(builder, self.typeset)
        self.numbering = Numbering()
        self._declared = declared
        own, self._dropped = built_in()
        self._macros = Macros(cursor, own, declared.macros, declared.environments)
        known = cursor, output, self._macros, self.numbering
        self.front_matter = FrontMatter(*known, files)
        self._inputs = Inputs(*known, files, self.front_matter)
        shared = *known, self._inputs.find
        self._branches, self._algorithms = Branches(*shared), Algorithms(*shared)
        self.references, self.bibliography = References(*shared), Bibliography(*shared)
        self._formulas, self._tables = Formulas(*shared, self.references), Tables(*shared)
        self._typography, self._sections = Typography(*shared, self._tables), Sections(*shared)
        blocks = Theorems(*shared), self._formulas, Verbatim(*shared), self.bibliography, self._tables
        self._environments = Environments(*shared, self._sections, *blocks, declared.environment_arguments)
        parts = (
            *(self, self.front_matter, self._macros, self._branches, self._inputs, self.references, *blocks),
            *(self._typography, self._sections, self._environments, self._algorithms),
            *(Glossary(*shared), Quantities(*shared)),
        )
        self._parts: dict[type, Any] = {type(part): part for part in parts}
        self._special = _SPECIAL
        # Arguments of unknown commands that are being read: how many groups are around them, and what follows them.
        self._arguments: list[tuple[int, str]] = []

    @property
    def warnings(self) -> list[str]:
        """Return what was left out, and why."""
        return self._cursor.warnings

    def read(self, text: str, *, name: str, main: bool) -> None:
        """Read a file. main: take in the files it names; otherwise they are only referred to."""
        self._inputs.begin(name, whole=main)
        self._cursor.file_characters += len(text)
        body = BODY.search(text)
        if body is not None:
            self._output.definitions(text[: body.start()])
            self._cursor.lines_before = text.count("\n", 0, body.end())
            end = text.rfind("\\end{document}")
            self.typeset(text[body.end() : end if end > body.end() else len(text)])
        else:
            self.typeset(text)
        self._output.flush_footnotes()

    def typeset(self, text: str) -> None:
        """Read some LaTeX, in a group of its own."""
        cursor = self._cursor
        if cursor.depth >= _MAX_DEPTH:
            self._output.builder.flow(text)
            return
        place, around = cursor.enter(text), self._output.enter()
        self._read_to_end()
        self._output.leave(around)
        cursor.leave(place)

    def _read_to_end(self) -> None:
        cursor, output, builder = self._cursor, self._output, self._output.builder
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
                output.depth += 1
            elif character == "}":
                output.close_group()
                if self._arguments:
                    self._end_argument()
            elif character == "%":
                cursor.position = start
                cursor.take(_COMMENT)
            elif character == "$":
                self._formulas.read("$$" if text.startswith("$$", start) else "$", start)
            elif character == "\n":
                output.paragraph()
            elif character == "~":
                builder.flow(" ")
            elif character == "&":
                if self._tables.in_table:
                    self._tables.next_cell()
                else:
                    builder.text("&")
            elif _SPECIAL.match(character) is None and len(found[0]) == 1:
                self._parts[Verbatim].short(start)
            elif output.code:
                builder.text({"``": "‘‘", "''": "’’"}.get(found[0], found[0]))  # no ligatures
            elif character in '-"':
                dashes = text[found.end() - 2 : found.end() + 1].count("-")
                cursor.position += dashes - 2
                is_quote = character == '"' and self.front_matter.language not in _CYRILLIC
                builder.text('"' * is_quote + "–—"[dashes - 2])
            else:
                builder.text("“" if character == "`" else "”")

    def _with_marks(self, text: str) -> str:
        """Return text with apostrophes, quotation marks and babel's shorthands as they are printed."""
        language = self.front_matter.language or "english"
        if '"' in text and language in _SHORTHAND:
            text = _SHORTHAND[language].sub(lambda found: _SHORTHANDS.get(found[1], ""), text)
        if ("<<" in text or ">>" in text) and language not in _ENGLISH and not self._output.code:
            text = text.replace("<<", "«").replace(">>", "»")
        return text.replace("'", "’").replace("`", "‘")

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
            elif symbol == ";" and self._environments.inside("algorithm", "procedure", "function"):
                self._output.builder.line()
            elif symbol in "=><+-'`" and self._environments.inside("tabbing"):  # tabulators
                self._output.builder.flow(" ")
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
            self._typography.symbol(name, start, SYMBOLS[name])
        elif name == "begin":
            cursor.settle()
            self._environments.begin()
        elif name == "end":
            self._environments.end()
        elif name in ("endinput", "bye"):  # of this file, though nothing may follow there
            cursor.to_end()
        elif bare in HANDLERS:
            part, handler = HANDLERS[bare]
            cursor.settle()
            handler(self._parts[part], bare)
        elif bare in self._declared.arguments:
            self._go_to_argument(self._declared.arguments[bare])
        elif self.bibliography.cites(name):
            cursor.settle()
            self.bibliography.cite(name)
        elif self._branches.read_switch(bare) or self._algorithms.read_own(bare) or self.front_matter.read_own(bare):
            return
        elif name in self._dropped or bare in self._dropped:
            cursor.settle()
            cursor.drop(self._dropped[name if name in self._dropped else bare])
        elif name == bare and (text := rare_symbols().get(name)):
            self._typography.symbol(name, start, text)
        elif not self.references.read_own(bare) and not self._sections.read_own(bare, start):
            self._go_to_argument("[" + known_arguments().get(bare, _ANY_ARGUMENTS))

    def _go_to_argument(self, arguments: str) -> bool:
        """Pass over an unknown command's options, which are not text, to its next argument in braces, which is; whether
        there is one. arguments: in pylatexenc's form."""
        groups = arguments.lstrip("*[")
        for _ in range(len(arguments) - len(groups)):
            self._cursor.skip_option()
        if not groups or self._cursor.peek() != "{":
            return False
        self._arguments.append((self._output.depth, groups[1:]))
        return True

    def _end_argument(self) -> None:
        """A group ends; if it was an unknown command's argument, a blank separates it from the next one."""
        arguments, depth = self._arguments, self._output.depth
        while arguments and arguments[-1][0] > depth:
            arguments.pop()
        if arguments and arguments[-1][0] == depth and self._go_to_argument(arguments.pop()[1]):
            self._output.builder.flow(" ")

    def _class(self, name: str) -> None:
        """The class of a document; those for manuals of packages make a sign of code of |."""
        self.front_matter.read_language(self._cursor.optional() or "", of_class=True)
        if self._cursor.argument().strip() in _OF_MANUALS:
            self._cursor.push("\\MakeShortVerb{\\|}")
        self._cursor.optional()

    def _short_verb(self, name: str) -> None:
        """Begin or end reading as code the text between two such signs: \\MakeShortVerb{\\|}."""
        self._cursor.optional()
        sign = self._cursor.argument().strip().removeprefix("\\")
        begins = name != "DeleteShortVerb" and len(sign) == 1 and not sign.isalnum()
        self._special = re.compile(f"{re.escape(sign)}|{_SPECIAL.pattern}") if begins else _SPECIAL

    def _skip_drawing(self, name: str) -> None:
        """\\tikz{...}, or \\tikz ...;."""
        self._cursor.optional()
        if self._cursor.group() is None:
            self._cursor.take(_DRAWING)

    # -- commands that only TeX needs ------------------------------------------------------------------------------

    COMMANDS = by_name(
        ("catcode", lambda reader, name: reader._cursor.take(_CATCODE)),
        (LENGTHS, lambda reader, name: reader._cursor.take(_ASSIGNMENT)),
        (
            "only onslide uncover visible invisible alert structure temporal",
            lambda reader, name: reader._cursor.skip_overlay(),
        ),
        ("tikz", _skip_drawing),
        ("MakeShortVerb DeleteShortVerb lstMakeShortInline", _short_verb),
        ("documentclass LoadClass", _class),
    )


# What each command does, by its name without a star, and the part of the reader that does it.
HANDLERS: dict[str, tuple[type, Handler]] = {
    name: (part, handler)
    for part in (
        *(TexReader, FrontMatter, Macros, Branches, Inputs, References, Bibliography, Typography, Sections, Theorems),
        *(Verbatim, Environments, Glossary, Quantities, Algorithms, Tables, Formulas),
    )
    for name, handler in part.COMMANDS.items()
}
