"""Which files are parts of others, by what their formats say that each takes in."""

from collections.abc import Iterator
from typing import NamedTuple

from structformer.corpus.shards import path_order
from structformer.formats.protocol import CompositeFormat, FragmentFormat
from structformer.formats.source import SourceFile


class Takes(NamedTuple):
    """Files that one file includes."""

    path: str
    whole: set[str]
    """Files that it takes in whole."""
    pieces: set[str]
    """Files that only hold pieces for it and others."""


def what_it_takes(format: CompositeFormat, source: SourceFile) -> Takes | None:
    """Return what a source includes; None if it cannot be read, which reading it by itself reports."""
    own = {source.path}
    try:
        return Takes(
            source.path,
            format.parts(source) - own,
            format.fragments(source) - own if isinstance(format, FragmentFormat) else set(),
        )
    except Exception:
        return None


class Taken:
    """Files that the files of a folder, or of an archive, include of each other."""

    def __init__(self) -> None:
        self._whole: dict[str, set[str]] = {}
        self._pieces: dict[str, set[str]] = {}

    def add(self, takes: Takes | None) -> None:
        """Add what one file takes."""
        if takes is not None:
            self._whole.update({takes.path: takes.whole} if takes.whole else {})
            self._pieces.update({takes.path: takes.pieces} if takes.pieces else {})

    def parts(self) -> dict[str, tuple[str, ...]]:
        """Return the files that are parts, each with the documents that take it in."""
        of: dict[str, list[str]] = {}
        for taker in self._takers():
            for path in self._whole[taker]:
                of.setdefault(path, []).append(taker)
        return {path: tuple(takers) for path, takers in of.items()}

    def fragments(self) -> dict[str, tuple[str, ...]]:
        """Return the files that only hold pieces for others, each with those that take some."""
        of: dict[str, list[str]] = {}
        for taker in sorted(self._pieces, key=path_order):
            for path in self._pieces[taker]:
                of.setdefault(path, []).append(taker)
        return {path: tuple(takers) for path, takers in of.items()}

    def _takers(self) -> Iterator[str]:
        """Documents that include others: of files that include each other the first; none that only holds pieces."""
        taken = {path for parts in self._whole.values() for path in parts}
        held: set[str] = set()
        takers = sorted(self._whole.keys() - self.fragments().keys(), key=path_order)
        for only_free in (True, False):
            for taker in takers:
                if (taker not in taken) if only_free else (taker in taken and taker not in held):
                    held |= self._whole[taker]
                    yield taker


def place(part_of: tuple[str, ...], pieces_in: tuple[str, ...]) -> str:
    """Return where a file is that is part of documents, or has pieces in some; "" for one that is read by itself."""
    if part_of:
        return f"part of {_named(part_of)}"
    return f"only pieces for others: they are in {_named(pieces_in)}" if pieces_in else ""


def _named(takers: tuple[str, ...]) -> str:
    """Return the first of some files, and how many others there are."""
    return f"{takers[0]} and {len(takers) - 1} more" if len(takers) > 1 else takers[0]
