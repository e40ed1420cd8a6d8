"""Dialects, and a page on its way to plain Markdown: its code, which none of them sees, and its site's settings; and
what they write: kinds of admonitions, links, images and places in Markdown.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from markdown_it.common.utils import normalizeReference
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from structformer.formats import SourceFile, decode
from structformer.text import spliced

from structformer_markdown.formulas import MARKS, formulas
from structformer_markdown.front_matter import shown, split_front_matter
from structformer_markdown.inline_text import names_in
from structformer_rst import substitution
from structformer_sites import load, settings_above, settings_files

FENCE = re.compile(r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(```+|~~~+)")
_KEPT = re.compile("\x00([0-9]+)\x00")  # no text that is read holds a NUL
_CONTAINER = re.compile(r"[ \t]*(?:(?:[-*+]|\d{1,9}[.)]|:|!!!|\?\?\?\+?|===[!+]?|:::+)(?:[ \t]|\Z)|:::|\[\^|</?[A-Z])")
_TICKS = re.compile(r"(?<!\\)\\*(`+)|\n[ \t]*(?=\n)")
LITERAL = re.compile(r"<(pre|script|style|textarea)\b", re.IGNORECASE)
_NEAR = 2000  # characters before a tag that may open a span of code around it
_FARTHEST = 8  # folders above a page where its site's configuration is looked for
LONGEST_VALUE = 300
SYNTAXES = "syntaxes"  # key of the grammar's environment: the names of the dialects that the page is in
_LONGEST_CONFIGURATION = 100_000
IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".avif", ".bmp")
SPOKEN = frozenset(
    "note tip info warning danger caution important hint attention error example question success "
    "failure bug abstract seealso".split()
)
_LONGEST_KIND = 200
HEADING = re.compile(r"#{1,6}[ \t]+")
DEFINED = re.compile(r"^ {0,3}\[([^\[\]\n]+)\]:", re.MULTILINE)  # what is a link by its name alone
_KIND = re.compile(r"[\s.]*(?:callout-)?([A-Za-z][\w-]*)")
_ARGUMENT = re.compile(r"""(?<![\w:.-])([\w:.-]++)[ \t\n]*=[ \t\n]*(?:"([^"]*)"|'([^']*)'|“([^“”]*)”|([^\s"'{}<>]+))""")


