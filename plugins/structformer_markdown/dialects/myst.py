"""MyST: comments (`% ...`), breaks of cells (`+++`), targets; its directives between colons are containers."""

import re

from structformer_markdown.dialects.page import Dialect

_NOTHING = re.compile(r"^(?:%.*|\+\+\+(?:[ \t].*)?)$", re.MULTILINE)
# A directive, a target or a role, but no code that is run, which R Markdown has as well.
_IS_MYST = re.compile(
    r"^[ \t>]*(?:```+|~~~+)\{(?!(?:r|python|julia|bash|sh|sql|ojs|dot|mermaid|rcpp|stan)\b)[A-Za-z][\w:-]*\}"
    r"|^\((?! )[\w:. -]+\)=[ \t]*$|\{[a-z][\w:-]*\}`[^`\n]",
    re.MULTILINE,
)

DIALECT = Dialect(
    "myst",
    lambda text, page: _NOTHING.sub("", text),
    {":::{": re.compile(r":::\{[A-Za-z][\w:-]*\}"), **dict.fromkeys(("\n%", "\n+++", ")=\n"), _IS_MYST)},
)
