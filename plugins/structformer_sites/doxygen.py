"""Doxygen."""

from structformer.formats import HtmlPages, HtmlRules, SiteGenerator

DOXYGEN = SiteGenerator(
    "doxygen",
    "Doxygen",
    html=HtmlRules(
        pages=(HtmlPages("contents", "div.contents", "div.header, div.contents"),),
        title=".headertitle .title",
        furniture=frozenset({"ttc"}),
        own_furniture=frozenset({"headertitle", "summary"}),
        listings=frozenset({"fragment"}),
        line_tables=frozenset({"memname"}),
    ),
)
