"""AsciiDoc's preprocessor: the lines of a file with those that it includes, without those whose condition fails."""

import re
from collections.abc import Iterator
from posixpath import relpath

from structformer.formats import SourceFile, decode, is_external

from structformer_asciidoc.attributes import Attributes, element_attributes, number
from structformer_asciidoc.components import place_of

_CONTINUED = re.compile(r"^:!?\w[\w-]*!?:[^\n]*[ \t]\\\n(?:[^\n]*[ \t]\\\n)*", re.MULTILINE)
_DIRECTIVE = re.compile(r"(\\?)(include(?:-\w+)?|ifdef|ifndef|ifeval|endif)::([^\[]*)\[(.*)\]")
_OPERATOR = re.compile(r"([=!<>]=|[<>])")
_TAG = re.compile(r"\b(tag|end)::([^\s\[\]:]+)\[\](?!\S)")
_MOST_NESTED = 64
_VERBATIM = re.compile(r"-{4,}|\.{4,}|`{3}.*")  # around lines that are no AsciiDoc
# A document's title, below comments, attributes and lists of attributes.
_TITLED = re.compile(
    r"(?:\s|//[^\n]*\n|\[[^\n]*\]\n|:[\w-]+:[^\n]*\n)*+(?:= (?=\S)(.*)|([^\n]+)\n={4,}[ \t]*(?:\n|\Z))"
)


def lines_of(source: SourceFile, attributes: Attributes, taken: set[str], parts: set[str]) -> Iterator[str]:
    """Yield the lines that a document is made of. If what is included changes the levels of its headings, lines before
    and after it set `leveloffset`. A file that is a document by itself is a reference there.

    attributes: those that conditions ask for; they change as lines say so. taken: gets the paths of included files.
    parts: gets those that are included whole and are not documents of their own.
    """
    folder, fence = source.path.rpartition("/")[0], ""
    open_files = [(source, iter(_lines(source)))]
    after: list[str] = [""]  # what follows each file's last line
    skipping: list[bool] = []  # conditions that are open: whether each leaves its lines out
    while open_files:
        source, lines = open_files[-1]
        line = next(lines, None)
        if line is None:
            open_files.pop()
            if ends := after.pop():
                attributes.enter(ends)
                yield ends
            continue
        directive = _DIRECTIVE.fullmatch(line) if "::" in line and line[-1] == "]" else None
        if directive is None or directive[1]:
            if not any(skipping):
                attributes.enter(line)
                yield line[1:] if directive else line
                if line[:1] in "-.`" and _VERBATIM.fullmatch(line) and fence in ("", line, line[:3]):
                    fence = "" if fence else line[:3] if line[0] == "`" else line
        elif directive[2].startswith("include-"):
            if not any(skipping) and not any(each.startswith(directive[2]) for each in source.warnings):
                written = f"{directive[2]}::{directive[3]}"
                source.warn(f"{written}: what an extension would include, left out like its others")
        elif directive[2] != "include":
            kept = _condition(directive, skipping, attributes)
            if kept and not any(skipping):
                yield kept
        elif not any(skipping):
            included = _included(directive, attributes, [file for file, _ in open_files])
            _, how = element_attributes(directive[4])
            if included is not None:
                offset = how.get("leveloffset", "")
                is_whole = not fence and how.keys().isdisjoint(("tag", "tags", "lines"))
                is_chapter = offset or attributes.level_offset or attributes.get("doctype") == "book"
                if is_whole and not is_chapter and (title := _title(included)):
                    yield f"xref:{relpath(included.path, folder or '.')}[{title}]"
                    continue
                taken.add(included.path)
                parts.update([included.path] * is_whole)
                open_files.append((included, iter(_pieces(_lines(included), how))))
                after.append(f":leveloffset: {attributes.level_offset}" if offset else "")
                if offset:
                    attributes.enter(f":leveloffset: {offset}")
                    yield f":leveloffset: {attributes.level_offset}"


