"""Quarto, and bookdown."""

from structformer.formats import HTML, HtmlRules, NavEntry, SiteFacts, SiteFiles, SiteGenerator

from structformer_sites.navigation import PageNames, nested
from structformer_sites.settings import address, load, path_in, table_of, text_of


def _read(name: str, text: str) -> SiteFacts:
    settings = load(name, text)
    site = table_of(settings.get("website")) or table_of(settings.get("book")) or settings
    name = text_of(site.get("title")) or text_of(settings.get("book_filename"))
    return SiteFacts(address(site.get("site-url")), HTML, name=name)


def _navigation(files: SiteFiles) -> list[NavEntry]:
    settings = load(files.settings, files.settings_text)
    places = (("book", "chapters"), ("book", "appendices"), ("website", "sidebar"), ("rmd_files",))
    listed = [each for each in (path_in(settings, *keys) for keys in places) if each]
    return list(PageNames(files.pages).entries(nested(listed, ("href", "file", "part"), ("text",))))


QUARTO = SiteGenerator(
    "quarto",
    "Quarto",
    settings=("_quarto.yml", "_bookdown.yml"),
    read=_read,
    navigation=_navigation,
    markdown=("shortcodes", "pandoc", "containers"),
    page_settings={"meta": {"_metadata.yml": "", "_quarto.yml": ""}, "var": {"_variables.yml": ""}},
    html=HtmlRules(furniture=frozenset({"anchorjs-link"})),
)
