"""Templates that are part of a sentence, of the ten largest wikis: what a reader sees of `{{unité|5|km}}`.

A pattern, of templates.toml or a theme, holds parameters by number or name: `{1}`, `{u}`; `{*}` all without a name,
`{+}` the same without spaces, `{e^}` one that is raised, `{3?}` one that must be there and is not shown. A part in
square brackets needs all of its parameters."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from importlib.resources import files
from typing import Any

from structformer.errors import UsageError
from structformer.plugins import load_plugins

# Templates whose arguments are the items of a list.
LISTS = frozenset(
    (*"plainlist flatlist ubl ubli hlist columns-list blist".split(), "unbulleted list", "bulleted list", "div col")
)
_ANCHORS = frozenset(("anchor", "anchors", "anker", "ancre", "ancla", "âncora", "якорь", "visible anchor", "vanchor"))
# What a cell says that such a template colours, where nothing else is given.
_ANSWERS = {
    **{each: each.capitalize() for each in "yes no partial maybe some included dropped rarely".split()},
    **dict.fromkeys(("n/a", "na"), "N/A"),
    "dunno": "?",
}
_ADVICE = frozenset("note warning tip".split())  # of the ArchWiki; elsewhere {{note|a}} is the mark of a footnote
_POEMS = frozenset(("poemquote", "poem quote", "verse"))
# Of years, months and days, of which the month may be a name; what follows them, as in a date of birth, is not shown.
_DATES = {
    f"{event}{blank}date{age}": ""
    for event in ("birth", "death", "start", "end", "film", "release", "launch")
    for blank in (" ", "")
    for age in ("", " and age", " and given age")
} | {"dts": "", "date table sorting": "", "as of": "as of ", "bda": "", "dda": ""}
_SORTED = frozenset(("sort", "sorttext", "sort text"))
_FRACTIONS = frozenset("frac sfrac fraction bruch ułamek дробь fracción frazione fração breuk 分数 bråk".split())
_MEASURES = frozenset("convert cvt convertir converti converter конвертировать konvertera".split())
# Links to pages that this wiki does not have, beside the same page of another: the parameters that name the page, and
# those that say what is shown instead.
_LINKS = {
    **dict.fromkeys(("ill", "interlanguage link", "interlanguage link multi"), (("1",), ("lt", "display", "label"))),
    **dict.fromkeys(("lien", "lien à faire"), (("fr", "1"), ("texte",))),
    **dict.fromkeys(("нп", "нп3", "нп4", "нп5", "iw", "не переведено", "не переведено 5"), (("1",), ("2",))),
    **dict.fromkeys(("仮リンク", "link-interwiki"), (("1", "zh"), ("label", "tt"))),
    **dict.fromkeys(("le", "ilc"), (("1",), ("3",))),
    "tsl": (("3",), ("4",)),
    "ll": (("1",), ("2",)),
}
_RANGES = frozenset("- – to and by x × or ± +/- to(-) and(-) xx * till och und bis a à al e y et".split())
_NUMBER = re.compile(r"[-−+±]?[\d.,\s/]*\d[\d.,\s/+]*(?:e[-−+]?\d+)?")
_GERMAN_LANGUAGE = re.compile(r"[a-z]{2,3}S")  # {{enS|word}}
_ORDINAL = re.compile(r"(?:\d+|[IVXLCDM]+)(?:er|re|e|nd|nde)(?: siècle.*)?")  # French: {{1er|mai}}, {{XIXe siècle}}
_GROUP = re.compile(r"\[([^\[\]]*)\]")
_PLACE = re.compile(r"\{(\w+|[*+])([?^]?)\}")
_RAISED = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")


@cache
def _built_in() -> dict[str, str]:
    return _patterns(tomllib.loads((files("structformer_wikitext") / "templates.toml").read_text("utf-8"))["templates"])


@lru_cache(maxsize=8)
def own_templates(theme: str) -> dict[str, str]:
    """Return the patterns of a theme in TOML by templates' names in lower case. Raises UsageError on a faulty theme."""
    return _patterns(load_plugins().theme(theme).templates)


def _patterns(table: Any) -> dict[str, str]:
    """Return the patterns of a table whose keys have several names each, with _ for blanks. Raises UsageError."""
    if not isinstance(table, dict):
        raise UsageError(f"theme: templates is {table!r}: it must be a table")
    for names, pattern in table.items():
        rest = pattern
        while isinstance(rest, str) and _GROUP.search(rest):
            rest = _GROUP.sub("", rest)
        if not isinstance(rest, str) or "[" in rest:
            raise UsageError(f"theme: templates: {names} is {pattern!r}: write a text, each [ of which has its ]")
    return {name.replace("_", " ").lower(): text for names, text in table.items() for name in names.split()}


