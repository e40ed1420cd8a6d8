"""The rules that every format plugin keeps, as checks for `structformer plugins check` and for pytest."""

import random
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from structformer.corpus import document_rows, rows_document
from structformer.document import VERBATIM, Document, Mark, MarkKind
from structformer.errors import ReadError, UsageError
from structformer.formats import Format, SourceFile
from structformer.text import CONTROLS

_HOSTILE = (
    b"",
    b" \n\t",
    b"\x00" * 64,
    b"\xff\xfe\x00\xd8",
    b"\xef\xbb\xbf",
    b"%PDF-1.4\n\x00\x01\x02",
    b"\x89PNG\r\n\x1a\n" + bytes(range(256)),
    "é\u2028\ufeff\U0001f600".encode(),
    "a\x08b \x1b[1mc\x7f d\x0c\x85e\n\n[\x01f](\x02g.md) &#1; &#x7f;\n".encode(),
    "\ud800".encode("utf-8", "surrogatepass"),
    *(sign * 2000 for sign in (b"<", b"[", b"{")),
    b"\\" * 999,
    b"&" * 500,
    b"<!--" * 200,
    *(sign * 300 for sign in (b"((((", b"# ")),
    b"\r\r\n\n\r",
    *(sign * 3000 for sign in (b"-", b"=")),
    *(sign * 999 for sign in (b"`", b"|")),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A document to check with: its path, as a file of the format would have it, and its bytes."""

    path: str
    data: bytes


def samples_in(named: Sequence[Path], format: Format) -> list[Sample]:
    """Return the files that are named, and those of a format in the folders that are."""
    files = (path for each in named for path in (sorted(each.rglob("*")) if each.is_dir() else [each]))
    of_format = (path for path in files if path in named or path.name.lower().endswith(format.suffixes))
    return [Sample(path.name, path.read_bytes()) for path in of_format if path.is_file()]


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that a plugin breaks, where, and how."""

    rule: str
    sample: str
    detail: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.sample}: {self.detail}"


def carried_out(name: str, problems: Iterator[Broken]) -> list[Broken]:
    """Return what a check of `name` finds; one that fails is itself a broken rule. Raises UsageError."""
    broken: list[Broken] = []
    try:
        broken.extend(problems)
    except UsageError:
        raise
    except Exception as error:
        broken.append(Broken("it runs", name, f"raises {type(error).__name__}: {error}"))
    return broken


def check_format(
    format: Format, samples: Iterable[Sample], options: Mapping[str, Any] | None = None, *, seed: int = 0
) -> list[Broken]:
    """Return the rules that samples and damaged copies of them break. An error of many checks is said once."""
    broken: list[Broken] = []
    raised: dict[str, list[tuple[str, str]]] = {}  # by the error, the rules and samples that could not be checked
    listed = list(samples)
    for rule, check in RULES.items():
        for sample in listed or [Sample("document" + (format.suffixes[0] if format.suffixes else ""), b"")]:
            try:
                broken += [
                    Broken(rule, sample.path, detail) for detail in check(format, sample, dict(options or {}), seed)
                ]
            except ReadError as error:
                broken.append(Broken(rule, sample.path, f"a sample of the format's own is refused: {error}"))
            except Exception as error:  # a check that cannot be carried out is a rule broken
                raised.setdefault(f"raises {type(error).__name__}: {error}", []).append((rule, sample.path))
    for problem, places in raised.items():
        more = f" (and in {len(places) - 1} more checks)" if len(places) > 1 else ""
        broken.append(Broken(*places[0], problem + more))
    return broken


def _read(format: Format, sample: Sample, options: Mapping[str, Any], data: bytes | None = None) -> list[Document]:
    return list(format.read(SourceFile(sample.path, sample.data if data is None else data), options))


