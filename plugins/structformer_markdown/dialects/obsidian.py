"""Obsidian's vaults: `![[image.png|300]]`, `![[note]]`, callouts that fold (`> [!info]- Title`), `%%comments%%`,
names of blocks (`^id`), code in links (``[[Note#`code`|words]]``); and of any site, strong text in East Asian lines.
"""

import re

from structformer_markdown.dialects.page import Dialect, Page
from structformer_markdown.dialects.shown import IMAGE_SUFFIXES, anchor, beside, image, link

_EMBEDDED = re.compile(r"!\[\[([^\[\]\n|]{1,500}?)(?:\\?\|([^\[\]\n]{0,500}))?\]\]")  # `\|` in tables
_CALLOUT = re.compile(
    r"^([ \t]*>[ \t>]*)(\[!\w+)(?:\|[^\[\]\n]*\][-+]?|\][-+]|\](?=[ \t]+\S))([ \t]+\S[^\n]*)?", re.MULTILINE
)
_WITH_CODE = re.compile(r"\[\[(?=[^\[\]\n]*[`\0])([^\[\]\n|]{1,500}?)(?:\\?\|([^\[\]\n]{0,500}))?\]\]")
_COMMENT = re.compile(r"%%(?!%)(?:[^%]|%(?!%))++%%")
_WITH_SPACE = re.compile(rf"[ \t]?{_COMMENT.pattern}")
_BLOCK_NAME = re.compile(r"\^(?<![^\s>]\^)(?=[0-9-]*[A-Za-z])([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)
_OWN_SIGN = re.compile(r"\[\[|^[ \t]*>[ \t]*\[!", re.MULTILINE)
_SIZE = re.compile(r"\d+(?:x\d+)?|")
# Strong text that CommonMark does not take as such where a sign is within the asterisks and a letter outside; most
# sites of languages without spaces show it as it is meant.
_STRONG = re.compile(r"\*\*(?=[^\s*])([^*\n]*[^\s*])\*\*(?!\*)")
_EAST_ASIAN = re.compile("[\u3000-\u30ff\u3400-\u9fff\uac00-\ud7af\uff01-\uff60]")
_EAST_ASIAN_STRONG = re.compile(rf"{_EAST_ASIAN.pattern}\*\*|\*\*{_EAST_ASIAN.pattern}")
_FILES = (*IMAGE_SUFFIXES, ".mp4", ".webm", ".ogv", ".mov", ".mp3", ".wav", ".m4a", ".ogg", ".flac", ".pdf")


def _plain(text: str, page: Page) -> str:
    of_vault = _OWN_SIGN.search(text) is not None or _BLOCK_NAME.search(text) is not None
    if "%%" in text:
        # Elsewhere one beside words may be what a manual writes about.
        text = _WITH_SPACE.sub(lambda found: found[0] if "".join(beside(found)).strip() and not of_vault else "", text)
    text = _EMBEDDED.sub(_embedded, text)
    text = _WITH_CODE.sub(lambda found: _with_code(found, page), text)
    text = _BLOCK_NAME.sub(lambda found: anchor(f"^{found[1]}"), text)
    if "**" in text and _EAST_ASIAN_STRONG.search(text):
        text = _STRONG.sub(_strong, text)
    return _CALLOUT.sub(_callout, text)


def _strong(found: re.Match[str]) -> str:
    """Strong text as HTML has it, where letters outside are beside signs within."""
    before, after = found.string[found.start() - 1 : found.start()], found.string[found.end() : found.end() + 1]
    is_beside = (before.isalnum() and not found[1][0].isalnum()) or (after.isalnum() and not found[1][-1].isalnum())
    return f"<strong>{found[1]}</strong>" if is_beside and _EAST_ASIAN.search(before + found[1] + after) else found[0]


def _callout(found: re.Match[str]) -> str:
    """Return a callout's first line; a title is a paragraph of its own."""
    quoted, kind, title = found.groups()
    return f"{quoted}{kind}]{title}\n{quoted.rstrip()}" if title else f"{quoted}{kind}]"


def _embedded(found: re.Match[str]) -> str:
    target, shown = found[1].strip(), (found[2] or "").rpartition("|")[2].strip()
    if target.partition("#")[0].lower().endswith(_FILES):
        return image("" if _SIZE.fullmatch(shown) else shown, target)
    return found[0][1:]


def _with_code(found: re.Match[str], page: Page) -> str:
    target = page.restored(found[1])
    return link(page.restored(found[2] or found[1]), target.replace("`", ""))


DIALECT = Dialect(
    "obsidian",
    _plain,
    {"![[": None, "[!": _CALLOUT, "%": _COMMENT, "[[": _WITH_CODE, "^": _BLOCK_NAME, "**": _EAST_ASIAN_STRONG},
)
