"""Which documents of a served index the corpus no longer has, so that they are not found until the next index is
there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from structformer.corpus import Corpus


@dataclass(frozen=True, slots=True)
class Seen:
    """The documents that somebody may see, by number. among: those that filters let through, None for all. deleted:
    those that the corpus no longer has.
    """

    among: Collection[int] | None = None
    deleted: frozenset[int] = frozenset()

    def __contains__(self, number: int) -> bool:
        return number not in self.deleted and (self.among is None or number in self.among)


def deleted_documents(before: Corpus, after: Corpus) -> frozenset[int]:
    """Numbers of the documents of one corpus that a later one does not have: neither their id nor the bytes of the file
    that they were read from, which may be called otherwise now.
    """
    kept = set(after.document_ids())
    gone: dict[int, str] = {}
    for shard, start in zip(before.shards, before.starts, strict=False):
        for row in before.rows(shard, "documents", ["number", "id", "file"]):
            if row["id"] not in kept:
                gone[start + row["number"]] = row["file"]
    if not gone:
        return frozenset()
    pieces: dict[str, set[str]] = {file: set() for file in gone.values()}  # a dump is read in several
    for source in before.sources():
        if source["file"] in pieces:
            pieces[source["file"]].add(source["sha256"])
    there = {source["sha256"] for source in after.sources()}
    return frozenset(number for number, file in gone.items() if not pieces[file] <= there)
