"""Files that Markdown takes in, as site generators write it: each in the place of its directive.

Sources: the documentation of mdBook, PyMdown's snippets, MyST, Quarto, VitePress, DocFX, GitBook, Jekyll and Hugo; the
`markdown_preprocess` of the containers' manuals (podman, buildah, skopeo)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from structformer.errors import ReadError
from structformer.formats.source import SourceFile, decode

from structformer_markdown.front_matter import split_front_matter
from structformer_markdown.leftovers import FENCE

_MOST = 2000  # directives that a document follows,
_MOST_CHARACTERS = 4_000_000  # and what they may add up to
_DEEPEST = 8
_PATH = r"(?P<path>[^\s\"'<>{}|:]+)"
_DIRECTIVES = [
    re.compile(pattern)
    for pattern in (
        # mdBook: whole, lines 2:5, or the lines between ANCHOR: name and ANCHOR_END: name
        rf"(?P<show>)\{{\{{\s*#(?:include|rustdoc_include|playground)\s+{_PATH}(?::(?P<part>[\w:-]+))?[^{{}}]*\}}\}}",
        rf"(?P<show>)-+8<-+\s+[\"']{_PATH}(?::(?P<part>[\w:-]+))?[\"']",
        rf"(?P<show>)\{{\{{<\s*include\s+{_PATH}\s*>\}}\}}",
        rf"(?P<show>)<!--\s*@include:\s*{_PATH}\s*-->",
        r"(?P<show>)<!--\s*@include:\s*(?P<path>[^\s{}<>]+)\{(?P<part>\d*,\d*)\}\s*-->",
        rf"(?P<show>)\[!INCLUDE\s*\[[^\]]*\]\s*\({_PATH}\)\]",
        r"(?P<show>)\{%-?\s*include(?:_relative)?\s+[\"']?(?P<path>[\w./-]+\.(?:md|markdown))[\"']?[^%]*-?%\}",
        r"(?P<show>)\{\{[<%]\s*(?:readfile|include)\s+(?:file\s*=\s*)?[\"'](?P<path>[^\"']+)[\"'][^{}]*[>%]\}\}",
        r"(?P<show>)!(?:include|INCLUDE)\s*[\"'(]?(?P<path>[\w./-]+\.\w+)[\"')]?",
        r"(?P<show>)@@(?P<kind>option)\s+(?P<path>[\w.-]+)",
        r"(?P<show><<<)\s*(?P<path>@?[\w./-]+\.(?P<language>\w+))(?:#(?P<part>[\w-]+))?(?:\s*\{[^{}]*\})?",
        r"\[!(?P<show>code)(?:-(?P<language>\w+))?\s*\[[^\]]*\]\s*\((?P<path>[^\s()?#]+)(?:[?#][^()]*)?\)\]",
    )
]
_HINTS = (  # one of which every directive has; a literal is found much faster than a pattern
    *("#include", "#rustdoc_include", "#playground", "8<-", "{< include", "{<include", "{% include", "{%- include"),
    *("{%include", "{%-include", "{% readfile", "{< readfile", "@include:", "[!INCLUDE", "!include", "!INCLUDE"),
    *("{include}", "@@option", "<<<", "[!code"),
)
_HINT_BYTES = tuple(hint.encode() for hint in _HINTS)
_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
_FENCED_INCLUDE = re.compile(  # of MyST
    rf"^(?P<indent>[ \t]*)(?P<fence>```+|~~~+|:::+)\{{include\}}[ \t]*{_PATH}[ \t]*\n"
    r"(?:[ \t]*:[^\n]*\n)*[ \t]*(?P=fence)[ \t]*$",
    re.MULTILINE,
)
_FOLDERS = ("", "_includes", "includes", "snippets", "docs")
_PARTS_FOLDER = re.compile(r"(?:^|/)(?:_[^/]*|includes?|partials?|snippets?|options)/", re.IGNORECASE)
_ANCHOR = re.compile(r"ANCHOR(?:_END)?:\s*[\w-]+|#?(?:end)?region\b|--8<--\s+\[(?:start|end):")
_EDITORS_NOTE = re.compile(r"^####>.*\n?", re.MULTILINE)
_ALTERNATIVES = re.compile(r"<<([^|<>\n]*)\|([^<>\n]*)>>")


@dataclass(frozen=True, slots=True)
class _Found:
    """A directive. part: lines or an anchor, "" for the whole file; language: of code to show, None for text."""

    path: str
    part: str
    language: str | None


def with_includes(text: str, source: SourceFile) -> str:
    """The text with the files that it takes in; a directive whose file is not there is left out, and said."""
    if not _may_include(text):
        return text
    return _Includes(source).followed(text, source, 0)


def taken_whole(source: SourceFile) -> set[str]:
    """Paths of the files that a source takes in whole, directly or through others, and that are no pages by
    themselves.
    """
    data = source.read()
    if not any(hint in data for hint in _HINT_BYTES):
        return set()
    text = data.decode("utf-8", "replace")
    includes = _Includes(source)
    includes.followed(text, source, 0)
    return includes.taken


def _may_include(text: str) -> bool:
    return any(hint in text for hint in _HINTS)


class _Includes:
    """What one document takes in. taken: paths of the parts that are no pages by themselves."""

    def __init__(self, source: SourceFile) -> None:
        self.taken: set[str] = set()
        self._left = _MOST
        self._characters = _MOST_CHARACTERS
        self._open = {source.path}
        self._is_pod = "-pod-" in source.path
        self._missing: set[str] = set()

    def followed(self, text: str, source: SourceFile, depth: int) -> str:
        def fenced(found: re.Match[str]) -> str:
            directive = _Found(found["path"], "", None)
            content = self._content(directive, source, depth, found["indent"])
            return self._missed(directive, source) if content is None else content

        out: list[str] = []
        fence = ""
        for line in _LINE.findall(_FENCED_INCLUDE.sub(fenced, text) if "{include}" in text else text):
            if (mark := FENCE.match(line)) is not None and not fence:
                fence = mark[1]
            elif mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip(" \t\n`~"):
                fence = ""
            directive = _directive(line) if _may_include(line) else None
            if directive is None:
                out.append(line)
                continue
            content = self._content(directive, source, depth, line[: len(line) - len(line.lstrip())])
            if content is not None:
                out.append(content if content.endswith("\n") else content + "\n")
            elif fence or "{%" in line:
                out.append(line)  # what a directive looks like; or the site's theme has the file
            else:
                out.append(self._missed(directive, source) + "\n")
        return "".join(out)

    def _missed(self, directive: _Found, source: SourceFile) -> str:
        if directive.path not in self._missing:
            self._missing.add(directive.path)
            source.warn(f"{directive.path} is not included: it is not in the ingested folder, or includes itself")
        return ""

    def _content(self, directive: _Found, source: SourceFile, depth: int, indent: str) -> str | None:
        """What stands in the place of a directive; None where there is no such file."""
        opened = _opened(directive.path, source)
        if opened is None or opened.path in self._open or depth >= _DEEPEST or self._left <= 0:
            return None
        self._left -= 1
        try:
            text = decode(opened).replace("\r\n", "\n").replace("\r", "\n")
        except ReadError:
            return None
        text = text.lstrip("\ufeff")
        if directive.language is not None:
            text = f"```{directive.language}\n{_part(text, directive.part)}\n```"
        elif directive.part:
            text = _part(text, directive.part)
        else:
            metadata, start, _ = split_front_matter(text)
            if not _is_page(opened.path, text[start:], "title" in metadata):
                self.taken.add(opened.path)
            text = self._chosen(_EDITORS_NOTE.sub("", _part(text[start:])))
        self._characters -= len(text)
        if self._characters < 0:
            return None
        if directive.language is None and _may_include(text):
            self._open.add(opened.path)
            text = self.followed(text, opened, depth + 1)
            self._open.discard(opened.path)
        return "\n".join(indent + line if line else line for line in text.split("\n")) if indent else text

    def _chosen(self, text: str) -> str:
        """The alternatives `<<of a container|of a pod>>` as the page is about one or the other."""
        return _ALTERNATIVES.sub(lambda found: found[2] if self._is_pod else found[1], text) if "<<" in text else text


def _directive(line: str) -> _Found | None:
    stripped = line.strip()
    for pattern in _DIRECTIVES:
        found = pattern.fullmatch(stripped)
        if found is not None:
            groups = found.groupdict()
            path = f"{groups['kind']}s/{groups['path']}.md" if groups.get("kind") else groups["path"]
            return _Found(path, groups.get("part") or "", (groups.get("language") or "") if groups["show"] else None)
    return None


def _opened(path: str, source: SourceFile) -> SourceFile | None:
    """The file of that path: from the source's folder, or from a folder above where generators keep such files."""
    path = path.removeprefix("~/").removeprefix("@/").lstrip("/")
    above = source.path.count("/")
    for up in range(above + 1):
        for folder in _FOLDERS if up or "/" not in path else ("",):
            target = "../" * up + (f"{folder}/{path}" if folder else path)
            if (opened := source.open(target)) is not None:
                return opened
    return None


