"""Which files of a project a main file takes in, found without reading it as a document."""

import re
from collections.abc import Iterable

from structformer.formats import SourceFile, as_utf8, without_spans

from structformer_latex.cursor import Cursor, keys
from structformer_latex.inputs import BODY, MAX_FILES, MAX_PACKAGE, named_files
from structformer_latex.macros import Macros

MAIN = re.compile(r"\\(?:documentclass|documentstyle|begin\s*\{document\})")
_TAKERS = "input InputIfFileExists include subfile subfileinclude includestandalone import subimport".split()
_MAY_TAKE = re.compile(r"\\(?:[iI]n|sub|import|usepackage|RequirePackage)")
# A document whoever takes it in: with a class of its own, unless that is made for files that others take in.
_ALONE = re.compile(r"\\document(?:class|style)\s*(?:\[[^\[\]]*\]\s*)?\{(?!\s*(?:subfiles|standalone)\s*\})")
# What takes in documents with a class of their own.
_MERGING = frozenset({"subfile", "subfileinclude", "includestandalone"})
_TAKES_DOCUMENTS = re.compile(r"\\usepackage\s*(?:\[[^\[\]]*\]\s*)?\{[^{}]*\b(?:docmute|standalone|subfiles|combine)\b")
_COMMENT = re.compile(r"(\\.)|%[^\n]*", re.DOTALL)
_UNREAD = re.compile(r"\\(?:begin\s*\{)?(iffalse(?![a-zA-Z])|(?:comment|verbatim|lstlisting)(?=\}))")
_ENDS = {
    "iffalse": re.compile(r"\\fi(?![a-zA-Z])"),
    **{name: re.compile(rf"\\end\s*\{{{name}\}}") for name in ("comment", "verbatim", "lstlisting")},
}
_DEFINERS = "newcommand renewcommand providecommand DeclareRobustCommand newrobustcmd def gdef edef xdef let".split()
_PACKAGES = "usepackage RequirePackage".split()


def without_comments(text: str) -> str:
    """Return a file's text without what follows %, unless that is written as \\%."""
    return _COMMENT.sub(r"\1", text) if "%" in text else text


def taken_files(source: SourceFile) -> set[str]:
    """Return the paths of the files that a main file takes in, itself or through others, macros in their names
    expanded as they are defined up to there; without documents that have a class of their own."""
    text = _text(source)
    return _Scan(source, text).run() if _MAY_TAKE.search(text) and MAIN.search(text) else set()


class _Scan:
    """Goes through a main file, and the files that it takes in, in their order."""

    def __init__(self, source: SourceFile, text: str) -> None:
        self._source = source
        self._merges = _TAKES_DOCUMENTS.search(text) is not None
        self._job = source.path.rpartition("/")[2].partition(".")[0]
        self._cursor = Cursor()
        self._cursor.file_characters = len(text)
        self._cursor.text = text
        self._macros = Macros(self._cursor, {}, {})
        self._own: list[str] = []  # macros of the user's that take in a file
        self._commands = _commands(self._own)
        self._packages: set[str] = set()
        self._taken: set[str] = set()

    def run(self) -> set[str]:
        """Return the paths of the files that are taken in."""
        cursor, macros = self._cursor, self._macros
        while True:
            match = self._commands.search(cursor.text, cursor.position)
            if match is None:
                if not cursor.resume():
                    return self._taken
                continue
            command, cursor.position = match[1], match.end()
            cursor.settle()
            if command in self._own:
                macros.use(command)
            elif command in Macros.COMMANDS:
                Macros.COMMANDS[command](macros, command)
                if self._commands.search(match.string, match.end(), cursor.position) is not None:
                    self._own = [name for name, macro in macros.commands.items() if self._commands.search(macro.body)]
                    self._commands = _commands(self._own)
            elif command in _PACKAGES:  # those that lie beside the file may define macros
                cursor.optional()
                names = {name.strip() for name in keys(cursor.argument())} - self._packages
                self._packages |= names
                for opened in filter(None, (self._source.open(f"{name}.sty") for name in sorted(names))):
                    if len(text := _text(opened)) < MAX_PACKAGE:
                        cursor.push(text)
            elif len(self._taken) < MAX_FILES:
                self._take(command)

    def _take(self, command: str) -> None:
        """Go on with the file that a command names, if it is not a document of its own."""
        cursor, source = self._cursor, self._source
        cursor.skip_option()
        names = named_files(cursor, command, self._macros, self._job)
        places = (place for name in names if name for place in (f"{name}.tex", name))
        opened = next(filter(None, map(source.open, places)), None)
        if opened is None or opened.path in self._taken or opened.path == source.path:
            return
        text = _text(opened)
        if command in _MERGING or self._merges or not (_ALONE.search(text) and BODY.search(text)):
            self._taken.add(opened.path)
            cursor.push(text)


def _commands(own: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of the commands that matter: those that take in files, define macros, or are such macros."""
    names = [*_TAKERS, *_DEFINERS, "foreach", *_PACKAGES, *map(re.escape, own)]
    return re.compile(rf"\\({'|'.join(names)})(?![a-zA-Z@])\*?")


def _text(source: SourceFile) -> str:
    """Return a file's text without conditions that never hold, comments and verbatim."""
    return without_spans(without_comments(as_utf8(source.read()).decode("utf-8", "replace")), _UNREAD, _ENDS)
