"""TypeDoc."""

from structformer.formats import HtmlPages, HtmlRules, SiteGenerator

TYPEDOC = SiteGenerator(
    "typedoc",
    "TypeDoc",
    html=HtmlRules(
        pages=(HtmlPages("tsd-", "div.col-content .tsd-panel, div.col-content .tsd-page-title", "div.col-content"),),
        furniture=frozenset({"tsd-breadcrumb", "tsd-sources"}),
    ),
)
