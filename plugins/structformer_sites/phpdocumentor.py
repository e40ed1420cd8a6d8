"""phpDocumentor."""

from structformer.formats import HtmlPages, HtmlRules, SiteGenerator

PHPDOCUMENTOR = SiteGenerator(
    "phpdocumentor",
    "phpDocumentor",
    html=HtmlRules(
        pages=(HtmlPages("phpdocumentor-content", "div.phpdocumentor-content", "div.phpdocumentor-content"),),
        own_furniture=frozenset({"phpdocumentor-breadcrumbs", "phpdocumentor-on-this-page__sidebar"}),
    ),
)
