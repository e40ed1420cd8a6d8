"""Writers of HTML from other formats: Asciidoctor, DocBook's stylesheets and Boost's, GitHub, LaTeXML."""

from structformer.formats import HtmlPages, HtmlRules, SiteGenerator

ASCIIDOCTOR = SiteGenerator(
    "asciidoctor",
    "Asciidoctor",
    html=HtmlRules(
        furniture=frozenset({"conum"}),
        notes=frozenset({"admonitionblock"}),
        callouts=frozenset({"colist", "conum"}),
    ),
)
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
GITHUB = SiteGenerator(
    "github",
    "GitHub",
    html=HtmlRules(
        notes=frozenset({"markdown-alert"}),
        note_prefixes=frozenset({"markdown-alert"}),
        note_titles=frozenset({"markdown-alert-title"}),
        code_languages=frozenset({"highlight-source"}),
        line_numbers=frozenset({"blob-num"}),
    ),
)
LATEXML = SiteGenerator(
    "latexml",
    "LaTeXML",
    html=HtmlRules(
        furniture=frozenset({"ltx_eqn_eqno", "ltx_note_mark", "ltx_tag_note"}),
        side_notes=frozenset({"ltx_note_outer"}),
        line_tables=frozenset({"ltx_eqn_table"}),
    ),
)
