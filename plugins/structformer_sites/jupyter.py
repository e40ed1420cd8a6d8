"""Jupyter's export of notebooks, and Jupyter Book."""

from structformer.formats import HtmlRules, SiteGenerator

JUPYTER = SiteGenerator(
    "jupyter",
    "Jupyter",
    page_settings={"substitutions": {"_config.yml": "parse.myst_substitutions."}},
    html=HtmlRules(furniture=frozenset({"anchor-link"})),
)
