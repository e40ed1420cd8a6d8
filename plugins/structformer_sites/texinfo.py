"""GNU Texinfo: their pages' titles, and the heading that is a page's root whatever its level."""

import re

from structformer.document import Document
from structformer.formats import HtmlRules, SiteGenerator, promote_to_root

_NUMBER = re.compile(r"(?:Appendix\s+)?(?:\d+|[A-Z])(?:\.\d+)*\s+(?=\S)")
_MANUAL = re.compile(r"(?<=\S) *\((?:[^()]|\([^()]*\))*\)\Z")  # its name behind a title, which may hold brackets


def _shape(document: Document, title: str, is_heading: bool) -> None:
    """Make the heading that a page begins with its root, if that is none yet, and call the page by it.

    title: of the page's head, "Node (Manual)". Headings have the level of their place in the whole manual; the first
    page has two of them, the manual's name and that of its top node."""
    root = document.root
    if is_heading:
        document.title = _unnumbered(root.title, title)
        return
    if not root.text and root.children:
        first, *others = root.children
        if all(first.level <= other.level for other in others):
            promote_to_root(root, first)
            root.children += others
            if not root.text and others and len(root.children) == len(others) and others[0].title == root.title:
                promote_to_root(root, others[0])
                root.children += others[1:]
            document.title = _unnumbered(root.title, title)
            return
    document.title = root.title = _MANUAL.sub("", title).rstrip() or document.title


def _unnumbered(heading: str, title: str) -> str:
    """Return a heading without the number of its section, unless the page's title begins with it as well."""
    number = _NUMBER.match(heading)
    return heading if number is None or title.startswith(number[0]) else heading[number.end() :]


TEXINFO = SiteGenerator(
    "texinfo",
    "GNU Texinfo",
    html=HtmlRules(
        meta=("makeinfo", "texi2any"),
        furniture=frozenset({"copiable-anchor", "copiable-link"}),
        own_furniture=frozenset({"header", "nav-panel"}),  # links to the pages before, after and above
        shape=_shape,
    ),
)
