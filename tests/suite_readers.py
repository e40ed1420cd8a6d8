"""Readers in the form that the shared suites' check.py calls: (data, dialect) -> headings, links, text."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from structformer import read
from structformer.document import LinkKind
from structformer.text.headings import github_slug

from structformer_xml.vocabulary import built_in

_NOTES_TITLE = re.compile(rb"<(?:notes|fn-group)\b[^>]*>\s*<title>(?:<\w+>)?([^<]*)")
_INNER_TITLE = re.compile(rb"<(?:sub-article|response)\b.{0,4000}?<article-title>([^<]*)</article-title>", re.DOTALL)


def _read(data: bytes, format: str, **options: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"headings": [], "links": [], "text": ""}
    for document in read(data, format=format, **options):
        for section in document.sections():
            # The root is a heading of the source when it has the anchor that headings get.
            if section is not document.root or github_slug(section.title) in section.anchors:
                found["headings"].append([section.level or 1, section.title])
            found["text"] += f"{section.title}\n{section.text}\n"
        if "encoding" in document.metadata:
            found["encoding"] = document.metadata["encoding"]
        found["links"] += [
            [link.target, link.text]
            for link in document.links()
            if link.kind not in (LinkKind.EMBED, LinkKind.REDIRECT)
        ]
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
    """XML of any vocabulary. The suites have no references by name, as `<citerefentry>` is one, no titles that the
    source leaves to the display, and no titles of notes and of articles within articles; their digits are never raised.
    """
    found = _read(data, "xml")
    supplied = [title for title in built_in("jats").default_titles.values() if f">{title}<".encode() not in data]
    supplied += [title.decode("utf-8", "replace") for title in _INNER_TITLE.findall(data) + _NOTES_TITLE.findall(data)]
    found["headings"] = [heading for heading in found["headings"] if heading[1] not in supplied]
    found["links"] = [
        [target, unicodedata.normalize("NFKC", text)]
        for target, text in found["links"]
        if not target.startswith("name:")
    ]
    return found


def wikitext(data: bytes, dialect: str | None = None) -> dict[str, Any]:
    """Wikitext."""
    return _read(data, "wikitext")


def mediawiki(data: bytes, dialect: str | None = None) -> dict[str, Any]:
    """Wikitext, targets as MediaWiki's page names."""
    from structformer_wikitext.site import Site

    found = _read(data, "wikitext")
    # The site that the suite's pages were rendered on.
    site = Site(
        interwiki={
            "meatball": "http://www.usemod.com/cgi-bin/mb.pl?",
            "wikipedia": "http://en.wikipedia.org/wiki/",
            **{code: f"http://{code}.wikipedia.org/wiki/" for code in ("es", "zh", "fr", "ja")},
            "local": "",
            "mi": "",
        },
        namespaces={"meta": 4, "project": 4},
    )
    # Rendered, a page's name begins with a capital, and an external link without a text is numbered.
    unnamed = 0
    for link in found["links"]:
        if "//" in link[0] or link[0].startswith("mailto:"):
            if not link[1]:
                unnamed += 1
                link[1] = f"[{unnamed}]"
        elif link[0][:1] != "#" and not re.match(
            r"(?:news|mailto|tel|urn|sip|sms|geo|bitcoin|magnet|matrix):", link[0]
        ):
            link[0] = site.address(link[0]) or Site().page_name(link[0])
    return found


def latex(data: bytes, dialect: str | None = None) -> dict[str, Any]:
    """LaTeX."""
    return _read(data, "latex")
