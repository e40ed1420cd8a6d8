"""Jupyter's export of notebooks."""

from structformer.formats import HtmlRules, SiteGenerator

JUPYTER = SiteGenerator(
    "jupyter",
    "Jupyter",
    html=HtmlRules(furniture=frozenset({"anchor-link"})),
)
