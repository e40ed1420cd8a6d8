"""Text in its small parts: symbols, accents, fonts, quotation marks, letters in one case, breaks, footnotes."""

import re
from dataclasses import dataclass

from structformer.document import MarkKind
from structformer.formats import Script

from structformer_latex.commands import LINES, PARAGRAPHS, ROW_ENDS, by_name, by_value
from structformer_latex.output import Part
from structformer_latex.symbols import ACCENTS, accented, dingbat, symbol
from structformer_latex.tables import Tables

# What keeps its case, else (group 1) what doesn't.
_KEPT_CASE = re.compile(
    r"\\(?:NoCaseChange|\w*(?:ref|cite)\w*|label|begin|end)\s*(?:\[[^\]]*\]\s*)*\{[^{}]*\}"
    r"|\\\(.*?\\\)|\$[^$]*\$|\\ensuremath\{[^{}]*\}|\\(?:[a-zA-Z]+|.)|([^\\$]+)",
    re.DOTALL,
)
_REFERRING = re.compile(r"\\(?:\w*(?:ref|cite)|NoCaseChange|begin)(?![a-zA-Z])")
_WITH_WISH = frozenset({"linebreak", "pagebreak", "tableofcontents"})  # how much a break is wanted: \linebreak[4]
_LITERAL = re.compile(r"\\(?:[a-zA-Z@]+|.)|[^\s{}]")
_CODE = re.compile(r"\s*(?:`\\?(.)|\"([0-9A-F]{1,5})|'([0-7]{1,6})|(\d{1,6})) ?", re.DOTALL)
_LINE_HEIGHT = re.compile(r"\[[-\d.\s\\a-z]*\]")
_FONTS = by_value(
    {
        MarkKind.EMPHASIS: "emph textit textsl em it itshape sl slshape",
        MarkKind.STRONG: "textbf bf bfseries",
        MarkKind.CODE_SPAN: "texttt tt ttfamily",
    }
)
_NO_XSPACE = frozenset(".,'/?;:!~-)\\{}]&\n\"")


