"""Which language texts are in, when they do not say."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

_CHARACTERS = 2000  # of each text
_FEWEST_CHARACTERS = 20
_SURE = 0.5  # of a language with near kin, as Arabic, hardly more can be had
ENGLISH = "en"


def language_of(text: str, among: Sequence[str] = (), *, surely: float = _SURE) -> str:
    """The language that a text is surely in, "" where it is too short or one cannot tell. among: the only ones that
    come into question.
    """
    sample = text[:_CHARACTERS]
    if len(sample.strip()) < _FEWEST_CHARACTERS:
        return ""
    language, probability = _identifier(tuple(among)).classify(sample)
    return str(language) if probability >= surely else ""


def declared_code(declared: str | None) -> str:
    """The two-letter code of a language as documents declare it: "en-US" is "en"; "" where none is."""
    return (declared or "").replace("_", "-").partition("-")[0].strip().lower()


def known_languages(codes: Collection[str]) -> list[str]:
    """Those of these languages that can be told from texts."""
    can_be_told = set(_identifier(()).nb_classes)
    return sorted(code for code in codes if code in can_be_told)


@cache
def _identifier(among: tuple[str, ...]) -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    if among:
        identifier.set_languages(list(among))
    return identifier