class Page:
    """The page that a dialect reads, for its questions and for the texts that no other dialect may change."""

    def __init__(self, source: SourceFile, shortcodes: Mapping[str, str] | None = None) -> None:
        self.path = source.path
        self.shortcodes = shortcodes or {}  # of the user's own, those that they are like
        self.assigned: dict[str, str | None] = {}  # values by the names of variables
        self._source = source
        self._kept: list[str] = []
        self._settings: dict[str, Mapping[str, str]] = {}

    def keep(self, text: str) -> str:
        """Return a placeholder for a text that no dialect is to change."""
        self._kept.append(self.restored(text))
        return f"\x00{len(self._kept) - 1}\x00"

    def change_code(self, change: Callable[[str], str]) -> None:
        """Change what is kept so far."""
        self._kept = [change(text) for text in self._kept]

    def restored(self, text: str) -> str:
        """Return the text with all that was kept in its place."""
        return _KEPT.sub(lambda found: self._kept[int(found[1])], text) if "\x00" in text else text

    def without_code(self, text: str) -> str:
        """Return the text with its code and formulas kept; white space before them stays."""
        text = self._without_blocks(text.replace("\x00", "\ufffd"))
        if "<" in text:
            text = spliced(text, self._literals(text))
        text = spliced(text, self._spans(text)) if "`" in text else text
        return spliced(text, self._formulas(text)) if any(mark in text for mark in MARKS) else text

    def has(self, trait: str) -> bool:
        """Whether the page's site has a trait, by its settings."""
        return settings_above(self._source, trait) is not None

    def site_value(self, kind: str, name: str) -> str | None:
        """Return a value of the site's settings, of those that are looked up in one way; None if they have none."""
        for file, before in settings_files(kind).items():
            if file not in self._settings:
                opened = self._source.above(file, _FARTHEST)
                self._settings[file] = _mapping(file, opened.read()) if opened is not None else {}
            if (value := self._settings[file].get(before + name)) is not None:
                return value
        return None

    def substitution(self, name: str) -> str | None:
        """Return what MyST puts for a name, by the page's front matter or its site's settings."""
        own = (self.metadata.get(f"{before}substitutions.{name}") for before in ("", "myst."))
        values = (*own, self.site_value("substitutions", name), substitution(name, self._source))
        return next((value for value in values if value is not None), None)

    @cached_property
    def metadata(self) -> Mapping[str, str]:
        """The page's front matter, as `settings`."""
        return _flat(split_front_matter(decode(self._source).replace("\r\n", "\n"))[0])

    def _without_blocks(self, text: str) -> str:
        indents = not self.path.lower().endswith(".mdx")  # where four columns make code
        out: list[str] = []
        fence = ""
        blank, code, contained = True, False, False  # contained: indented lines go on with the list item above them
        for line in text.split("\n"):
            mark, after_blank, blank = FENCE.match(line), blank, not line or line.isspace()
            is_kept = True
            if fence:
                if mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip(" `~"):
                    fence = ""
            elif mark is not None and not (mark[1][0] == "`" and "`" in line[mark.end() :]):
                fence, code = mark[1], False
            elif blank:
                is_kept = False
            elif indents and (after_blank or code) and not contained and line.startswith(("    ", "\t")):
                code = True
            else:
                is_kept = code = False
                goes_on = contained and not (after_blank and line[0] not in " \t")
                contained = goes_on or _CONTAINER.match(line) is not None
            start = len(line) - len(line.lstrip(" \t"))
            out.append(line[:start] + self.keep(line[start:]) if is_kept and start < len(line) else line)
        return "\n".join(out)

    def _literals(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the HTML whose content is not markup, kept."""
        place = 0
        never: set[str] = set()
        while (opening := LITERAL.search(text, place)) is not None:
            name, place = opening[1].lower(), opening.end()
            near = max(0, opening.start() - _NEAR)
            is_in_span = text.count("`", max(near, text.rfind("\n", near, opening.start())), opening.start()) % 2
            if is_in_span or name in never:  # by its line so far, a span of code is open there
                continue
            if (closing := re.compile(f"</{name}[ \t]*>", re.IGNORECASE).search(text, place)) is None:
                never.add(name)
                continue
            place = closing.end()
            lines = text[opening.start() : place].split("\n")
            yield opening.start(), place, "\n".join(self.keep(each) if each.strip() else each for each in lines)

    def _formulas(self, text: str) -> Iterator[tuple[int, int, str]]:
        for formula in formulas(text):
            lines = text[formula.start : formula.after].split("\n")
            indents = [line[: len(line) - len(line.lstrip(" \t>"))] for line in lines]
            kept = [indent + self.keep(line[len(indent) :]) for indent, line in zip(indents, lines, strict=True)]
            yield formula.start, formula.after, "\n".join(kept)

    def _spans(self, text: str) -> Iterator[tuple[int, int, str]]:
        spans: list[tuple[int, int]] = []  # from each run to the next of its length in its block, the last first
        ends: dict[int, int] = {}  # of the next runs in the block, by their lengths
        for found in reversed([*_TICKS.finditer(text)]):
            if found[1] is None:
                ends.clear()
                continue
            start, end = found.span(1)
            escaped = (start - found.start()) % 2
            if (closing := ends.get(end - start - escaped)) is not None:
                spans.append((start + escaped, closing))
            ends[end - start] = end
        place = 0
        for start, end in reversed(spans):
            if start >= place:
                yield start, end, self.keep(text[start:end])
                place = end


@dataclass(frozen=True, slots=True)
class Inline:
    """An inline rule for markdown-it: Markdown that stands for what a dialect has in a line."""

    first: str
    """Characters, with one of which it begins; markdown-it's rule for text stops at them."""
    pattern: re.Pattern[str]
    shown: Callable[[re.Match[str]], str]
    """Return the Markdown in place of a match; the match where that stays as it is."""

    def __call__(self, state: StateInline, silent: bool) -> bool:
        if state.src[state.pos] not in self.first or not (match := self.pattern.match(state.src, state.pos)):
            return False
        if (shown := self.shown(match)) == match[0]:
            return False
        if match[0][0] == "[" and normalizeReference(match[1]) in state.env.get("references", ()):
            shown = shown.replace(match[1], f"[{match[1]}]", 1)  # what is a link by its name alone
        if match.end() > state.posMax or match[0].count("`") % 2 or (state.linkLevel and shown[:1] == "["):
            return False  # it ends in code, or is a link in a link
        if not silent:
            state.push("text", "", 0)
            tokens: list[Token] = []
            state.md.inline.parse(shown, state.md, state.env, tokens)
            state.tokens += tokens
        state.pos = match.end()
        return True


@dataclass(frozen=True, slots=True)
class Dialect:
    """Syntax that some sites add to Markdown."""

    name: str
    plain: Callable[[str, Page], str] | None
    """Return the text in plain Markdown; it gets the text without code, and takes linear time. None: only rules."""
    marks: Mapping[str, re.Pattern[str] | None]
    """Every page that needs the dialect has one of these literals. Where a literal alone does not tell, it comes
    with a pattern that must be found too; a literal is found much faster than a pattern."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of files that are always of the dialect."""
    blocks: tuple[Callable[..., bool], ...] = ()
    """Block rules for markdown-it."""
    inline: tuple[Inline, ...] = ()

    def recognised(self, text: str, path: str) -> bool:
        """Whether a page is of this dialect."""
        return (bool(self.suffixes) and path.lower().endswith(self.suffixes)) or any(
            mark in text and (pattern is None or pattern.search(text) is not None)
            for mark, pattern in self.marks.items()
        )


def between(text: str, opening: str, closing: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, content) of all that is between two marks; in linear time."""
    end = 0
    while (start := text.find(opening, end)) >= 0 and (close := text.find(closing, start + len(opening))) >= 0:
        end = close + len(closing)
        yield start, end, text[start + len(opening) : close]


@lru_cache(maxsize=64)
def _mapping(name: str, data: bytes) -> Mapping[str, str]:
    """Return the values of a configuration; none where it is not valid."""
    return _flat(load(name, data[:_LONGEST_CONFIGURATION].decode("utf-8", "replace")))


def _flat(loaded: dict[str, Any]) -> Mapping[str, str]:
    """Return the texts and numbers of a mapping by their names, with points in those that are within others."""
    flat: dict[str, str] = {}
    mappings = [("", loaded)]
    for before, mapping in mappings:
        for key, value in mapping.items():
            if isinstance(value, dict):
                mappings.append((f"{before}{key}.", value))
            elif ((text := shown(value)) or value == "") and len(text) <= LONGEST_VALUE:
                flat[f"{before}{key}"] = text
    return flat


def kind_of(kind: str) -> str:
    """Return the kind of an admonition in one word: "note" of `note inline end` and `{.callout-note}`; "" for none."""
    kind = kind if len(kind) <= _LONGEST_KIND else ""
    match = _KIND.match(kind) if "=" not in "".join(kind.split()[:1]) else None
    return match[1].lower() if match is not None else ""


def arguments(text: str) -> dict[str, str]:
    """Return the named arguments of a tag, name="value", in order; of two of one name the first."""
    values: dict[str, str] = {}
    for match in _ARGUMENT.finditer(text):
        values.setdefault(match[1], next((group for group in match.groups()[1:] if group is not None), ""))
    return values


def code_block(content: str, arguments: str, page: Page) -> str:
    """Return a block of code in Markdown. arguments: of its tag, the first of which is the language."""
    fence = "```"
    while fence in content:
        fence += "`"
    return f"{fence}{language_of(arguments)}\n{page.keep(content)}\n{fence}"


def language_of(arguments: str) -> str:
    """Return the language of a block of code, the first word of its tag; "" where that is none."""
    words = arguments.split()
    return words[0] if words and re.fullmatch(r"[\w+#.-]+", words[0]) else ""


def link(text: str, target: str) -> str:
    """Return a link in Markdown, its target between angles only where it must: in HTML's lines they are a tag's."""
    shown = " ".join(text.replace("[", "\\[").replace("]", "\\]").split())
    target = " ".join(target.replace("<", "%3C").replace(">", "%3E").split())
    return f"[{shown}](<{target}>)" if not target or any(sign in target for sign in " ()\\") else f"[{shown}]({target})"


def image(text: str, target: str) -> str:
    """Return an image in Markdown."""
    return f"!{link(text, target)}"


def beside(found: re.Match[str]) -> tuple[str, str]:
    """Return the text before a match and the text after it, on their lines."""
    text, end = found.string, found.string.find("\n", found.end())
    before = text[text.rfind("\n", 0, found.start()) + 1 : found.start()]
    return before, text[found.end() : end if end >= 0 else None]


def anchors(attributes: str) -> str:
    """Return the places that a list of attributes names."""
    return "".join(map(anchor, names_in(attributes)))


def anchor(name: str) -> str:
    """Return a place that links may lead to, in HTML."""
    name = name.replace('"', "").replace("<", "")
    return f'<a id="{name}"></a>'
