"""Files that Markdown takes in, as site generators write it: each in the place of its directive.

Sources: the documentation of mdBook, PyMdown's snippets, MyST, Quarto, VitePress, DocFX, GitBook, Jekyll, Hugo and
Docusaurus; the `markdown_preprocess` of the containers' manuals (podman, buildah, skopeo)."""

import posixpath
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import dropwhile, takewhile

from structformer.errors import ReadError
from structformer.formats import SourceFile, decode

from structformer_markdown.dialects.page import FENCE
from structformer_markdown.front_matter import shown, split_front_matter, titles

_MOST = 2000  # directives that a document follows,
_MOST_CHARACTERS = 4_000_000  # and what they may add up to
_DEEPEST = 8
_LONGEST = 1000  # characters of a directive
_HEAD = 4000  # characters in which a page's first heading is looked for
_WIDEST = 40  # columns that what is taken in is moved by
_PATH = r"(?P<path>[^\s\"'<>{}|:]+)"
_DIRECTIVES = [
    re.compile(pattern)
    for pattern in (
        # whole, lines 2:5, or the lines between ANCHOR: name and ANCHOR_END: name
        rf"\{{\{{\s*#(?:include|rustdoc_include|playground)\s+{_PATH}(?::(?P<part>[\w:-]+))?[^{{}}]*\}}\}}",
        rf"-+8<-+\s+[\"']{_PATH}(?::(?P<part>[\w:-]+))?[\"']",
        rf"\{{\{{<\s*include\s+{_PATH}\s*>\}}\}}",
        rf"<!--\s*@include:\s*{_PATH}\s*-->",
        r"<!--\s*@include:\s*(?P<path>[^\s{}<>]+)\{(?P<part>\d*,\d*)\}\s*-->",
        rf"\[!(?i:INCLUDE)\s*\[[^\]]*\]\s*\({_PATH}\)\]",
        r"\{%-?\s*include(?:_relative)?\s+[\"']?(?P<path>[\w./-]+\.(?:md|markdown))[\"']?[^%]*-?%\}",
        r"\{\{[<%]\s*(?:readfile|include)\s+(?:file\s*=\s*)?[\"'](?P<path>[^\"']+)[\"'][^{}]*[>%]\}\}",
        r"!(?:include|INCLUDE)\s*[\"'(]?(?P<path>[\w./-]+\.\w+)[\"')]?",
        r"@@(?P<kind>option)\s+(?P<path>[\w.-]+)",
        r"<<<\s*(?P<path>@?[\w./-]+\.(?P<language>\w+))(?:#(?P<part>[\w-]+))?(?:\s*\{[^{}]*\})?(?:\s*\[[^\[\]]*\])?",
        r"\{!\s*(?P<path>[^\s\"'<>{}|:!]+)(?:[\s!][^{}]*)?!\}",  # markdown-include
        # of FastAPI's documentation
        r"\{\*\s*(?P<path>[^\s{}*]+\.(?P<language>\w+))(?:\s+ln\[(?P<part>\d+:\d+)\])?(?:\s[^{}*]*)?\*\}",
        r"\[!code(?:-(?P<language>\w+))?\s*\[[^\]]*\]\s*\((?P<path>[^\s()?#]+)(?:[?#][^()]*)?\)\]",
    )
]
# A directive within a line. Its parts are bounded and hold no bracket: many openings without an end take linear time.
_IN_LINE = re.compile(r"\[!INCLUDE *\[[^\[\]\n]{0,300}\] *\((?P<path>[^\s\"'<>{}|:()\[\]]{1,300})\)\]", re.IGNORECASE)
_HINTS = (  # one of which every directive has; a literal is found much faster than a pattern
    *("#include", "#rustdoc_include", "#playground", "8<-", "{< include", "{<include", "{% include", "{%- include"),
    *("{%include", "{%-include", "{% readfile", "{< readfile", "@include:", "!include", "!Include", "!INCLUDE"),
    *("{include}", "@@option", "<<<", "[!code", "{!", "{*", '.md"', ".md'", '.mdx"', ".mdx'"),
)
_LINE = re.compile(r"[^\n]*(?:\n|\Z)")
# of MDX: a page that is imported, and where it is
_IMPORTED = re.compile(r"""^import[ \t]+([A-Z]\w*)[ \t]+from[ \t]+["']([^"'\n]+\.mdx?)["']""", re.MULTILINE)
_COMPONENT = re.compile(r"<([A-Z]\w*)(?:[ \t][^<>]*)?/>")
_RELATIVE = re.compile(r"\]\((\.\.?/[^\s()#?]+)")
# of MyST
_FENCED_INCLUDE = re.compile(rf"(?P<indent>[ \t]*)(?P<fence>```+|~~~+|:::+)\{{include\}}[ \t]*{_PATH}[ \t]*\n?")
_COMMENTS = {"<!--": "-->", "{/*": "*/}"}
_OWN_NAMES = frozenset({"readme", "index"})
_FOLDERS = ("", "_includes", "includes", "snippets", "docs")
_PARTS_FOLDER = re.compile(r"(?:^|/)(?:_[^/]*|includes?|partials?|snippets?)/", re.IGNORECASE)
_ANCHOR = re.compile(  # a line of code that only marks a place
    r"\s*(?:(?://|#|--|;|%|/\*|<!--|\{/\*)\s*)+"
    r"(?:ANCHOR(?:_END)?:\s*[\w-]+|(?:end)?region(?:\s+[\w-]+)?|--8<--\s+\[(?:start|end):[^\]]*\])\s*(?:-->|\*/\}?)?\s*"
)
_EDITORS_NOTE = re.compile(r"^####>.*\n?", re.MULTILINE)
_HEADED = re.compile(  # what begins with a heading of the first level, behind comments, targets and badges
    r"(?:\s|<!--(?:(?!-->).)*-->|\([\w-]+\)=|\[//\]:[^\n]*|\[?!\[[^\n]*)*+(?:# \S|<h1\b|[^\n#]+\n=+[ \t]*(?:\n|\Z))",
    re.DOTALL,
)
_ALTERNATIVES = re.compile(r"<<([^|<>\n]*)\|([^<>\n]*)>>")
_CONDITION = re.compile(r"\s*<<\s*(?:(?P<if>if)(?P<not>\s+not)?\s+is_quadlet|(?P<else>else)|endif)\s*>>\s*")
_CHOICE = re.compile(r"<<\s*'(?P<yes>[^'\n]*)'\s+if\s+is_quadlet\s+else\s+'(?P<no>[^'\n]*)'\s*>>")


