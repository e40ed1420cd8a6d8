"""Generators of reference documentation from code, and of manuals: what their pages' links mean."""

import re

from structformer.formats import SiteGenerator

EXDOC = SiteGenerator(
    "exdoc",
    "ExDoc",
    # Code, in backticks or not: `Supervisor`, c:init/1, m:Ecto.Query, t:t/0, :lists.map/2. It is described elsewhere.
    external=re.compile(r"`[^`]+`|(?:[cet]:)?(?::?[\w.]+\.)?[\w!?]+/\d+|m:[\w.]+(?:#[\w-]+)?"),
)
YELP = SiteGenerator(
    "yelp", "Yelp", external=re.compile(r"(?:help|ghelp|man|info|apt|install|package):[^\s/].*", re.IGNORECASE)
)
