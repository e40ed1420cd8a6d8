"""Which language texts are in, when they do not say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache
from typing import Any

_CHARACTERS = 2000  # of each text
_FEWEST_CHARACTERS = 20
_SURE = 0.5  # of a language with near kin, as Arabic, hardly more can be had
ENGLISH = "en"


def detected_language(texts: Iterable[str]) -> str:
    """The language that most of the texts are surely in, as a two-letter code; English when none is."""
    found: Counter[str] = Counter()
    for text in texts:
        sample = text[:_CHARACTERS]
        if len(sample.strip()) >= _FEWEST_CHARACTERS:
            language, probability = _identifier().classify(sample)
            if probability >= _SURE:
                found[language] += 1
    return min(found, key=lambda code: (-found[code], code)) if found else ENGLISH


@cache
def _identifier() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
