"""VitePress."""

from structformer.formats import BARE, HTML, HtmlRules, NavEntry, SearchBox, SiteFacts, SiteFiles, SiteGenerator

from structformer_sites.navigation import PageNames, nested, place
from structformer_sites.settings import SCRIPTS, address, load, path_in, text_of

_KEYS = ("title", "themeConfig", "base", "srcDir", "sitemap", "cleanUrls", "head")


def _read(name: str, text: str) -> SiteFacts:
    """Return the facts of settings, which have a host only if a sitemap is to be written."""
    settings = load(name, text, _KEYS)
    return SiteFacts(
        address(path_in(settings, "sitemap", "hostname"), settings.get("base", "/")),
        BARE if settings.get("cleanUrls") is True else HTML,
        (text_of(settings.get("srcDir")),),
        name=text_of(settings.get("title")),
    )


def _navigation(files: SiteFiles) -> list[NavEntry]:
    sidebar = path_in(load(files.settings, files.settings_text, _KEYS), "themeConfig", "sidebar")
    return list(PageNames(files.pages).entries(nested(sidebar, ("link",), ("text",), base="base")))


VITEPRESS = SiteGenerator(
    "vitepress",
    "VitePress",
    settings=tuple(f".vitepress/config{suffix}" for suffix in SCRIPTS),
    read=_read,
    navigation=_navigation,
    markdown=("containers", "attributes"),
    html=HtmlRules(
        furniture=frozenset({"header-anchor"}),
        notes=frozenset({"custom-block"}),
        note_titles=frozenset({"custom-block-title"}),
    ),
    boxes=(
        SearchBox(
            "VitePress",
            (place(".VPNavBar .VPNavBarSearch", "prepend", "button"),),
            own=".VPNavBarSearch > :not([data-structformer])",
        ),
    ),
)
