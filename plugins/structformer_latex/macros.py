"""The user's own macros and environments, and what they expand to, within bounds."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

from structformer_latex.commands import MATH, SKIPPED, VERBATIM, by_name
from structformer_latex.cursor import Cursor

_DEFINED = re.compile(r"\s*\\([a-zA-Z@]+|.)([^{}\n]*)", re.DOTALL)
_ENDED = re.compile(r"\\end(?!csname)([a-zA-Z]+)")  # by a command of its own: \longtable ... \endlongtable
_ENDING = re.compile(r"\s*\\end\s*\{([a-zA-Z]+\*?)\}\s*")
_EXPL3 = re.compile(r"\\[a-zA-Z]+_[a-zA-Z_]+:[nNVvoxcTFpwDef]+")
_DIGITS = tuple("0123456789")
_ARGUMENT = re.compile(r"#[1-9]")
_PARAMETER = re.compile(r"##|((?<!\\)\\[a-zA-Z@]+)?#([1-9])")
_MACRO_IN_ADDRESS = re.compile(r"\\([a-zA-Z]+)((?:\{[^{}]*\})+|[ \t\n]+|(?![a-zA-Z]))")
_LONGEST_ADDRESS = 4000
_ADDRESS_DEPTH = 8  # macros in macros of an address
# How often macros may be used, and the characters that they may add, in a short document; long ones may more.
_MAX_EXPANSIONS = 100_000
_MAX_EXPANDED = 4_000_000
_CHARACTERS_OF_USE = 8  # of files, for each further use
_LONGEST_DELIMITED = 20_000
_LONGEST_NAME = 200
_MOST_ARGUMENTS = 9

_VERBS = ("New", "Renew", "Provide", "Declare")
_NO_VALUE = "\\NoValue "  # of an argument that is not there
_KIND = re.compile(r"[\s+!]*(?:([mosv])|O\s*\{((?:[^{}]|\{[^{}]*\})*)\})")
_KINDS = {"s": "*", "m": "{", "v": "{"}


# An argument in pylatexenc's form (* a star, [ in brackets, { in braces) and its default; or #, TeX's, and its end.
Argument = tuple[str, str]
_OF_TEX = "#"


@dataclass(slots=True)
class Macro:
    """A user's macro: the text that it stands for, and its arguments."""

    body: str
    arguments: tuple[Argument, ...] = ()
    opening: str = ""  # what TeX's definition has before the first argument
    same: str = ""  # the command of LaTeX's that it was when \\let made it


def macro(arguments: str, text: str) -> Macro:
    """Return the macro of these arguments, in pylatexenc's form, that stands for this text."""
    return Macro(text, tuple((each, "") for each in arguments))


