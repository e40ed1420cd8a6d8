"""Writing the site: words, vectors and shown texts in files that a search asks for a few of, and the page."""

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from structformer.corpus import Corpus
from structformer.document import MARKS, UNSPACED
from structformer.errors import UsageError
from structformer.retrieval import (
    ASKS_FOR_CHANGES,
    FIELDS,
    REFERENCE,
    RELEASE_LOG,
    STATIC_WORDS,
    STRUCTURE,
    OpenedIndex,
    Retriever,
    Unit,
    fusion_weights,
    page_places,
    web_address,
)
from structformer.static_encoder import LONGEST, OF_UNSPACED, SATURATION, StaticEncoder
from structformer.text import FOLDING, bare_words, function_words, spaced, version_names, version_of, visible
from structformer.workspace import check_folder, new_folder

from structformer_serve.assets import SPOKEN, icon, page, static
from structformer_serve.language import checked_language, language
from structformer_serve.service import default_title
from structformer_serve.static_site.vectors import Floats, ShortVectors, in_8_bits, short_vectors, word_rows
from structformer_serve.static_site.words import NAMES, STEPS, Postings, postings, word_files

_FORMAT = 10
_UNITS, _DOCUMENTS, _PLACES = 12, 200, 500  # of a file
_WORDS = 32  # whose vectors are one file
_VECTORS = 16
_ALL_AT_ONCE = 3000  # passages whose vectors are one file
_SHOWN = 220  # characters of a passage
_MOST_UNITS = 200_000
_STYLES = ("page.css", "box.css", "box-button.css")
_SCRIPTS = ("search-box.js", "box-button.js", "box-places.js", "language.js")
_OWN = ("static-search.js", "static-page.js", "widget.js")


@dataclass(frozen=True, slots=True)
class SiteReport:
    """Report of the files that were written."""

    folder: str
    documents: int
    passages: int
    words: int
    """How many words have a vector; 0 if the search is by words alone."""
    files: int
    bytes: int


def export_site(
    workspace: str | Path,
    folder: Path,
    *,
    base_url: str = "",
    title: str = "",
    code: str = "",
    force: bool = False,
) -> SiteReport:
    """Write a search page that needs no server into a new folder, with `force` in the place of an earlier one.

    base_url: where the site is, whatever its own settings say (Site.moved). code: the language of the page itself; ""
    for the language of most documents. Where the index has vectors of the corpus's own static encoder, they are
    searched beside the words; else words alone. Raises WorkspaceError without an index, UsageError where the folder
    must not be written (outputs.py), or the corpus is too large."""
    checked_language(code)
    check_folder(folder, workspace, force=force)  # before minutes of work
    retriever = Retriever.open(workspace)
    opened = retriever.opened
    if len(opened.units) > _MOST_UNITS:
        raise UsageError(f"{len(opened.units):,} passages are too many for a search without a server: serve them")
    short = _short_vectors(opened)
    weights = fusion_weights(pretrained=False)
    with new_folder(folder, workspace, force=force) as made:
        writer = _Writer(made)
        unsaid = function_words(opened.languages.codes)
        table = postings(opened.units, opened.lexical.words, lambda text: _surfaces(opened, text), unsaid)
        prefixes = writer.words(table)
        starts = [opened.units_of(number)[0] for number in range(len(opened.documents))]
        writer.chunks("u", [_shown(unit) for unit in opened.units], _UNITS)
        site = Corpus.open(workspace).site
        shown = [
            [each.id, _line(each.title), site.moved(web_address(each.values()), each.id, base_url)]
            for each in opened.documents
        ]
        writer.chunks("d", shown, _DOCUMENTS)
        meta: dict[str, Any] = {
            "format": _FORMAT,
            "title": title or default_title(retriever.workspace),
            "language": opened.index.manifest["language"],
            "units": len(opened.units),
            "documents": len(opened.documents),
            "chunk": {"u": _UNITS, "d": _DOCUMENTS, "r": _WORDS, "v": _VECTORS},
            "weights": {
                **weights.counted,
                "words": STATIC_WORDS,
                "name": weights.asked("name").counted,
                "version": weights.asked("version 1.0").counted,
            },
            "words": prefixes,
            "common": table.common,
            "unsaid": sorted({each for word in unsaid for each in bare_words(word).split()} - table.forms.keys()),
            "step": table.highest / STEPS,
            "names": FIELDS[NAMES],
            "logs": {
                "documents": np.flatnonzero(opened.release_logs).tolist(),
                "asked": ASKS_FOR_CHANGES.pattern,
                "loss": RELEASE_LOG,
            },
            "reference": REFERENCE.pattern,
            "unspaced": UNSPACED,
            "folding": FOLDING,
            "curated": _curated(opened),
            "pages": _pages(opened),
            "places": writer.places(shown),
        }
        writer.binary("starts.bin", np.array([*starts, len(opened.units)], "<u4").tobytes())
        if short is not None:
            meta["vectors"] = writer.vectors(short)
        writer.json("meta.json", meta)
        for name in (*_STYLES, *_SCRIPTS, *SPOKEN):
            writer.binary(name, static(name))
        own = files("structformer_serve") / "static_site" / "files"
        for name in _OWN:
            writer.binary(name, (own / name).read_bytes())
        site_icon = icon(retriever.workspace)
        writer.binary(site_icon.name, site_icon.data)
        t = language(code, opened.index.manifest["language"])
        for name, made_of in (("index.html", str.encode), ("404.html", _missing)):
            text = page(f"static/{name}", t=t, title=meta["title"], icon=site_icon, script="SCRIPT").decode()
            writer.binary(name, made_of(text))
    words = len(short.words) if short is not None else 0
    return SiteReport(str(folder), len(opened.documents), len(opened.units), words, writer.files, writer.bytes)


