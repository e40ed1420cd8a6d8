"""Jekyll, and Just the Docs, its theme for documentation."""

from collections.abc import Iterator

from structformer.formats import FOLDER, HTML, HtmlRules, NavEntry, SiteFacts, SiteFiles, SiteGenerator, SitePage

from structformer_sites.navigation import number_of, text_at
from structformer_sites.settings import address, load, text_of

_DEEPEST = 6  # parents of a page


def _read(name: str, text: str) -> SiteFacts:
    settings = load(name, text)
    return SiteFacts(
        address(settings.get("url"), settings.get("baseurl")),
        FOLDER if settings.get("permalink") == "pretty" else HTML,
        (text_of(settings.get("source")),),
        name=text_of(settings.get("title")) or text_of(settings.get("name")),
    )


def _navigation(files: SiteFiles) -> Iterator[NavEntry]:
    """Return the pages by nav_order among those of one parent, a page after its parent."""
    by_title = {page.title: page for page in files.pages}

    def place(page: SitePage) -> list[tuple[float, str]]:
        chain: list[tuple[float, str]] = []
        at: SitePage | None = page
        while at is not None and len(chain) < _DEEPEST:
            chain.insert(0, (number_of(at.metadata, "nav_order"), at.title))
            parent = text_at(at.metadata, "parent")
            at = by_title.get(parent) if parent != at.title else None
        return chain

    placed = [page for page in files.pages if "nav_order" in page.metadata or "parent" in page.metadata]
    return (NavEntry(page.path) for page in sorted(placed, key=place))


JEKYLL = SiteGenerator(
    "jekyll",
    "Jekyll",
    settings=("_config.yml",),
    read=_read,
    navigation=_navigation,
    position_keys=("nav_order",),
    html=HtmlRules(line_numbers=frozenset({"rouge-gutter"})),
)
