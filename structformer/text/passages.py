"""Cutting readable text into passages that fit a model's window, and into sentences, which resemble queries."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from structformer.document import Block, Document, MarkKind, Section, cut_words, first_words, word_count

# What the index shows a ranker at once, and so what it is trained on.
PASSAGE_WORDS = 160
_HEADER_SHARE = 0.25  # of a passage's words, at most, for a table's column titles
_LONGEST_HEADER = 2000  # characters of them: a word has no end in some files
_OPENING_WORDS, _HEADING_WORDS = 70, 50  # of an overview
_PAGE_SEPARATOR = re.compile(r"\n\s*\n")
_FULL_STOPS = "。！？।॥؟۔።։"  # that end a sentence whatever follows
STOPS = (".", "!", "?", *_FULL_STOPS)
CLOSING = "”’」』）》〉】〕\"')]»"  # quotation marks and brackets that may stand behind a stop
_CLOSING = re.escape(CLOSING.replace("»", ""))
# A sentence ends at . ! or ? before white space and something that can begin a sentence, or at CJK full stops with the
# quotation marks and brackets that they close.
_SENTENCE_END = re.compile(
    r"(?P<stop>[.!?][\"'”’»)\]]*)\s+(?=[\"'“„«¿¡(\[]?[A-Z0-9\u00C0-\u024F\u0370-\u1FFF\u2C00-\uFFDC`])"
    rf"|(?P<full_stop>[{_FULL_STOPS}]+(?:[{_CLOSING}]++(?![\u3041-\u309F])"  # と goes on
    rf"|(?![{_CLOSING}])))"
    r"|(?<=[\u0E00-\u0EFF])\s{1,2}(?=[\u0E00-\u0EFF])"
)
# After English: German, Spanish, French, Dutch, Russian, Polish and Czech, but only what ends no sentence of another
# language, so that no language need be known.
_ABBREVIATION = re.compile(
    r"(?:\b(?:e\.g|i\.e|etc|vs|cf|Dr|Mr|Mrs|Ms|Prof|St|No|Fig|Eq|Sec|approx|resp"
    r"|(?i:bzw|ca|Nr|ggf|evtl|inkl|vgl|Abb|Bd|Hrsg|sog|Sra?|Uds?|págs?|núm|Mlle|bijv|рис|см|стр|напр|tzn|tzv|např))"
    r"\.|\b[A-Z]\.|(?<!\w)[^\W\d_]\.\s?[^\W\d_]{1,2}\.)$"
)
_LONGEST_ABBREVIATION = 8  # characters, with what must stand before it
# "z. B.", "p. ex.": an abbreviation in two words has not ended with its first.
_GOES_ON = re.compile(r"(?<!\w)[^\W\d_]\.\s[^\W\d_]{1,2}\.")


def sentences(text: str) -> Iterator[str]:
    """Yield the text's sentences; a line break ends one too, since list items, table rows and captions are lines."""
    for line in text.split("\n"):
        start = 0
        for found in _SENTENCE_END.finditer(line):
            end = (
                found.end("stop") if found["stop"] else found.end("full_stop") if found["full_stop"] else found.start()
            )
            if line[found.start()] == ".":
                after = found.start() + 1
                if _ABBREVIATION.search(line, max(start, after - _LONGEST_ABBREVIATION), after):
                    continue
                if line[found.end() : found.end() + 1].islower() or _GOES_ON.match(line, max(start, after - 2)):
                    continue
            if sentence := line[start:end].strip():
                yield sentence
            start = found.end()
        if sentence := line[start:].strip():
            yield sentence


class Stretch(NamedTuple):
    """[start, end) of a text that is not prose: code, a table, a formula on lines of its own."""

    kind: MarkKind
    start: int
    end: int


NO_PROSE = (MarkKind.CODE, MarkKind.TABLE, MarkKind.FORMULA, MarkKind.RAW)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a section's text, and what in it is not prose."""

    text: str
    stretches: tuple[Stretch, ...] = ()

    @property
    def prose(self) -> str:
        """The text with line ends in the place of code, tables and formulas, so that every span stays where it is."""
        return prose_of(self.text, self.stretches)


