"""The functions and variables of MediaWiki's core, and the conditions of ParserFunctions, with arguments in plain text.

Source: mediawiki.org, "Help:Magic words" and "Help:Extension:ParserFunctions"."""

from collections.abc import Callable, Container, Sequence

_MAX_PADDED = 50  # characters; pages pad numbers
_MAX_TITLE = 255  # a wiki's own limit, in bytes


def _plural(arguments: Sequence[str]) -> str:
    """Return the form for a number; of a language with more than two, the last, which most numbers have."""
    number, *forms = arguments
    plain = []
    for form in forms:
        exact, equals, shown = form.partition("=")
        if not equals or not exact.strip().isdecimal():
            plain.append(form)
        elif exact.strip() == number:
            return shown.strip()
    return (plain[0] if number in ("1", "-1") else plain[-1]) if plain else ""


def _padded(arguments: Sequence[str], *, left: bool) -> str:
    text, width, fill = (*arguments, "", "")[:3]
    length = min(int(width), _MAX_PADDED) if width.isascii() and width.isdecimal() and len(width) < 5 else 0
    fill = fill or "0"
    padding = (fill * length)[: max(0, length - len(text))]
    return padding + text if left else text + padding


def _switch(arguments: Sequence[str]) -> str:
    value, *cases = arguments
    default = ""
    is_meant = is_default = False
    for place, case in enumerate(cases):
        key, equals, result = case.partition("=")
        is_meant = is_meant or key.strip() == value
        is_default = is_default or key.strip() == "#default"
        if equals and is_meant:
            return result.strip()
        if equals and is_default:
            default, is_default = result.strip(), False
        if not equals and place == len(cases) - 1:
            return case
    return default


_FUNCTIONS: dict[str, Callable[[Sequence[str]], str]] = {
    **dict.fromkeys(
        "formatnum zahlenformat formateranum formatteernum formatanum форматчисла".split(),
        lambda arguments: arguments[0],  # how a language groups digits changes nothing of what the number is
    ),
    "lc": lambda arguments: arguments[0].lower(),
    "uc": lambda arguments: arguments[0].upper(),
    "lcfirst": lambda arguments: arguments[0][:1].lower() + arguments[0][1:],
    "ucfirst": lambda arguments: arguments[0][:1].upper() + arguments[0][1:],
    "padleft": lambda arguments: _padded(arguments, left=True),
    "padright": lambda arguments: _padded(arguments, left=False),
    "plural": _plural,
    **dict.fromkeys(
        ("#if", "#ifexist", "#wenn", "#si", "#om", "#als"),
        lambda arguments: (*arguments, "", "")[1 if arguments[0] else 2],
    ),
    **dict.fromkeys(
        ("#ifeq", "#wenngleich"),
        lambda arguments: (*arguments, "", "", "")[2 if arguments[0] == "".join(arguments[1:2]) else 3],
    ),
    "#iferror": lambda arguments: arguments[2] if len(arguments) > 2 else arguments[0],
    **dict.fromkeys(("#switch", "#wechsel"), _switch),
}
_PAGE_NAMES = """pagename seitenname nompage nombredepágina nombredepagina nomepagina paginanaam sidnamn nazwastrony
    nomedapágina nomedapagina названиестраницы имястраницы назвасторінки ページ名 页名 頁名""".split()
_VARIABLES: dict[str, Callable[[str, str], str]] = {  # of a title's namespace and the rest of it
    **dict.fromkeys(_PAGE_NAMES, lambda space, page: page),
    **dict.fromkeys(
        ("fullpagename", "subjectpagename", "articlepagename", "voller seitenname"),
        lambda space, page: f"{space}:{page}" if space else page,
    ),
    "basepagename": lambda space, page: page.rpartition("/")[0] or page,
    "subpagename": lambda space, page: page.rpartition("/")[2],
    "rootpagename": lambda space, page: page.partition("/")[0],
    **dict.fromkeys(("namespace", "subjectspace", "articlespace", "namensraum"), lambda space, page: space),
}


def is_called(head: str) -> bool:
    """Whether a template's first part, before any bar, may call a function or show a variable."""
    return ":" in head or head.strip().replace("_", " ").lower() in _VARIABLES


def called(parts: Sequence[str], title: str, namespaces: Container[str]) -> str | None:
    """Return the value of a function or a variable; None if none of these is called.

    parts: a call's parts between the bars, the first with the name. namespaces: those of the wiki, in lower case."""
    head, colon, first = parts[0].partition(":")
    head = head.strip().replace("_", " ")
    name = head.lower()
    if colon and name in ("subst", "safesubst"):
        return called((first, *parts[1:]), title, namespaces)
    if colon and (function := _FUNCTIONS.get(name)) is not None:
        return function([first.strip(), *(part.strip() for part in parts[1:])])
    if name not in _VARIABLES or len(parts) > 1 or head != head.upper():  # variables are written large
        return None
    title = (first.strip() if colon else title)[:_MAX_TITLE]
    space, is_in_space, page = title.partition(":")
    if not is_in_space or space.strip().lower() not in namespaces:
        space, page = "", title
    return _VARIABLES[name](space, page)
