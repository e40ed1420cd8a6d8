"""DFM, the Markdown of Microsoft's documentation: `:::image source="..." alt-text="...":::`, `:::zone pivot="x"`,
tabs (`# [Name](#tab/x)`), `[!INCLUDE x]`, `[!VIDEO address]`, `<xref:UID>`.
"""

import re
from urllib.parse import unquote

from structformer_markdown.dialects.page import Dialect, Page, arguments, image, link

_IMAGE = re.compile(r":::[ \t]*image[ \t]([^\n]*?):::")
_BLOCK = re.compile(
    r"^([ \t]*(?:>[ \t]*)*):::[ \t]*(?:code[ \t][^\n]*source=[^\n]*|image-end[ \t]*:*"
    r"|(?:row|column|zone|moniker|form)(?:-end)?(?:[ \t]*:*|[ \t]+[\w-]+=[^\n]*))[ \t]*$",
    re.MULTILINE,
)
_INLINE = re.compile(r"\[!(INCLUDE|VIDEO|div|UICONTROL|DNL)\b[ \t]*((?:[^\[\]\n]|\[[^\[\]\n]*\])*+)\]", re.IGNORECASE)
_TAB = re.compile(r"^([ \t]*)#{1,6}[ \t]+\[([^\n]*)\]\(#tab/[^()\s]*\)[ \t]*$", re.MULTILINE)
_REFERENCE = re.compile(r"<xref:([^<>?\s]+)[^<>\s]*>")


def _plain(text: str, page: Page) -> str:
    text = _REFERENCE.sub(lambda found: link(unquote(found[1]).rstrip("*"), f"xref:{found[1]}"), text)
    text = _TAB.sub(r"\n\1\2\n", text)  # a label and no section of the page
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
    "dfm",
    _plain,
    {
        "<xref:": None,
        "](#tab/": None,
        ":::": re.compile(r":::[ \t]*(?:image|code|row|column|zone|moniker|form)\b"),
        "[!": _INLINE,
    },
)
