"""Dokka."""

from structformer.formats import HtmlRules, SiteGenerator

DOKKA = SiteGenerator("dokka", "Dokka", html=HtmlRules(furniture=frozenset({"copy-popup-wrapper", "tabs-section"})))
