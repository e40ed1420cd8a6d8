"""A corpus as a notebook shows it."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING

from structformer.notebook_html import ROWS, box, count_of, more, table, text

if TYPE_CHECKING:
    from structformer.corpus.corpus import Corpus


def corpus_html(corpus: Corpus) -> str:
    """The first documents: id, title, format and how many sections. No text is read."""
    columns = ["id", "title", "format", "sections"]
    every = chain.from_iterable(corpus.rows(shard, "documents", columns) for shard in corpus.shards)
    rows = [
        [f"<code>{text(row['id'])}</code>", text(row["title"]), text(row["format"]), str(row["sections"])]
        for row in islice(every, ROWS)
    ]
    return box(
        f"Corpus of {count_of(corpus.document_count, 'document')}, {count_of(corpus.section_count, 'section')}",
        table(columns, rows) if rows else "",
        more(corpus.document_count - len(rows), "documents"),
    )
