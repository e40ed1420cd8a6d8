"""Texts of some of a corpus's documents, kept in a file, so that there may be more of them than memory holds."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from types import TracebackType

from structformer.corpus import Corpus
from structformer.corpus.whole_text import whole_text


class DocumentTexts:
    """The texts by the documents' numbers; a context manager, since the file stays open."""

    def __init__(self, corpus: Corpus, wanted: Collection[int], path: Path) -> None:
        """Read the corpus once, but for shards without a wanted document, and write the texts to `path`."""
        self._places: dict[int, tuple[int, int]] = {}
        site, start = corpus.site, 0
        with path.open("wb") as file:
            for shard in _shards_of(corpus, wanted):
                for number, document in enumerate(corpus.shard_documents(shard), corpus.starts[shard]):
                    if number in wanted:
                        text = whole_text(document, site).encode("utf-8", "surrogatepass")
                        self._places[number] = (start, len(text))
                        start += file.write(text)
        self._file = path.open("rb")

    def __getitem__(self, number: int) -> str:
        start, length = self._places[number]
        self._file.seek(start)
        return self._file.read(length).decode("utf-8", "surrogatepass")

    def __enter__(self) -> DocumentTexts:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()


def _shards_of(corpus: Corpus, wanted: Collection[int]) -> list[int]:
    """The shards that hold any of the documents."""
    ends = zip(corpus.starts, corpus.starts[1:], strict=False)
    ordered = sorted(wanted)
    found, place = [], 0
    for shard, (_, end) in enumerate(ends):
        first = place
        while place < len(ordered) and ordered[place] < end:
            place += 1
        if place > first:
            found.append(shard)
    return found
