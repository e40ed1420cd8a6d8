"""Obsidian's vaults: `![[image.png|300]]`, `![[note]]`, callouts that fold (`> [!info]- Title`)."""

from __future__ import annotations

import re

from structformer_markdown.dialects.dialect import Dialect
from structformer_markdown.dialects.page import Page
from structformer_markdown.dialects.shown import IMAGE_SUFFIXES, image

_EMBEDDED = re.compile(r"!\[\[([^\[\]\n|]{1,500})(?:\|([^\[\]\n]{0,500}))?\]\]")
_CALLOUT = re.compile(r"^([ \t]*>[ \t>]*\[!\w+)(?:\|[^\[\]\n]*\][-+]?|\][-+])", re.MULTILINE)
_SIZE = re.compile(r"\d+(?:x\d+)?|")
_FILES = (*IMAGE_SUFFIXES, ".mp4", ".webm", ".ogv", ".mov", ".mp3", ".wav", ".m4a", ".ogg", ".flac", ".pdf")


def _plain(text: str, page: Page) -> str:
    text = _EMBEDDED.sub(_embedded, text)
    return _CALLOUT.sub(r"\1]", text)


def _embedded(found: re.Match[str]) -> str:
    target, shown = found[1].strip(), (found[2] or "").rpartition("|")[2].strip()
    if target.partition("#")[0].lower().endswith(_FILES):
        return image("" if _SIZE.fullmatch(shown) else shown, target)
    return found[0][1:]


DIALECT = Dialect("obsidian", _plain, {"![[": None, "[!": _CALLOUT})
