"""Readers in the form that the shared suites' check.py calls: (data, dialect) -> headings, links, text."""

from __future__ import annotations

from typing import Any

from structformer import read
from structformer.document import LinkKind
from structformer.headings import github_slug


def _read(data: bytes, format: str, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"headings": [], "links": [], "text": ""}
    for document in read(data, format=format, **options):
        for section in document.sections():
            # The root is a heading of the source when it has the anchor that headings get.
            if section is not document.root or github_slug(section.title) in section.anchors:
                found["headings"].append([section.level or 1, section.title])
            found["text"] += f"{section.title}\n{section.text}\n"
        found["links"] = [[link.target, link.text] for link in document.links() if link.kind is not LinkKind.EMBED]
    return found


def gfm(data: bytes, dialect: str | None = None) -> dict[str, Any]:
    """GFM, the default."""
    return _read(data, "markdown")


def commonmark(data: bytes, dialect: str | None = None) -> dict[str, Any]:
    """Strict CommonMark: no bare URL is a link."""
    return _read(data, "markdown", flavor="commonmark")


def html(data: bytes, dialect: str | None = None) -> dict[str, Any]:
    """HTML, with its navigation: the suites' cases are no whole pages."""
    return _read(data, "html", content="all")


def xml(data: bytes, dialect: str | None = None) -> dict[str, Any]:
    """XML of any vocabulary."""
    return _read(data, "xml")


def wikitext(data: bytes, dialect: str | None = None) -> dict[str, Any]:
    """Wikitext."""
    return _read(data, "wikitext")


def latex(data: bytes, dialect: str | None = None) -> dict[str, Any]:
    """LaTeX."""
    return _read(data, "latex")
