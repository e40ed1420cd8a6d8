"""Cutting readable text: into sentences, which resemble queries, and into passages that fit a model's window."""

from __future__ import annotations

import re
from collections.abc import Iterator

from structformer.document import Section
from structformer.word_counts import cut_words, word_count

# A sentence ends at . ! or ? before white space and something that can begin a sentence, or at CJK full stops.
_SENTENCE_END = re.compile(
    r"[.!?][\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9\u00C0-\u024F\u0370-\u1FFF\u2C00-\uFFDC`])|[。！？।॥؟۔።։]|(?<=[\u0E00-\u0EFF])\s{1,2}(?=[\u0E00-\u0EFF])"
)
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|Eq|Sec|approx|resp)\.|\b[A-Z]\.)$")
_LONGEST_ABBREVIATION = 8  # characters, with what must stand before it
# What the index shows a ranker at once, and so what it is trained on.
PASSAGE_WORDS = 160
_PAGE_SEPARATOR = re.compile(r"\n\s*\n")


def sentences(text: str) -> Iterator[str]:
    """The text's sentences; a line break ends one too, since list items, table rows and captions are lines."""
    for line in text.split("\n"):
        start = 0
        for found in _SENTENCE_END.finditer(line):
            end = found.start() + 1
            if _ABBREVIATION.search(line, max(start, end - _LONGEST_ABBREVIATION), end):
                continue
            if sentence := line[start:end].strip():
                yield sentence
            start = found.end()
        if sentence := line[start:].strip():
            yield sentence


def section_passages(section: Section) -> Iterator[str]:
    """A section's passages as they are indexed, trained on and judged with.

    None of a list of see-also links: it holds other pages' titles, and would be found for what those pages say.
    """
    return iter(()) if section.is_link_list else passages(section.text, PASSAGE_WORDS)


def passages(text: str, max_words: int) -> Iterator[str]:
    """The text in pieces of at most about `max_words` words, cut at blank lines, else at line ends, else at sentences.

    Neighbouring short pieces stay together; joined in order, the pieces hold every word of the text.
    """
    gathered: list[str] = []
    words = 0
    for piece, joint in _pieces(text, max_words):
        count = word_count(piece)
        if gathered and words + count > max_words:
            yield "".join(gathered).strip()
            gathered, words = [], 0
        gathered.append((joint if gathered else "") + piece)
        words += count
    if gathered:
        yield "".join(gathered).strip()


def _pieces(text: str, max_words: int) -> Iterator[tuple[str, str]]:
    """Pieces no longer than max_words, each with what joins it to the one before."""
    for paragraph in _PAGE_SEPARATOR.split(text):
        if not paragraph.strip():
            continue
        if word_count(paragraph) <= max_words:
            yield paragraph, "\n\n"
            continue
        joint = "\n\n"
        for line in paragraph.split("\n"):
            parts = [line] if word_count(line) <= max_words else list(_cut_words(line, max_words))
            for part in parts:
                if part.strip():
                    yield part, joint
                    joint = "\n" if part is parts[-1] else " "
            joint = "\n"


def _cut_words(line: str, max_words: int) -> Iterator[str]:
    for sentence in sentences(line):
        yield from cut_words(sentence, max_words)


def with_path(path: str, text: str) -> str:
    """A passage as rankers see it: its path on a line of its own, then its text."""
    return f"{path}\n{text}" if path and text else path or text


def query_like(sentence: str) -> str:
    """What of a line a person might type: a table row's longest cell, else the line itself."""
    if " | " not in sentence:
        return sentence
    return max((cell.strip() for cell in sentence.split("|")), key=lambda cell: word_count(cell))
