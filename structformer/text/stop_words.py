"""English function words, which say nothing of what a text is about."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from structformer.errors import UsageError

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are as at be because been before being below between
    both but by can could did do does doing down during each few for from further had has have having he her here
    hers him his how i if in into is it its itself just me more most my no nor not now of off on once only or other
    our out over own same she should so some such than that the their them then there these they this those through
    to too under until up very was we were what when where which while who whom why will with would you your""".split()
)


@cache
def stop_words_of(path: str) -> frozenset[str]:
    """The words of a file, one a line, in lower case. Raises UsageError when it cannot be read."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"stop_words: {path} cannot be read ({error})") from error
    return frozenset(line.strip().lower() for line in lines if line.strip() and not line.startswith("#"))
