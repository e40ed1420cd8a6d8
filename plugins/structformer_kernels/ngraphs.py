"""n-graphs: one to five letters in a row of a word between two `#`, as DUET counts them."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from structformer.errors import UsageError
from structformer.text import lines_of

LONGEST_NGRAPH = 5
NGRAPHS = 2000  # as many as the published list has room for
_NGRAPH = re.compile(r"(?!#+$)#?[0-9a-z]*#?", re.ASCII)
_WORD = re.compile(r"[0-9a-z]+", re.ASCII)


def words_of(text: str) -> list[str]:
    """Return the words of a text as DUET reads it."""
    return _WORD.findall(text.lower())


def ngraphs_of(word: str) -> Counter[str]:
    """Return how often each n-graph occurs in a word. The `#` alone is none."""
    framed = f"#{word}#"
    return Counter(
        framed[start : start + length]
        for length in range(1, LONGEST_NGRAPH + 1)
        for start in range(len(framed) - length + 1)
        if length > 1 or framed[start] != "#"
    )


def count_ngraphs(texts: Iterable[str]) -> Counter[str]:
    """Return how often each n-graph occurs in the texts, which are read one at a time."""
    counts: Counter[str] = Counter()
    for text in texts:
        for word, times in Counter(words_of(text)).items():
            for ngraph, often in ngraphs_of(word).items():
                counts[ngraph] += times * often
    return counts


def commonest_ngraphs(counts: Mapping[str, int], size: int = NGRAPHS) -> list[str]:
    """Return the commonest n-graphs, those that are as common as each other by the alphabet."""
    return sorted(counts, key=lambda ngraph: (-counts[ngraph], ngraph))[:size]


def read_ngraphs(path: Path) -> list[str]:
    """Read n-graphs, one a line, alone or before a tab and a number. Raises UsageError naming the line."""
    ngraphs: dict[str, None] = {}
    for number, line in enumerate(lines_of(path), 1):
        ngraph, _, its_number = (part.strip() for part in line.partition("\t"))
        if not ngraph:
            continue
        if its_number and not its_number.isdecimal():
            raise UsageError(f"{path}, line {number}: {its_number[:20]!r} is not the number of an n-graph")
        if len(ngraph) > LONGEST_NGRAPH or not _NGRAPH.fullmatch(ngraph):
            raise UsageError(
                f"{path}, line {number}: {ngraph[:20]!r} is not an n-graph: 1 to {LONGEST_NGRAPH} letters a to z and "
                "digits, with a # where a word begins or ends"
            )
        ngraphs[ngraph] = None
    if not ngraphs:
        raise UsageError(f"{path} has no n-graphs")
    return list(ngraphs)


def write_ngraphs(path: Path, ngraphs: Iterable[str]) -> None:
    """Write a list as the published one is written."""
    path.write_text("".join(f"{ngraph}\t{number}\n" for number, ngraph in enumerate(ngraphs, 1)), encoding="utf-8")
