"""Templates that are part of a sentence, of the ten largest wikis: what a reader sees of `{{unité|5|km}}`.

A pattern holds parameters by number or name: `{1}`, `{u}`; `{*}` all without a name, `{+}` the same without spaces,
`{e^}` one that is raised, `{3?}` one that must be there and is not shown. A part in square brackets needs all of its
parameters. A name that means two things in two wikis has a pattern that serves both."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial

_PATTERNS = {
    "{1}": """nowrap nobr nobr. smaller small larger big strong em bold italic var mono abbr tooltip sic
        math mvar smallcaps sc small_caps center term defn
        underline u strike highlight nobold noitalic midsize resize normal no_wrap block indent
        block_indent not_a_typo notatypo citation_needed_span clarify_span unicode iast angbr chem2 nihongo2 overline
        flag flagu flagcountry gloss translation formatnum nts nombre nb citation abréviation abrév souligner esd
        nobreak cita versalita polytonisch lautschrift zitat formatera_tal ej_radbrytning comment цитата число
        skrót cytat liczba ta citazione 僻字 補助漢字フォント jis2004フォント cp932フォント jis90フォント 要出典範囲
        読み仮名_ruby不使用 pkg aur grp sprache wortart c x-larger xx-larger xxx-larger x-smaller fine fine_block
        smaller_block block_center right drop_initial dropinitial di asc birth-date death-date start-date end-date
        birth_year_and_age""",
    "{1}{text}{quote}": "quote blockquote cquote quotation pull_quote",
    "[<code>{1}</code>]": "code kbd samp ic tt",
    "{1}[+{2}][+{3}]": "key_press keypress key",
    "[<sup>{1}</sup>]": "sup exp ex",
    "[<sub>{1}</sub>]": "sub ind",
    "[{2}({1})]": "man",
    "ISBN {1}": "isbn",
    "doi:{1}": "doi",
    "{2}": """lang langue langx color font_color font transl transliteration rtl-lang script wikt-lang språk
        l link cog mention ux uxi usex hws""",
    "{3}": "der inh bor lbor der+ inh+ bor+",
    "[({2}[, {3}][, {4}])]": "lb lbl label",
    "[{name}][ ({alt})][, {address}][, {directions}][. {content}][. {description}][ {url}]": """do buy eat drink sleep
        listing see vcard go""",
    "{*}": """unidad num unidade fmtn date date- fecha data дата dtlink sortname ship bibleverse bible_verse linktext
        enhet eenheid""",
    "{+}": "chem gaps",
    **{f"{ship} {{1}}[ ({{2}})]": ship.lower() for ship in ("USS", "HMS", "SS")},
    "c. {1}[–{2}]": "circa c. ca. ca",
    "fl. {1}[–{2}]": "floruit fl. fl",
    "r. {1}[–{2}]": "reign r.",
    "{1}[ ± {2}][×10{e^}][ {u}][ {ul}][/{up}][/{upl}]": "val",
    "{1}[×10{e^}] {2}[{3^}][⋅{4}][{5^}]": "unité unité/2",
    "{1} {2}{3}{u}{ul}": "m",
    "×10{1^}": "e",
    "{1} m": "höhe м",
    "{1} km": "км",
    "{1} h[ {2}][ min {3} s]": "heure",
    "{1}[{2} siècle]": "s",
    "{1}{2} siècle av. J.-C.": "-s",
    "{1}{2} {3} {4}{5} siècle": "sp",
    "[siglo{3?} ]{1}": "siglo",
    "século {1}": "séc séc. século",
    "no {1}": "n° nº numéro n.º",
    "p. {1}": "p.",
    "{1}[ ({2}[, {3}])]": "nihongo nihongo3 nihongo_foot нихонго japonais giapponese",
    "{1}[（{2}）]": "ruby 読み仮名 ruby-ja rubi",
    "（{1}{2}[－{3}{4}]）": "bd",
    '"{1}"': '" zitat-de',
    "« {1} »": "guil",
    "⟨{1}⟩": "angle_bracket",
    "√{1}": "sqrt radic",
    "{1}-class {2}": "sclass",
    "[{ft} ft][ {in} in][{m} m][{cm} cm]": "height",
    "US${1}": "us$ usd us_dollar",
    "£{1}": "gbp £ pound_sterling",
    "€{1}": "eur € euro",
    "₹{1}": "inr ₹ indian_rupee",
    "¥{1}": "jpy ¥ cny yen",
    "₩{1}": "krw",
    "A${1}": "aud a$",
    "C${1}": "cad c$",
}
_SHOWN = {name.replace("_", " "): pattern for pattern, names in _PATTERNS.items() for name in names.split()}
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


@lru_cache(maxsize=4096)
def sentence(name: str) -> Callable[[Mapping[str, str]], str] | None:
    """Return the function that makes a template's text of its parameters; None for one that says nothing in a sentence.

    name: as the page writes it. The parameters are by name, those without one by their number, "1" and on."""
    lower = name.lower()
    if (pattern := _SHOWN.get(lower)) is not None:
        return partial(_filled, pattern)
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
        return partial(_filled, "{1}")
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


def _filled(pattern: str, parameters: Mapping[str, str]) -> str:
    def group(found: re.Match[str]) -> str:
        return found[1] if all(parameters.get(place[1]) for place in _PLACE.finditer(found[1])) else ""

    def filled(place: re.Match[str]) -> str:
        if place[1] in "*+":
            return (" " if place[1] == "*" else "").join(unnamed(parameters))
        value = parameters.get(place[1], "")
        if place[2] == "^" and value:
            raised = value.translate(_RAISED)
            return f"^{value}" if any(character in raised for character in value) else raised
        return "" if place[2] else value

    while "[" in pattern:
        pattern = _GROUP.sub(group, pattern)
    return _PLACE.sub(filled, pattern).strip()
