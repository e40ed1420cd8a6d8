"""Text that stays as it is written: \\verb, and environments for code."""

import re

from structformer_latex.commands import by_name
from structformer_latex.cursor import number, options
from structformer_latex.output import Part
from structformer_latex.symbols import symbol

_LANGUAGE = re.compile(r"(?:^|[,\[])\s*language\s*=\s*\{?\s*(?:\[[^\[\]]*\])?\s*([^,{}\[\]]*)")
_NO_LANGUAGE = dict.fromkeys(("text", "none", "plain", "plaintext"), "")
_WITH_OPTIONS = frozenset("lstlisting Verbatim minted listing BVerbatim tcblisting".split())
_LIVE = frozenset({"alltt", "semiverbatim"})  # commands in them are commands
_COMMAND = re.compile(r"\\(?:text)?color(?:box)?\{[^{}]*\}|\\([a-zA-Z]+)(?:\{\})?|\\([^a-zA-Z\s])|[{}]")
_MAX_LISTED = 4_000_000  # characters of other files' code


class Verbatim(Part):
    """Reads code, in a line, in lines of its own or in a file of its own."""

    _listed = 0  # characters of other files' code
    _language = ""  # that \lstset gives all listings

    def read_environment(self, name: str, settings: str = "") -> None:
        """Read from \\begin{name} to its end. settings: those that the author has defined the environment with."""
        language = _language(settings.removeprefix("\\lst@")) or (self._language if name == "lstlisting" else "")
        if name in _WITH_OPTIONS or "\\lst@" in settings:
            words = self._cursor.optional() or ""
            settings += words
            if name == "tcblisting":
                words += f",{self._cursor.group() or ''}"
            language = _language(words) or language
            if name == "minted":
                language = self._cursor.group() or ""
            self._describe(options(words))
        source = self._cursor.skip_environment(name)
        if name in _LIVE or "commandchars=\\\\\\{" in settings:
            source = _COMMAND.sub(lambda match: symbol(match[1] or "") or match[2] or "", source)
        self._write(source, language)

    def _describe(self, given: dict[str, str]) -> None:
        """Write the label and the caption among a listing's options; a short one in brackets is for lists."""
        if label := given.get("label"):
            self._output.builder.add_anchor(label)
        if caption := (given.get("caption") or given.get("title", "")).strip():
            self._output.block(caption.partition("]")[2] if caption.startswith("[") else caption)

    def _write(self, content: str, language: str) -> None:
        builder = self._output.builder
        builder.paragraph()
        self._output.end_spans()
        builder.code(content.strip("\n"), _NO_LANGUAGE.get(shown := language.strip().lower(), shown))
        builder.paragraph()

    def _listing(self, command: str) -> None:
        """Code that is in a file of its own, or some lines of it."""
        words = self._cursor.optional() or ""
        given = options(words)
        language = self._language if command == "lstinputlisting" else ""
        if command == "inputminted":
            language = self._cursor.argument()
        name = self._cursor.argument().strip()
        taken = self._files(name, ("",))
        self._describe(given)
        if taken is None and not self._output.only_definitions:
            self._cursor.leave_out(f"\\{command}{{{name}}}: not found: left out")
        if taken is None or self._output.only_definitions:
            return
        first, last = (number(given.get(key, "")) for key in ("firstline", "lastline"))
        shown = "\n".join(taken[1].split("\n")[max((first or 1) - 1, 0) : last])
        self._listed += len(taken[1])
        if self._listed > _MAX_LISTED:
            self._cursor.leave_out(f"listings of other files over {_MAX_LISTED >> 20} MB: the rest is left out")
            return
        self._write(shown, _language(words) or language)

    def _in_line(self, name: str) -> None:
        self._cursor.optional()
        if name == "mintinline":
            self._cursor.argument()
        text, start = self._cursor.text, self._cursor.position
        if start >= len(text):
            return
        if text[start] == "{":
            self._output.builder.code_span(self._cursor.raw_argument(in_line=True))
            return
        end = text.find(text[start], start + 1)
        if end < 0 or 0 <= text.find("\n", start + 1) < end:
            return
        self._cursor.position = end + 1
        self._output.builder.code_span(text[start + 1 : end])

    def short(self, start: int) -> None:
        """Code that begins with a sign at `start`, where the author has said so; the sign where none ends it."""
        after, self._cursor.position = self._cursor.position, start
        self._in_line("verb")
        if self._cursor.position == start:
            self._output.builder.text(self._cursor.text[start])
            self._cursor.position = after

    def _settings(self, name: str) -> None:
        if (match := _LANGUAGE.search(self._cursor.argument())) is not None:
            self._language = match[1]

    COMMANDS = by_name(
        ("verb lstinline mintinline Verb verbdef", _in_line),
        ("lstset", _settings),
        ("lstinputlisting inputminted verbatiminput VerbatimInput", _listing),
    )


def _language(words: str) -> str:
    """Return the language that options of a listing name, without its dialect; "" when they name none."""
    match = _LANGUAGE.search(words)
    return match[1] if match is not None else ""