def declarations(format: Format, sample: Sample, options: Mapping[str, Any], seed: int) -> Iterator[str]:
    """Name, suffixes, media types and completeness are what they should be; sniff answers within 0..1."""
    if not format.name.isidentifier() or format.name != format.name.lower():
        yield f"name {format.name!r} is not a lower-case identifier"
    if not all(suffix.startswith(".") and suffix == suffix.lower() for suffix in format.suffixes):
        yield f"suffixes {format.suffixes!r} must begin with a dot and be in lower case"
    if not format.completeness.strip():
        yield "completeness says nothing"
    for head in (sample.data[:4096], *_HOSTILE):
        score = format.sniff(head, sample.path)
        if not 0.0 <= float(score) <= 1.0:
            yield f"sniff gives {score}, not within 0..1"


def reads_its_samples(format: Format, sample: Sample, options: Mapping[str, Any], seed: int) -> Iterator[str]:
    """A sample gives at least one Document, whose source names the sample and the format."""
    documents = _read(format, sample, options)
    if not documents:
        yield "no document"
    for document in documents:
        if document.source.path != sample.path or document.source.format != format.name:
            yield f"source is {document.source}, not of {sample.path!r} and {format.name!r}"
        if not document.title.strip():
            yield f"{document.id}: no title"
        if not getattr(format, "own_ids", False) and not document.id.startswith(sample.path.rpartition("/")[0]):
            yield f"id {document.id!r} does not begin with the path"
    ids = [document.id for document in documents]
    if len(set(ids)) != len(ids):
        yield "two documents of one source have the same id"


def is_deterministic(format: Format, sample: Sample, options: Mapping[str, Any], seed: int) -> Iterator[str]:
    """Read twice, it is the same."""
    if _read(format, sample, options) != _read(format, sample, options):
        yield "two readings differ"


def tree_is_valid(format: Format, sample: Sample, options: Mapping[str, Any], seed: int) -> Iterator[str]:
    """The root has level 0, a section is deeper than the one it is in, anchor texts and marks are at their spans,
    marks one in another, and no text, title, anchor or target holds a control character.
    """
    for document in _read(format, sample, options):
        yield from _tree_problems(document)


def _tree_problems(document: Document) -> Iterator[str]:
    if CONTROLS.search(document.title):
        yield f"the title {document.title!r} holds a control character"
    if document.root.level != 0:
        yield f"{document.id}: the root's level is {document.root.level}"
    for section, path in document.root.walk_with_path():
        if section is not document.root and section.level < 0:
            yield f"{section.title!r}: level {section.level}"
        if any(above.level >= below.level for above, below in pairwise(path[1:])):
            yield f"{section.title!r}: not deeper than what it is in: {[each.level for each in path]}"
        if section.text != section.text.strip("\n"):
            yield f"{section.title!r}: text begins or ends with a line break"
        words = (
            section.title,
            section.text,
            *section.anchors,
            *(t for each in section.links for t in (each.target, each.text)),
        )
        yield from (f"{each[:80]!r}: holds a control character" for each in words if CONTROLS.search(each))
        for problem in mark_problems(section.text, section.marks):
            yield f"{section.title!r}: {problem}"
        for link in section.links:
            if not 0 <= link.start <= link.end <= len(section.text):
                yield (
                    f"{section.title!r}: span [{link.start}, {link.end}) is not within its text "
                    f"of {len(section.text)} characters"
                )
            elif link.text and link.start < link.end and section.text[link.start : link.end] != link.text:
                yield (
                    f"{section.title!r}: anchor text {link.text!r} is not at its span: "
                    f"{section.text[link.start : link.end]!r}"
                )


def survives_the_corpus(format: Format, sample: Sample, options: Mapping[str, Any], seed: int) -> Iterator[str]:
    """Written as rows and read back, a Document is what it was."""
    for document in _read(format, sample, options):
        back = rows_document(*document_rows(document))
        if back != document:
            yield (
                f"{document.id}: differs after storage (metadata must be JSON, titles and texts "
                "must be what UTF-8 can hold)"
            )


def links_have_names(format: Format, sample: Sample, options: Mapping[str, Any], seed: int) -> Iterator[str]:
    """`resolve` gives strings for every link, and the same ones twice."""
    for document in _read(format, sample, options):
        for link in document.links():
            names = list(format.resolve(link, document))
            if not all(isinstance(name, str) for name in names):
                yield f"{link.target!r}: {names!r} are not all strings"
            if names != list(format.resolve(link, document)):
                yield f"{link.target!r}: two answers differ"


