"""Generators of reference documentation from code, and of manuals: what their pages' links mean."""

import re

from structformer.formats import SiteGenerator

EXDOC = SiteGenerator(
    "exdoc",
    "ExDoc",
    # `Ecto.Repo.insert/2`, `c:init/1`, `m:Ecto.Query`, `t:t/0`, `:lists.map/2`: described where the code is.
    external=re.compile(r"`?(?:(?:[cet]:)?(?::?[\w.]+\.)?[\w!?]+/\d+|m:[\w.]+(?:#[\w-]+)?)`?"),
)
YELP = SiteGenerator(
    "yelp", "Yelp", external=re.compile(r"(?:help|ghelp|man|info|apt|install|package):[^\s/].*", re.IGNORECASE)
)
