"""YARD."""

from structformer.formats import HtmlPages, HtmlRules, SiteGenerator

YARD = SiteGenerator(
    "yard",
    "YARD",
    html=HtmlRules(
        pages=(HtmlPages("nav_wrap", "div.nav_wrap", "div#content"),),
        furniture=frozenset({"inheritanceTree", "summary_toggle"}),
    ),
)
