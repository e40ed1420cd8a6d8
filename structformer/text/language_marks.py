"""Marks of a language in documents' ids: fr/install.md, install.fr.md, install_zh-CN.html. What looks like one need be
none: `is/list.md`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from structformer.text.languages import LANGUAGE_NAMES, declared_code, declared_variant

_TAG = re.compile(r"[a-z]{2,3}(?:[-_][a-z]{4})?(?:[-_](?:[a-z]{2}|[0-9]{3}))?", re.IGNORECASE)
_SEPARATOR = re.compile(r"[._-]")
_LONGEST = 14  # characters of a mark
_MOST = 8  # marks of an id that are looked at
# Marks that are not codes of languages: codes of countries, and names of languages.
_COUNTRIES = "cn zh-CN, tw zh-TW, hk zh-HK, chs zh-Hans, cht zh-Hant, cz cs, dk da, gr el, jp ja, kr ko, ua uk, vn vi"
_CALLED = {name.lower(): code for code, name in LANGUAGE_NAMES.items()}
_CALLED |= dict(each.split() for each in _COUNTRIES.split(","))
_ALL = frozenset({"i18n", "l10n", "lang", "langs", "languages", "locale", "locales", "translations"})
Origins = Callable[[Sequence[str], Sequence[str]], Iterable[Sequence[str]]]
_origins: Callable[[], Sequence[Origins]] = tuple


def origins_of_translations(functions: Callable[[], Sequence[Origins]]) -> None:
    """Set what returns the functions that give, for the parts of an id before and after the folder of its language, the
    ids that the page may translate; for the plugin manager.
    """
    global _origins
    _origins = functions


@dataclass(frozen=True, slots=True)
class LanguageMark:
    """A part of a document's id that may name its language."""

    language: str
    """As `declared_variant` writes it."""
    family: str
    """The part that ids share if they differ in this mark alone."""
    origins: tuple[str, ...] = ()
    """Ids that the document may have in the language without a mark."""


def language_marks(document_id: str) -> list[LanguageMark]:
    """Return the marks that an id may have."""
    return list(islice(_marks(document_id), _MOST))


def _marks(document_id: str) -> Iterator[LanguageMark]:
    parts = document_id.split("/")
    for place, part in enumerate(parts):
        is_file = place == len(parts) - 1
        if is_file and (end := part.rfind(".")) > 0:
            yield from _marks_of(parts, place, end)
        yield from _marks_of(parts, place, len(part))


def _marks_of(parts: Sequence[str], place: int, end: int) -> Iterator[LanguageMark]:
    """Yield those that end there in a part of an id."""
    part = parts[place]
    before, after = parts[:place], parts[place + 1 :]

    def mark(language: str, start: int, origins: list[list[str]]) -> LanguageMark:
        family = [*before, f"{part[:start]}\0{part[end:]}", *after]
        return LanguageMark(language, "/".join(family), tuple("/".join(each) for each in origins if each))

    if language := _language(part[:end]):
        yield mark(language, 0, list(_without(before, after)) if end == len(part) else [])
    for found in _SEPARATOR.finditer(part, max(1, end - _LONGEST - 1), end):
        if language := _language(part[found.end() : end]):
            yield mark(language, found.end(), [[*before, part[: found.start()] + part[end:], *after]])


def _without(before: Sequence[str], after: Sequence[str]) -> Iterator[list[str]]:
    """Yield the parts of an id without the folder of a language between these, and without that of all languages."""
    yield [*before, *after]
    if not before or before[-1].lower() not in _ALL:
        return
    yield [*before[:-1], *after]
    for origins in _origins():
        yield from map(list, origins(before, after))


@lru_cache(maxsize=4096)
def _language(text: str) -> str:
    """Return the language that a part of an id may name; "" where it names none."""
    tag = _CALLED.get(text.lower(), text)
    return declared_variant(tag) if _TAG.fullmatch(tag) and declared_code(tag) in LANGUAGE_NAMES else ""
