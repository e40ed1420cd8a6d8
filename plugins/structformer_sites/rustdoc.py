"""rustdoc."""

from structformer.formats import HtmlRules, SiteGenerator

RUSTDOC = SiteGenerator(
    "rustdoc",
    "rustdoc",
    html=HtmlRules(furniture=frozenset({"rustdoc-breadcrumbs", "test-arrow"})),
)
