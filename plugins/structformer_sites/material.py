"""Material for MkDocs: MkDocs' settings, a theme of its own."""

from structformer.formats import HtmlPages, HtmlRules, SearchBox, SiteGenerator

from structformer_sites.navigation import place

MATERIAL = SiteGenerator(
    "material",
    "Material for MkDocs",
    html=HtmlRules(
        pages=(
            HtmlPages(
                "md-content__inner", "article.md-content__inner", "article.md-content__inner", name="mkdocs-material"
            ),
        ),
        furniture=frozenset({"md-content__button", "md-sidebar", "md-source-file"}),
    ),
    boxes=(
        SearchBox(
            "Material for MkDocs",
            (place(".md-header .md-search", "before", "button", "margin:0 .4rem"),),
            own=".md-header .md-search, .md-header__button[for=__search]",
            keys=("s", "f"),
        ),
    ),
)
