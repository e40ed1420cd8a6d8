"""Files that a source includes, and those that these include."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from structformer.formats.source import SourceFile

_MOST = 1000  # of one source


def included_files(source: SourceFile, names: Callable[[str], Iterable[str]]) -> set[str]:
    """Paths of all files that a source includes, directly or through others. names: what a text says it includes."""
    found: set[str] = set()
    waiting = [source]
    while waiting and len(found) < _MOST:
        file = waiting.pop()
        for name in names(file.read().decode("utf-8", "replace")):
            opened = file.open(name)
            if opened is not None and opened.path not in found and opened.path != source.path:
                found.add(opened.path)
                waiting.append(opened)
    return found
