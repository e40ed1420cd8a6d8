"""MediaWiki, as a server writes it."""

from structformer.formats import HtmlPages, HtmlRules, SiteGenerator

MEDIAWIKI = SiteGenerator(
    "mediawiki",
    "MediaWiki",
    html=HtmlRules(
        pages=(HtmlPages("mw-content-text", "#mw-content-text", "#mw-content-text"),),
        title="h1#firstHeading",
        furniture=frozenset(
            """mw-cite-backlink mw-editsection mw-jump-link mwe-math-mathml-a11y navbox navbox-styles printfooter
            vertical-navbox""".split()
        ),
        furniture_ids=frozenset({"catlinks", "mw-navigation"}),
        code_languages=frozenset({"mw-highlight-lang"}),
        formula_images=frozenset({"mwe-math-fallback-image-display", "mwe-math-fallback-image-inline"}),
    ),
)