@dataclass(frozen=True, slots=True)
class _Found:
    """A directive that includes a file."""

    path: str
    part: str = ""
    """Lines or an anchor; "" for the whole file."""
    language: str | None = None
    """The language of code to show, "" if the directive names none; None for text."""
    is_option: bool = False
    """Whether it is a directive of the containers' manuals."""


def text_of(source: SourceFile) -> str:
    """Return a file's text, its lines ended alike. Raises BinaryContent."""
    return decode(source).replace("\r\n", "\n").replace("\r", "\n")


def with_includes(text: str, source: SourceFile) -> str:
    """Return the text with the files that it takes in; warn of those that are not there, but for Liquid's."""
    return _Includes(source).followed(text, source, 0) if _may_include(text) else text


def taken_whole(source: SourceFile) -> set[str]:
    """Return the paths of files taken in whole, directly or through others, that are not pages of their own."""
    includes = _Includes(source)
    if _may_include(source.read().decode("utf-8", "replace")):
        includes.followed(text_of(source), source, 0)
    return includes.taken


def _may_include(text: str) -> bool:
    return any(hint in text for hint in _HINTS)


class _Includes:
    """Files that one document includes. taken: paths of the parts that are not pages of their own."""

    def __init__(self, source: SourceFile) -> None:
        self.taken: set[str] = set()
        self._left = _MOST
        self._characters = _MOST_CHARACTERS
        self._open = {source.path}
        self._folder, _, name = source.path.rpartition("/")
        self._is_pod = "-pod-" in source.path
        self._is_quadlet = ".unit." in name
        # By the folder of who names them, and the path by which they are named.
        self._texts: dict[tuple[str, str], tuple[SourceFile, str] | None] = {}
        self._said: set[str] = set()

    def followed(self, text: str, source: SourceFile, depth: int) -> str:
        """Return the text with what it takes in. What is in a comment takes nothing in."""
        out: list[str] = []
        fence = comment = ""
        imported = dict(_IMPORTED.findall(text))
        below = _LINE.findall(text)[::-1]  # the next line last
        while below:
            line = below.pop()
            if comment:
                comment = "" if comment in line else comment
                out.append(line)
                continue
            if not fence and (myst := _FENCED_INCLUDE.fullmatch(line)) is not None:
                ends = (myst["fence"], "#", "```{", ":::{")  # what comes below belongs to the page
                size = next((at for at, own in enumerate(reversed(below)) if own.lstrip().startswith(ends)), len(below))
                if "".join(below[-1 - size : len(below) - size]).strip() == myst["fence"]:
                    del below[-1 - size :]
                else:
                    source.warn(f"{line.strip()} without an end: what is below it is read")
                out += ["\n", self._in_place(_Found(myst["path"]), source, depth, myst["indent"]), "\n"]
                continue
            if (mark := FENCE.match(line)) is not None and not fence:
                fence = mark[1]
            elif mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip(" \t\n`~"):
                fence = ""
            component = _COMPONENT.fullmatch(line.strip()) if imported and not fence else None
            indent = line[: len(line) - len(line.lstrip())]
            if component is not None and (path := imported.get(component[1])):
                out.append(self._in_place(_Found(path), source, depth, indent))
                if folder := posixpath.dirname(path):  # its links as seen from the page
                    out[-1] = _RELATIVE.sub(lambda link: f"]({posixpath.normpath(f'{folder}/{link[1]}')}", out[-1])
                continue
            if (directive := _directive(line) if _may_include(line) else None) is None:
                if not fence and "[!" in line:
                    line = _IN_LINE.sub(lambda found: self._in_line(found["path"], source, depth), line)
                begun = ((line.rfind(begin), end) for begin, end in _COMMENTS.items() if begin in line and not fence)
                comment = next((end for place, end in begun if end not in line[place:]), "")
                out.append(line)
            elif fence or "{%" in line:  # without a file, what a directive looks like; or the site's theme has the file
                content = self._content(directive, source, depth, indent)
                out.append(line if content is None else content + "\n")
            else:
                out.append(self._in_place(directive, source, depth, indent))
        return "".join(out)

    def _in_place(self, directive: _Found, source: SourceFile, depth: int, indent: str) -> str:
        """Return the text in place of a directive, nothing if its file cannot be included, which is reported once."""
        content = self._content(directive, source, depth, indent)
        if content is None and directive.path not in self._said:
            self._said.add(directive.path)
            why = "it is not in the ingested folder, or includes itself"
            if posixpath.normpath(posixpath.join(posixpath.dirname(source.path), directive.path)).startswith("../"):
                why = "it is outside of the ingested folder: ingest the folder of both, and --include these pages"
            source.warn(f"{directive.path} is not included: {why}")
        return f"{content or ''}\n"

    def _in_line(self, path: str, source: SourceFile, depth: int) -> str:
        """Return the text in place of a directive within a line: the name of a product, for example."""
        return " ".join(self._in_place(_Found(path), source, depth, "").split())

    def _content(self, directive: _Found, source: SourceFile, depth: int, indent: str) -> str | None:
        """Return the text that a directive includes; None if there is no such file, or no more is to be included."""
        if depth >= _DEEPEST or self._left <= 0 or self._characters <= 0:
            return None
        self._left -= 1
        key = source.path.rpartition("/")[0], directive.path
        if key not in self._texts:
            self._texts[key] = _opened(directive.path, source)
        if (kept := self._texts[key]) is None or kept[0].path in self._open:
            return None
        opened, text = kept
        is_part = False
        if directive.language is not None:
            text = f"```{directive.language}\n{_part(text, directive.part)}\n```"
        elif directive.part:
            text = _part(text, directive.part)
        else:
            metadata, start, _ = split_front_matter(text)
            is_part = directive.is_option or not _is_page(opened.path, text[start:], "title" in metadata)
            if not is_part:
                title = shown(metadata.get("title")) or next(titles(text[start:]), "")
                target = posixpath.relpath(opened.path, self._folder or ".")
                return f"{indent[:_WIDEST]}[{title.strip() or posixpath.basename(target)}](<{target}>)"
            text = _part(text[start:])
            if directive.is_option:
                text = self._chosen(_EDITORS_NOTE.sub("", text).strip("\n"))
        indent = indent[:_WIDEST]
        self._characters -= len(text) + len(indent) * text.count("\n")
        if self._characters < 0:
            return None
        if is_part:
            self.taken.add(opened.path)
        if directive.language is None and _may_include(text):
            self._open.add(opened.path)
            text = self.followed(text, opened, depth + 1).rstrip("\n")
            self._open.discard(opened.path)
        return "\n".join(indent + line if line else line for line in text.split("\n")) if indent else text

    def _chosen(self, text: str) -> str:
        """Return the text for this page: of alternatives and conditional lines, those that are about its subject."""
        if "is_quadlet" in text:
            text = "\n".join(self._of_kind(text.split("\n")))
            text = _CHOICE.sub(lambda found: found["yes" if self._is_quadlet else "no"], text)
        return _ALTERNATIVES.sub(lambda found: found[2] if self._is_pod else found[1], text)

    def _of_kind(self, lines: list[str]) -> Iterator[str]:
        """Yield the lines whose condition holds."""
        shown: bool | None = None  # None: under no condition
        for line in lines:
            if (found := _CONDITION.fullmatch(line)) is None or (shown is None and not found["if"]):
                if shown is not False:
                    yield line
            elif found["if"]:
                shown = self._is_quadlet != bool(found["not"])
            else:
                shown = not shown if found["else"] else None


