"""Javadoc, and JXR, which shows the sources beside it."""

from structformer.formats import HtmlPages, HtmlRules, SiteGenerator

JAVADOC = SiteGenerator(
    "javadoc",
    "Javadoc",
    html=HtmlRules(
        pages=(HtmlPages("contentContainer", "div.contentContainer", "div.header, div.contentContainer"),),
        furniture=frozenset(
            """NavBarCell1 NavBarCell1Rev NavBarCell2 NavBarCell3 bottomNav navList navListSearch subNav subNavList
            topNav""".split()
        ),
    ),
)

JXR = SiteGenerator(
    "jxr",
    "Maven JXR",
    html=HtmlRules(
        pages=(HtmlPages("jxr_linenumber", "a.jxr_linenumber", "body"),),
        drop="#overview",  # View Javadoc
        line_numbers=frozenset({"jxr_linenumber"}),
    ),
)
