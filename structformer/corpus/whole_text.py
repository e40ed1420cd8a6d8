"""The text of a whole document as rankers read it: title, address, then what the index has of its sections."""

from collections.abc import Iterator

from structformer.corpus.site import Site
from structformer.document import Document
from structformer.text.passages import section_passages

CHARACTERS = 8000  # more than any ranker reads


def whole_text(document: Document, site: Site) -> str:
    """Return a document's title, its address where that is known, and its sections with their titles, a line each."""
    return with_address("\n".join(_parts(document)), document.title, site.address(document))


def with_address(text: str, title: str, address: str) -> str:
    """A document's text with its address behind its title, as HARP's fine-tuning reads pages (Ma et al., CIKM 2021)."""
    return (f"{title}\n{address}{text[len(title) :]}" if address else text)[:CHARACTERS]


def _parts(document: Document) -> Iterator[str]:
    yield document.title
    length = 0
    for number, section in enumerate(document.sections()):
        if length >= CHARACTERS:
            return
        pieces = [piece.text for piece in section_passages(section)]
        if pieces and number:
            yield section.title
        yield from pieces
        length += sum(map(len, pieces))
