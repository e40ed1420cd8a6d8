"""Writing the site: words, vectors and shown texts in files that a search asks for a few of, and the page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from structformer.errors import ModelError, UsageError, WorkspaceError
from structformer.outputs import check_folder, new_folder
from structformer.retrieval.hits import web_address
from structformer.retrieval.index import encoder_place
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.retriever import Retriever
from structformer.retrieval.units import Unit
from structformer.serving.pages import static
from structformer.serving.service import default_title
from structformer.static_site.distilling import DIMENSIONS, Floats, StaticEncoder, distil
from structformer.static_site.words import Postings, postings, word_files
from structformer.text.lexical_analysis import spaced
from structformer.text.passages import sentences
from structformer.text.visible import visible

_FORMAT = 1
_UNITS, _DOCUMENTS = 12, 200  # of a file
_TOKENS = 128
_VECTORS = 64
_ALL_AT_ONCE = 3000  # passages whose vectors are one file
_SHOWN = 220  # characters of a passage
_SENTENCES = 6  # of a passage, that are learned from
_SENTENCE_WORDS = range(3, 26)
_MOST_UNITS = 200_000
_FROM_SERVER = ("page.css", "box.css", "search-box.js", "icon.svg")
_OWN = ("static-search.js", "static-page.js", "index.html")
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SiteReport:
    """What was written. tokens: of the static encoder, 0 where the search is by words alone."""

    folder: str
    documents: int
    passages: int
    tokens: int
    files: int
    bytes: int

    def as_dict(self) -> dict[str, Any]:
        """JSON types."""
        return asdict(self)


def export_site(
    workspace: str | Path, folder: Path, *, base_url: str = "", title: str = "", force: bool = False
) -> SiteReport:
    """Write a search page that needs no server into a new folder, with `force` in the place of an earlier one.

    base_url: what stands before documents' ids in their addresses, where these are not known. Where the index has
    vectors, queries are compared by a static encoder distilled from the search's own; else by words alone. Raises
    WorkspaceError without an index, UsageError where the folder must not be written (outputs.py), or the corpus is too
    large."""
    check_folder(folder, workspace, force=force)  # before minutes of work
    retriever = Retriever.open(workspace)
    opened = retriever.opened
    if len(opened.units) > _MOST_UNITS:
        raise UsageError(f"{len(opened.units):,} passages are too many for a search without a server: serve them")
    encoder = _static_encoder(retriever)
    with new_folder(folder, workspace, force=force) as made:
        writer = _Writer(made)
        found = postings(opened.units, opened.lexical.words, lambda text: _surfaces(opened, text))
        prefixes = writer.words(found)
        starts = [opened.units_of(number)[0] for number in range(len(opened.documents))]
        writer.chunks("u", [_shown(unit) for unit in opened.units], _UNITS)
        writer.chunks("d", [_document(opened, number, base_url) for number in range(len(opened.documents))], _DOCUMENTS)
        meta: dict[str, Any] = {
            "format": _FORMAT,
            "title": title or default_title(retriever.workspace),
            "language": opened.index.manifest["language"],
            "units": len(opened.units),
            "documents": len(opened.documents),
            "chunk": {"u": _UNITS, "d": _DOCUMENTS, "t": _TOKENS, "v": _VECTORS},
            "words": prefixes,
            "common": found.common,
        }
        writer.binary("starts.bin", np.array([*starts, len(opened.units)], "<u4").tobytes())
        if encoder is not None:
            meta["vectors"] = writer.vectors(retriever, encoder)
        writer.json("meta.json", meta)
        for name in _FROM_SERVER:
            writer.binary(name, static(name))
        for name in _OWN:
            writer.binary(name, (files("structformer") / "static_site" / "files" / name).read_bytes())
    return SiteReport(
        str(folder),
        len(opened.documents),
        len(opened.units),
        len(encoder.tokens) if encoder else 0,
        writer.files,
        writer.bytes,
    )


def _static_encoder(retriever: Retriever) -> StaticEncoder | None:
    """The static encoder of the search's own, None where it searches by words alone."""
    from tokenizers import Tokenizer

    opened, stage = retriever.opened, retriever.default_pipeline().first
    if not stage.model:
        return None
    try:
        place = encoder_place(retriever.workspace, stage.model)
        tokenizer = Tokenizer.from_file(str(Path(place.queries) / "tokenizer.json"))
    except (ModelError, WorkspaceError, OSError, ValueError):
        return None
    tokenizer.enable_truncation(256)
    tokenizer.no_padding()
    encoder, index, _ = opened.encoder(stage.model)

    def tokenize(texts: Sequence[str]) -> list[list[str]]:
        return [each.tokens for each in tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    return distil(
        (unit.ranker_text for unit in opened.units),
        list(_learned_from(opened)),
        np.asarray(index.vectors, np.float32),
        encoder.encode_queries,
        tokenize,
    )


def _learned_from(opened: OpenedIndex) -> Iterator[str]:
    """Short texts that read like queries: titles, paths, and the first sentences of passages."""
    for unit in opened.units:
        yield unit.title
        yield " ".join(unit.path[-2:])
        taken = 0
        for sentence in sentences(unit.text):
            if len(sentence.split()) in _SENTENCE_WORDS:
                yield sentence
                taken += 1
            if taken == _SENTENCES:
                break


def _surfaces(opened: OpenedIndex, text: str) -> Iterator[tuple[str, str]]:
    for word in _WORD.findall(spaced(text)):
        for term in opened.lexical.word_terms(word):
            yield word.lower(), term


def _shown(unit: Unit) -> list[Any]:
    """[document, section, path, anchor, beginning of the text]"""
    text = " ".join(visible(unit.text, keep="").split())
    cut = text if len(text) <= _SHOWN else text[:_SHOWN].rsplit(" ", 1)[0] + " …"
    return [unit.document, unit.section, [visible(title) for title in unit.path], unit.anchor, cut]


def _document(opened: OpenedIndex, number: int, base_url: str) -> list[str]:
    """[id, title, address]"""
    document = opened.documents[number]
    base = base_url if not base_url or base_url.endswith("/") else base_url + "/"
    return [document.id, visible(document.title), web_address(document.values()) or base + quote(document.id)]


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

    def words(self, found: Postings) -> list[str]:
        """The words' files; gives their beginnings, in the order of the files' numbers."""
        prefixes = []
        for number, (prefix, content) in enumerate(word_files(found)):
            prefixes.append(prefix)
            self.json(f"w/{number}.json", content)
        return prefixes

    def vectors(self, retriever: Retriever, encoder: StaticEncoder) -> dict[str, Any]:
        """The vectors of tokens, passages and documents' overviews in 8 bits; gives what reads them."""
        _, index, _ = retriever.opened.encoder(retriever.default_pipeline().first.model)
        passages = encoder.shortened(np.asarray(index.vectors, np.float32))
        overviews = encoder.shortened(np.asarray(index.overviews, np.float32))
        weighted = encoder.vectors * encoder.weights[:, None]
        self._int8("o.bin", overviews)
        whole = len(passages) <= _ALL_AT_ONCE
        if whole:
            self._int8("v.bin", passages)
        else:
            for start in range(0, len(passages), _VECTORS):
                self._int8(f"v/{start // _VECTORS}.bin", passages[start : start + _VECTORS])
        # Each token's row has a scale of its own: rare tokens count more.
        scales = np.abs(weighted).max(1)
        for start in range(0, len(weighted), _TOKENS):
            part, scale = weighted[start : start + _TOKENS], scales[start : start + _TOKENS]
            rows = np.round(part / np.maximum(scale, 1e-9)[:, None] * 127).astype(np.int8)
            self.binary(f"t/{start // _TOKENS}.bin", scale.astype("<f4").tobytes() + rows.tobytes())
        self.json("tokens.json", encoder.tokens)
        return {"dimensions": DIMENSIONS, "tokens": len(encoder.tokens), "whole": whole}

    def _int8(self, name: str, vectors: Floats) -> None:
        """Unit vectors, each row by a scale of its own, which is gone again when they are made of length one."""
        scale = np.maximum(np.abs(vectors).max(1, keepdims=True), 1e-9)
        self.binary(name, np.round(vectors / scale * 127).astype(np.int8).tobytes())
