"""Other files of a project: \\input, \\include, \\subfile, \\import, and packages of the user's own."""

import re
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from structformer.document import LinkKind

from structformer_latex.commands import by_name
from structformer_latex.cursor import Cursor, keys
from structformer_latex.front_matter import FrontMatter
from structformer_latex.macros import Macros
from structformer_latex.output import Part

BODY = re.compile(r"\\begin\s*\{document\}")
# The name of a file without braces, as plain TeX has it; a macro in it begins or continues it: \input \folder/one
_BARE_NAME = re.compile(r"\s*((?:[^\s\\{}%]|\\[a-zA-Z]+[ \t]*)+)")
_AS_IT_STANDS = re.compile(r"\\(?:detokenize|unexpanded|string)\s*\{([^{}]*)\}")
MAX_FILES = 2000
MAX_PACKAGE = 500_000  # characters


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
        if not name or name.startswith("|") or len(self._taken) > MAX_FILES:
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
        if body is not None and command in ("subfile", "subfileinclude", "includestandalone"):
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
            if taken is not None and taken[0] not in self._taken and len(taken[1]) < MAX_PACKAGE:
                self._taken.add(taken[0])
                self._output.definitions(taken[1])

    COMMANDS = by_name(
        ("input include subfile import subimport subfileinclude loadglsentries includestandalone", _take_in),
        ("usepackage RequirePackage", _package),
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
