"""\\begin and \\end: lists, tables, figures and their captions, slides, and environments of the user's own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from structformer.document import MarkKind

from structformer_latex.bibliography import Bibliography
from structformer_latex.commands import LISTS, MATH, SKIPPED, TABLES, VERBATIM, by_name, by_pair, by_value
from structformer_latex.cursor import number, options
from structformer_latex.formulas import Formulas
from structformer_latex.macros import Macro
from structformer_latex.numbering import counted, item_number
from structformer_latex.output import Part
from structformer_latex.sections import Sections
from structformer_latex.tables import Tables
from structformer_latex.theorems import Theorems
from structformer_latex.verbatim import Verbatim

# What the beginning of an environment of the user's opens: \begin{name}, or the command that \begin{name} runs.
_OPENED = re.compile(r"\\begin\s*\{([a-zA-Z]+\*?)\}|\\(lst@|[a-zA-Z]+(?![a-zA-Z]))")
_CODE = VERBATIM | {"VerbatimEnvironment", "lst@"}
_RAW_COMMANDS = frozenset("comment verbatim lstlisting Verbatim minted tcblisting VerbatimEnvironment lst@".split())
_MOST_INSIDE = 8  # environments of the user's that open one another
_NOTE = re.compile(r"(?=[A-Z\u00c0-\u00de\u0400-\u042f]|\S+ )(?:.{0,200}\W)?[^\W\d_]{4}")  # not [plain], [!h tb]
_SLIDE = 4  # its level
_MOST_AROUND = 20  # environments that are asked what a caption is of
_MATH_WITH_ARGUMENT = frozenset(
    "alignat alignat* xalignat xalignat* numcases subnumcases IEEEeqnarray IEEEeqnarray* empheq empheq*".split()
)
# Environments and their arguments that are not text.
_ARGUMENTS = by_value(
    {
        "[[": """figure figure* table table* algorithm algorithm* algorithm2e algorithm2e* algorithmic SCfigure tabbing
        columns displayquote SCtable SCtable*""",
        "[[[{": "minipage spacing subfigure subtable adjustbox turn rotate column",
        "[{": """otherlanguage otherlanguage* hyphenrules addmargin addmargin* refsection foreigndisplayquote
        beamercolorbox floatingfigure floatingtable parcolumns varwidth""",
        "{[(": "textblock textblock*",
        "{": "lrbox",
        "{[{[{": "wrapfloat",
        "{{": "adjustwidth adjustwidth* changemargin CJK CJK* overlayarea",
        "[{[{": "wrapfigure wraptable",
    }
)
_SHORT_LABEL = re.compile(r"^([^,=]*(?<![a-zA-Z]))([AaIi1])(?![a-zA-Z])([^,=]*)$")  # [(i)] of the enumerate package
_COUNTERS = by_pair("A=Alph a=alph I=Roman i=roman 1=arabic")
# What environments are whose content is read as it comes, and the kinds of notes.
_BLOCKS = {
    **dict.fromkeys("quote quotation verse displayquote".split(), (MarkKind.QUOTE, "")),
    **dict.fromkeys("figure subfigure wrapfigure SCfigure sidewaysfigure marginfigure".split(), (MarkKind.FIGURE, "")),
    **dict.fromkeys("table subtable wraptable sidewaystable margintable".split(), (MarkKind.TABLE, "")),
    **dict.fromkeys("tcolorbox mdframed framed shaded leftbar".split(), (MarkKind.NOTE, "note")),
    **{kind: (MarkKind.NOTE, kind) for kind in ("tip", "hint", "important", "warning", "caution", "danger")},
}
_SLIDE_BLOCKS = {"block": "note", "alertblock": "important", "exampleblock": "example"}


@dataclass(slots=True)
class _List:
    kind: MarkKind
    number: int  # of its last item; -1 where items have no numbers
    form: str = ""  # of its numbers, as enumitem's options have it
    part: MarkKind | None = None  # the item or definition that is open


@dataclass(eq=False)
class Environments(Part):
    """Which environments are open, and what each does at its beginning and its end."""

    _sections: Sections
    _theorems: Theorems
    _formulas: Formulas
    _verbatim: Verbatim
    _bibliography: Bibliography
    _tables: Tables
    _declared: Mapping[str, str]  # arguments of environments that nothing else is known of
    _own: list[str] = field(default_factory=list)  # the user's that are open
    _lists: list[_List] = field(default_factory=list)
    _floats: list[str] = field(default_factory=list)  # environments that may have a caption

    def inside(self, *names: str) -> bool:
        """Whether the innermost environment that is not a list or a table is one of these, by how its name begins."""
        return bool(self._floats) and self._floats[-1].startswith(names)

    def begin(self) -> None:
        """Read what follows \\begin."""
        name = (self._cursor.group() or "").strip()
        if not name:
            return
        self._cursor.settle()
        self._cursor.skip_overlay()
        if name in self._macros.environments:
            self._begin_own(name)
        elif name in SKIPPED:
            self._cursor.skip_environment(name)
        elif name in VERBATIM:
            self._verbatim.read_environment(name)
        elif name in MATH:
            if name in _MATH_WITH_ARGUMENT:
                self._cursor.drop("[{")
            source = self._cursor.skip_environment(name, self._macros.ends.get(name, ()))
            self._formulas.write(source, name, display=True)
        else:  # its end is read as it comes
            self._output.depth += 1
            if name in TABLES:
                self._tables.begin(name)
            elif name in LISTS:
                self._begin_list(name)
            elif name in self._theorems:
                self._theorems.begin(name)
            else:
                self._OTHERS.get(name, Environments._begin_float)(self, name)

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
        self._output.close_group()
        if name in TABLES:
            self._tables.end()
        elif name in LISTS:
            self._end_list(name)
        elif name == "thebibliography":
            self._output.builder.close_mark(MarkKind.LIST)
        elif name in self._theorems or name in _SLIDE_BLOCKS or name == "restatable":
            self._output.builder.close_mark(MarkKind.NOTE)
        elif (block := _BLOCKS.get(name.rstrip("*"))) is not None:
            self._output.builder.close_mark(block[0])
        if self._floats and self._floats[-1] == name:
            self._floats.pop()
        if name == "subequations":
            self._numbering.subequations(begin=False)
        if name == "document" and self._cursor.is_outermost:
            self._cursor.to_end()
        self._output.paragraph()

    def _begin_own(self, name: str) -> None:
        macro, end = self._macros.environments[name]
        body, ended = macro.body.lstrip(), end.rfind("\\end")
        begun = _OPENED.match(body)
        if begun is not None and begun[1] in MATH and ended >= 0:
            beginning = self._macros.filled(replace(macro, body=body[begun.end() :])) or ""
            source = beginning + self._cursor.skip_environment(name) + end[:ended]
            self._formulas.write(source, begun[1], display=True)
        elif (opened := self._raw_inside(macro.body)) in _CODE:
            self._macros.arguments(macro)
            self._verbatim.read_environment(name, macro.body)
        elif opened:
            self._cursor.skip_environment(name)
        else:
            self._own.append(name)
            self._macros.expand(macro)

    def _raw_inside(self, beginning: str, depth: int = 0) -> str:
        """Return the environment of raw text that the beginning of another one opens, "" for none; such text ends where
        the environment that is open in the document does, not at an \\end of its own name."""
        for match in reversed([*_OPENED.finditer(beginning)]):
            name = match[1] or match[2]
            is_closed = f"\\end{{{name}}}" in beginning[match.end() :]
            if name in ((_CODE | SKIPPED) if match[1] else _RAW_COMMANDS) and not is_closed:
                return name
            own = self._macros.environments.get(match[1] or "")
            if own is not None and depth < _MOST_INSIDE and (inner := self._raw_inside(own[0].body, depth + 1)):
                return inner
        return ""

    # -- lists and tables ------------------------------------------------------------------------------------------

    def _begin_list(self, name: str) -> None:
        words = self._cursor.optional() or ""
        self._cursor.drop({"list": "{{", "tasks": "(", "labeling": "{"}.get(name, ""))
        if name == "parts":  # of an exam's question
            self._macros.commands["part"] = Macro("\\question ")
        self._output.builder.paragraph()
        first = form = ""
        if "enum" in name:
            given = options(words)
            first, short = str(number(given.get("start", "")) or 1), _SHORT_LABEL.match(words)
            form = given.get("label") or (f"{short[1]}\\{_COUNTERS[short[2]]}*{short[3]}" if short else "")
        kind = MarkKind.DEFINITIONS if name.startswith(("description", "labeling")) else MarkKind.LIST
        self._output.open_block(kind, first)
        self._lists.append(_List(kind, int(first) - 1 if first else -1, form))

    def _end_list(self, name: str) -> None:
        if name == "parts":
            self._macros.commands.pop("part", None)
        if self._lists:
            ended = self._lists.pop()
            if ended.part is not None:
                self._output.builder.close_mark(ended.part)
            self._output.builder.close_mark(ended.kind)

    def _item(self, command: str) -> None:
        self._cursor.skip_overlay()
        label = self._cursor.optional()
        if label and command in ("question", "subpart"):
            label = f"({label} points)"
        self._cursor.skip_overlay()
        builder = self._output.builder
        builder.line()
        if not self._lists:
            self._write_label(label)
            return
        current = self._lists[-1]
        if current.part is not None:
            builder.close_mark(current.part)
        if current.number >= 0:
            current.number += 1
            if current.form:
                self._numbering.item(self._output.plain(counted(current.form, current.number)))
            else:
                self._numbering.item(item_number([each.number for each in self._lists[-4:] if each.number >= 0]))
        if current.kind is MarkKind.DEFINITIONS:
            current.part = MarkKind.DEFINITION
            self._output.open_block(MarkKind.TERM)
            self._write_label(label)
            builder.close_mark(MarkKind.TERM)
            builder.open_mark(MarkKind.DEFINITION)
        else:
            current.part = MarkKind.ITEM
            self._output.open_block(MarkKind.ITEM)
            self._write_label(label)

    def _write_label(self, label: str | None) -> None:
        if label:
            self._output.typeset(label)
            self._output.builder.flow(" ")

    # -- figures ---------------------------------------------------------------------------------------------------

    def _begin_float(self, name: str) -> None:
        """A figure, a table that floats, or an environment that nothing is known of."""
        self._output.builder.paragraph()
        if (block := _BLOCKS.get(name.rstrip("*"))) is not None:
            self._output.open_block(*block)
            if not name.startswith("sub"):
                self._numbering.open_float()
        self._floats.append(name)
        if name in ("tcolorbox", "mdframed"):
            given = options(self._cursor.optional() or "")
            if title := given.get("title") or given.get("frametitle"):
                self._write_title(title)
        elif (arguments := _ARGUMENTS.get(name) or self._declared.get(name)) is not None:
            self._cursor.drop(arguments)
        elif self._cursor.peek() == "[":
            words = self._cursor.optional() or ""
            if _NOTE.match(words) and "=" not in words:  # of a theorem that is defined elsewhere
                self._write_label(f"{words}.")

    def _part_caption(self, command: str) -> None:
        """A part of a figure: \\subfloat[caption]{...}, \\subcaptionbox{caption}[width]{...}."""
        cursor, builder = self._cursor, self._output.builder
        caption = cursor.optional()
        if (given := cursor.optional()) is not None:  # what came first is for the list of figures
            caption = given
        if command == "subcaptionbox":
            caption = cursor.argument()
            cursor.drop("[[")
        self._numbering.float(self._around(), is_part=True)
        if caption:
            builder.paragraph()
            self._output.open_block(MarkKind.CAPTION)
            self._output.typeset(caption)
            builder.close_mark(MarkKind.CAPTION)
            builder.paragraph()

    def _around(self) -> tuple[str, ...]:
        """The environments that a caption may belong to, the innermost first; a long table has one of its own."""
        return *self._floats[:-_MOST_AROUND:-1], "table" if self._tables.in_table else ""

    def _caption(self, command: str) -> None:
        around = (self._cursor.argument(),) if command == "captionof" else self._around()
        self._numbering.float(around, is_part=around[0].startswith("sub"))
        self._cursor.optional()
        builder = self._output.builder
        builder.paragraph()
        self._tables.leave_row()
        marked = builder.in_mark(MarkKind.FIGURE) or builder.in_mark(MarkKind.TABLE)
        if marked:
            self._output.open_block(MarkKind.CAPTION)
        self._output.block(self._cursor.argument())
        if marked:
            builder.close_mark(MarkKind.CAPTION)

    def _graphics(self, command: str) -> None:
        alternative = ""
        self._cursor.skip_overlay()
        while (words := self._cursor.optional()) is not None:
            alternative = self._output.plain(options(words).get("alt", "")) or alternative
        self._output.builder.add_image(self._macros.spell_out(self._cursor.argument().strip()), alternative)

    # -- slides and pages ------------------------------------------------------------------------------------------

    def _begin_slide(self, name: str) -> None:
        self._cursor.drop("[")
        self._cursor.skip_overlay()
        self._cursor.drop("[")
        if (heading := self._cursor.group()) is not None and heading.strip():
            self._sections.open(_SLIDE, heading)
        else:
            self._output.builder.paragraph()

    def _begin_block(self, name: str) -> None:
        self._output.builder.paragraph()
        self._output.open_block(MarkKind.NOTE, _SLIDE_BLOCKS[name])
        self._write_title(self._cursor.group() or "")

    def _begin_restatable(self, name: str) -> None:
        """A theorem that is printed again later: \\begin{restatable}[note]{theorem}{command}."""
        note, kind = self._cursor.optional(), self._cursor.argument().strip()
        self._cursor.argument()
        if note:
            self._cursor.push(f"[{note}]")
        self._theorems.begin(kind)

    def _write_title(self, title: str) -> None:
        builder = self._output.builder
        with builder.marked(MarkKind.TITLE):
            self._output.typeset(title)
        builder.line()

    def _slides(self, command: str) -> None:
        """\\alt<2>{on that slide}{on others}."""
        self._cursor.skip_overlay()
        self._output.typeset(f"{self._cursor.argument()} {self._cursor.argument()}")

    def _begin_bibliography(self, name: str) -> None:
        self._cursor.argument()
        self._bibliography.open_section()
        self._output.open_block(MarkKind.LIST)

    def _begin_columns(self, name: str) -> None:
        self._cursor.argument()
        self._output.typeset(self._cursor.optional() or "")

    _OTHERS = by_name(
        ("document subfile", lambda environments, name: None),  # its content is read as it comes
        ("subequations", lambda environments, name: environments._numbering.subequations(begin=True)),
        ("frame", _begin_slide),
        ("restatable", _begin_restatable),
        (_SLIDE_BLOCKS, _begin_block),
        ("multicols multicols*", _begin_columns),
        ("thebibliography", _begin_bibliography),
    )
    COMMANDS = by_name(
        ("item task choice CorrectChoice question subpart", _item),
        ("caption captionof captionabove captionbelow tablecaption", _caption),
        ("subfloat subfigure subtable subcaptionbox", _part_caption),
        ("includegraphics includesvg", _graphics),
        ("alt", _slides),
    )
