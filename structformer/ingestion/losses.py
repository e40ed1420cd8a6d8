"""Find what a reader lost: words of a file that are in none of its documents, by samples in linear time.

Only if too many of these are missing is the whole file compared, without what its format says is not text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from structformer.corpus.rows import kept_metadata
from structformer.document import Document
from structformer.formats.protocol import Format

LOST = " words of the source are not in the text"  # as messages say it
# A word of prose, and four characters of a script without spaces: attributes, commands and addresses have signs around.
_WORD = re.compile(r"(?<![^\s(>|{])[^\W\d_]{4,40}(?=[\s,.;:!?)<|}])|[\u3040-\u30ff\u4e00-\u9fff]{4}")
_CHARACTERS_A_SAMPLE, _FEWEST_SAMPLES, _MOST_SAMPLES = 2500, 24, 4000
_REACH = 120  # characters in which a sample finds its word
_SUSPICIOUS = 0.8  # share of the samples found, below which all words are compared
_AROUND = 2000  # characters around a suspicious stretch that are looked at again
_RUN = 5  # samples missing one after another that are suspicious too
# Measured on the corpora of docs/benchmarks.md: pages that are read whole have at least .75.
_LEAST_SHARE = 0.6
_WINDOW, _LEAST_IN_WINDOW = 40, 0.25  # words of a region, and the share of them found below which it is lost
_FEWEST_LOST = 60  # words of a lost region
_SAID = re.compile(rf"line \d+: about (\d+){LOST}")
_LONGEST_WORDS = 8  # of a region, shown


@dataclass(frozen=True, slots=True)
class Loss:
    """A region of a file whose words are not in its documents."""

    line: int
    words: int
    """How many words the region has, near enough."""
    share: float
    """Share of all the file's words that were found."""
    begins: str
    """The first words of the region."""

    def __str__(self) -> str:
        return f"line {self.line}: about {self.words}{LOST} ({self.share:.0%} of the file's are): {self.begins!r}"


def lost_words(message: str) -> int:
    """Return how many words a message says are lost; 0 for a message about something else."""
    match = _SAID.match(message) if LOST in message else None
    return int(match[1]) if match is not None else 0


def find_losses(data: bytes, documents: Iterable[str], format: Format) -> list[Loss]:
    """Return the UTF-8 file's regions that no document's text has; none if its format cannot say what is not text."""
    not_text: re.Pattern[str] | None = getattr(format, "not_text", None)
    if not_text is None:
        return []
    try:
        source = data.decode()
    except UnicodeDecodeError:
        return []
    read = "\n".join(documents)
    start = max(0, source.find(getattr(format, "text_begins", "") or ""))
    if (stretch := _suspicious(source, read, start, len(source))) is None:
        return []
    around = max(start, stretch[0] - _AROUND), min(len(source), stretch[1] + _AROUND)
    piece = not_text.sub(_blank, source[slice(*around)])
    if _suspicious(piece, read, 0, len(piece), step=_step(len(source) - start)) is None:
        return []
    source = not_text.sub(_blank, source)
    if _suspicious(source, read, start, len(source)) is None:
        return []
    known = set(_WORD.findall(read)) | set(re.findall(r"[^\W\d_]{4,40}", read))
    words = [(match.start(), match[0]) for match in _WORD.finditer(source, start)]
    present = [word in known for _, word in words]
    share = sum(present) / len(words) if words else 1.0
    regions = [(present.index(False, start, end), end) for start, end in _regions(present)]
    if share < _LEAST_SHARE and present.count(False) >= _FEWEST_LOST and not regions:
        regions = [(0, len(words))]
    return [
        Loss(
            line=source.count("\n", 0, words[start][0]) + 1,
            words=sum(not each for each in present[start:end]),
            share=share,
            begins=" ".join(word for _, word in words[start : start + _LONGEST_WORDS]),
        )
        for start, end in regions
    ]


def text_of(document: Document) -> str:
    """Return all that a document shows: its sections' titles and texts, and what its metadata says."""
    shown = list(map(str, (document.title, *kept_metadata(document.metadata).values())))
    for section in document.sections():
        shown += (section.title, section.text, *(link.text for link in section.links if link.start == link.end))
    return "\n".join(shown)


def _blank(match: re.Match[str]) -> str:
    """Return a blank, or the line breaks, for what is no text."""
    return "\n" * match[0].count("\n") or " "


def _step(length: int) -> int:
    """Return how many characters lie between two samples of a text of this length."""
    return max(1, min(_CHARACTERS_A_SAMPLE, length // _FEWEST_SAMPLES), length // _MOST_SAMPLES)


def _suspicious(source: str, read: str, start: int, end: int, step: int = 0) -> tuple[int, int] | None:
    """Return the stretch of a source whose samples are missing: a run of them, or all of it if they are too many."""
    samples = missing = run = 0
    first = start
    for place in range(start, end, step or _step(end - start)):
        match = _WORD.search(source, place, place + _REACH)
        if match is None:
            continue
        samples += 1
        if match[0] in read:
            if run >= _RUN:
                return first, place
            run = 0
        else:
            missing += 1
            first = first if run else place
            run += 1
    if missing > (1 - _SUSPICIOUS) * samples:
        return start, end
    return (first, end) if run >= _RUN else None


def _regions(present: Sequence[bool]) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of the runs of windows in which hardly a word is present, if they have words enough."""
    start = end = -1
    inside = sum(present[:_WINDOW])
    for place in range(max(0, len(present) - _WINDOW) + 1):
        if place:
            inside += (present[place + _WINDOW - 1] if place + _WINDOW <= len(present) else 0) - present[place - 1]
        if inside >= _LEAST_IN_WINDOW * _WINDOW or len(present) < _WINDOW:
            continue
        if start >= 0 and place > end:
            if end - start >= _FEWEST_LOST:
                yield start, end
            start = -1
        start, end = (place if start < 0 else start), place + _WINDOW
    if start >= 0 and end - start >= _FEWEST_LOST:
        yield start, end