def line_ends_do_not_matter(format: Format, sample: Sample, options: Mapping[str, Any], seed: int) -> Iterator[str]:
    """LF and CRLF give the same tree."""
    plain = sample.data.replace(b"\r\n", b"\n")
    if b"\r" in plain or b"\x00" in plain:
        return
    unix = [document.root for document in _read(format, sample, options, plain)]
    if unix != [document.root for document in _read(format, sample, options, plain.replace(b"\n", b"\r\n"))]:
        yield "with CRLF the tree differs"


def hostile_bytes_are_refused_in_words(
    format: Format, sample: Sample, options: Mapping[str, Any], seed: int
) -> Iterator[str]:
    """Whatever the bytes, ReadError or valid Documents, never another exception."""
    raised: dict[tuple[str, int], list[str]] = {}  # by the error and its line, what it was raised on
    for data in (*_HOSTILE, *_damaged(sample.data, seed)):
        try:
            for document in _read(format, sample, options, data):
                for problem in _tree_problems(document):
                    yield f"on {data[:40]!r}: {problem}"
        except ReadError:
            continue
        except Exception as error:
            line = traceback.extract_tb(error.__traceback__)[-1].lineno or 0
            what_came = f"raises {type(error).__name__} ({error}) on {data[:40]!r}"
            raised.setdefault((type(error).__name__, line), []).append(what_came)
    for first, *others in raised.values():
        more = f" and {len(others)} other inputs" if others else ""
        yield f"{first}{more}; ReadError is the only error to raise"


def _damaged(data: bytes, seed: int, count: int = 60) -> Iterator[bytes]:
    rng = random.Random(seed)
    for _ in range(count if data else 0):
        mutable = bytearray(data)
        for _ in range(rng.randint(1, 4)):
            place = rng.randrange(len(mutable)) if mutable else 0
            act = rng.randrange(4)
            if act == 0:
                mutable[place : place + rng.randint(1, 40)] = b""
            elif act == 1:
                mutable[place:place] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 8)))
            elif act == 2:
                mutable[place:place] = rng.choice(
                    (b"<", b">", b"{", b"}", b"[", b"]]", b"\\", b"\n", b"&", b"|", b"=", b"*", b'"')
                )
            else:
                mutable = mutable[:place]
        yield bytes(mutable)


Check = Callable[[Format, Sample, Mapping[str, Any], int], Iterator[str]]
RULES: dict[str, Check] = {
    check.__name__: check
    for check in (
        declarations,
        reads_its_samples,
        is_deterministic,
        tree_is_valid,
        survives_the_corpus,
        links_have_names,
        line_ends_do_not_matter,
        hostile_bytes_are_refused_in_words,
    )
}


def mark_problems(text: str, marks: Sequence[Mark]) -> Iterator[str]:
    """Yield the problems of a text's marks: spans outside the text, across each other, or in the wrong order."""
    around: list[Mark] = []
    end = [0]  # of the last mark at each depth
    for mark in marks:
        name = f"{mark.kind.value} [{mark.start}, {mark.end})"
        if not 0 <= mark.start <= mark.end <= len(text):
            yield f"{name} is not within its text of {len(text)} characters"
            return
        if mark.start == mark.end and mark.kind is not MarkKind.CELL:
            yield f"{name} is empty"
        del around[mark.depth :], end[mark.depth + 1 :]
        if len(around) < mark.depth:
            yield f"{name} is {mark.depth} deep in {len(around)} marks"
            return
        if around and not around[-1].start <= mark.start <= mark.end <= around[-1].end:
            yield f"{name} is not within the {around[-1].kind.value} around it, which ends at {around[-1].end}"
        if around and around[-1].kind in VERBATIM:
            yield f"{name} is in {around[-1].kind.value}"
        if len(end) > mark.depth and mark.start < end[mark.depth]:
            yield f"{name} begins before the mark in front of it ends"
        around.append(mark)
        end[mark.depth :] = [mark.end, mark.start]
