"""A document's data before its first section: \\title, \\author, \\abstract, its language."""

import re

from structformer_latex.commands import by_name
from structformer_latex.output import Part

_TITLE = re.compile(r"(?:^|[,{\s/])title\s*=\s*\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")

_LANGUAGES = frozenset(  # that a class is often given
    """german ngerman austrian naustrian nswissgerman french francais russian ukrainian spanish catalan portuguese
    brazil brazilian italian dutch polish czech slovak swedish norsk danish finnish magyar turkish greek english
    british american UKenglish USenglish""".split()
)


class FrontMatter(Part):
    """Title and authors as text; the language as babel calls it."""

    title = ""
    author = ""
    language: str | None = None

    def _title(self, name: str) -> None:
        self._cursor.optional()
        self.title = self._output.plain(self._cursor.argument()) or self.title

    def read_own(self, name: str) -> bool:
        """A class's own settings, which no file here defines: \\thesissetup{title = {Words}}."""
        if not name.endswith("setup") or self._cursor.peek() != "{":
            return False
        if (found := _TITLE.search(self._cursor.argument())) is not None:
            self.title = self.title or self._output.plain(found[1])
        return True

    def _author(self, name: str) -> None:
        self._cursor.optional()
        source = self._cursor.argument().replace("\\and", ", ").replace("\\thanks", "\\footnote")
        author = self._output.plain(source)
        self.author = f"{self.author}, {author}" if self.author else author

    def _block(self, name: str) -> None:
        """Text in a paragraph of its own."""
        if (content := self._cursor.group()) is not None:
            self._output.paragraph()
            self._output.block(content)

    def read_language(self, options: str, *, of_class: bool = False) -> None:
        """The language that options of babel name, or of a class, few of which are one: the main one or the last."""
        names = [each.strip() for each in options.split(",")]
        main = [each[5:] for each in names if each.startswith("main=")]
        others = [each for each in names if each and "=" not in each and (not of_class or each in _LANGUAGES)]
        self.language = (main or others)[-1] if main or others else self.language

    def _select_language(self, name: str) -> None:
        self._cursor.optional()
        self.language = self._cursor.argument().strip() or self.language

    COMMANDS = by_name(
        ("title Title", _title),
        ("author authors", _author),
        ("abstract framesubtitle opening closing", _block),
        ("languagename", lambda matter, name: matter._output.builder.text(matter.language or "english")),
        ("selectlanguage setmainlanguage setdefaultlanguage", _select_language),
    )
