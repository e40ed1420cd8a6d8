"""The place that the reader has come to, and the arguments that are read from there.

Braces are groups that need no matching, so that nesting costs nothing."""

import re
from collections.abc import Iterable

COMMAND = re.compile(r"\\(?:([a-zA-Z@]+\*?)[ \t]*(?:\n(?![ \t]*\n)[ \t]*)?|(.)|\Z)", re.DOTALL)
_BRACKET = re.compile(r"\\.|[{}\]\[]|%[^\n]*", re.DOTALL)
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_SPACE = re.compile(r"(?:[ \t]|%[^\n]*\n)*(?:\n(?![ \t]*\n)(?:[ \t]|%[^\n]*\n)*)?")
_PARENTHESES = re.compile(r"\s*\([^()\n]{0,200}\)")
_OVERLAY = re.compile(r"\s*<[-\d.,+|@:a-z ]*>")
_HEADING = re.compile(r"^[ \t]*\\(?:part|chapter|(?:sub)*section)\*?\s*[\[{]", re.MULTILINE)
_PARAGRAPH_END = re.compile(rf"\n[ \t]*\n|{_HEADING.pattern}", re.MULTILINE)
_KEY = re.compile(r"[^,\s][^,]*")
_COMMENT_IN_KEYS = re.compile(r"(?<!\\)%[^\n]*(?:\n\s*|\Z)")
# A key and its value: groups up to three deep, and what is not between commas.
_OPTION = re.compile(r"(?:^|,)([^,={}]*+)=((?:\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*+\})*+\})*+\}|[^,{}])*+)")
_DEEPER = {"{": 1, "}": -1}
_MAX_DEPTH = 200
_OPTIONAL_CHARACTERS = 20_000  # of an argument in brackets
_UNCLOSED_CHARACTERS = 4_000_000  # looked through in vain, after which arguments in brackets must be short
_SHORT_OPTIONAL_CHARACTERS = 200
_MOST_WARNINGS = 20  # of a document

Place = tuple[list[tuple[str, int]], str, int]