def _curated(opened: OpenedIndex) -> dict[str, Any]:
    """Return the contents of `search.toml`, with the numbers of documents."""
    curated, shown = opened.curated, opened.shown(None)
    hidden = [] if shown is None else np.flatnonzero(~shown.documents).tolist()
    pins = {query: opened.document_number(document) for query, document in curated.pins.items()}
    there = {query: number for query, number in pins.items() if number is not None and number not in hidden}
    return {"synonyms": dict(curated.synonyms), "pins": there, "hide": hidden}


def _pages(opened: OpenedIndex) -> list[list[list[Any]]]:
    """Of each page with copies or versions: [document, its place from the newest on, how a query may name it, ...]."""
    pages: dict[int, list[int]] = {}
    for number, first in enumerate(opened.copies.first_of_each.tolist()):
        if number != first or opened.copies.others(number):
            pages.setdefault(first, []).append(number)
    listed = []
    for numbers in pages.values():
        ids = [opened.documents[number].id for number in numbers]
        orders = [version_of(each)[1] for each in ids]
        newest = sorted(set(orders), reverse=True)
        versions = zip(numbers, map(newest.index, orders), ids, strict=True)
        listed.append([[number, place, *sorted(version_names(each))] for number, place, each in versions])
    return listed


def _short_vectors(opened: OpenedIndex) -> ShortVectors | None:
    """Return the corpus's own static encoder, None where the index has no vectors of it."""
    if not opened.has_structure:
        return None
    encoder, index, _ = opened.encoder(STRUCTURE)
    if not isinstance(encoder, StaticEncoder):  # another kind of model has its name
        return None
    return short_vectors(
        encoder.for_bulk(),
        chain((unit.ranker_text for unit in opened.units), (document.overview for document in opened.documents)),
        np.asarray(index.vectors, np.float32),
        np.asarray(index.overviews, np.float32),
    )


def _surfaces(opened: OpenedIndex, text: str) -> Iterator[tuple[str, str]]:
    for word in spaced(text).split():
        for term in sorted(opened.lexical.word_terms(word), key=lambda term: (-len(term), term))[:1]:
            yield word, term


def _shown(unit: Unit) -> list[Any]:
    """[document, section, path, anchor, beginning of the text]"""
    text = _line(unit.text)
    cut = text if len(text) <= _SHOWN else text[:_SHOWN].rsplit(" ", 1)[0] + " …"
    return [unit.document, unit.section, list(map(_line, unit.path)), unit.anchor if unit.section else "", cut]


def _line(text: str) -> str:
    """Return a text in one line; white space first, since what cannot be seen is then shown as an escape."""
    return visible(" ".join(text.split()), keep="")


def _missing(page: str) -> bytes:
    """The page for addresses without one. Its script is in it, since a host shows it at any depth of folders; the
    policy names that script alone.
    """
    script = page.split('<script type="module">')[1].split("</script>")[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return page.replace("SCRIPT", f"'sha256-{digest}'", 1).encode()


class _Writer:
    """Writes the site's files and counts them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.files = self.bytes = 0

    def binary(self, name: str, content: bytes) -> None:
        """A file of bytes."""
        path = self._folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        self.files += 1
        self.bytes += len(content)

    def json(self, name: str, value: Any) -> None:
        """A file of JSON."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        self.binary(name, text.encode("utf-8", "backslashreplace"))

    def chunks(self, name: str, rows: Sequence[Any], size: int) -> None:
        """Rows in files of so many."""
        for start in range(0, len(rows), size):
            self.json(f"{name}/{start // size}.json", rows[start : start + size])

    def words(self, table: Postings) -> list[str]:
        """Write the words' files; returns their beginnings, in the order of the files' numbers."""
        prefixes = []
        for number, (prefix, content) in enumerate(word_files(table)):
            prefixes.append(prefix)
            self.json(f"w/{number}.json", content)
        return prefixes

    def places(self, shown: Sequence[list[str]]) -> list[str]:
        """Write which documents are at each path and address; return the first place of each file."""
        numbers: dict[str, list[int]] = {}
        for number, (name, _, url) in enumerate(shown):
            for place in page_places(name, url):
                numbers.setdefault(place, []).append(number)
        order = sorted(numbers)
        firsts = range(0, len(order), _PLACES)
        for first in firsts:
            self.json(f"p/{first // _PLACES}.json", {place: numbers[place] for place in order[first : first + _PLACES]})
        return [order[first] for first in firsts]

    def vectors(self, short: ShortVectors) -> dict[str, Any]:
        """Write the vectors of words, passages and documents' overviews; returns what reads them."""
        self._unit_vectors("o.bin", short.overviews)
        whole = len(short.passages) <= _ALL_AT_ONCE
        if whole:
            self._unit_vectors("v.bin", short.passages)
        else:
            for start in range(0, len(short.passages), _VECTORS):
                self._unit_vectors(f"v/{start // _VECTORS}.bin", short.passages[start : start + _VECTORS])
        firsts = []
        for number, (first, content) in enumerate(word_rows(short, _WORDS)):
            firsts.append(first)
            self.binary(f"r/{number}.bin", content)
        return {
            "dimensions": short.passages.shape[1],
            "words": len(short.words),
            "firsts": firsts,
            "whole": whole,
            "reading": {"marks": MARKS, "before": OF_UNSPACED, "longest": LONGEST, "saturation": SATURATION},
        }

    def _unit_vectors(self, name: str, vectors: Floats) -> None:
        """Without their scales, which are gone again when the rows are made of length one."""
        self.binary(name, in_8_bits(vectors)[1].tobytes())
