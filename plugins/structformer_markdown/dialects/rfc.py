"""kramdown-rfc, in which Internet-Drafts are written: borders (`--- middle`), notes (`--- note_Pans`), references
(`{{anchor}}`, `{{!RFC2119}}`, `{{Section 4 of HTTP}}`), `{::boilerplate}`.

Source: kramdown-rfc's README and its examples (cabo/kramdown-rfc).
"""

import re

from structformer_markdown.dialects.page import Dialect, Page
from structformer_markdown.front_matter import titles
from structformer_markdown.inline_text import names_in

_BORDER = re.compile(
    r"(?m)^(?:---[ \t]+(abstract|middle|back|fluff|note_\S+)[ \t]*$|\{(?:front|main|back)matter\}|\.(?=# ))"
)
# `{{!RFC2119}}`, `{{Section 4.2 of HTTP}}`, `{{HTTP, Section 4}}`; a sign says of what kind a cited work is.
_REFERENCE = re.compile(
    r"\{\{(?P<part>[\w. -]{1,80}? of )?[!?<*-]{0,2}(?P<name>[\w.:/+-]{1,80})(?P<rest>[^{}\n]{0,80})\}\}"
)
_ATTRIBUTES = re.compile(r"\{[:#][^{}\n]*\}")
_NOT_IN_SLUG = re.compile(r"[^\w]+")


def _plain(text: str, page: Page) -> str:
    anchors = {name for attributes in _ATTRIBUTES.findall(text) for name in names_in(attributes)}
    anchors |= {_NOT_IN_SLUG.sub("-", title.lower()) for title in titles(text)}

    def reference(match: re.Match[str]) -> str:
        name = match["name"]
        if name in anchors:
            return f"[{name if match['part'] else ''}](<#{name}>)"
        return f"[{match['part'] or ''}{name}{match['rest']}](<cite:{name}>)"

    return _REFERENCE.sub(reference, _BORDER.sub(_border, text))


def _border(match: re.Match[str]) -> str:
    name = match[1] or ""
    return f"\n# {name[5:].replace('_', ' ')}\n" if name.startswith("note_") else "\n"


DIALECT = Dialect("rfc", _plain, {"\n--- ": _BORDER, "\n{mainmatter}": _BORDER})