class Macros:
    """Definitions by name, an environment as its beginning and end; what is declared, none defines anew."""

    def __init__(
        self,
        cursor: Cursor,
        built_in: Mapping[str, Macro],
        commands: Mapping[str, Macro],
        environments: Mapping[str, tuple[Macro, str]],
    ) -> None:
        self.commands = {**built_in, **commands}
        self.environments = dict(environments)
        self._declared = commands, environments
        self.ends: dict[str, list[str]] = {}  # macros that end an environment, by its name
        self._cursor = cursor
        self._expansions = 0
        self._expanded = 0

    # -- definitions -----------------------------------------------------------------------------------------------

    def _define_command(self, command: str) -> None:
        name, macro = self._name(), self._macro()
        if name and (command != "providecommand" or name not in self.commands):
            self._keep(name, macro)

    def _keep(self, name: str, macro: Macro) -> None:
        if name in self._declared[0] or _EXPL3.search(macro.body) is not None:  # a program, not text
            return
        self.commands[name] = macro
        if (ended := _ENDING.fullmatch(macro.body)) is not None and name.isalpha():
            names = self.ends.setdefault(ended[1], [])
            names += [name] * (name not in names and len(names) < _MOST_ARGUMENTS)
        if name.startswith("end") and (begin := self.commands.get(name[3:])) is not None:
            self._ended_environment(name[3:], replace(begin), macro.body)

    def _keep_environment(self, name: str, macro: Macro, end: str = "") -> None:
        if name and name not in self._declared[1]:
            self.environments[name] = macro, end

    def _define_environment(self, command: str) -> None:
        """Define an environment by its beginning and end; of environ, by what is around \\BODY, or shown instead."""
        name, macro = self._cursor.argument().strip(), self._macro()
        if command.endswith("Environ"):
            begin, has_body, end = macro.body.partition("\\BODY")
            macro.body = begin if has_body else f"{begin}\\comment"
        else:
            end = self._cursor.argument()
        self._ended_environment(name, macro, end)

    def _ended_environment(self, name: str, macro: Macro, end: str) -> None:
        for kind in _ENDED.findall(end)[:_MOST_ARGUMENTS]:
            macro.body, count = re.subn(rf"\\{kind}(?![a-zA-Z@])", rf"\\begin{{{kind}}}", macro.body, count=1)
            end = end.replace(f"\\end{kind}", f"\\end{{{kind}}}") if count else end
        if name not in VERBATIM and name not in MATH and name not in SKIPPED:
            self._keep_environment(name, macro, end)

    def _define_code(self, command: str) -> None:
        """An environment for code: of listings, fancyvrb, tcolorbox or minted."""
        cursor = self._cursor
        given = cursor.optional()
        name = cursor.argument().strip()
        if command == "newminted":
            macro, name = Macro(f"\\lst@language={name}"), given or f"{name}code"
            cursor.argument()
        elif "VerbatimEnvironment" in command:
            cursor.argument()
            macro = Macro("\\lst@" + cursor.argument())
        else:
            macro = self._macro()
            macro.body += "\\lst@"
            if command == "lstnewenvironment":
                cursor.argument()
        self._keep_environment(name, macro)

    def _define_documented(self, command: str) -> None:
        """xparse's \\NewDocumentCommand{name}{signature}{text}, and the same for environments."""
        is_command = command.endswith("Command")
        name = self._name() if is_command else self._cursor.argument().strip()
        arguments = _signature(self._cursor.argument())
        macro = Macro(self._cursor.argument(), arguments or ())
        end = "" if is_command else self._cursor.argument()
        if not name or arguments is None or (command.startswith("Provide") and name in self.commands):
            return
        if is_command:
            self._keep(name, macro)
        else:
            self._keep_environment(name, macro, end)

    def _define_box(self, command: str) -> None:
        """An environment of tcolorbox with options of its own."""
        self._cursor.optional()
        name, macro = self._cursor.argument().strip(), self._macro()
        macro.body = f"\\begin{{tcolorbox}}[{macro.body}]"
        self._keep_environment(name, macro, "\\end{tcolorbox}")

    def _name(self) -> str:
        name = self._cursor.argument().strip()
        return name[1:].strip() if name.startswith("\\") else ""

    def _macro(self) -> Macro:
        """Read the rest of a definition after the name: [number of arguments][default of the first]{text}."""
        cursor = self._cursor
        count, default, body = cursor.optional(), cursor.optional(), cursor.argument()
        arguments = [(_OF_TEX, "")] * (int(count) if count and count.strip() in _DIGITS else 0)
        if default is not None:
            arguments[:1] = [("[", default)] * len(arguments[:1])
        return Macro(body, tuple(arguments))

    def _define_tex(self, command: str) -> None:
        if (match := self._cursor.take(_DEFINED)) is None or (body := self._cursor.group()) is None:
            return
        opening, *ends = _ARGUMENT.split(match[2].strip())
        self._keep(match[1], Macro(body, tuple((_OF_TEX, end if end.strip() else "") for end in ends), opening))

    def _let(self, command: str) -> None:
        name = self._name()
        self._cursor.skip_space()
        if self._cursor.peek() == "=":
            self._cursor.position += 1
        other = self._cursor.argument()
        if name and name not in self._declared[0] and other.startswith("\\") and other[1:].strip() != name:
            original = other[1:].strip()
            self._keep(name, self.commands.get(original) or Macro(other + " ", same=original))

    # -- expansion -------------------------------------------------------------------------------------------------

    def use(self, name: str) -> None:
        """Go on with what a command of the user's stands for."""
        self._cursor.expanding = name
        self.expand(self.commands[name])

    def expand(self, macro: Macro) -> None:
        """Go on with a macro's text, its arguments put in."""
        if (text := self.filled(macro)) is not None:
            self._cursor.push(text)

    def filled(self, macro: Macro) -> str | None:
        """Return a macro's text, its arguments put in; None where macros have expanded to too much."""
        self._expansions += 1
        read = self._cursor.file_characters
        uses, added = _MAX_EXPANSIONS + read // _CHARACTERS_OF_USE, _MAX_EXPANDED + 2 * read
        if self._expansions > uses or self._expanded > added:
            self._cursor.leave_out(
                f"macros expand to over {added >> 20} MB or {uses} times: what they say further is left out"
            )
            return None
        body = _filled(macro.body, self.arguments(macro))
        self._expanded += len(body)
        return body

    def _repeat(self, command: str) -> None:
        """Go on with the body of pgffor's \\foreach for each of a list, `a,b`, `1,...,9` or `a/x,b/y`."""
        if (head := self._cursor.take(_DEFINED)) is None or (items := self._cursor.group()) is None:
            return
        names = [each.strip(" \\") for each in (head[1] + head[2].partition(" in")[0]).partition("[")[0].split("/")]
        listed, body = [each.strip() for each in items.split(",")], self._cursor.argument()
        if listed[1:-1] == ["..."] and (listed[0] + listed[2]).isdecimal() and len(items) < _LONGEST_NAME:
            listed = [*map(str, range(int(listed[0]), int(listed[2]) + 1)[:_MAX_EXPANSIONS])] or listed
        if (len(body) + _LONGEST_NAME) * len(listed) <= _MAX_EXPANDED:
            values = (
                zip_longest(names, parts := each.split("/", len(names) - 1), fillvalue=parts[-1]) for each in listed
            )
            defined = ("".join(f"\\def\\{name}{{{value}}}" for name, value in pairs) for pairs in values)
            self.expand(Macro("".join(each + body for each in defined)))
        else:
            self._cursor.leave_out(f"\\foreach repeats its text {len(listed)} times: it is left out")

    def arguments(self, macro: Macro) -> list[str]:
        """Read the arguments of a macro."""
        if macro.opening and self._cursor.text.startswith(macro.opening, self._cursor.position):
            self._cursor.position += len(macro.opening)
        values = [self._argument(*each) for each in macro.arguments]
        pairs = zip(values, macro.arguments, strict=True)
        return [_filled(value, values) if value is default else value for value, (_, default) in pairs]

    def _argument(self, kind: str, default: str) -> str:
        """Return an argument: a star, in brackets, up to what ends it as in \\def\\a#1;#2.{...}, or in braces."""
        cursor = self._cursor
        if kind == "*":
            star = "*" * (cursor.peek() == "*")
            cursor.position += len(star)
            return star
        if kind == "[":
            given = cursor.optional()
            return default if given is None else given
        if kind == _OF_TEX and default:
            start = cursor.position
            end = cursor.text.find(default, start, start + _LONGEST_DELIMITED)
            if end >= 0:
                cursor.position = end + len(default)
            return cursor.text[start : max(start, end)]
        return cursor.argument()

    def spell_out(self, address: str) -> str:
        """Return an address or a file's name with the user's macros replaced by what they stand for."""

        def body(found: re.Match[str]) -> str:
            macro, given = self.commands.get(found[1]), found[2].strip()[1:-1].split("}{")
            count = len(macro.arguments) if macro is not None else 0
            if macro is None or len(given) < count or any(kind in "*{" for kind, _ in macro.arguments):
                return found[0]
            rest = "".join(f"{{{each}}}" for each in given[count:] if each)
            return _filled(macro.body, given) + rest

        for _ in range(_ADDRESS_DEPTH):
            if "\\" in address and len(address) <= _LONGEST_ADDRESS:
                address = _MACRO_IN_ADDRESS.sub(body, address)
        return address

    def _named(self, command: str) -> None:
        cursor = self._cursor
        end = cursor.text.find("\\endcsname", cursor.position)
        if 0 <= end - cursor.position < _LONGEST_NAME:
            name = cursor.text[cursor.position : end].strip()
            cursor.position = end + len("\\endcsname")
            if name.isascii() and name.replace("@", "a").isalpha():
                cursor.push(f"\\{name} ")

    COMMANDS = by_name(
        ("newcommand renewcommand providecommand DeclareRobustCommand newrobustcmd", _define_command),
        ("algnewcommand algrenewcommand", _define_command),
        ("def gdef edef xdef", _define_tex),
        ("let", _let),
        ("newenvironment renewenvironment NewEnviron RenewEnviron", _define_environment),
        ((f"{verb}Document{what}" for verb in _VERBS for what in ("Command", "Environment")), _define_documented),
        ("newtcolorbox renewtcolorbox", _define_box),
        (
            "lstnewenvironment DefineVerbatimEnvironment RecustomVerbatimEnvironment newtcblisting newminted",
            _define_code,
        ),
        ("csname", _named),
        ("foreach", _repeat),
    )


def _filled(text: str, arguments: Sequence[str]) -> str:
    """Return a macro's text, or an argument's default, with the arguments filled in; a bomb is left as it is."""
    if "#" not in text or text.count("#") * max(map(len, arguments), default=0) > _MAX_EXPANDED:
        return text

    def put(found: re.Match[str]) -> str:
        if found[2] is None:
            return "#"
        argument = "".join(arguments[int(found[2]) - 1 :][:1])
        return f"{found[1]} {argument}" if found[1] and argument[:1].isalpha() else f"{found[1] or ''}{argument}"

    return _PARAMETER.sub(put, text)


def _signature(text: str) -> tuple[Argument, ...] | None:
    """Return the arguments that xparse's letters declare for a command; None if some of them are not read."""
    arguments: list[Argument] = []
    position = 0
    text = text.rstrip()
    while position < len(text):
        kind = _KIND.match(text, position)
        if kind is None:
            return None
        arguments.append((_KINDS.get(kind[1], "["), _NO_VALUE if kind[1] else kind[2]))
        position = kind.end()
    return tuple(arguments) if len(arguments) <= _MOST_ARGUMENTS else None
