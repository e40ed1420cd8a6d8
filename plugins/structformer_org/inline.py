"""Org's objects within lines: links, emphasis, footnotes, formulas, targets, macros."""

import re
from html import unescape
from html.entities import html5

from structformer.document import LinkKind, MarkKind
from structformer.formats import UNNAMED, Script, TreeBuilder, is_external
from structformer.text import github_slug

_START = re.compile(
    r"""\[\[(?P<link>(?:[^\[\]\\\n]|\\.|\n){1,2000}+)\](?P<more>[\[\]])
    | \[fn:(?P<note>[\w-]{0,100}+)(?P<said>:?)
    | \[cite(?:/[^:\[\]\n]{0,50}+)?:(?P<cited>[^\[\]]{1,1000}+)\]
    | <<<?(?P<anchor>[^<>\n]{1,200}+)>>>?
    | (?<!\w)(?P<url><?(?:(?:https?|ftp)://|mailto:|doi:|file:)[^\s<>\[\]]+)
    | \{\{\{(?P<macro>\w[\w-]{0,50}+)(?:\((?P<values>[^{}]{0,1000})\))?\}\}\}
    | @@(?:(?P<html>html:)|\w{1,20}+:)(?P<exported>(?:[^@]|@(?!@)){0,1000}+)@@
    | (?<!\w)src_(?P<language>\w{1,30}+)(?:\[[^\]\n]{0,200}+\])?\{(?P<code>[^{}\n]{1,1000}+)\}
    | (?P<break>\\\\[ \t]*)(?=\n|\Z)
    | (?P<formula>\\\(|\\\[|\$\$)
    | (?<![\w$])(?P<dollar>\$)(?=[^\s.,;$])
    | \\(?P<entity>[A-Za-z]{1,20}+\d{0,2}+)(?:\{\}|(?![A-Za-z]))
    | [_^]\{(?P<raised>[^{}\n]{1,100}+)\}
    | (?<![^\s\-–—('"{\[|/*_+])(?P<mark>[*/_=~+])(?=\S)
    """,
    re.VERBOSE,
)
_ENDS = {mark: re.compile(rf"(?<=\S)\{mark}(?=[\s\-–—.,;:!?'\")}}\\\[\]|/*_+]|\Z)") for mark in "*/_=~+"}
_ENDS["$"] = re.compile(r"(?<=[^\s.,$])\$(?!\w)")
_MARKS = {"*": MarkKind.STRONG, "/": MarkKind.EMPHASIS, "=": MarkKind.CODE_SPAN, "~": MarkKind.CODE_SPAN}
_MARKS["$"] = MarkKind.FORMULA_SPAN
_CLOSES = {"\\(": "\\)", "\\[": "\\]", "$$": "$$"}
_ENTITIES = dict(pair.split("=") for pair in "to=→ mdash=— ndash=– S=§ P=¶ slash=/ under=_ vert=| circ=∘".split())
_ENTITIES |= {"ldots": "…", "dots": "…", "LaTeX": "LaTeX", "TeX": "TeX"}
_TAG = re.compile(r"<!--(?s:.*?)-->|<(script|style)\b(?s:.*?)</\1>|<(/?(?:[abiu]|code|em|span|strong)\b)?[^<>]*>")
_IMAGE = re.compile(r"\.(?:png|jpe?g|gif|svg|webp|avif|bmp|tiff?)\Z", re.IGNORECASE)
_FOR_EMACS = frozenset("info eww elisp shell help man attachment gnus mu4e notmuch bbdb docview denote".split())
_FILE = re.compile(r"file:(?://)?|(?=\.{0,2}/|~/)")
_SCHEME = re.compile(r"([a-zA-Z][\w+-]*):")
_CITED = re.compile(r"@([\w:.#$%&+?<>~/-]+)")
_DEEPEST = 8


