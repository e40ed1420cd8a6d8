"""Generators of reference documentation from code, and of manuals: how their pages are read, what their links mean."""

import re

from structformer.formats import HtmlPages, HtmlRules, SiteGenerator

EXDOC = SiteGenerator(
    "exdoc",
    "ExDoc",
    # Code, in backticks or not: `Supervisor`, c:init/1, m:Ecto.Query, t:t/0, :lists.map/2. It is described elsewhere.
    external=re.compile(r"`[^`]+`|(?:[cet]:)?(?::?[\w.]+\.)?[\w!?]+/\d+|m:[\w.]+(?:#[\w-]+)?"),
)
YELP = SiteGenerator(
    "yelp", "Yelp", external=re.compile(r"(?:help|ghelp|man|info|apt|install|package):[^\s/].*", re.IGNORECASE)
)
RUSTDOC = SiteGenerator(
    "rustdoc",
    "rustdoc",
    html=HtmlRules(furniture=frozenset({"rustdoc-breadcrumbs", "test-arrow"})),
    # Paths in code, with the kind of what is meant or without: std::vec::Vec, Vec::push(), fn@foo, struct@Foo.
    external=re.compile(r"(?:[a-z]+@)?\w+(?:::\w+)+(?:\(\)|!)?|(?:enum|fn|macro|mod|prim|struct|trait|type|value)@\w+"),
)
DOKKA = SiteGenerator(
    "dokka",
    "Dokka",
    html=HtmlRules(furniture=frozenset({"copy-popup-wrapper", "tabs-section"})),
)
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
PHPDOCUMENTOR = SiteGenerator(
    "phpdocumentor",
    "phpDocumentor",
    html=HtmlRules(
        pages=(HtmlPages("phpdocumentor-content", "div.phpdocumentor-content", "div.phpdocumentor-content"),),
        own_furniture=frozenset({"phpdocumentor-breadcrumbs", "phpdocumentor-on-this-page__sidebar"}),
    ),
)
TYPEDOC = SiteGenerator(
    "typedoc",
    "TypeDoc",
    html=HtmlRules(
        pages=(HtmlPages("tsd-", "div.col-content .tsd-panel, div.col-content .tsd-page-title", "div.col-content"),),
        furniture=frozenset({"tsd-breadcrumb", "tsd-sources"}),
    ),
)
YARD = SiteGenerator(
    "yard",
    "YARD",
    html=HtmlRules(
        pages=(HtmlPages("nav_wrap", "div.nav_wrap", "div#content"),),
        furniture=frozenset({"inheritanceTree", "summary_toggle"}),
    ),
)
