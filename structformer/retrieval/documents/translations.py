"""The language that each document is in, among its corpus's; and documents that are translations of each other: their
ids differ in one mark of a language, and each is in the language that its mark names. They are one result, with the
places where it is in other languages.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer.retrieval.documents.units import IndexedDocument, Unit, Units
from structformer.storage.files import read_errors
from structformer.text.id_marks import language_marks
from structformer.text.languages import declared_code, declared_variant, known_languages, language_of, told_among

TRANSLATIONS = "translations.npy"  # of an index: (3, translated documents), see `Translations`
_ORIGINS = 3  # ids of a document without its mark that are looked for, at most
_NONE = -1
_CHARACTERS = 2000  # of a document, that tell its language
_FEWEST_CHARACTERS = 20
# Languages that are taken for each other, which the mark tells apart.
_KIN = {code: kin for kin in (("bs", "hr", "sr"), ("da", "no"), ("id", "ms")) for code in kin}
Numbers = npt.NDArray[np.int32]
LANGUAGE = "language"  # the key of a document's metadata
_LOOKED_AT = 20  # units of a document


@dataclass(frozen=True, slots=True)
class CorpusLanguages:
    """The languages of a corpus."""

    codes: tuple[str, ...]
    """Two-letter codes, that of most documents first."""

    def of(self, document: IndexedDocument, units: Sequence[Unit]) -> str:
        """The corpus's language to read a document in: the declared one, else its text's; if another, the first."""
        if self._declared(document):
            return self.read_in(document)
        text = "\n".join(unit.text for unit in units[:_LOOKED_AT])
        return language_of(text, known_languages(self.codes)) or self.codes[0]

    def read_in(self, document: IndexedDocument) -> str:
        """Return the same by what an index says of a document: there all declare their language where it matters."""
        declared = self._declared(document)
        return declared if declared in self.codes else self.codes[0]

    def _declared(self, document: IndexedDocument) -> str:
        language = document.values().get(LANGUAGE)
        return declared_code(language if isinstance(language, str) else "")

    def declared(self, document: IndexedDocument, language: str) -> IndexedDocument:
        """Return the document with its language among its metadata, so that it can be filtered by."""
        values = document.values()
        if values.get(LANGUAGE):
            return document
        return replace(document, metadata=json.dumps({**values, LANGUAGE: language}, ensure_ascii=False))


def language_names(declared: str) -> tuple[str, ...]:
    """Names by which a filter finds a declared language: the variant (zh-TW), the code (zh); () if it is none."""
    return tuple(dict.fromkeys(filter(None, [declared_variant(declared), declared_code(declared)])))


class TranslationFinder:
    """Finds the translations among documents that it is shown one after the other. It remembers 20 bytes of each, 40
    of each mark of a language in their ids, and the groups that it has found.
    """

    def __init__(self, languages: Sequence[str]) -> None:
        """languages: those of the corpus."""
        self.languages: list[str] = []  # of the documents that were found to be translations
        self._of_corpus = languages
        self._numbers: dict[str, int] = {"": 0}  # of languages
        self._ids = array("Q")
        self._declared = array("I")
        self._bounds = array("q", [0])  # of each document's units
        self._marked = array("i")  # the document of each mark, its language, its family, its documents' other ids
        self._marks = array("I")
        self._families = array("Q")
        self._origins = array("Q")

    def add(self, document: IndexedDocument, units: int) -> None:
        """Look at the next document, of so many units, with nothing in its metadata but what it declares."""
        number = len(self._ids)
        declared = document.values().get(LANGUAGE)
        self._ids.append(name_digest(document.id))
        self._declared.append(self._number(declared_variant(declared) if isinstance(declared, str) else ""))
        self._bounds.append(self._bounds[-1] + units)
        for mark in language_marks(document.id):
            self._marked.append(number)
            self._marks.append(self._number(mark.language))
            self._families.append(name_digest(mark.family))
            origins = [*map(name_digest, mark.origins[:_ORIGINS])]
            self._origins.extend(origins + [0] * (_ORIGINS - len(origins)))

    def _number(self, language: str) -> int:
        return self._numbers.setdefault(language, len(self._numbers))

    def found(self, units: Units, first: Numbers) -> Numbers:
        """Return what an index keeps of them, see `Translations`, and set `languages`. units: those of all
        the documents that were added; first: (documents,) the first document that each is a copy of.
        """
        names = list(self._numbers)
        group_of: dict[int, dict[int, int]] = {}  # by document: its group's, by language, the least number first
        for family, origins in self._likely():
            among = {declared_code(names[mark]) for _, mark in family}.union(self._of_corpus)
            own: dict[str, int] = {}
            for document, mark in family:
                language = names[mark]
                if language not in own and self._is_in(document, language, units, names, among):
                    own[language] = document
            codes = {declared_code(language) for language in own}
            for document in origins if own else ():
                language = self._language(document, units, names, among)
                code = declared_code(language)
                if code and (code not in codes or (language != code and language not in own)):
                    own[language] = document
                    break
            _join(group_of, {self._number(language): int(first[document]) for language, document in own.items()})
        groups = {id(group): group for group in group_of.values()}.values()
        rows = [(at, next(iter(group.values())), language) for group in groups for language, at in group.items()]
        numbers = np.array(sorted(rows), np.int32).reshape(-1, 3).T.copy()
        names = list(self._numbers)
        used, numbers[2] = np.unique(numbers[2], return_inverse=True)
        self.languages = [names[number] for number in used]
        return numbers

    def _likely(self) -> Iterator[tuple[list[tuple[int, int]], list[int]]]:
        """(document, mark's language) of documents whose ids differ in a mark alone, and those without; in order."""
        if not self._marked:
            return
        families, ids = np.frombuffer(self._families, np.uint64), np.frombuffer(self._ids, np.uint64)
        documents, marks = np.frombuffer(self._marked, np.int32), np.frombuffer(self._marks, np.uint32)
        origins = np.frombuffer(self._origins, np.uint64).reshape(-1, _ORIGINS)
        by_id = np.argsort(ids, kind="stable")
        places = np.minimum(np.searchsorted(ids, origins, sorter=by_id), len(ids) - 1)
        there = np.where(ids[by_id[places]] == origins, by_id[places], _NONE)
        order = np.argsort(families, kind="stable")
        starts = np.flatnonzero(np.diff(families[order], prepend=~families[order[:1]]))
        ends = np.append(starts[1:], len(order))
        several = (ends - starts > 1) | (there[order[starts]] != _NONE).any(axis=1)
        for run in np.argsort(documents[order[starts]], kind="stable"):
            if several[run]:
                family = order[starts[run] : ends[run]]
                unmarked = [number for number in there[family[0]].tolist() if number != _NONE]
                yield list(zip(documents[family].tolist(), marks[family].tolist(), strict=True)), unmarked

    def _is_in(self, document: int, language: str, units: Units, names: Sequence[str], among: Collection[str]) -> bool:
        """Whether a document is in the language that a mark of its id names."""
        own_code = declared_code(self._language(document, units, names, among))
        code = declared_code(language)
        return own_code == code or (not self._declared[document] and own_code in _KIN.get(code, ()))

    def _language(self, document: int, units: Units, names: Sequence[str], among: Collection[str]) -> str:
        """Return the language that a document declares, else the one that it is surely in; "" where one cannot tell."""
        if declared := names[self._declared[document]]:
            return declared
        text = ""
        for unit in range(*self._bounds[document : document + 2]):
            text += f"{units[unit].prose}\n"
            if len(text) >= _CHARACTERS:
                break
        if len(text.strip()) < _FEWEST_CHARACTERS:
            return ""
        # In another one than these it is no translation; among these alone less text tells.
        return told_among(text) or told_among(text, among)


def _join(group_of: dict[int, dict[int, int]], documents: dict[int, int]) -> None:
    """Take in documents by language. A group that some are in takes the others of languages it lacks."""
    new = {document: language for language, document in reversed(documents.items())}  # each document once
    free = {language: document for document, language in sorted(new.items()) if document not in group_of}
    group = next((group_of[document] for document in new if document in group_of), free)
    if any(group.get(language, document) != document for document, language in new.items()):
        group = free
    if group is not free or len(free) > 1:
        group.update(free)
        group_of.update(dict.fromkeys(free.values(), group))


class Translations:
    """Which documents are translations of which."""

    def __init__(self, numbers: Numbers, languages: Sequence[str]) -> None:
        """numbers: (3, translated documents) the document, ascending; the one that stands for it and its translations;
        its language's place in `languages`.
        """
        self._documents, self._firsts, self._places = numbers
        self.languages = tuple(languages)

    @classmethod
    def of(cls, units: Units, languages: Any) -> Translations:
        """Read an index's. languages: as its manifest has them. Raises WorkspaceError if they cannot be read."""
        path = units.path.with_name(TRANSLATIONS)
        with read_errors(path, OSError, ValueError, TypeError):
            return cls(np.load(path, mmap_mode="r", allow_pickle=False), languages)

    def first(self, document: int) -> int:
        """Return the document that stands for this one and its translations."""
        place = self._place(document)
        return document if place is None else int(self._firsts[place])

    def language(self, document: int) -> str:
        """Return the language of a document that has translations, "pt-BR"; "" of any other."""
        place = self._place(document)
        return "" if place is None else self.languages[self._places[place]]

    def _place(self, document: int) -> int | None:
        if not self.languages:
            return None
        place = int(np.searchsorted(self._documents, document))
        return place if place < len(self._documents) and self._documents[place] == document else None


def asked_in(query: str, languages: Iterable[str]) -> str:
    """Return which of these languages a query is in, as a code; "" where one cannot tell."""
    codes = {declared_code(language) for language in languages} - {""}
    return told_among(query, codes) if len(codes) > 1 else ""


def name_digest(text: str) -> int:
    """64 bits by which names are compared."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")