@dataclass(eq=False)
class Typography(Part):
    """Writes what single commands print."""

    _tables: Tables

    # -- symbols and letters ---------------------------------------------------------------------------------------

    def symbol(self, name: str, start: int, text: str) -> None:
        """Write the text of a command that begins at `start`; a blank is kept after one that is not a letter."""
        if text.strip():
            self._output.builder.text(text)
        else:
            self._output.builder.flow(text or " ")
        after = start + len(name) + 1
        if self._cursor.text[after : after + 1].isspace() and not text.isalpha() and name != "textbackslash":
            self._output.builder.flow(" ")

    def control_symbol(self, symbol: str) -> None:
        """A command whose name is not a letter: \\\\, \\%, \\', \\,."""
        builder = self._output.builder
        if symbol == "\\":
            if self._cursor.peek() == "*":
                self._cursor.position += 1
            if _LINE_HEIGHT.match(self._cursor.text, self._cursor.position):
                self._cursor.optional()
            self._tables.line()
        elif symbol in "%&#$_{}":
            builder.text(symbol)
        elif symbol in ACCENTS:
            builder.text(accented(symbol, self._letter()))
        elif symbol in " \n\t,;:":
            builder.flow(" ")

    def _letter(self) -> str:
        argument = self._cursor.argument()
        if argument.startswith("\\") and len(argument) > 1:
            name = argument[1:].strip()
            return accented(name, self._letter()) if name in ACCENTS else symbol(name)
        return argument.strip() if "\\" not in argument else self._output.plain(argument)

    def _cased(self, name: str) -> None:
        """Text in one case; keys of references, formulas and names of commands stay as they are."""
        text, change = self._cursor.argument(), str.upper if "upper" in name.lower() else str.lower
        if _REFERRING.search(text) is None:
            self._output.builder.text(change(self._output.plain(text)))
        else:
            self._output.typeset(_KEPT_CASE.sub(lambda kept: kept[0] if kept[1] is None else change(kept[0]), text))

    def _font(self, name: str) -> None:
        self._cursor.skip_option()
        if self._cursor.peek() == "<":
            self._cursor.skip_overlay()
        if self._cursor.peek() == "{":  # its end is found where it is read, so that nesting costs nothing
            self._cursor.position += 1
            self._output.depth += 1
            self._output.span(_FONTS[name])

    def _group_font(self, name: str) -> None:
        self._cursor.skip_option()
        if self._output.depth > 1:  # a document that is set so to its end has nothing that stands out
            self._output.span(_FONTS[name])

    # -- words and lines -------------------------------------------------------------------------------------------

    def _quote(self, name: str) -> None:
        """Quotation marks; those within them are single ones, and the other way round."""
        if self._cursor.starred:
            self._output.typeset("`" + self._cursor.argument().replace("\\enquote*{", "\\enquote{") + "'")
            return
        self._cursor.skip_optionals()
        self._output.typeset("``" + self._cursor.argument().replace("\\enquote{", "\\enquote*{") + "''")

    def _x_space(self, name: str) -> None:
        """The blank after a macro, unless punctuation comes."""
        if (following := self._cursor.next_character()) and following not in _NO_XSPACE:
            self._output.builder.flow(" ")

    def _hyphen(self, name: str) -> None:
        self._cursor.group()
        self._output.builder.text("-")

    def _character(self, name: str) -> None:
        """A character by its code: \\char92, \\char`\\\\."""
        if (match := self._cursor.take(_CODE)) is not None:
            code = int(match[2], 16) if match[2] else int(match[3], 8) if match[3] else int(match[4] or 0)
            self._output.builder.text(match[1] or (chr(code) if 32 <= code < 0xD800 else ""))

    def _literal(self, name: str) -> None:
        """\\string: what comes next as it is written."""
        if (match := self._cursor.take(_LITERAL)) is not None:
            self._output.builder.text(match[0])

    def _period(self, name: str) -> None:
        """Read \\@: a period before it ends no sentence, or ends one; a blank before it stays a blank."""
        if (end := self._cursor.position) and self._cursor.text[end - 1].isspace():
            self._output.builder.flow(" ")

    def _syntax(self, name: str) -> None:
        """A command as the manuals of packages write it: \\cs{name}."""
        builder, argument = self._output.builder, self._cursor.argument()
        if name.startswith("Describe"):  # printed in the margin
            builder.line()
        builder.code_span("\\" * (name == "cs") + argument.strip())
        builder.flow(" " * name.startswith("Describe"))

    def _break(self, name: str) -> None:
        if name in _WITH_WISH:
            self._cursor.optional()
        if name in PARAGRAPHS:
            self._output.paragraph()
        elif name in ROW_ENDS:
            self._tables.line()
        else:
            self._output.builder.line()

    def _fraction(self, name: str) -> None:
        self._cursor.optional()
        self._typeset_as(Script.OPERAND)
        if name == "sfrac":
            self._cursor.optional()
        self._typeset_as(Script.DENOMINATOR)

    def _typeset_as(self, script: Script) -> None:
        self._output.builder.open_script(script)
        self._output.typeset(self._cursor.argument())
        self._output.builder.close_script()

    def _footnote(self, name: str) -> None:
        self._cursor.skip_optionals()
        self._output.footnote(self._cursor.argument())

    COMMANDS = by_name(
        ((accent for accent in ACCENTS if len(accent) == 1), control_symbol),
        ("MakeUppercase MakeTextUppercase uppercase MakeLowercase MakeTextLowercase lowercase", _cased),
        ("emph textit textsl textbf texttt", _font),
        ("em it itshape sl slshape bf bfseries tt ttfamily", _group_font),
        ("enquote say textquote", _quote),
        ("xspace", _x_space),
        ("hyp fshyp bshyp", _hyphen),
        ("ding", lambda typography, name: typography._output.builder.text(dingbat(typography._cursor.argument()))),
        ("cs cmd DescribeMacro DescribeEnv", _syntax),
        ("char", _character),
        ("string", _literal),
        ("line vector", lambda typography, name: typography._cursor.drop("({" * (typography._cursor.peek() == "("))),
        ("@", _period),
        (LINES | PARAGRAPHS, _break),
        ("textsuperscript up fup tnote", lambda typography, name: typography._typeset_as(Script.RAISED)),
        ("textsubscript", lambda typography, name: typography._typeset_as(Script.LOWERED)),
        ("nicefrac sfrac", _fraction),
        ("footnote footnotetext endnote marginpar sidenote tablefootnote", _footnote),
    )