@lru_cache(maxsize=4096)
def sentence(name: str) -> Callable[[Mapping[str, str]], str] | None:
    """Return the function that makes a template's text of its parameters; None for one that says nothing in a sentence.

    name: as the page writes it. The parameters are by name, those without one by their number, "1" and on."""
    lower = name.lower()
    if (pattern := _built_in().get(lower)) is not None:
        return partial(filled, pattern)
    if lower in LISTS:
        return lambda parameters: "\n" + "\n".join(unnamed(parameters)) + "\n"
    if lower in _ANCHORS:
        return partial(_anchored, shows=lower.startswith("v"))
    if lower in _ANSWERS:
        return lambda parameters: f'<span class="answer">{parameters.get("1") or _ANSWERS[lower]}</span>'
    if lower in _ADVICE:
        return lambda parameters: f"\n{name}: {text}\n" if " " in (text := parameters.get("1", "")) else ""
    if lower in _POEMS:
        return lambda parameters: verse(_first(parameters, ("1", "text")))
    if lower in _DATES:
        return lambda parameters: _DATES[lower] + _date(unnamed(parameters))
    if lower in _SORTED:  # a key by which a column is sorted, and what the cell shows
        return lambda parameters: parameters.get("2") or parameters.get("1", "")
    if lower in _FRACTIONS:
        return _fraction
    if lower in _MEASURES:
        return lambda parameters: " ".join(_measured(unnamed(parameters)))
    if (link := _LINKS.get(lower)) is not None or lower.startswith("link-"):
        return partial(_linked, *(link or _LINKS["le"]))
    if _ORDINAL.fullmatch(name):
        return lambda parameters: " ".join((name, *unnamed(parameters)))
    if lower.startswith("lang-") or _GERMAN_LANGUAGE.fullmatch(name):
        return partial(filled, "{1}")
    return None


def _anchored(parameters: Mapping[str, str], *, shows: bool) -> str:
    ids = unnamed(parameters)
    spans = (f'<span id="{each}"></span>' for each in ids if not set(each) & set('"<>\n'))
    return "".join((*spans, *(ids[:1] if shows else ())))


def verse(text: str) -> str:
    """Return lines each of which stays a line of its own."""
    lines = (f"{line.strip()}<br>" if line.strip() else "" for line in text.split("\n"))
    return "\n".join(("", *lines, "")) if text.strip() else ""


def unnamed(parameters: Mapping[str, str]) -> list[str]:
    """Return the parameters without a name."""
    return [value for key, value in parameters.items() if key.isdecimal()]


def _linked(target_keys: Sequence[str], shown_keys: Sequence[str], parameters: Mapping[str, str]) -> str:
    target, shown = _first(parameters, target_keys), _first(parameters, shown_keys)
    return (f"[[{target}|{shown}]]" if shown else f"[[{target}]]") if target else shown


def _first(parameters: Mapping[str, str], keys: Sequence[str]) -> str:
    return next((parameters[key] for key in keys if parameters.get(key)), "")


def _date(parts: Sequence[str]) -> str:
    """Return a date by year, month and day as 1950-05-04, or as 4 May 1950 if the month is a name."""
    year, month, day = (*(part.strip() for part in parts[:3]), "", "", "")[:3]
    if month and not month.isdecimal():
        return " ".join(filter(None, (day, month, year)))
    return "-".join(part.zfill(2) if part.isdecimal() else part for part in (year, month, day) if part)


def _fraction(parameters: Mapping[str, str]) -> str:
    """Return a fraction; one parameter is below 1; of three, the first is the whole number before the fraction."""
    parts = unnamed(parameters)[:3]
    *whole, above, below = parts if len(parts) > 1 else ["1", *(parts or [""])]
    return " ".join((*whole, f"{above}/{below}"))


def _measured(arguments: list[str]) -> Iterator[str]:
    """Yield the amounts and units that are converted, without those that they are converted to."""
    for place, word in enumerate(arguments):
        yield word
        following = arguments[place + 1 : place + 3]
        if _is_unit(word) and not (len(following) == 2 and not _is_unit(following[0]) and _is_unit(following[1])):
            return


def _is_unit(word: str) -> bool:
    return bool(word) and word not in _RANGES and _NUMBER.fullmatch(word) is None


def filled(pattern: str, parameters: Mapping[str, str]) -> str:
    """Return a template's text by its pattern."""

    def group(found: re.Match[str]) -> str:
        return found[1] if all(parameters.get(place[1]) for place in _PLACE.finditer(found[1])) else ""

    def value(place: re.Match[str]) -> str:
        if place[1] in "*+":
            return (" " if place[1] == "*" else "").join(unnamed(parameters))
        given = parameters.get(place[1], "")
        if place[2] == "^" and given:
            raised = given.translate(_RAISED)
            return f"^{given}" if any(character in raised for character in given) else raised
        return "" if place[2] else given

    while "[" in pattern:
        pattern = _GROUP.sub(group, pattern)
    return _PLACE.sub(value, pattern).strip()