def prose_of(text: str, stretches: Sequence[Stretch]) -> str:
    """Return a text with line ends in the place of its stretches, which are not prose."""
    return spliced(text, ((start, end, "\n" * (end - start)) for _, start, end in stretches))


def spliced(text: str, pieces: Iterable[tuple[int, int, str]]) -> str:
    """Return the text with others in the place of its pieces, each (start, end, other), in order."""
    out: list[str] = []
    place = 0
    for start, end, other in pieces:
        out += (text[place:start], other)
        place = end
    return "".join((*out, text[place:])) if out else text


def section_prose(section: Section) -> str:
    """Return a section's text with line ends in the place of code, tables and formulas."""
    blocks = _no_prose(section.blocks) if section.marks else ()
    return prose_of(section.text, [Stretch(block.kind, block.start, block.end) for block in blocks])


def section_passages(section: Section) -> Iterator[Passage]:
    """Return a section's passages for index, training and judging; none of see-also lists, which name other pages."""
    return iter(()) if section.is_link_list else cut_section(section, PASSAGE_WORDS)


def cut_section(section: Section, max_words: int) -> Iterator[Passage]:
    """A section's text in pieces of about `max_words` words, cut between blocks; a cut table repeats its titles."""
    return _gathered(_pieces_of_blocks(section.text, _no_prose(section.blocks), max_words), max_words)


class _Piece(NamedTuple):
    """A piece of text that is not cut."""

    text: str
    joint: str
    """The separator from the piece before."""
    kind: MarkKind = MarkKind.PARAGRAPH
    """PARAGRAPH for prose."""
    header: str = ""
    """The header to repeat in front of it if a passage begins with it."""


def _gathered(pieces: Iterator[_Piece], max_words: int) -> Iterator[Passage]:
    """Neighbouring pieces together, as far as they fit."""
    gathered: list[_Piece] = []
    words = 0
    for each in pieces:
        piece, count = each, word_count(each.text)
        if gathered and words + count > max_words:
            yield _joined(gathered)
            gathered, words = [], 0
        if not gathered and piece.header:
            gathered.append(_Piece(piece.header, "", piece.kind))
            words = word_count(piece.header)
            piece = piece._replace(joint="\n")
        gathered.append(piece)
        words += count
    if gathered:
        yield _joined(gathered)


def _joined(pieces: list[_Piece]) -> Passage:
    text = "".join((piece.joint if place else "") + piece.text for place, piece in enumerate(pieces))
    core = text.strip("\n") if pieces[0].kind is MarkKind.CODE else text.strip()
    if all(piece.kind is MarkKind.PARAGRAPH for piece in pieces):
        return Passage(core)
    position = -text.index(core[:1])
    stretches: list[Stretch] = []
    for place, (piece, joint, kind, _) in enumerate(pieces):
        start = position + (len(joint) if place else 0)
        position = start + len(piece)
        if kind is MarkKind.PARAGRAPH:
            continue
        start, end = max(0, start), min(position, len(core))
        if stretches and stretches[-1].kind is kind and joint == "\n":
            start = stretches.pop().start  # lines of the same table, or of the same code
        stretches.append(Stretch(kind, start, end))
    return Passage(core, tuple(stretches))


def _no_prose(blocks: Sequence[Block]) -> list[Block]:
    """Return the outermost blocks that are not prose, from first to last."""
    others: list[Block] = []
    stack = list(reversed(blocks))
    while stack:
        block = stack.pop()
        if block.kind in NO_PROSE:
            others.append(block)
        else:
            stack += reversed(block.children)
    return others