def _directive(line: str) -> _Found | None:
    stripped = line.strip()
    for pattern in _DIRECTIVES if len(stripped) <= _LONGEST else ():
        if (found := pattern.fullmatch(stripped)) is not None:
            groups = found.groupdict()
            path = f"{groups['kind']}s/{groups['path']}.md" if groups.get("kind") else groups["path"]
            language = (groups["language"] or "") if "language" in groups else None
            return _Found(path, groups.get("part") or "", language, bool(groups.get("kind")))
    return None


def _opened(path: str, source: SourceFile) -> tuple[SourceFile, str] | None:
    """Return the file of that path and its text: from the source's folder, or a folder above with such files."""
    path = path.removeprefix("~/").removeprefix("@site/").removeprefix("@/").lstrip("/")
    ups = range(source.path.count("/") + 1)
    places = ((up, folder) for up in ups for folder in (_FOLDERS if up or "/" not in path else ("",)))
    targets = ("../" * up + posixpath.join(folder, path) for up, folder in places)
    opened = next(filter(None, map(source.open, targets)), None)
    with suppress(ReadError):
        return (opened, text_of(opened).lstrip("\ufeff")) if opened is not None else None
    return None


def _is_page(path: str, body: str, titled: bool) -> bool:
    """Whether a file is a document whoever takes it in: it has a title, and is not kept where only parts are."""
    stem = path.rpartition("/")[2].partition(".")[0].lower()
    has_title = titled or stem in _OWN_NAMES or _HEADED.match(body[:_HEAD]) is not None
    return has_title and not _PARTS_FOLDER.search(path)


def _part(text: str, part: str = "") -> str:
    """Return lines 2:5 or 2,5 of a text, or those between an anchor's start and end; all of it where there are none."""
    lines = text.strip("\n").split("\n")
    if part and (found := re.fullmatch(r"(\d{0,9})[:,]?(\d{0,9})", part)):
        first = int(found[1] or 1)
        last = int(found[2] or (first if part.isdigit() else len(lines)))
        return "\n".join(lines[first - 1 : last])
    if part:
        name = re.escape(part)
        whole = rf"{name}(?![\w-])"
        start = re.compile(rf"(?:ANCHOR:|\bregion)\s*{whole}|\[start:\s*{name}\]")
        end = re.compile(rf"ANCHOR_END:\s*{whole}|\bendregion(?:\s+{whole}|(?!\s+[\w-]))|\[end:\s*{name}\]")
        below = [*dropwhile(lambda line: not start.search(line), lines)][1:]
        lines = [*takewhile(lambda line: not end.search(line), below)] or lines
    return "\n".join(line for line in lines if not _ANCHOR.fullmatch(line))
