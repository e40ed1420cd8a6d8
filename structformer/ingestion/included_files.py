"""Which files are parts of others, by what their formats say that each takes in."""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from structformer.formats.protocol import CompositeFormat, Format, FragmentFormat
from structformer.formats.source import SourceFile
from structformer.ingestion.walk import path_order
from structformer.text.visible_text import listed


class Takes(NamedTuple):
    """Files that one file includes."""

    path: str
    whole: set[str]
    """Files that it takes in whole."""
    pieces: set[str]
    """Files that only hold pieces for it and others."""


def what_it_takes(format: Format | None, source: SourceFile) -> Takes | None:
    """Return what a source includes; None for nothing, and if it cannot be read, which reading it by itself reports."""
    if not isinstance(format, CompositeFormat):
        return None
    own = {source.path}
    try:
        whole = format.parts(source) - own
        pieces = format.fragments(source) - own if isinstance(format, FragmentFormat) else set()
    except Exception:
        return None
    return Takes(source.path, whole, pieces) if whole or pieces else None


Takers = dict[str, tuple[str, ...]]  # by a file those that take from it


def takers(taking: Iterable[Takes]) -> tuple[Takers, Takers]:
    """Return the parts, each with the documents that take it in, and the files that only hold pieces for others, each
    with those that take some. Of files that include each other the first is the document.
    """
    taking = sorted(taking, key=lambda takes: path_order(takes.path))
    fragments = _by_file((takes.path, takes.pieces) for takes in taking)
    whole = {takes.path: takes.whole for takes in taking if takes.whole}
    taken = set[str]().union(*whole.values())
    held: set[str] = set()
    parts: list[tuple[str, set[str]]] = []
    for path in sorted(whole.keys() - fragments.keys(), key=lambda path: (path in taken, path_order(path))):
        if path not in held:
            held |= whole[path]
            parts.append((path, whole[path]))
    return _by_file(parts), fragments


def _by_file(taking: Iterable[tuple[str, set[str]]]) -> Takers:
    by_file: defaultdict[str, list[str]] = defaultdict(list)
    for taker, files in taking:
        for file in files:
            by_file[file].append(taker)
    return {file: tuple(those) for file, those in by_file.items()}


def place(part_of: tuple[str, ...], pieces_in: tuple[str, ...]) -> str:
    """Return where a file is that is part of documents, or has pieces in some; "" for one that is read by itself."""
    if part_of:
        return f"part of {listed(part_of, 1)}"
    return f"only pieces for others: they are in {listed(pieces_in, 1)}" if pieces_in else ""
