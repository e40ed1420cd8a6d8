"""Text that stays as it is written: \\verb, and environments for code."""

import re
from typing import ClassVar

from structformer_latex.commands import Handler, by_name
from structformer_latex.cursor import Cursor
from structformer_latex.output import Output, Part

_LABEL = re.compile(r"label\s*=\s*\{?([^,}\]]+)")
_CAPTION = re.compile(r"caption\s*=\s*(\{(?:[^{}]|\{[^{}]*\})*\}|[^,\]]+)")
_LANGUAGE = re.compile(r"(?:^|,)\s*language\s*=\s*\{?\s*(?:\[[^\[\]]*\])?\s*([^,{}\[\]]*)")
_NO_LANGUAGE = dict.fromkeys(("text", "none", "plain", "plaintext"), "")
_WITH_OPTIONS = frozenset("lstlisting Verbatim minted listing BVerbatim".split())


class Verbatim(Part):
    """Reads code, in a line or in lines of its own."""

    def __init__(self, cursor: Cursor, output: Output) -> None:
        super().__init__(cursor, output)
        self._language = ""  # that \lstset gives all listings

    def read_environment(self, name: str) -> None:
        """What follows \\begin{name}, to its end."""
        builder = self._output.builder
        language = self._language if name == "lstlisting" else ""
        if name in _WITH_OPTIONS:
            options = self._cursor.optional() or ""
            language = _language(options) or language
            if name == "minted":
                language = self._cursor.group() or ""
            if (label := _LABEL.search(options)) is not None:
                builder.add_anchor(label[1].strip())
            if (caption := _CAPTION.search(options)) is not None:
                self._output.block(caption[1].strip("{}"))
        content = self._cursor.skip_environment(name)
        builder.paragraph()
        self._output.groups.end_spans(builder)
        builder.code(content.strip("\n"), _NO_LANGUAGE.get(shown := language.strip().lower(), shown))
        builder.paragraph()

    def _in_line(self, name: str) -> None:
        self._cursor.optional()
        if name == "mintinline":
            self._cursor.argument()
        text, start = self._cursor.text, self._cursor.position
        if start >= len(text):
            return
        mark = "}" if text[start] == "{" else text[start]
        end = text.find(mark, start + 1)
        line = text.find("\n", start + 1)
        if end < 0 or (0 <= line < end):
            return
        self._cursor.position = end + 1
        self._output.builder.code_span(text[start + 1 : end])

    def _settings(self, name: str) -> None:
        settings = self._cursor.argument()
        if _LANGUAGE.search(settings) is not None:
            self._language = _language(settings)

    COMMANDS: ClassVar[dict[str, Handler]] = by_name(
        ("verb lstinline mintinline Verb verbdef", _in_line),
        ("lstset", _settings),
    )


def _language(options: str) -> str:
    """The language that options of a listing name, without its dialect; "" when they name none."""
    found = _LANGUAGE.search(options)
    return found[1] if found is not None else ""
