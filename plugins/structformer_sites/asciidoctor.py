"""Asciidoctor."""

from structformer.formats import HtmlRules, SiteGenerator

ASCIIDOCTOR = SiteGenerator(
    "asciidoctor",
    "Asciidoctor",
    html=HtmlRules(
        furniture=frozenset({"conum"}),
        notes=frozenset({"admonitionblock"}),
        callouts=frozenset({"colist", "conum"}),
    ),
)
