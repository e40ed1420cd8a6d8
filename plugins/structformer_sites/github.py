"""GitHub's own rendering."""

from structformer.formats import HtmlRules, SiteGenerator

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
