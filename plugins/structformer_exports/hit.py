"""A hit as other libraries' documents have it: content, and metadata of plain values."""

from typing import Any

from structformer.retrieval import Hit, Hits
from structformer.text import with_path


def content(hit: Hit) -> str:
    """Return the passage with its breadcrumb in front, so that it can be read alone; code in fences."""
    return with_path(hit.breadcrumb, hit.fenced)


def metadata(hit: Hit, hits: Hits) -> dict[str, Any]:
    """Where the passage is and what it scored; the document's own metadata first. source, where frameworks look for an
    address: the section's on its site, else its document's id and its anchor. likely, confident: of the whole search.
    """
    return {
        **hit.metadata,
        "document_id": hit.document_id,
        "title": hit.title,
        "path": list(hit.path),
        "anchor": hit.anchor,
        "source": hit.url or hit.address,
        "score": hit.score,
        "scores": dict(hit.scores),
        "likely": hits.likely,
        "confident": hits.confident,
    }