class Cursor:
    """A position in a text, and the texts below it that go on when it ends: `push` puts a macro's text on top."""

    def __init__(self) -> None:
        self.text = ""
        self.position = 0
        self.depth = 0  # how many texts have been entered and not left
        self.lines_before = 0  # those of the preamble
        self.starred = False  # whether the command that was read last has a star
        self.expanding = ""  # the macro that was expanded last
        self.warnings: list[str] = []  # what was left out, and why
        self._below: list[tuple[str, int]] = []
        self.file_characters = 0  # read of files, which bound what macros may add
        self._unclosed = 0  # characters looked through for a bracket's end that was not there

    # -- texts -----------------------------------------------------------------------------------------------------

    def enter(self, text: str) -> Place:
        """Go to a text that is read on its own; returns the place to `leave` it to."""
        place = self._below, self.text, self.position
        self._below, self.text, self.position = [], text, 0
        self.depth += 1
        return place

    def leave(self, place: Place) -> None:
        """Go back to where `enter` was called."""
        self.depth -= 1
        self._below, self.text, self.position = place

    def push(self, text: str, *, is_file: bool = False) -> None:
        """Go on with a text, that of a macro or of another file, then with what comes after it."""
        if len(self._below) >= _MAX_DEPTH:
            macro = f"macros nested over {_MAX_DEPTH} deep at \\{self.expanding}: what it stands for is left out"
            self.leave_out(f"files nested over {_MAX_DEPTH} deep" if is_file else macro)
            return
        self.file_characters += len(text) * is_file
        if self.position < len(self.text):
            self._below.append((self.text, self.position))
        self.text, self.position = text, 0

    def resume(self) -> bool:
        """Go on with the text below; False when there is none."""
        if not self._below:
            self.to_end()
            return False
        self.text, self.position = self._below.pop()
        return True

    def settle(self) -> None:
        """Go to where the arguments are of a command that ends a macro's text: behind the macro."""
        while self.position >= len(self.text) and self._below:
            self.text, self.position = self._below.pop()

    @property
    def is_outermost(self) -> bool:
        """Whether nothing goes on after this text."""
        return not self._below

    def leave_out(self, why: str) -> None:
        """Warn that something is not read, with its line; the same reason is kept once, of many the first."""
        if len(self.warnings) < _MOST_WARNINGS and not any(each.endswith(why) for each in self.warnings):
            # Of the file, from which all other texts came, unless a text is read on its own.
            text, position = self._below[0] if self._below else (self.text, self.position)
            line = self.lines_before + text[:position].rstrip().count("\n") + 1
            self.warnings.append(f"line {line}: {why}" if self.depth <= 1 else why)

    def to_end(self) -> None:
        """Pass over the rest of this text."""
        self.position = len(self.text)

    # -- what comes next -------------------------------------------------------------------------------------------

    def peek(self) -> str:
        """Return the next character of this text; "" at its end."""
        return self.text[self.position : self.position + 1]

    def next_character(self) -> str:
        """Return the character that comes next, in whichever text; "" at the end."""
        if self.position < len(self.text):
            return self.text[self.position]
        return next((text[position] for text, position in reversed(self._below) if position < len(text)), "")

    def take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """Pass over what matches here; None, and nothing happens, where it doesn't."""
        found = pattern.match(self.text, self.position)
        if found is not None:
            self.position = found.end()
        return found

    def skip_space(self) -> None:
        """Pass over blanks and comments, up to a blank line."""
        self.take(_SPACE)

    def skip_environment(self, name: str, ends: Iterable[str] = ()) -> str:
        """Pass over an environment that is not LaTeX inside and return its content, up to the next heading if it has no
        end. ends: macros that end it too."""
        own = f"|\\\\(?:{'|'.join(ends)})(?![a-zA-Z@])" if ends else ""
        end = re.compile(rf"\\end\s*\{{{re.escape(name)}\}}{own}").search(self.text, self.position)
        if end is None:
            self.leave_out(f"\\begin{{{name}}} has no end: it is read up to the next heading")
        stop = end or _HEADING.search(self.text, self.position)
        content = self.text[self.position : stop.start() if stop else len(self.text)]
        self.position = len(self.text) if stop is None else stop.end() if end else stop.start()
        return content

    def skip_overlay(self) -> None:
        """Pass over beamer's <1->, which says when something is shown."""
        self.take(_OVERLAY)

    # -- arguments -------------------------------------------------------------------------------------------------

    def argument(self) -> str:
        """Return the next argument: a group's content, or one token."""
        self.skip_space()
        text, start = self.text, self.position
        if start >= len(text):
            return ""
        if text[start] == "{":
            return self._content(_closing(text, start))
        if text[start] == "\\":
            found = COMMAND.match(text, start)
            assert found is not None
            self.position = found.end()
            return found[0].rstrip()
        if text[start] in "}\n":
            return ""
        self.position = start + 1
        return text[start]

    def group(self) -> str | None:
        """Return the content of a group that comes next; None when there is none."""
        position = self.position
        self.skip_space()
        if self.text[self.position : self.position + 1] == "{":
            return self.argument()
        self.position = position
        return None

    def optional(self) -> str | None:
        """Return the content of [...] that comes next; None when there is none."""
        position = self.position
        self.skip_space()
        text, start = self.text, self.position
        if text[start : start + 1] != "[":
            self.position = position
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
                self.position = found.end()
                return text[start + 1 : found.start()]
            if found.start() - start > longest:
                break
        self._unclosed += min(len(text) - start, longest)
        self.position = position
        return None

    def skip_option(self) -> None:
        """Pass over [...] right here."""
        if self.peek() == "[":
            self.optional()

    def skip_optionals(self) -> None:
        """Pass over all the [...] that come next."""
        while self.optional() is not None:
            continue

    def raw_argument(self, *, in_line: bool = False) -> str:
        """An address, % and # in it: in braces, or between two equal characters. in_line: it ends with the line."""
        self.skip_space()
        text, start = self.text, self.position
        if text[start : start + 1] == "{":
            line = text.find("\n", start) if in_line else -1
            return self._content(_closing(text, start, _BRACE, line if line >= 0 else len(text)))
        sign = self.peek()
        end = text.find(sign, start + 1) if sign not in ("\\", "") else -1
        if end < 0:
            return self.argument()
        self.position = end + 1
        return text[start + 1 : end]

    def _content(self, end: int) -> str:
        """Return the group that opens here, up to `end`; one that doesn't close ends with its paragraph, as in TeX."""
        text, start = self.text, self.position
        if end >= len(text) and self._unclosed < _UNCLOSED_CHARACTERS:
            self._unclosed += end - start
            stop = _PARAGRAPH_END.search(text, start)
            end = stop.start() if stop else end
        self.position = end + text.startswith("}", end)
        return text[start + 1 : end]

    def drop(self, arguments: str) -> None:
        """Pass over arguments: * for a star, [ for one in brackets, ( for one in parentheses, { for one in braces."""
        for each in arguments:
            if each == "*":
                self.position += self.peek() == "*"
            elif each == "[":
                self.optional()
            elif each == "(":
                self.take(_PARENTHESES)
            elif self.group() is None:
                self.argument()


def keys(text: str) -> list[str]:
    """Return labels and keys between commas, without comments and braces."""
    parts = _KEY.findall(_COMMENT_IN_KEYS.sub("", text) if "%" in text else text)
    return [key.strip().strip("{}") for key in parts] if "{" in text else parts


def options(text: str) -> dict[str, str]:
    """Return the values of options between commas by their keys, without comments and the braces around a value."""
    values: dict[str, str] = {}
    for key, value in _OPTION.findall(_COMMENT_IN_KEYS.sub("", text) if "%" in text else text):
        value = value.strip()
        is_group = value.startswith("{") and _closing(value, 0) == len(value) - 1
        values.setdefault(key.strip(), value[1:-1] if is_group else value)
    return values


def number(digits: str) -> int | None:
    """Return the number that an option says; None if that is none of up to nine digits."""
    return int(digits) if digits.isdecimal() and len(digits) < 10 else None


def _closing(text: str, start: int, marks: re.Pattern[str] = _BRACKET, end: int | None = None) -> int:
    """Return where the group that opens at `start` closes; the end of the text, or `end`, when it doesn't."""
    depth = 0
    end = len(text) if end is None else end
    for found in marks.finditer(text, start, end):
        depth += _DEEPER.get(found[0], 0)
        if not depth:
            return found.start()
    return end
