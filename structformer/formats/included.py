"""Files that a source includes, and those that these include."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from structformer.formats.encoding import as_utf8
from structformer.formats.source import SourceFile


def included_files(source: SourceFile, names: Callable[[bytes], Iterable[str]], most: int | None = None) -> set[str]:
    """Paths of all files that a source includes, directly or through others.

    names: what the content of a file says that it includes. most: no further file is looked into once so many are
    found; None for no limit.
    """
    found: set[str] = set()
    waiting = [source]
    while waiting and (most is None or len(found) < most):
        file = waiting.pop()
        for name in names(as_utf8(file.read())):
            opened = file.open(name)
            if opened is not None and opened.path not in found and opened.path != source.path:
                found.add(opened.path)
                waiting.append(opened)
    return found
