"""\\begin and \\end: lists, tables, figures and their captions, slides, and environments of the user's own."""

from __future__ import annotations

import re
from typing import ClassVar

from structformer_latex.bibliography import Bibliography
from structformer_latex.commands import LISTS, MATH, SKIPPED, TABLES, VERBATIM, Handler, by_name
from structformer_latex.cursor import Cursor
from structformer_latex.formulas import Formulas
from structformer_latex.macros import Macros
from structformer_latex.numbering import Numbering
from structformer_latex.output import Output
from structformer_latex.sections import Sections
from structformer_latex.theorems import Theorems
from structformer_latex.verbatim import Verbatim

_VERBATIM_INSIDE = re.compile(r"\\(?:verbatim|lstlisting|Verbatim|minted|VerbatimEnvironment)(?![a-zA-Z])|\\lst@")
_ALTERNATIVE = re.compile(r"(?:^|,)\s*alt\s*=\s*(\{(?:[^{}]|\{[^{}]*\})*\}|[^,]+)")
_SLIDE = 4  # its level
_MATH_WITH_ARGUMENT = frozenset(
    "alignat alignat* xalignat xalignat* numcases subnumcases IEEEeqnarray IEEEeqnarray*".split()
)
_WITH_OPTIONS = frozenset(
    "figure figure* table table* algorithm algorithmic SCfigure tabbing columns tcolorbox mdframed".split()
)
_WITH_OPTIONS_AND_GROUP = frozenset("minipage spacing subfigure subtable adjustbox turn rotate column".split())
_WITH_OPTIONS_AND_TWO = frozenset({"wrapfigure", "wraptable"})


