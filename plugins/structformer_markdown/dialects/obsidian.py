"""Obsidian's vaults: `![[image.png|300]]`, `![[note]]`, callouts that fold (`> [!info]- Title`), `%%comments%%`,
names of blocks (`^id`), code in links (``[[Note#`code`|words]]``); and of any site, strong text in East Asian lines.
"""

import re

from structformer_markdown.dialects.page import IMAGE_SUFFIXES, Dialect, Inline, Page, anchor, beside, image, link

_LINK = re.compile(r"(!?)\[\[([^\[\]\n|]{1,500}?)(?:\\?\|([^\[\]\n]{0,500}))?\]\]")  # `\|` in tables
_CALLOUT = re.compile(
    r"^([ \t]*>[ \t>]*)(\[!\w+)(?:\|[^\[\]\n]*\][-+]?|\][-+]|\](?=[ \t]+\S))([ \t]+\S[^\n]*)?", re.MULTILINE
)
_COMMENT = re.compile(r"[ \t]?%%(?!%)(?:[^%]|%(?!%))++%%")
_BLOCK_NAME = re.compile(r"\^(?<![^\s>]\^)(?=[0-9-]*[A-Za-z])([A-Za-z0-9-]+)[ \t]*$", re.MULTILINE)
_OWN_SIGN = re.compile(r"\[\[|^[ \t]*>[ \t]*\[!", re.MULTILINE)
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
        text = _COMMENT.sub(lambda match: match[0] if "".join(beside(match)).strip() and not of_vault else "", text)
    return _CALLOUT.sub(_callout, text)


def _strong(match: re.Match[str]) -> str:
    """Return strong text as HTML has it, whatever letters and signs are beside its marks."""
    is_east_asian = _EAST_ASIAN.search(match.string, max(0, match.start() - 1), match.end() + 1)
    return f"<strong>{match[1]}</strong>" if is_east_asian else match[0]


def _callout(match: re.Match[str]) -> str:
    """Return a callout's first line; a title is a paragraph of its own."""
    quoted, kind, title = match.groups()
    return f"{quoted}{kind}]{title}\n{quoted.rstrip()}" if title else f"{quoted}{kind}]"


def _link(match: re.Match[str]) -> str:
    """Return what a note embeds, or a link with code in it; other links are found in plain text."""
    target, shown = match[2].strip(), (match[3] or "").rpartition("|")[2].strip()
    if match[1] and target.partition("#")[0].lower().endswith(_FILES):
        return image("" if shown.replace("x", "").isdecimal() else shown, target)
    if "`" in match[0]:
        return link(match[3] or match[2], match[2].replace("`", ""))
    return match[0].removeprefix("!")


DIALECT = Dialect(
    "obsidian",
    _plain,
    {
        "![[": None,
        "[!": _CALLOUT,
        "%": _COMMENT,
        "[[": re.compile(r"\[\[[^\[\]\n]*`"),
        "^": _BLOCK_NAME,
        "**": _EAST_ASIAN_STRONG,
    },
    inline=(
        Inline("![", _LINK, _link),
        Inline("^", _BLOCK_NAME, lambda match: anchor(f"^{match[1]}")),
        Inline("*", _STRONG, _strong),
    ),
)
