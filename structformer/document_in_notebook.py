"""A document as a notebook shows it: the tree of its sections."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from structformer.notebook_html import NODES, box, count_of, more, note, text, tree

if TYPE_CHECKING:
    from structformer.document import Document, Section

_TITLE = 100


def document_html(document: Document) -> str:
    """Each section's title with its number of words and links, the first ones of many."""
    nodes = (
        (len(path) - 1, f"{text(section.title or document.title, _TITLE)} {_says(section)}")
        for section, path in document.root.walk_with_path()
    )
    count = sum(1 for _ in document.sections())
    about = ", ".join(chain([document.id, document.source.format], [document.language] if document.language else []))
    return box(document.title or document.id, note(about), tree(nodes), more(count - NODES, "sections"))


def _says(section: Section) -> str:
    said = [count_of(section.word_count, "word")]
    if section.links:
        said.append(count_of(len(section.links), "link"))
    return f'<span class="quiet">{", ".join(said)}</span>'
