"""Which documents of a served index the corpus no longer has, so that they are not found until the next index is
there.
"""

from __future__ import annotations

from structformer.corpus import Corpus


def deleted_documents(before: Corpus, after: Corpus) -> frozenset[int]:
    """Numbers of the documents of one corpus that a later one does not have: neither their id nor the bytes of the file
    that they were read from, which may be called otherwise now. Shards that both have are not looked at.
    """
    old, new = {shard.key for shard in before.shards}, {shard.key for shard in after.shards}
    kept = {
        row["id"] for shard in after.shards if shard.key not in old for row in after.rows(shard, "documents", ["id"])
    }
    gone: dict[int, str] = {}
    for shard, start in zip(before.shards, before.starts, strict=False):
        if shard.key in new:
            continue
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
