"""What a document says of itself before its first section: \\title, \\author, \\abstract, its language."""

from typing import ClassVar

from structformer_latex.commands import Handler, by_name
from structformer_latex.cursor import Cursor
from structformer_latex.output import Output, Part


class FrontMatter(Part):
    """Title and authors as text; the language as babel calls it."""

    def __init__(self, cursor: Cursor, output: Output) -> None:
        super().__init__(cursor, output)
        self.title = ""
        self.author = ""
        self.language: str | None = None

    def _title(self, name: str) -> None:
        self._cursor.optional()
        self.title = self._output.plain(self._cursor.argument()) or self.title

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

    def _language_name(self, name: str) -> None:
        self._output.builder.text(self.language or "english")

    def _select_language(self, name: str) -> None:
        self.language = self._cursor.argument().strip() or self.language

    COMMANDS: ClassVar[dict[str, Handler]] = by_name(
        ("title Title", _title),
        ("author authors", _author),
        ("abstract framesubtitle opening closing", _block),
        ("languagename", _language_name),
        ("selectlanguage", _select_language),
    )
