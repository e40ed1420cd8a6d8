"""Hugo, and Docsy, its theme for documentation."""

from structformer.formats import FOLDER, HTML, HtmlPages, HtmlRules, SiteFacts, SiteGenerator

from structformer_sites.navigation import by_weight
from structformer_sites.settings import address, load, text_of

_SUFFIXES = ("toml", "yaml", "yml", "json")
_SETTINGS = tuple(f"{name}.{suffix}" for name in ("hugo", "config") for suffix in _SUFFIXES)
# A config.toml without any of these is some other program's.
_KEYS = frozenset("baseurl languagecode theme themes contentdir params markup taxonomies languages".split())

# Files of values for `param`, and what precedes a value's name there.
_PARAMETERS = {
    f"{name}{suffix}": "" if name.endswith("params") else "params."
    for name in ("config/_default/params", "config/_default/hugo", "config/_default/config", "hugo", "config")
    for suffix in (".toml", ".yaml")
}


def _read(name: str, text: str) -> SiteFacts | None:
    settings = {key.lower(): value for key, value in load(name, text).items()}  # Hugo's keys have any case
    if "hugo" not in name and _KEYS.isdisjoint(settings):
        return None
    return SiteFacts(
        address(settings.get("baseurl")),
        HTML if settings.get("uglyurls") in (True, "true") else FOLDER,
        (text_of(settings.get("contentdir")) or "content",),
        name=text_of(settings.get("title")),
        lower=settings.get("disablepathtolower") not in (True, "true"),
    )


HUGO = SiteGenerator(
    "hugo",
    "Hugo",
    settings=(*_SETTINGS, *(f"config/_default/{name}" for name in _SETTINGS)),
    read=_read,
    navigation=lambda files: by_weight(files.pages, "weight", ("linkTitle", "linktitle")),
    position_keys=("weight",),
    markdown=("shortcodes",),
    page_settings={"param": _PARAMETERS},
    html=HtmlRules(
        pages=(HtmlPages("td-content", "div.td-content", "div.td-content", name="hugo-docsy"),),
        furniture=frozenset({"feedback--question", "feedback--title", "td-page-meta__lastmod"}),
        line_numbers=frozenset({"lnt", "lntd"}),
    ),
)
