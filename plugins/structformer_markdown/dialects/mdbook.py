"""mdBook, as the Rust book uses it: `<Listing number="1-1" caption="...">`, `{{#title}}`. Includes are followed
before.
"""

from __future__ import annotations

import re

from structformer_markdown.dialects.dialect import Dialect
from structformer_markdown.dialects.shown import arguments

_LISTING = re.compile(
    r"""<Listing((?:\s+[\w-]+(?:=(?:"[^"]{0,2000}"|'[^']{0,2000}'|[^\s"'<>]+))?){0,20})\s*>|</Listing>"""
)
_TITLE = re.compile(r"\{\{#title[ \t][^{}\n]*\}\}")


def _listing(found: re.Match[str]) -> str:
    given = arguments(found[1] or "")
    number, caption = given.get("number", ""), given.get("caption", "")
    name = f"Listing {number}" if number else ""
    shown = f"{name}: {caption}" if name and caption else name or caption
    return f"\n{shown}\n" if shown else "\n"


_MARKS = {"<Listing": None, "{{#title": None}
DIALECT = Dialect("mdbook", lambda text, page: _TITLE.sub("", _LISTING.sub(_listing, text)), _MARKS)
