"""Marks in documents' ids. Of a version: 2.1/a.md, v3/a.md, latest/a.md, released/version-1.0/a.md. Of a language:
fr/install.md, install.fr.md, install_zh-CN.html. What looks like one need be none: `is/list.md`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from structformer.text.languages import LANGUAGE_NAMES, declared_code, declared_variant

Order = tuple[tuple[int, tuple[int, ...], bool], ...]
"""A sort key of an id's version marks, the outermost first; the recommended version is the greatest."""

VERSION = re.compile(r"(?<![\w.])v?[0-9]+(?:\.[0-9]+)+")  # of a release in a text
_NUMBERED = re.compile(
    r"(?:version|release|ver|rel|v)?[-_. ]?((?!0[0-9])[0-9]{1,8}(?:[-_.][0-9]{1,8}){0,4})"
    r"(?:[-_. ]?(?:x|lts|ga|final|post[0-9]{0,4})"
    r"|([-_. ]?(?:alpha|beta|a|b|dev|m|milestone|pre|preview|rc|snapshot)[-_. ]?[0-9]{0,4}))?"
)
_COMING = "canary dev devel develop development edge head main master next nightly preview trunk unreleased"
_MOVING = {**dict.fromkeys(_COMING.split(), 0), **dict.fromkeys(("current", "latest", "lts", "stable"), 2)}
_LONGEST = 24  # characters of a mark
_UNMARKED: Order = ((3, (), True),)
_released: Callable[[], tuple[str, ...]] = tuple
_TAG = re.compile(r"[a-z]{2,3}(?:[-_][a-z]{4})?(?:[-_](?:[a-z]{2}|[0-9]{3}))?", re.IGNORECASE)
_SEPARATOR = re.compile(r"[._-]")
_LONGEST_LANGUAGE = 14  # characters of a mark
_MOST = 8  # marks of an id that are looked at
# Marks that are not codes of languages: codes of countries, and names of languages.
_COUNTRIES = "cn zh-CN, tw zh-TW, hk zh-HK, chs zh-Hans, cht zh-Hant, cz cs, dk da, gr el, jp ja, kr ko, ua uk, vn vi"
_CALLED = {name.lower(): code for code, name in LANGUAGE_NAMES.items()}
_CALLED |= dict(each.split() for each in _COUNTRIES.split(","))
_ALL = frozenset({"i18n", "l10n", "lang", "langs", "languages", "locale", "locales", "translations"})
Origins = Callable[[Sequence[str], Sequence[str]], Iterable[Sequence[str]]]
_origins: Callable[[], Sequence[Origins]] = tuple


def released_folders(names: Callable[[], tuple[str, ...]]) -> None:
    """Set what returns the names of folders of released versions; for the plugin manager."""
    global _released
    _released = names


def version_of(document_id: str) -> tuple[str, Order]:
    """Return a document's id without the folders that may name its version (`1/list.md` need not), and their order."""
    *folders, name = document_id.split("/")
    kept: list[str] = []
    marks = []
    for folder in folders:
        if mark := version_order(folder):
            if kept and (released := next((name for name in _released() if kept[-1].endswith(name)), "")):
                kept[-1] = kept[-1].removesuffix(released).rstrip("_") or "docs"
                mark = 4, *mark[1:]
            marks.append(mark)
        else:
            kept.append(folder)
    return "/".join([*kept, name]), tuple(marks) or _UNMARKED


def version_names(document_id: str) -> frozenset[str]:
    """Return how a query, in lower case, may name the version of a document: by more than a digit."""
    marks = [mark for mark in document_id.lower().split("/")[:-1] if (order := version_order(mark)) and order[0] == 1]
    numbers = [mark.lstrip("_abcdefghijklmnopqrstuvwxyz.- ") for mark in marks]
    return frozenset([*(each for each in (*marks, *numbers) if len(each) > 1), *(f"v{number}" for number in numbers)])


def version_order(name: str) -> tuple[int, tuple[int, ...], bool] | None:
    """The sort key of a version, newest first: latest, 1.10, 1.9, candidates after releases, main; None if none."""
    name = name.lower().lstrip("_")
    if len(name) > _LONGEST:
        return None
    if name in _MOVING:
        return _MOVING[name], (), True
    if found := _NUMBERED.fullmatch(name):
        return 1, tuple(int(each) for each in re.split(r"[-_.]", found[1])), found[2] is None
    return None


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
    for found in _SEPARATOR.finditer(part, max(1, end - _LONGEST_LANGUAGE - 1), end):
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
