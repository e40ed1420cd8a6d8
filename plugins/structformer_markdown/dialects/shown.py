"""Marks as readers of a built page see them: kinds of admonitions, links and images in Markdown."""

import re

from structformer_markdown.dialects.page import Page
from structformer_markdown.inline_text import names_in

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
