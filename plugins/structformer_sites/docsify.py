"""Docsify."""

from structformer.formats import SiteFacts, SiteGenerator

from structformer_sites.navigation import PageNames, links_in

_SIDEBAR = "_sidebar.md"


DOCSIFY = SiteGenerator(
    "docsify",
    "Docsify",
    settings=(_SIDEBAR,),
    read=lambda name, text: SiteFacts(),
    navigation=lambda files: PageNames(files.pages).entries(links_in(files.text(_SIDEBAR))),
)
