"""Texts of the page, the box and the static site, in the reader's language: a TOML file for each."""

import tomllib
import unicodedata
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from markupsafe import Markup, escape
from structformer.errors import UsageError
from structformer.text import visible

_RIGHT_TO_LEFT = frozenset("ar arc arz azb ckb dv fa glk he ks mzn nqo pnb ps sd syr ug ur yi".split())
# The scripts of languages as Unicode's names of letters begin; of all others Latin.
_SCRIPTS = dict(
    each.split(":")
    for each in """ar:ARABIC arc:SYRIAC azb:ARABIC ckb:ARABIC fa:ARABIC ps:ARABIC sd:ARABIC ug:ARABIC ur:ARABIC
    he:HEBREW yi:HEBREW be:CYRILLIC bg:CYRILLIC kk:CYRILLIC mk:CYRILLIC ru:CYRILLIC sr:CYRILLIC uk:CYRILLIC
    el:GREEK ko:HANGUL zh:CJK ja:CJK|HIRAGANA|KATAKANA hi:DEVANAGARI mr:DEVANAGARI ne:DEVANAGARI th:THAI
    ta:TAMIL bn:BENGALI""".split()
)
_LOOKED_AT, _FEWEST = 2000, 0.1  # letters, and the share of them by which a text is not in Latin script: code often is


def is_written_in(text: str, code: str) -> bool:
    """Whether a text is in the script of a language; one without letters is."""
    letters = [unicodedata.name(each, "").partition(" ")[0] for each in text[:_LOOKED_AT] if each.isalpha()]
    script = _SCRIPTS.get(code.partition("-")[0], "LATIN")
    share = sum(each in script.split("|") for each in letters) / max(1, len(letters))
    return not letters or share >= (1 - _FEWEST if script == "LATIN" else _FEWEST)


def _russian(n: int) -> str:
    if n % 10 == 1 and n % 100 != 11:
        return "one"
    return "few" if 2 <= n % 10 <= 4 and not 12 <= n % 100 <= 14 else "many"


def _arabic(n: int) -> str:
    named = ("zero", "one", "two")
    if n < len(named):
        return named[n]
    return "few" if 3 <= n % 100 <= 10 else "many" if n % 100 >= 11 else "other"


# The plural categories of whole numbers (Unicode CLDR). What is not named is as in English; the millions of Romance
# languages, a category of their own, have the form of other numbers.
_PLURALS: dict[str, Callable[[int], str]] = {
    **dict.fromkeys(("ja", "ko", "zh"), lambda n: "other"),
    **dict.fromkeys(("fr", "pt"), lambda n: "one" if n < 2 else "other"),
    "ru": _russian,
    "ar": _arabic,
}


@dataclass(frozen=True, slots=True)
class Language:
    """One language's strings. Called with the name of one, it returns that string as markup."""

    code: str
    name: str
    """Name of the language in the language itself."""
    thousands: str
    """The sign between thousands."""
    strings: Mapping[str, Any]
    script: Mapping[str, Any]
    """Those of them that scripts show."""
    notes: Collection[str]
    """The names of those that are kinds of notes."""

    def __call__(self, name: str, n: int = 0, **values: Any) -> Markup:
        """n: the number that the string's form depends on, shown as {n}. values: for the other names in braces."""
        form = self.strings[name]
        if not isinstance(form, str):
            form = form.get(self.plural(n), form["other"])
        shown = {key: each if isinstance(each, Markup) else visible(str(each)) for key, each in values.items()}
        return escape(form).format(n=self.number(n), **shown)

    def of(self, english: str) -> Markup:
        """Return the string that is this one in English."""
        return self(next(name for name, string in ENGLISH.strings.items() if string == english))

    def plural(self, n: int) -> str:
        """Return the plural category of a whole number, as Unicode CLDR names it."""
        return _PLURALS[self.code](n) if self.code in _PLURALS else "one" if n == 1 else "other"

    def number(self, n: int) -> str:
        """Return a whole number with a separator between thousands."""
        return f"{n:,}".replace(",", self.thousands)

    @property
    def is_rtl(self) -> bool:
        """Whether it is read from right to left."""
        return direction(self.code) == "rtl"

    def attributes(self, code: str) -> Markup:
        """Return the attributes of a text in another language: `lang`, unless unknown or the page's own, and `dir`."""
        lang = Markup(' lang="{}"').format(code) if code not in ("", self.code) else ""
        return Markup(' dir="{}"{}').format(direction(code), lang)


def direction(code: str) -> str:
    """Return which way a language is read, as HTML has it; "auto" is by the text's first letter."""
    return "rtl" if code.partition("-")[0] in _RIGHT_TO_LEFT else "auto"


@cache
def languages() -> dict[str, Language]:
    """Return all languages that have a file, by code."""
    by_code = {}
    for each in sorted((files("structformer_serve") / "languages").iterdir(), key=lambda each: each.name):
        table = tomllib.loads(each.read_text(encoding="utf-8"))
        strings = {**table["script"], **table["page"], **table["notes"]}
        code = each.name.removesuffix(".toml")
        by_code[code] = Language(code, table["name"], table["thousands"], strings, table["script"], table["notes"])
    return by_code


def language(*wanted: str) -> Language:
    """Return the first wanted language that has a file, of a regional one such as pt-BR else its main one; English if
    there is none.
    """
    known = {code.lower(): each for code, each in languages().items()}
    codes = (code for each in wanted for code in (each.lower(), each.lower().partition("-")[0]))
    return next((known[code] for code in codes if code in known), known["en"])


ENGLISH = language("en")


def checked_language(code: str) -> str:
    """Return the code of a language that has a file, or "". Raises UsageError."""
    if code and language(code).code != code:
        raise UsageError(f"{code!r} is not a language of the page: --language takes {', '.join(languages())}")
    return code
