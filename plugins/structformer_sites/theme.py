"""A user's own theme: a site generator as six lines of TOML say it."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from functools import lru_cache, partial
from typing import Any

from structformer.did_you_mean import did_you_mean
from structformer.errors import UsageError
from structformer.formats import HtmlPages, HtmlRules, NavEntry, SiteFacts, SiteFiles, SiteGenerator, is_address

from structformer_sites.navigation import PageNames

_INDEX = "index.html"
_MARK = "data-structformer-"
_SELECTORS = ("content", "drop", "title", "order", "address")
_SEE_ALSO, _TABLES, _ALIASES = "see_also_titles", ("macros", "environments", "templates"), ("roles", "shortcodes")
# Lists of words that a theme adds, as HtmlRules has them.
_WORDS = frozenset(field.name for field in fields(HtmlRules) if "frozenset" in str(field.type))


@lru_cache(maxsize=8)
def read_theme(text: str) -> SiteGenerator:
    """Return the site generator that a theme describes, or that the table [theme] of a configuration file describes.

    content, drop, title, order: CSS selectors of the content, of what to leave out of it, of the page's title and of
    the links of the navigation on index.html, in the order of the site. address: the site's, or a selector of the
    element that has the page's. see_also_titles: a list of titles. macros, environments, templates, roles, shortcodes:
    tables, as SiteGenerator has them. Raises UsageError on a key, a selector or an address that is none.
    """
    try:
        loaded: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the theme is not valid TOML: {error}") from error
    values = loaded.get("theme", loaded)
    known = (*_SELECTORS, "name", *sorted(_WORDS), _SEE_ALSO, *_TABLES, *_ALIASES)
    if not isinstance(values, dict):
        raise UsageError(f"theme is {values!r}: it must be a table")
    tables = {key: values.pop(key, {}) for key in _TABLES}
    tables |= {key: _aliases(key, values.pop(key, {})) for key in _ALIASES}
    titles = values.pop(_SEE_ALSO, [])
    if not isinstance(titles, list) or not all(isinstance(title, str) for title in titles):
        raise UsageError(f"theme: {_SEE_ALSO} is {titles!r}: it must be a list of texts")
    for key, value in values.items():
        if key not in known:
            raise UsageError(f"theme: no key {key!r}; {did_you_mean(key, known)}")
        if not isinstance(value, str) and not (isinstance(value, list) and all(isinstance(v, str) for v in value)):
            raise UsageError(f"theme: {key} is {value!r}: it must be a text or a list of texts")
    given = {key: value if isinstance(value, str) else ", ".join(value) for key, value in values.items()}
    base_url = given.get("address", "") if "://" in given.get("address", "") else ""
    if base_url and not is_address(base_url):
        raise UsageError(f"theme: address {base_url!r} is not an address: write https://...")
    selectors = {key: given[key] for key in _SELECTORS if given.get(key) not in (None, "", base_url)}
    odd = {key: selector for key, selector in selectors.items() if not _is_plain(key, selector)}
    given |= {key: f"[{_MARK}{key}]" for key in odd}
    content = given.get("content", "")
    rules: dict[str, Any] = {key: given.get(key, "") for key in ("title", "drop")}
    rules["change"] = partial(_mark, odd) if odd else None
    rules |= {key: frozenset(given[key].replace(",", " ").split()) for key in _WORDS if key in given}
    return SiteGenerator(
        "theme",
        given.get("name", "the theme"),
        read=lambda name, text: SiteFacts(base_url, pages=("",), name=given.get("name", "")),
        navigation=(lambda files: _navigation(files, given["order"])) if given.get("order") else None,
        html=HtmlRules(
            pages=(HtmlPages("", content, content),) if content else (),
            address="" if base_url else given.get("address", ""),
            **rules,
        ),
        see_also_titles=frozenset(title.casefold() for title in titles),
        **tables,
    )


def _aliases(key: str, table: Any) -> dict[str, str]:
    """Return what each name of a table is like, of which a key may have several. Raises UsageError."""
    if not isinstance(table, dict) or not all(isinstance(meant, str) for meant in table.values()):
        raise UsageError(f"theme: {key} is {table!r}: it must be a table of names")
    return {name: meant for names, meant in table.items() for name in names.split()}


def _is_plain(key: str, selector: str) -> bool:
    """Whether Lexbor knows a selector: :-soup-contains() and others need a soup. Raises UsageError if none does."""
    from selectolax.lexbor import LexborHTMLParser

    try:
        LexborHTMLParser("<p>").css(selector)
        return True
    except Exception as error:  # selectolax raises SelectolaxError or ValueError by its version
        try:
            from bs4 import BeautifulSoup

            BeautifulSoup("", "lxml").css.compile(selector)
        except Exception:
            raise UsageError(f"theme: {key} = {selector!r} is not a CSS selector") from error
        if key == "order":
            raise UsageError(f"theme: order = {selector!r} is too special: write a plain selector") from error
        return False


def _mark(selectors: Mapping[str, str], soup: Any) -> None:
    """Mark what selectors match in a soup by an attribute each."""
    for key, selector in selectors.items():
        for element in soup.select(selector):
            element[_MARK + key] = ""


def _navigation(files: SiteFiles, selector: str) -> Iterator[NavEntry]:
    """Return the pages that the links of the index page lead to."""
    from selectolax.lexbor import LexborHTMLParser

    links = LexborHTMLParser(files.text(_INDEX)).css(selector)
    targets = ((link.attributes.get("href") or "", " ".join(link.text(deep=True).split())) for link in links)
    return PageNames(files.pages).entries(targets)