class Environments:
    """Which environments are open, and what each does at its beginning and its end."""

    def __init__(
        self,
        cursor: Cursor,
        output: Output,
        macros: Macros,
        *,
        numbering: Numbering,
        sections: Sections,
        theorems: Theorems,
        formulas: Formulas,
        verbatim: Verbatim,
        bibliography: Bibliography,
    ) -> None:
        self._cursor = cursor
        self._output = output
        self._macros = macros
        self._numbering = numbering
        self._sections = sections
        self._theorems = theorems
        self._formulas = formulas
        self._verbatim = verbatim
        self._bibliography = bibliography
        self._own: list[str] = []  # the user's that are open
        self._items: list[int] = []  # of the lists that are open; -1 where items have no numbers
        self._floats: list[str] = []  # environments that may have a caption
        self._tables = 0

    @property
    def in_table(self) -> bool:
        """Whether & stands between cells."""
        return self._tables > 0

    def begin(self) -> None:
        """Read what follows \\begin."""
        name = (self._cursor.group() or "").strip()
        if not name:
            return
        self._cursor.skip_overlay()
        if name in self._macros.environments:
            self._begin_own(name)
        elif name in SKIPPED:
            self._cursor.skip_environment(name)
        elif name in VERBATIM:
            self._verbatim.read_environment(name)
        elif name in MATH:
            if name in _MATH_WITH_ARGUMENT:
                self._cursor.argument()
            self._formulas.write(self._cursor.skip_environment(name), name, display=True)
        elif name in TABLES:
            self._begin_table(name)
        elif name in LISTS:
            self._begin_list(name)
        elif name == "thebibliography":
            self._cursor.argument()
            self._bibliography.open_section()
        elif name in self._theorems:
            self._theorems.begin(name)
        elif name in self._OTHERS:
            self._OTHERS[name](self, name)
        else:
            self._begin_float(name)

    def end(self) -> None:
        """Read what follows \\end."""
        name = (self._cursor.group() or "").strip()
        if not name:
            return
        if name in self._macros.environments:
            if self._own and self._own[-1] == name:
                self._own.pop()
                self._cursor.push(self._macros.environments[name][1])
            return
        if name in TABLES and self._tables:
            self._tables -= 1
        if name in LISTS and self._items:
            self._items.pop()
        if self._floats and self._floats[-1] == name:
            self._floats.pop()
        if name == "document" and self._cursor.is_outermost:
            self._cursor.to_end()
        self._output.paragraph()

    def _begin_own(self, name: str) -> None:
        macro, _ = self._macros.environments[name]
        if "\\comment" in macro.body:
            self._cursor.skip_environment(name)
        elif _VERBATIM_INSIDE.search(macro.body):
            self._verbatim.read_environment(name)
        else:
            self._own.append(name)
            self._macros.expand(macro)

    # -- lists and tables ------------------------------------------------------------------------------------------

    def _begin_list(self, name: str) -> None:
        self._cursor.optional()
        if name == "list":
            self._cursor.drop("mm")
        self._items.append(0 if "enum" in name else -1)
        self._output.builder.paragraph()

    def _item(self, command: str) -> None:
        self._cursor.skip_overlay()
        label = self._cursor.optional()
        self._cursor.skip_overlay()
        self._output.builder.line()
        if self._items and self._items[-1] >= 0:
            self._items[-1] += 1
            self._numbering.item(self._items[-1])
        if label:
            self._output.typeset(label)
            self._output.builder.flow(" ")

    def _begin_table(self, name: str) -> None:
        for _ in range(TABLES[name]):
            self._cursor.optional()
            self._cursor.group()
        self._tables += 1
        self._output.builder.paragraph()

    # -- figures ---------------------------------------------------------------------------------------------------

    def _begin_float(self, name: str) -> None:
        """A figure, a table that floats, or an environment that nothing is known of."""
        self._output.builder.paragraph()
        self._floats.append(name)
        if name in _WITH_OPTIONS:
            self._cursor.skip_optionals()
        elif name in _WITH_OPTIONS_AND_GROUP:
            self._cursor.skip_optionals()
            self._cursor.group()
        elif name in _WITH_OPTIONS_AND_TWO:
            self._cursor.skip_optionals()
            self._cursor.drop("mm")
        elif self._cursor.peek() == "[":
            self._cursor.optional()

    def _caption(self, command: str) -> None:
        kind = self._cursor.argument() if command == "captionof" else next(reversed(self._floats), "")
        self._numbering.float(kind)
        self._cursor.optional()
        self._output.builder.paragraph()
        self._output.block(self._cursor.argument())

    def _graphics(self, command: str) -> None:
        alternative = ""
        while (options := self._cursor.optional()) is not None:
            if (found := _ALTERNATIVE.search(options)) is not None:
                alternative = self._output.plain(found[1].strip("{}"))
        self._output.builder.add_image(self._cursor.argument().strip(), alternative)

    # -- slides and pages ------------------------------------------------------------------------------------------

    def _begin_slide(self, name: str) -> None:
        self._cursor.drop("o")
        self._cursor.skip_overlay()
        self._cursor.drop("o")
        if (heading := self._cursor.group()) is not None and heading.strip():
            self._sections.open(_SLIDE, heading)
        else:
            self._output.builder.paragraph()

    def _begin_block(self, name: str) -> None:
        self._output.builder.paragraph()
        self._output.typeset(self._cursor.group() or "")
        self._output.builder.line()

    def _begin_columns(self, name: str) -> None:
        self._cursor.argument()
        if (above := self._cursor.optional()) is not None:
            self._output.typeset(above)

    def _begin_body(self, name: str) -> None:
        return  # its content is read as it comes

    _OTHERS: ClassVar[dict[str, Handler]] = by_name(
        ("document subfile", _begin_body),
        ("frame", _begin_slide),
        ("block alertblock exampleblock", _begin_block),
        ("multicols multicols*", _begin_columns),
    )
    COMMANDS: ClassVar[dict[str, Handler]] = by_name(
        ("item", _item),
        ("caption captionof", _caption),
        ("includegraphics", _graphics),
    )
