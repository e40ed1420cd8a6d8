"""DocFX, the Markdown of Microsoft's documentation: `:::image source="..." alt-text="...":::`, `:::zone pivot="x"`,
`[!INCLUDE x]`, `[!VIDEO address]`.
"""

from __future__ import annotations

import re

from structformer_markdown.dialects.dialect import Dialect
from structformer_markdown.dialects.page import Page
from structformer_markdown.dialects.shown import arguments, image

_IMAGE = re.compile(r":::[ \t]*image[ \t]([^\n]*?):::")
_BLOCK = re.compile(
    r"^([ \t]*(?:>[ \t]*)*):::[ \t]*(?:code[ \t][^\n]*source=[^\n]*|image-end[ \t]*:*"
    r"|(?:row|column|zone|moniker|form)(?:-end)?(?:[ \t]*:*|[ \t]+[\w-]+=[^\n]*))[ \t]*$",
    re.MULTILINE,
)
_INLINE = re.compile(r"\[!(INCLUDE|VIDEO|div|UICONTROL|DNL)\b[ \t]*((?:[^\[\]\n]|\[[^\[\]\n]*\])*+)\]", re.IGNORECASE)


def _plain(text: str, page: Page) -> str:
    if ":::" in text:
        text = _BLOCK.sub(r"\1", _IMAGE.sub(_image, text))
    return _INLINE.sub(_inline, text) if "[!" in text else text


def _image(found: re.Match[str]) -> str:
    given = arguments(found[1])
    return image(given.get("alt-text", ""), given["source"]) if "source" in given else ""


def _inline(found: re.Match[str]) -> str:
    name, content = found[1].lower(), found[2].strip()
    if name == "video":
        return f"<{content}>" if "://" in content and " " not in content else ""
    return content if name in ("uicontrol", "dnl") else ""


DIALECT = Dialect(
    "docfx",
    _plain,
    {
        ":::": re.compile(r":::[ \t]*(?:image|code|row|column|zone|moniker|form)\b"),
        "[!": re.compile(r"\[!(?:INCLUDE|VIDEO|div|UICONTROL|DNL)\b", re.IGNORECASE),
    },
)
