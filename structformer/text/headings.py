"""Titles that open a list of related pages, and the anchors that lead to a title; for all format plugins."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files

_NO_LETTER = re.compile("[^a-z0-9]+")
_LAST_ACCENT = "\u036f"
# In English there are many; the rest are written as they are.
_SEE_ALSO = re.compile(
    r"""(
        see\ also | (see\ )?related(\ (commands?|pages?|topics?|articles?|links?|guides?|docs?|documentation|reading
            |content|information|resources?|sections?|functions?|material|concepts?|tasks?|reference))?
        | what('s|s|\ is|\ comes)?\ next | next\ steps? | where\ to\ go\ (from\ here|next) | further\ (reading|information|resources)
        | (learn|read)\ more | more\ (information|resources|reading) | additional\ (resources|reading|information)
        | (related\ )?(links|reading) | cross[- ]references?
    )""",
    re.VERBOSE | re.IGNORECASE,
)


def _plain(title: str) -> str:
    """Return a title without what does not tell titles apart: case, signs at its ends."""
    plain = unicodedata.normalize("NFC", title).replace("\u2019", "'").casefold()
    return " ".join(plain.split()).strip(" .:!?*_#-：？！。…¿¡؟\u200e\u200f")


# By language: the heading of related pages on Wikipedia, then "Next steps" and its like as translated manuals have it.
_BY_LANGUAGE = files("structformer").joinpath("text", "see_also.txt").read_text(encoding="utf-8")
SEE_ALSO_PHRASES = frozenset(_plain(each) for each in re.split(r"\||\b[a-z]{2,3}: ", _BY_LANGUAGE)) - {""}


def is_see_also(title: str) -> bool:
    """True for the titles of related-page lists: "See also", "SEE ALSO", "Related", "What's next" and their like."""
    plain = _plain(title)
    return plain in SEE_ALSO_PHRASES or _SEE_ALSO.fullmatch(plain) is not None


@lru_cache(maxsize=4096)
def github_slug(title: str) -> str:
    """The anchor that GitHub, GitLab and renderers after them give a title: lower case, punctuation out, each space a hyphen."""
    kept = (c for c in title.strip().lower() if c in " -_" or unicodedata.category(c)[0] in "LNM")
    return "".join(kept).replace(" ", "-")


@lru_cache(maxsize=4096)
def ascii_slug(title: str) -> str:
    """Return the anchor that Python-Markdown gives a title: ASCII only, runs of spaces and hyphens one hyphen."""
    ascii_title = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode()
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", ascii_title).strip().lower())


def letters_and_digits(name: str) -> str:
    """Return a title's letters and digits, as in all its anchors: small, without Latin, Greek and Cyrillic accents."""
    if name.isascii():
        return _NO_LETTER.sub("", name.lower())
    parts = unicodedata.normalize("NFKD", "".join(filter(_is_part, name)))
    return "".join(filter(_is_part, unicodedata.normalize("NFKD", parts.casefold())))


def _is_part(character: str) -> bool:
    """Whether it is a letter, a digit, or a vowel's sign as Indic scripts have them."""
    return character.isalnum() or (character > _LAST_ACCENT and unicodedata.category(character)[0] == "M")


class Slugs:
    """Gives every title of one document its anchors under the common rules, numbering repeats as each rule does."""

    def __init__(self) -> None:
        self._used: dict[tuple[str, str], int] = {}

    def anchors(self, title: str, explicit: Iterable[str] = ()) -> tuple[str, ...]:
        """Explicit ids first, then GitHub's slug ("-1", "-2" on repeats), then the ASCII one ("_1", "_2") if it differs."""
        anchors = list(explicit)
        for rule, slug, joint in (("github", github_slug(title), "-"), ("ascii", ascii_slug(title), "_")):
            if not slug:
                continue
            seen = self._used.get((rule, slug), 0)
            self._used[rule, slug] = seen + 1
            anchors.append(f"{slug}{joint}{seen}" if seen else slug)
        return tuple(dict.fromkeys(anchor for anchor in anchors if anchor))
