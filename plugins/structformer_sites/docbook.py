"""DocBook's stylesheets, and Boost's on top of them."""

from structformer.formats import HtmlPages, HtmlRules, SiteGenerator

BOOSTBOOK = SiteGenerator(
    "boostbook",
    "BoostBook",
    html=HtmlRules(pages=(HtmlPages("spirit-nav", "body > div.spirit-nav", "body > div:not(.spirit-nav)"),)),
)

DOCBOOK = SiteGenerator(
    "docbook-xsl",
    "DocBook XSL",
    html=HtmlRules(
        pages=(HtmlPages("refentry", "div.refentry", "div.refentry"), HtmlPages("navheader", "div.navheader", "body")),
        furniture=frozenset({"navfooter", "navheader"}),
    ),
)
