"""Files that reStructuredText takes in, whole, as tables or as code; options where docutils has no list of them."""

import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from posixpath import dirname, relpath

from structformer.formats import SourceFile, decode, join

from structformer_rst.unnamed import PAGE_SUFFIXES

NAMED = re.compile(r"(.*?)\s*(?<!\x00)<([^<>]+)>", re.DOTALL)
_TOCTREES = re.compile(r"^([ \t]*)\.\.[ \t]+toctree::[^\n]*((?:\n(?:\1[ \t]+\S[^\n]*|[ \t]*$))*)", re.MULTILINE)
_INDEXES = ("index.rst", "contents.rst", "index.txt", "contents.txt")
_INCLUDES = re.compile(
    r"^([ \t]*)\.\.[ \t]+(?i:include)::[ \t]*([^<\s]\S*)[ \t]*$((?:\n\1[ \t]+:[\w-]+:.*$)*)", re.MULTILINE
)
_OPTION = re.compile(r"^[ \t]+:([\w-]+):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_OPTION_LINE = re.compile(r"\s*:([\w-]+):(?:\s+(.*))?")  # what goes on is a role
_LINES = ("start-line", "end-line")
_BOUNDS = frozenset({*_LINES, "start-after", "end-before"})
_AS_CODE = frozenset({"literal", "code"})  # options by which the text is shown as it stands
_NOT_WHOLE = _BOUNDS | _AS_CODE | {"parser"}
_RANGE = re.compile(r"(\d{1,9})?[ \t]*(-)?[ \t]*(\d{1,9})?")
_MOST_UP = 8  # folders above a page
MAX_INCLUDED = 200


def included_whole(data: bytes) -> list[str]:
    """Return the paths of the files that a file's `include` directives take in whole."""
    if b"include::" not in data.lower():
        return []
    found = _INCLUDES.finditer(data.decode("utf-8", "replace").replace("\r\n", "\n"))
    whole = (each for each in found if _NOT_WHOLE.isdisjoint(dict(_OPTION.findall(each[3]))))
    return [place for each in whole for place in _places(each[2])]


def is_listed(file: SourceFile, page: SourceFile) -> bool:
    """Whether a toctree of a page, or of an index page in a file's folder or above, lists it: it is a page itself."""
    above = ("../" * up + name for up in range(file.path.count("/") + 1) for name in _INDEXES)
    pages = (page, *filter(None, map(file.open, above)))
    return any(fnmatchcase(file.path, path) for each in pages for path in _listed(each))


def _listed(page: SourceFile) -> Iterator[str]:
    """Yield the paths, or patterns of them, that a page's toctrees list."""
    folder, data = dirname(page.path), page.read()
    text = data.decode("utf-8", "replace").replace("\r\n", "\n") if b"toctree::" in data else ""
    for entry in (line.strip() for found in _TOCTREES.finditer(text) for line in found[2].split("\n")):
        name = named[2] if (named := NAMED.fullmatch(entry)) else entry
        path = join("" if name.startswith("/") else folder, name.lstrip("/")) if entry[:1] != ":" else None
        yield from (path + suffix for suffix in PAGE_SUFFIXES if path)


def opened(path: str, *sources: SourceFile) -> SourceFile | None:
    """Return the file of a path as the first of these that finds it; None if it is not in the ingested folder."""
    return next(filter(None, (source.open(place) for source in sources for place in _places(path))), None)


def _places(target: str) -> list[str]:
    """Return where an included file may be: a path from the root is one from the site's folder, here or above."""
    return ["../" * up + target.lstrip("/") for up in range(_MOST_UP, -1, -1)] if target.startswith("/") else [target]


def _piece(text: str, options: Mapping[str, str]) -> str:
    """Return the piece of a text that an `include` directive asks for. Source: docutils' reference of directives."""
    lines = text.split("\n")
    given = [options.get(name, "") for name in _LINES]
    bounds = [int(value) if value.removeprefix("-").isdecimal() and len(value) < 10 else None for value in given]
    text = "\n".join(lines[bounds[0] : bounds[1]])
    if (after := options.get("start-after")) and after in text:
        text = text.partition(after)[2]
    if (before := options.get("end-before")) and before in text:
        text = text.partition(before)[0]
    return text


def code_lines(text: str, options: Mapping[str, str]) -> list[str]:
    """Return the lines that a `literalinclude` shows of a file. Source: the reference of directives of Sphinx."""
    lines = text.expandtabs().split("\n")
    if name := options.get("pyobject"):
        lines = _of_object(lines, name.rpartition(".")[2])
    if asked := options.get("lines"):
        parts = [_RANGE.fullmatch(part.strip()) for part in asked.split(",")]
        ends = ((int(part[1] or 1), int(part[3] or (not part[2] and part[1]) or len(lines))) for part in parts if part)
        lines = [line for first, last in ends for line in lines[max(first, 1) - 1 : last]]
    for key, is_start, beyond in (("start-at", 1, 0), ("start-after", 1, 1), ("end-at", 0, 1), ("end-before", 0, 0)):
        mark = options.get(key)
        place = next((place for place, line in enumerate(lines) if mark and mark in line), -1) + beyond
        if mark and place >= beyond:
            lines = lines[place:] if is_start else lines[:place]
    return lines


def _of_object(lines: list[str], name: str) -> list[str]:
    """Return the lines of a function or a class in Python; all where it is not there."""
    begins = re.compile(rf"([ \t]*)(?:async[ \t]+)?(?:def|class)[ \t]+{re.escape(name)}\b")
    for start, line in enumerate(lines):
        if (begin := begins.match(line)) is not None:
            end = start + 1
            while end < len(lines) and (not lines[end].strip() or lines[end].startswith(begin[1] + " ")):
                end += 1
            return lines[start:end]
    return lines


def with_includes(text: str, source: SourceFile, page: SourceFile, taken: frozenset[str] = frozenset()) -> str:
    """Return the text with its includes, from its own folder or the page's; warn of missing and circular ones."""

    def included(found: re.Match[str]) -> str:
        options = dict(_OPTION.findall(found[3]))
        file = opened(found[2], source, page)
        problem = ""
        if file is None or file.path in taken or len(taken) >= MAX_INCLUDED:
            problem = "it is not in the ingested folder, or includes itself"
        elif "parser" in options:
            problem = "it is of another format"
        if file is None or problem:
            line = text.count("\n", 0, found.start()) + 1
            source.warn(f"line {line}: {found[2]} is not included: {problem}")
            return ""
        if _NOT_WHOLE.isdisjoint(options) and is_listed(file, page):
            return f"\n{found[1]}:doc:`{relpath(file.path, dirname(page.path) or '.')}`\n"
        inner = _piece(decode(file).replace("\r\n", "\n"), options)
        if not _AS_CODE.isdisjoint(options):
            inner = "\n    ".join((f".. code-block:: {options.get('code', '')}\n", *inner.split("\n"))) + "\n"
        else:
            inner = with_includes(inner, file, page, taken | {source.path, file.path})
        return "\n".join(found[1] + line if line else line for line in inner.split("\n"))

    return _INCLUDES.sub(included, text) if "include::" in text.lower() else text


def is_option(line: str) -> bool:
    """Whether a line gives a directive an option."""
    return _OPTION_LINE.fullmatch(line) is not None


def options_of(lines: Iterable[str]) -> dict[str, str]:
    """Return the options to which lines give a value."""
    return {option[1]: option[2] for line in lines if (option := _OPTION_LINE.fullmatch(line.rstrip())) and option[2]}


def without_options(content: Iterable[str]) -> list[str]:
    """Return a directive's lines without the options, which come first, and the blank lines after them."""
    lines = list(content)
    start = next((place for place, line in enumerate(lines) if line.strip() and not is_option(line)), len(lines))
    return lines[start:]
