"""Other files of a project: \\input, \\include, \\subfile, \\import, packages of the user's own; and which files a main
file takes in, found without reading it as a document."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from structformer.document import LinkKind
from structformer.formats import SourceFile, as_utf8, without_spans

from structformer_latex.commands import by_name
from structformer_latex.cursor import Cursor, keys
from structformer_latex.declared import built_in
from structformer_latex.front_matter import FrontMatter
from structformer_latex.macros import Macros
from structformer_latex.output import Part

BODY = re.compile(r"\\begin\s*\{document\}")
# The name of a file without braces, as plain TeX has it; a macro in it begins or continues it: \input \folder/one
_BARE_NAME = re.compile(r"\s*((?:[^\s\\{}%]|\\[a-zA-Z]+[ \t]*)+)")
_AS_IT_STANDS = re.compile(r"\\(?:detokenize|unexpanded|string)\s*\{([^{}]*)\}")
_MAX_FILES = 2000
_MAX_PACKAGE = 500_000  # characters
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


@dataclass(eq=False)
class Inputs(Part):
    """Takes in the files that a document names."""

    _front_matter: FrontMatter
    _job: str = ""
    _taken: set[str] = field(default_factory=set)
    _whole: bool = False

    def begin(self, path: str, *, whole: bool) -> None:
        """A file that is read by itself. whole: take in the files it names; otherwise they are only referred to."""
        self._whole = whole
        self._job = self._job or PurePosixPath(path).stem
        self._taken.add(path)

    def find(self, name: str, suffixes: tuple[str, ...]) -> tuple[str, str] | None:
        """Find a file by its name, in which macros may be."""
        return self._files(file_name(name, self._macros, self._job), suffixes)

    def _take_in(self, command: str) -> None:
        self._cursor.optional()
        name, *elsewhere = named_files(self._cursor, command, self._macros, self._job)
        if not name or name.startswith("|") or len(self._taken) > _MAX_FILES:
            return
        suffixes = ("", ".tex") if "." in name.rpartition("/")[2] else (".tex", "")
        taken = next(filter(None, (self._files(each, suffixes) for each in (name, *elsewhere))), None)
        if taken is None:
            if self._whole and not self._output.only_definitions:
                self._cursor.leave_out(f"\\{command}{{{name}}}: not found: left out")
            return
        path, text = taken
        if path in self._taken:
            return
        if not self._whole and not self._output.only_definitions:
            self._output.builder.add_link(path, "", LinkKind.EMBED)
            return
        self._taken.add(path)
        body = BODY.search(text)
        if body is not None and command in _MERGING:
            self._output.definitions(text[: body.start()])
            text = text[body.end() :]
        if command == "include":
            self._output.paragraph()
        self._cursor.push(text.replace("\\end{document}", ""), is_file=True)

    def _package(self, command: str) -> None:
        options = self._cursor.optional() or ""
        for name in map(str.strip, keys(self._cursor.argument())):
            if name == "babel":
                self._front_matter.read_language(options)
            taken = self.find(f"{name}.sty", ("",))
            if taken is not None and taken[0] not in self._taken and len(taken[1]) < _MAX_PACKAGE:
                self._taken.add(taken[0])
                self._output.definitions(taken[1])

    COMMANDS = by_name(
        ("input include subfile import subimport subfileinclude loadglsentries includestandalone", _take_in),
        (_PACKAGES, _package),
    )


def file_name(written: str, macros: Macros, job: str) -> str:
    """Return the file that a command names, with the macros so far expanded. job: what \\jobname stands for."""
    plain = _AS_IT_STANDS.sub(r"\1", written).replace("\\jobname", job)
    return macros.spell_out(plain).replace("{", "").replace("}", "").strip().strip('"')


def named_files(cursor: Cursor, command: str, macros: Macros, job: str) -> list[str]:
    """Return the path that a command says, and those of the same name below the folders of `\\input@path`."""
    folder = cursor.argument().strip() if command in ("import", "subimport") else ""
    if (name := cursor.group()) is None:  # plain TeX: \input file
        name = match[1] if (match := cursor.take(_BARE_NAME)) is not None else ""
    path = file_name(folder + name.strip(), macros, job)
    paths = macros.commands["input@path"].body if path and "input@path" in macros.commands else ""
    return [path, *(each + path for each in paths.replace("{", " ").replace("}", " ").split())]


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
        self._macros = Macros(self._cursor, built_in()[0], {}, {})
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
                    if len(text := _text(opened)) < _MAX_PACKAGE:
                        cursor.push(text)
            elif len(self._taken) < _MAX_FILES:
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
