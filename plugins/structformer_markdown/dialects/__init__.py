"""The Markdown of site generators, each in its own file: what they add to it becomes plain Markdown, and code stays as
it is.
"""

from importlib import import_module

from structformer.errors import UsageError
from structformer.formats import SourceFile

from structformer_markdown.dialects.page import Dialect, Page

# Each a module here, in the order in which they read a page: what others might take for theirs comes first.
_NAMES = tuple(
    """rfc myst mkdocs gitbook mdn hugo liquid kramdown docfx containers obsidian mdbook mdx pandoc
    attributes""".split()
)
DIALECTS: tuple[Dialect, ...] = tuple(import_module(f"{__name__}.{name}").DIALECT for name in _NAMES)


def chosen_names(chosen: str) -> frozenset[str]:
    """The names of an option's value: several by comma, "none" for none. Raises UsageError."""
    names = [name.strip() for name in chosen.split(",")]
    for name in names:
        if name not in _NAMES and name != "none":
            raise UsageError(f"no Markdown dialect {name!r}; choose from: {', '.join(sorted(_NAMES))}, none")
    return frozenset(names)


def syntaxes(text: str, path: str, chosen: str | None = None) -> frozenset[str]:
    """Return the names of the dialects of a page: those that are chosen, else those that its text shows."""
    if chosen is not None:
        return chosen_names(chosen) - {"none"}
    lines = "\n" + text  # so that every line begins after a line break
    return frozenset(dialect.name for dialect in DIALECTS if dialect.recognised(lines, path))


def plain_markdown(text: str, source: SourceFile, names: frozenset[str]) -> str:
    """Return the text without the marks of these dialects, but for those that the grammar reads."""
    changes = [dialect.plain for dialect in DIALECTS if dialect.name in names]
    if not changes:
        return text
    page = Page(source)
    text = page.without_code(text)
    for change in changes:
        text = change(text, page)
    return page.restored(text)