def _pieces_of_blocks(text: str, blocks: Sequence[Block], max_words: int) -> Iterator[_Piece]:
    """Yield pieces no longer than max_words; none is partly prose."""
    position = 0
    for block in blocks:
        yield from _placed(text, position, block.start, max_words)
        joint = _joint(text, block.start)
        if word_count(text[block.start : block.end]) <= max_words:
            yield _Piece(text[block.start : block.end], joint, block.kind)
        elif block.kind is MarkKind.TABLE:
            yield from _rows(text, block, joint, max_words)
        else:
            for piece in _pieces(text[block.start : block.end], max_words):
                yield piece._replace(kind=block.kind, joint=joint or piece.joint)
                joint = ""
        position = block.end
    yield from _placed(text, position, len(text), max_words)


def _placed(text: str, start: int, end: int, max_words: int) -> Iterator[_Piece]:
    """Yield the pieces of the prose in [start, end)."""
    part = text[start:end]
    joint = _joint(text, start + len(part) - len(part.lstrip())) if start else ""
    for piece in _pieces(part.strip("\n") if start or end < len(text) else part, max_words):
        yield piece._replace(joint=joint or piece.joint)
        joint = ""


def _joint(text: str, start: int) -> str:
    """Return what joins what begins at `start` to the text before it."""
    before = start
    while before and text[before - 1].isspace():
        before -= 1
    gap = text[before:start]
    return "\n\n" if gap.count("\n") > 1 else "\n" if "\n" in gap else " "


def _rows(text: str, table: Block, joint: str, max_words: int) -> Iterator[_Piece]:
    """Yield a long table's rows and caption, the rows with the column titles that stand above them."""
    header = ""
    for block in table.children:
        row = text[block.start : block.end]
        room = max_words - word_count(header)
        if word_count(row) <= room:
            yield _Piece(row, joint, MarkKind.TABLE, header)
        else:
            for piece in _pieces(row, room):
                yield piece._replace(kind=MarkKind.TABLE, joint=joint if joint != "\n" else piece.joint, header=header)
        joint = "\n"
        is_header = block.kind is MarkKind.ROW and block.detail and not header and len(row) <= _LONGEST_HEADER
        if is_header and word_count(row) <= max_words * _HEADER_SHARE:
            header = row


def _pieces(text: str, max_words: int) -> Iterator[_Piece]:
    """Yield pieces of prose no longer than max_words, cut at blank lines, else line ends, else sentences."""
    for paragraph in _PAGE_SEPARATOR.split(text):
        if not paragraph.strip():
            continue
        if word_count(paragraph) <= max_words:
            yield _Piece(paragraph, "\n\n")
            continue
        joint = "\n\n"
        for line in paragraph.split("\n"):
            cut = (piece for sentence in sentences(line) for piece in cut_words(sentence, max_words))
            parts = [line] if word_count(line) <= max_words else list(cut)
            for part in parts:
                if part.strip():
                    yield _Piece(part, joint)
                    joint = "\n" if part is parts[-1] else " "
            joint = "\n"


def with_path(path: str, text: str) -> str:
    """Return a passage as rankers see it: its path on a line of its own, then its text."""
    return f"{path}\n{text}" if path and text else path or text


def as_typed(sentence: str) -> str:
    """Return what of a line a person might type: a table row's longest cell, else the line itself."""
    if " | " not in sentence:
        return sentence
    return max((cell.strip() for cell in sentence.split("|")), key=lambda cell: word_count(cell))


def document_overview(document: Document, without: str = "") -> str:
    """A document at a glance, which the search compares beside the passages, since a passage deep in a page tells
    little of its topic: three lines of title, opening words, section titles. `without`: a text left out of the opening.
    """
    opening = ""
    headings: dict[str, None] = {}
    for number, section in enumerate(document.sections()):
        if number and section.title.strip() and not section.is_link_list:
            headings[section.title.strip()] = None
        if word_count(opening) < _OPENING_WORDS and section.text and not section.is_link_list:
            text = section.text.replace(without, " ", 1) if without else section.text
            opening = f"{opening} {first_words(text, _OPENING_WORDS)}".strip()
    listed = first_words(", ".join(headings), _HEADING_WORDS).rstrip(",")
    lines = (document.title, first_words(opening, _OPENING_WORDS), listed)
    return "\n".join(line for line in lines if line)
