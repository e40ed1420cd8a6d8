"""LaTeXML."""

from structformer.formats import HtmlRules, SiteGenerator

LATEXML = SiteGenerator(
    "latexml",
    "LaTeXML",
    html=HtmlRules(
        furniture=frozenset({"ltx_eqn_eqno", "ltx_note_mark", "ltx_tag_note"}),
        side_notes=frozenset({"ltx_note_outer"}),
        line_tables=frozenset({"ltx_eqn_table"}),
    ),
)
