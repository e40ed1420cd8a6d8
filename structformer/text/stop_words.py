"""Function words, which say nothing of a topic: our own English ones, other languages' from stopwordsiso."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from structformer.errors import UsageError
from structformer.text.languages import ENGLISH
from structformer.text.lines import lines_of

_CODE = re.compile(r"[a-z]{2}")

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being below between
    both but by can could did do does doing down during each few for from further had has have having he her here
    hers him his how i if in into is it its itself just me more most my no nor not now of off on once only or other
    our out over own same she should so some such than that the their them then there these they this those through
    to too under until up very was we were what when where which while who whom why will with would you your""".split()
)


def has_stop_words(language: str) -> bool:
    """Whether the function words of a language are known."""
    import stopwordsiso  # its lists take a moment to read, and a search needs English ones alone

    return _CODE.fullmatch(language) is not None and bool(stopwordsiso.has_lang(language))


def function_words(languages: Iterable[str]) -> frozenset[str]:
    """The function words of these languages, by their codes, as far as they are known; English ones where none are."""
    known = [language for language in languages if language == ENGLISH or has_stop_words(language)]
    return frozenset[str]().union(*map(stop_words_of, known or [ENGLISH]))


@cache
def stop_words_of(chosen: str) -> frozenset[str]:
    """The words of a language, by code, or of a file, one a line, lower-cased. Raises UsageError if unreadable."""
    if chosen == ENGLISH:
        return STOP_WORDS
    if has_stop_words(chosen):
        import stopwordsiso

        return frozenset(stopwordsiso.stopwords(chosen))
    try:
        lines = [*lines_of(Path(chosen))]
    except UsageError as error:
        raise UsageError(f"stop_words: {error}") from error
    return frozenset(line.strip().lower() for line in lines if line.strip() and not line.startswith("#"))
