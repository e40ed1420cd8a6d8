"""Generators of reference documentation from code, and of manuals: what their pages' links mean."""

import re

from structformer.formats import HtmlRules, SiteGenerator

EXDOC = SiteGenerator(
    "exdoc",
    "ExDoc",
    # Code, in backticks or not: `Supervisor`, c:init/1, m:Ecto.Query, t:t/0, :lists.map/2. It is described elsewhere.
    external=re.compile(r"`[^`]+`|(?:[cet]:)?(?::?[\w.]+\.)?[\w!?]+/\d+|m:[\w.]+(?:#[\w-]+)?"),
)
YELP = SiteGenerator(
    "yelp", "Yelp", external=re.compile(r"(?:help|ghelp|man|info|apt|install|package):[^\s/].*", re.IGNORECASE)
)
RUSTDOC = SiteGenerator(
    "rustdoc",
    "rustdoc",
    html=HtmlRules(furniture=frozenset({"rustdoc-breadcrumbs", "test-arrow"})),
    # Paths in code, with the kind of what is meant or without: std::vec::Vec, Vec::push(), fn@foo, struct@Foo.
    external=re.compile(r"(?:[a-z]+@)?\w+(?:::\w+)+(?:\(\)|!)?|(?:enum|fn|macro|mod|prim|struct|trait|type|value)@\w+"),
)
