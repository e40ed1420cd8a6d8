"""Jupyter's export of notebooks, and Jupyter Book."""

import json
from collections.abc import Callable, Iterator

from structformer.formats import HTML, HtmlRules, NavEntry, SiteFacts, SiteFiles, SiteGenerator

from structformer_sites.navigation import PageNames, nested
from structformer_sites.settings import address, load, load_list, path_in, text_of

_CONTENTS, _SETTINGS = "_toc.yml", "_config.yml"


def _whole(text: str, beside: Callable[[str], str]) -> str:
    """Return the contents, of older books a list, with the settings beside them."""
    contents = load_list(text) or load(_CONTENTS, text)
    return json.dumps({**load(_SETTINGS, beside(_SETTINGS)), "contents": contents}, ensure_ascii=False)


def _read(name: str, text: str) -> SiteFacts:
    settings = load(name, text)
    return SiteFacts(address(path_in(settings, "html", "baseurl")), HTML, name=text_of(settings.get("title")))


def _navigation(files: SiteFiles) -> Iterator[NavEntry]:
    contents = load(files.settings, files.settings_text).get("contents")
    return PageNames(files.pages).entries(nested(contents, ("root", "file"), ("title",)))


JUPYTER = SiteGenerator(
    "jupyter",
    "Jupyter",
    settings=(_CONTENTS,),
    read=_read,
    whole=_whole,
    navigation=_navigation,
    markdown=("myst",),
    page_settings={"substitutions": {_SETTINGS: "parse.myst_substitutions."}},
    html=HtmlRules(furniture=frozenset({"anchor-link"})),
)