def _lines(source: SourceFile) -> list[str]:
    text = decode(source).replace("\r\n", "\n")
    if " \\\n" in text:  # an attribute goes on below
        text = _CONTINUED.sub(lambda found: re.sub(r"[ \t]\\\n\s*", " ", found[0]), text)
    lines = [line.rstrip() for line in text.split("\n")]
    opened: list[int] = []
    for place, line in enumerate(lines if "\nif" in f"\n{text}" else ()):
        directive = _DIRECTIVE.fullmatch(line) if line.startswith(("if", "endif")) else None
        if directive is not None and directive[2] == "endif":
            del opened[-1:]
        elif directive is not None and (directive[2] == "ifeval" or not directive[4]):
            opened.append(place)
    for place in reversed(opened[:_MOST_NESTED]):
        source.warn(f"line {place + 1}: {lines[place][:60]} without an end: it ends before the next heading")
        below = range(place, len(lines))
        end = next((at for at in below if lines[at][:1] == "=" and lines[at].lstrip("=")[:1] == " "), len(lines))
        lines.insert(end, "endif::[]")
    return lines


def _condition(directive: re.Match[str], skipping: list[bool], attributes: Attributes) -> str:
    """Open or close a condition; returns the text of one that is a single line and holds."""
    _, name, target, text = directive.groups()
    if name in ("endif", "ifeval"):
        skipping[:] = skipping[:-1] if name == "endif" else [*skipping, not _compared(attributes.spelt_out(text))]
        return ""
    names = [each.strip() for each in target.replace("+", ",").split(",")]
    defined = (all if "+" in target else any)(each in attributes for each in names)
    left_out = defined == (name == "ifndef")
    if not text:
        skipping.append(left_out)
    return "" if left_out else text


def _compared(text: str) -> bool:
    """Whether a comparison holds; one that cannot be read does."""
    sides = _OPERATOR.split(text, maxsplit=1)
    if len(sides) != 3:
        return True
    left, operator, right = (side.strip(" \t\"'") for side in sides)
    if left == right:
        return "=" in operator and operator != "!="
    return operator == "!=" if operator in ("==", "!=") else (number(left) < number(right)) == ("<" in operator)


def _included(directive: re.Match[str], attributes: Attributes, around: list[SourceFile]) -> SourceFile | None:
    """Return the file that a directive includes; None where there is none, or where it is around the directive."""
    source, target = around[0 if "{docdir}" in directive[3] else -1], attributes.spelt_out(directive[3]).strip()
    is_read = len(around) < _MOST_NESTED and not is_external(target)
    opened = source.open(place_of(source, target)) if is_read else None
    if opened is not None and all(opened.path != file.path for file in around):
        return opened
    if "optional" not in directive[4]:
        source.warn(f"include::{target}: {'not found' if opened is None else 'in itself'}: left out")
    return None


def _pieces(lines: list[str], how: dict[str, str]) -> list[str]:
    """Return the lines of an included file that are asked for, by their numbers or their tags."""
    if how.get("lines"):
        taken: list[str] = []
        for part in how["lines"].replace(";", ",").split(",")[:100]:
            first, dots, last = part.strip().partition("..")
            end = number(last) if dots else number(first)
            taken += lines[max(0, number(first) - 1) : end if end > 0 else len(lines)]
        return taken
    tags = (how.get("tags") or how.get("tag") or "**").replace(";", ",").split(",")
    asked = [tag.strip() for tag in tags if tag.strip()]
    wanted = {tag: not tag.startswith("!") for tag in asked}
    wildcard = wanted.get("*", False)
    outside = wanted.get("**", all(tag.startswith("!") for tag in asked))
    open_tags: list[tuple[str, bool]] = []
    kept = []
    for line in lines:
        mark = _TAG.search(line) if "::" in line else None
        selected = open_tags[-1][1] if open_tags else outside
        if mark is None:
            kept += [line] * selected
        elif mark[1] == "tag":
            chosen = f"!{mark[2]}" not in wanted and wanted.get(mark[2], wildcard or selected)
            open_tags.append((mark[2], chosen))
        elif open_tags and open_tags[-1][0] == mark[2]:
            open_tags.pop()
    return kept


def _title(source: SourceFile) -> str:
    """Return the title of a file that is a document whoever includes it; "" of any other."""
    match = _TITLED.match(source.read().decode("utf-8", "replace").replace("\r\n", "\n"))
    return (match[1] or match[2] or "").strip() if match is not None else ""
