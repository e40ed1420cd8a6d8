"""mdBook, and GitBook, whose SUMMARY.md it took over."""

from collections.abc import Iterator, Mapping
from typing import Any

from structformer.formats import (
    FOLDER,
    HTML,
    HtmlPages,
    HtmlRules,
    NavEntry,
    SearchBox,
    SiteFacts,
    SiteFiles,
    SiteGenerator,
    SourceFile,
)

from structformer_sites.navigation import PageNames, links_in, place
from structformer_sites.settings import address, load, path_in, text_of

_SETTINGS, _SUMMARY = "book.toml", "SUMMARY.md"
_FARTHEST = 12  # folders above a chapter


def _read(name: str, text: str) -> SiteFacts | None:
    settings = load(name, text) if name != _SUMMARY else {"book": {}}
    book = settings.get("book")
    if not isinstance(book, dict) and path_in(settings, "output", "html") is None:
        return None
    site_url = path_in(settings, "output", "html", "site-url")
    pages = ("",) if name == _SUMMARY else (text_of(path_in(settings, "book", "src")) or "src",)
    return SiteFacts(address(site_url), HTML, pages, name=text_of(path_in(settings, "book", "title")))


def _navigation(files: SiteFiles) -> list[NavEntry]:
    return list(PageNames(files.pages).entries(links_in(files.text(_SUMMARY))))


def _published(path: str, metadata: Mapping[str, Any], source: SourceFile) -> Iterator[str]:
    """Yield the index page that a README is published as."""
    folder, _, name = path.rpartition("/")
    if name.lower() == "readme.md" and source.above(_SETTINGS, _FARTHEST) is not None:
        yield f"{folder}/index.md".lstrip("/")


def _read_gitbook(name: str, text: str) -> SiteFacts:
    settings = load(name, text)
    return SiteFacts(rule=FOLDER, pages=(text_of(settings.get("root")),), name=text_of(settings.get("title")))


GITBOOK = SiteGenerator(
    "gitbook",
    "GitBook",
    settings=(".gitbook.yaml", "book.json"),
    read=_read_gitbook,
    navigation=_navigation,
    markdown=("hints",),
    html=HtmlRules(furniture=frozenset({"search-results-title"})),
)

MDBOOK = SiteGenerator(
    "mdbook",
    "mdBook",
    settings=(_SETTINGS, _SUMMARY),
    read=_read,
    navigation=_navigation,
    markdown=("listings",),
    page_settings={"chapters": {_SETTINGS: ""}, "hidden_lines": {_SETTINGS: ""}},
    published=_published,
    html=HtmlRules(pages=(HtmlPages("mdbook", "#content main", "#content main"),)),
    boxes=(
        SearchBox(
            "mdBook",
            (
                place(
                    "#mdbook-search-toggle, #search-toggle",
                    "before",
                    "button",
                    "align-self:center;margin:0 .5rem;color:var(--icons-hover,inherit)",
                ),
            ),
            own="#mdbook-search-toggle, #search-toggle, #mdbook-search-wrapper, #search-wrapper",
            keys=("s",),
        ),
    ),
)