def _is_page(path: str, body: str, titled: bool) -> bool:
    """Whether a file is a document whoever takes it in: it has a title, and is not kept where only parts are."""
    if _PARTS_FOLDER.search(path):
        return False
    return titled or re.match(r"\s*(?:# \S|[^\n]+\n=+[ \t]*(?:\n|\Z))", body) is not None


def _part(text: str, part: str = "") -> str:
    """Lines 2:5 or 2,5 of a text, or those between an anchor's start and end; all of it where there are none."""
    lines = text.strip("\n").split("\n")
    if not part:
        return "\n".join(_shown(lines))
    if found := re.fullmatch(r"(\d*)[:,]?(\d*)", part):
        first = int(found[1] or 1)
        last = int(found[2] or (first if part.isdigit() else len(lines)))
        return "\n".join(lines[first - 1 : last])
    name = re.escape(part)
    start = re.compile(rf"ANCHOR:\s*{name}\b|\bregion\s+{name}\b|\[start:\s*{name}\]")
    end = re.compile(rf"ANCHOR_END:\s*{name}\b|\bendregion\b|\[end:\s*{name}\]")
    inside: list[str] = []
    within = False
    for line in lines:
        if start.search(line):
            within = True
        elif within and end.search(line):
            break
        elif within:
            inside.append(line)
    return "\n".join(_shown(inside or lines))


def _shown(lines: list[str]) -> Iterator[str]:
    return (line for line in lines if not _ANCHOR.search(line))
