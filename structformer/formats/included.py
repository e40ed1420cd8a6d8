"""Files that a source includes, and those that these include."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import AnyStr

from structformer.formats.encoding import as_utf8
from structformer.formats.source import SourceFile


def included_files(
    source: SourceFile,
    names: Callable[[bytes], Iterable[str]],
    most: int | None = None,
    stands_alone: Callable[[SourceFile, bytes], bool] = lambda file, data: False,
) -> set[str]:
    """Return paths of all files that a source includes whole, directly or through others, and that are not documents of
    their own.

    names: what the content of a file says that it includes whole. most: no further file is looked into once so many
    are found; None for no limit. stands_alone: whether a file with this content is a document whoever includes it; what
    that includes is its own.
    """
    included: set[str] = set()
    waiting = [source]
    while waiting and (most is None or len(included) < most):
        file = waiting.pop()
        for name in names(as_utf8(file.read())):
            opened = file.open(name)
            if opened is None or opened.path in included or opened.path == source.path:
                continue
            if not stands_alone(opened, as_utf8(opened.read())):
                included.add(opened.path)
                waiting.append(opened)
    return included


def without_spans(text: AnyStr, opening: re.Pattern[AnyStr], closing: Mapping[AnyStr, re.Pattern[AnyStr]]) -> AnyStr:
    """A text without what runs from openings to closings, as comments do, in linear time. closing: by an opening's
    first group. An opening that is never closed opens nothing.
    """
    kept: list[AnyStr] = []
    place = start = 0
    never: set[AnyStr] = set()
    while (begin := opening.search(text, place)) is not None:
        place = begin.end()
        end = closing[begin[1]].search(text, place) if begin[1] not in never else None
        if end is None:
            never.add(begin[1])
        else:
            kept.append(text[start : begin.start()])
            place = start = end.end()
    kept.append(text[start:])
    return text[:0].join(kept)
