"""Algorithms as their packages print them: \\If{c} ... \\EndIf is "if c then ... end if"."""

import re
from dataclasses import dataclass, field

from structformer_latex.commands import Handler, by_name, by_pair
from structformer_latex.output import Part

# What is printed, or before and behind the argument; algorithmicx and algorithmic write the names in other cases.
_Shown = str | tuple[str, str]
_WITH_ARGUMENT: dict[str, _Shown] = {
    "Until": ("until", ""),
    "ForAll": ("for all", "do"),
    "ForEach": ("for each", "do"),
    "If": ("if", "then"),
    **dict.fromkeys(("ElsIf", "ElseIf"), ("else if", "then")),
    **{name: (name.lower(), "do") for name in ("For", "While", "Switch", "Case")},
}
_WORDS: dict[str, _Shown] = {
    **by_pair(
        "Else=else Other=otherwise Begin=begin Loop=loop Require=Require: Ensure=Ensure: BlankLine= State= Statex="
    ),
    **{f"End{name}": f"end {name.lower()}" for name in "If For While Loop Function Procedure".split()},
    "EndForAll": "end for",
}
_KEYWORDS: dict[str, _Shown] = {  # within a line
    **by_pair(
        "Return=return Print=print KwRet=return Comment=▷ To=to KwTo=to And=and Or=or Not=not True=true False=false"
    ),
    "DownTo": "down to",
}
_STATEMENTS = frozenset({"RETURN", "PRINT"})  # of algorithmic, where they begin a line
_INPUTS = {"KwData": "Data:", "KwResult": "Result:", "KwIn": "Input:", "KwOut": "Output:"}
_BY_NAME: dict[str, _Shown] = {
    **{
        spelt: shown
        for table in (_WITH_ARGUMENT, _WORDS, _KEYWORDS)
        for name, shown in table.items()
        for spelt in (name, name.upper())
    },
    # Of algorithm2e: u without an end, l in one line.
    **{
        f"{form}{name}": {**_WITH_ARGUMENT, **_WORDS}[name]
        for name in "If ElseIf Else For ForEach ForAll While Case Other".split()
        for form in "ul"
    },
    **_INPUTS,
}
_BODY = re.compile(r"\s*(?=\{)")
_SIDE_COMMENT = re.compile(r"\(\\tc[cp]\*?(?:\[\w\])?\{([^{}]*)\}\)")
# How many words follow the name of a command of the author's own.
_DECLARED = {
    **dict.fromkeys("SetKw SetKwData SetKwFunction SetKwArray SetKwInOut SetKwInput".split(), 1),
    **dict.fromkeys("SetKwBlock SetKwRepeat SetKwComment".split(), 2),
    **dict.fromkeys("SetKwFor SetKwProg".split(), 3),
}


@dataclass(eq=False)
class Algorithms(Part):
    """The commands of algorithmicx, algorithmic and algorithm2e, whose bodies are arguments."""

    _own: dict[str, tuple[Handler, _Shown]] = field(default_factory=dict)

    def read_own(self, name: str) -> bool:
        """A command that the author has declared: \\SetKwInOut{Input}{input}; False when it is none."""
        if name in self._own:
            self._own[name][0](self, name)
            return True
        return False

    def _step(self, name: str) -> None:
        """A line that begins with a word, or a condition between two words."""
        self._output.builder.line()
        self._words(name)
        if name[0] == "l" and name in _BY_NAME:
            self._output.typeset(self._cursor.group() or "")
            self._output.builder.line()
        elif _BY_NAME.get(name, name) and self._cursor.take(_BODY) is not None:
            self._output.builder.line()

    def _words(self, name: str) -> None:
        shown = self._own[name][1] if name in self._own else _BY_NAME[name]
        before, after = (shown, "") if isinstance(shown, str) else shown
        if (chosen := self._macros.commands.get(f"algorithmic{name.lower()}")) is not None:
            before = self._output.plain(chosen.body)
        self._output.builder.flow(f" {before} ")
        if not isinstance(shown, str):
            remark = self._cursor.take(_SIDE_COMMENT)
            self._output.typeset(self._cursor.group() or "")
            self._output.builder.text(f" {after} " if after[:1].isalpha() else f"{after} ")
            if remark is not None:
                self._output.typeset(f" // {remark[1]}")

    def _branches(self, name: str) -> None:
        """\\eIf{condition}{then}{else}, in one line as \\leIf."""
        self._step("If")
        then, otherwise = self._cursor.argument(), self._cursor.argument()
        self._output.typeset(f"{then}\\{'lElse' if name == 'leIf' else 'Else'}{{{otherwise}}}")

    def _repeat(self, name: str) -> None:
        """\\Repeat ... \\Until{condition}, or \\Repeat{condition}{...}."""
        self._output.builder.line()
        words = self._own[name][1] if name in self._own else ("repeat", "until")
        self._output.builder.text(f"{words[0]} ")
        if (condition := self._cursor.group()) is not None:
            body = self._cursor.argument()
            self._output.builder.line()
            self._output.typeset(f"{{{body}}}\\State {words[1]} {condition}\\BlankLine ")

    def _input(self, name: str) -> None:
        self._output.builder.line()
        self._words(name)
        if (argument := self._cursor.group()) is not None:
            self._output.typeset(argument)
            self._output.builder.line()

    def _remark(self, name: str) -> None:
        """A comment, to the end of its line."""
        self._cursor.optional()
        shown = self._own[name][1] if name in self._own else ("/*", "*/") if name == "tcc" else ("//", "")
        self._output.builder.flow(f" {shown[0]} ")
        self._output.typeset(self._cursor.argument())
        self._output.builder.flow(f" {shown[1]}")
        self._output.builder.line()

    def _called(self, name: str) -> None:
        """A function or a variable of the author's own."""
        self._output.builder.text(str(self._own[name][1]))
        if self._cursor.peek() == "{" and (argument := self._cursor.group()):
            self._output.typeset(f"({argument})")

    def _declare(self, command: str) -> None:
        argument, plain = self._cursor.argument, self._output.plain
        name = argument().strip().removeprefix("\\")
        if command == "SetKwIF":
            names = name, argument().strip(), argument().strip()
            words = [plain(argument()) for _ in range(5)]
            shown: list[_Shown] = [(words[0], words[1]), (words[2], words[1]), words[3]]
            self._own |= {name: (Algorithms._step, each) for name, each in zip(names, shown, strict=True)}
            return
        words = [plain(argument()) for _ in range(_DECLARED[command])]
        if command in ("SetKwInOut", "SetKwInput"):
            self._own[name] = Algorithms._input, words[0].rstrip(" :") + ":"
        elif command in ("SetKwFor", "SetKwProg"):
            self._own[name] = Algorithms._step, (words[0], words[1])
        elif command in ("SetKwRepeat", "SetKwComment"):
            handler = Algorithms._repeat if command == "SetKwRepeat" else Algorithms._remark
            self._own[name] = handler, (words[0], words[1])
        else:
            self._own[name] = Algorithms._step if command == "SetKwBlock" else Algorithms._called, words[0]

    COMMANDS = by_name(
        (_BY_NAME.keys() - _INPUTS.keys() - {spelt for name in _KEYWORDS for spelt in (name, name.upper())}, _step),
        ((spelt for name in _KEYWORDS for spelt in (name, name.upper())), _words),
        (_STATEMENTS, _step),
        (_INPUTS, _input),
        ("eIf leIf", _branches),
        ("Repeat REPEAT", _repeat),
        ("tcp tcc", _remark),
        ((*_DECLARED, "SetKwIF"), _declare),
    )
