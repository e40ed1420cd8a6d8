"""Additions of Rust's books: `<Listing number="1-1" caption="...">`, `{{#title}}`, rules (`r[items.fn]`)."""

import re

from structformer_markdown.dialects.page import Dialect, Page, arguments

_LISTING = re.compile(
    r"""<Listing((?:\s+[\w-]+(?:=(?:"[^"]{0,2000}"|'[^']{0,2000}'|[^\s"'<>]+))?){0,20})\s*>|</Listing>"""
)
_TITLE = re.compile(r"\{\{#title[ \t][^{}\n]*\}\}")
_RULE = re.compile(r"^r\[([\w-]+(?:\.[\w-]+)*)\][ \t]*$", re.MULTILINE)


def _plain(text: str, page: Page) -> str:
    text = _RULE.sub(r"(\1)=\n\n(r-\1)=\n", text)  # as MyST names what comes next
    return _TITLE.sub("", _LISTING.sub(_listing, text))


def _listing(found: re.Match[str]) -> str:
    given = arguments(found[1] or "")
    number, caption = given.get("number", ""), given.get("caption", "")
    name = f"Listing {number}" if number else ""
    shown = f"{name}: {caption}" if name and caption else name or caption
    return f"\n{shown}\n" if shown else "\n"


DIALECT = Dialect("listings", _plain, {"<Listing": None, "{{#title": None, "r[": _RULE})
