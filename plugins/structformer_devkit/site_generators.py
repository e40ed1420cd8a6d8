"""The rules that every site generator keeps."""

from collections.abc import Iterator, Mapping

from selectolax.lexbor import LexborHTMLParser
from structformer.formats import NavEntry, SiteFacts, SiteFiles, SiteGenerator, SitePage, is_address

from structformer_devkit.formats import Broken, carried_out

SITE_GENERATOR_RULES = (
    "it runs",
    "settings are facts or none",
    "an address is one",
    "pages lie beside or below the settings",
    "navigation has entries of pages",
    "the same again",
    "selectors are CSS",
)
_HOSTILE = ("", "\x00", "{", "[", "a: [", "- a", "a = ", "export default {", "'" * 999, "(" * 999)
_PAGES = tuple(SitePage(path, path, {"weight": 1, "order": "x"}) for path in ("index.md", "guide/a.md", "guide/b.md"))


def check_site_generator(generator: SiteGenerator, samples: Mapping[str, str] | None = None) -> list[Broken]:
    """Ask a site generator for the facts and the navigation of hostile settings and of samples; empty if it keeps every
    rule. samples: files of a site by their paths, relative to the folder of settings, which is that of the pages.
    """
    return carried_out(generator.name, _broken(generator, samples or {}))


def _broken(generator: SiteGenerator, samples: Mapping[str, str]) -> Iterator[Broken]:
    for name in generator.settings:
        for text in (*_HOSTILE, *filter(None, [samples.get(name)])):
            facts = generator.read(name, text) if generator.read is not None else None
            if facts is not None and not isinstance(facts, SiteFacts):
                yield Broken("settings are facts or none", name, repr(facts))
                continue
            if facts is not None and facts.base_url and not is_address(facts.base_url):
                yield Broken("an address is one", name, facts.base_url)
            if facts is not None and any(page.startswith("/") for page in facts.pages):
                yield Broken("pages lie beside or below the settings", name, str(facts.pages))
            yield from _navigation(generator, name, {**samples, name: text})
    yield from _navigation(generator, "", samples)
    rules = generator.html
    selectors = [each for page in rules.pages for each in (page.made_by, page.content)]
    for selector in filter(None, [*selectors, rules.title, rules.drop, rules.address]):
        try:
            LexborHTMLParser("<p>").css(selector)
        except Exception as error:
            yield Broken("selectors are CSS", selector, str(error))


def _navigation(generator: SiteGenerator, settings: str, files: Mapping[str, str]) -> Iterator[Broken]:
    pages = (*_PAGES, *(SitePage(path, path, {}) for path in files if path.endswith((".md", ".html", ".rst", ".adoc"))))
    if generator.navigation is None:
        return
    asked = SiteFiles(settings, lambda path: files.get(path, ""), pages)
    first, second = list(generator.navigation(asked)), list(generator.navigation(asked))
    if first != second:
        yield Broken("the same again", settings, "two runs differ")
    if wrong := [each for each in first if not isinstance(each, NavEntry) or each.path.startswith(("/", "../"))]:
        yield Broken("navigation has entries of pages", settings, repr(wrong[0]))
