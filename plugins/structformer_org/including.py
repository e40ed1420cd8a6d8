"""Org's #+INCLUDE: the lines of a file with those that it includes."""

import re
from collections.abc import Iterator
from posixpath import relpath

from structformer.formats import SourceFile, decode

from structformer_org.blocks import HEADLINE

_INCLUDE = re.compile(
    r"[ \t]*#\+include:[ \t]*(?:\"([^\"\n]+)\"|(\S+))((?:[ \t]+[^\s:]\S*)*)((?:[ \t]+:.*)?)", re.IGNORECASE
)
_OPTION = re.compile(r":([\w-]+)[ \t]+(\"[^\"]*\"|[^\s:]\S*)")
TITLED = re.compile(rb"^[ \t]*#\+title:[ \t]*(.*)", re.IGNORECASE | re.MULTILINE)
_MOST_NESTED = 20


def lines_of(source: SourceFile) -> Iterator[str]:
    """Yield a document's lines, included ones a level below their heading; a file that is a document is a link."""
    open_files = [(source, iter(_lines(source)), 0)]
    level = 0
    while open_files:
        file, lines, shift = open_files[-1]
        line = next(lines, None)
        if line is None:
            open_files.pop()
            continue
        include = _INCLUDE.fullmatch(line) if "#+" in line else None
        if include is None:
            if len(open_files) > 1 and TITLED.match(line.encode()):
                continue
            if shift and line.startswith("*") and HEADLINE.match(line):
                line = "*" * shift + line
            elif not shift and (headline := HEADLINE.match(line)) is not None:
                level = len(headline[1])
            yield line
            continue
        path, how, options = include[1] or include[2], include[3].split(), dict(_OPTION.findall(include[4]))
        is_piece = "::" in path
        opened = file.open(path) if len(open_files) < _MOST_NESTED and not is_piece else None
        if opened is None or any(opened.path == each.path for each, _, _ in open_files):
            source.warn(f"#+INCLUDE: {path}: {'only a part of it' if is_piece else 'not found'}: left out")
        elif how and how[0].lower() in ("src", "example", "export"):
            yield f"#+begin_{how[0]} {' '.join(how[1:])}"
            yield from ("," + each if each.startswith(("*", "#+", ",")) else each for each in _piece(opened, options))
            yield f"#+end_{how[0]}"
        elif "lines" not in options and (titled := TITLED.search(opened.read())) is not None:
            title = titled[1].decode("utf-8", "replace").strip()
            yield f"[[file:{relpath(opened.path, source.path.rpartition('/')[0] or '.')}][{title or opened.path}]]"
        else:
            taken = _piece(opened, options)
            least = min((len(found[1]) for each in taken if (found := HEADLINE.match(each))), default=1)
            wanted = int(options["minlevel"]) if re.fullmatch("[0-9]{1,2}", options.get("minlevel", "")) else level + 1
            open_files.append((opened, iter(taken), shift + max(0, wanted - least)))


def _lines(source: SourceFile) -> list[str]:
    return [line.rstrip() for line in decode(source).replace("\r\n", "\n").split("\n")]


def _piece(source: SourceFile, options: dict[str, str]) -> list[str]:
    """Return the lines that are asked for: "5-10" has the fifth to the ninth."""
    lines = _lines(source)
    bounds = re.fullmatch(r"\"?(\d{0,8})-(\d{0,8})\"?", options.get("lines", ""))
    first, last = (int(bounds[1] or 1), int(bounds[2] or 0)) if bounds is not None else (1, 0)
    return lines[max(0, first - 1) : last - 1 if bounds is not None and bounds[2] else None]


def included_whole(data: bytes) -> list[str]:
    """Return the paths of the files that a file includes whole; one with a title is a document of its own."""
    lines = data.decode("utf-8", "replace").splitlines() if b"#+" in data else []
    includes = filter(None, (_INCLUDE.fullmatch(line.rstrip()) for line in lines if "#+" in line))
    paths = (each[1] or each[2] for each in includes if not each[3] and ":lines" not in each[4])
    return [path for path in paths if "::" not in path]