class Inline:
    """Gives the words and references of texts to a builder. macros, abbreviations: what a document defines."""

    def __init__(self, builder: TreeBuilder, macros: dict[str, str] | None = None) -> None:
        self.macros = macros or {}
        self.abbreviations: dict[str, str] = {}
        self._builder = builder

    def write(self, text: str, depth: int = 0) -> None:
        builder, place, dead = self._builder, 0, set[tuple[str, int]]()
        while depth < _DEEPEST and (found := _START.search(text, place)) is not None:
            builder.flow(text[place : found.start()])
            place = self._token(found, text, depth, dead)
            if not place:  # a mark that nothing ends is text
                place = found.start() + 1
                builder.flow(text[found.start() : place])
        builder.flow(text[place:])

    def html(self, text: str) -> None:
        """Write the words of HTML."""
        self._builder.flow(unescape(_TAG.sub(lambda tag: "" if tag[2] else " ", text)))

    def _token(self, found: re.Match[str], text: str, depth: int, dead: set[tuple[str, int]]) -> int:
        """Give an object to the builder; returns where it ends, 0 where it has no end."""
        builder, place = self._builder, found.end()
        if found["link"]:
            end = place - 2 if found["more"] == "]" else _find(text, "]]", place, dead)
            if end < 0:
                return 0
            self._write_link(found["link"], text[place:end], depth)
            return end + 2
        if found["note"] is not None:
            return self._footnote(found, text, depth, dead)
        if found["cited"]:
            for key in _CITED.findall(found["cited"]):
                builder.add_link(f"cite:{key}", key, LinkKind.CITATION)
        elif found["anchor"]:
            builder.add_anchor(found["anchor"])
            if found[0].startswith("<<<"):
                builder.flow(found["anchor"])
        elif found["url"]:
            return self._url(found)
        elif found["macro"]:
            self._macro(found["macro"].lower(), found["values"] or "", depth)
        elif found["code"]:
            builder.code_span(found["code"])
        elif found["html"]:
            self.html(found["exported"])
        elif found["break"]:
            builder.line()
        elif found["entity"]:
            builder.flow(_ENTITIES.get(found["entity"]) or html5.get(f"{found['entity']};") or found[0])
        elif found["raised"]:
            builder.open_script(Script.RAISED if found[0][0] == "^" else Script.LOWERED)
            self.write(found["raised"], depth + 1)
            builder.close_script()
        elif found["formula"]:
            close = _CLOSES[found["formula"]]
            end = _find(text, close, place, dead)
            if end < 0:
                return 0
            builder.marked_text(MarkKind.FORMULA_SPAN, text[place:end])
            return end + len(close)
        elif found["dollar"] or found["mark"]:
            return self._marked(found, text, depth, dead)
        return place

    def _marked(self, found: re.Match[str], text: str, depth: int, dead: set[tuple[str, int]]) -> int:
        """Emphasis, code and formulas, which go over one line end at most."""
        mark, place = found["mark"] or "$", found.end()
        first = text.find("\n", place)
        limit = text.find("\n", first + 1) if first >= 0 else -1
        limit = len(text) if limit < 0 else limit
        closed = None if (mark, limit) in dead else _ENDS[mark].search(text, place + 1, limit)
        if closed is None:
            dead.add((mark, limit))
            return 0
        inner, builder = text[place : closed.start()], self._builder
        kind = _MARKS.get(mark)
        if kind is not None and mark in "=~$":
            builder.marked_text(kind, inner)
        else:
            with builder.marked(kind):
                self.write(inner, depth + 1)
        return closed.end()

    def _footnote(self, found: re.Match[str], text: str, depth: int, dead: set[tuple[str, int]]) -> int:
        """A reference goes; a note that stands here is read here."""
        place = found.end()
        if not found["said"]:
            return place + 1 if text[place : place + 1] == "]" else 0
        level = 1
        for bracket in re.compile(r"[\[\]]").finditer(text, place) if ("[fn", 0) not in dead else ():
            level += 1 if bracket[0] == "[" else -1
            if not level:
                self._builder.flow(" (")
                self.write(text[place : bracket.start()].strip(), depth + 1)
                self._builder.flow(")")
                return bracket.end()
        dead.add(("[fn", 0))
        return 0

    def _macro(self, name: str, values: str, depth: int) -> None:
        given = [*re.split(r"(?<!\\),", values), *[""] * 9]
        body = self.macros.get(name)
        if body is None:  # of Emacs' own, as kbd: what it is given is what it shows
            self.write(values, depth + 1)
            return
        shown = re.sub(r"\$([1-9])", lambda number: given[int(number[1]) - 1], body)
        self.write(shown[:10_000], depth + 2)

    def _url(self, found: re.Match[str]) -> int:
        url = found["url"].lstrip("<")
        kept = url.rstrip(".,;:!?)'\"*/_=~+") if url == found["url"] else url
        if _SCHEME.sub("", kept, count=1).strip("/"):
            self._write_link(kept, "", 0)
        else:
            self._builder.flow(kept)
        is_closed = url != found["url"] and found.string[found.end() : found.end() + 1] == ">"
        return found.end() + 1 if is_closed else found.end() - len(url) + len(kept)

    def _write_link(self, written: str, text: str, depth: int) -> None:
        builder = self._builder
        target = self._target(" ".join(re.sub(r"\\([\[\]\\])", r"\1", written).split()))
        if builder.in_link or not target:
            self.write(text or written, depth + 1) if text else builder.flow(written)
            return
        if _IMAGE.search(target) and not text:
            builder.add_link(target, "", LinkKind.EMBED)
            return
        is_place = target.startswith(("#", "id:"))
        builder.open_link(target, LinkKind.XREF if is_place else LinkKind.HYPERLINK)
        if text:
            self.write(text, depth + 1)
        else:
            is_unnamed = (is_place and written[0] in "#*") or target.startswith("id:")
            builder.flow(UNNAMED if is_unnamed else written.removeprefix("file:"))
        builder.close_link()

    def _target(self, written: str) -> str:
        """Where a link leads; "" for what only Emacs can follow. What names no file leads to a place by its words."""
        scheme = _SCHEME.match(written)
        if scheme is not None and scheme[1] in self.abbreviations:
            address, tag = self.abbreviations[scheme[1]], written[scheme.end() :]
            return address.replace("%s", tag) if "%s" in address else address + tag
        if (file := _FILE.match(written)) is not None:
            path, _, place = written[file.end() :].partition("::")
            if place.startswith("*"):
                return f"{path}#{github_slug(place.lstrip('* '))}"
            return f"{path}#{place[1:]}" if place.startswith("#") else path
        if written.startswith("doi:"):
            return f"https://doi.org/{written[4:]}"
        if scheme is not None and scheme[1] in _FOR_EMACS:
            return ""
        is_whole = scheme is not None and (scheme[1] == "id" or is_external(written))
        return written if is_whole else "#" + written.removeprefix("#")


def _find(text: str, end: str, place: int, dead: set[tuple[str, int]]) -> int:
    at = -1 if (end, 0) in dead else text.find(end, place)
    if at < 0:
        dead.add((end, 0))
    return at
