"""Dialects of Markdown, each in its own file: what they add to it becomes plain Markdown, and code stays as it is."""

from collections.abc import Mapping
from importlib import import_module

from structformer.errors import UsageError
from structformer.formats import SourceFile

from structformer_markdown.dialects.page import Dialect, Page
from structformer_sites import markdown_of

# Each a module here, in the order in which they read a page: what others might take for theirs comes first.
_NAMES = tuple(
    """rfc myst pymdown hints mdn shortcodes liquid kramdown dfm containers obsidian listings mdx pandoc
    attributes""".split()
)
DIALECTS: tuple[Dialect, ...] = tuple(import_module(f"{__name__}.{name}").DIALECT for name in _NAMES)


def chosen_names(chosen: str) -> frozenset[str]:
    """Return the dialects named by an option; a site generator's name means those of its pages. Raises UsageError."""
    names: set[str] = set()
    for name in map(str.strip, chosen.split(",")):
        if not (dialects := (name,) if name in (*_NAMES, "none") else markdown_of(name)):
            choices = ", ".join(sorted(_NAMES))
            raise UsageError(f"no Markdown dialect {name!r}; choose from: {choices}, none, or name a site generator")
        names.update(dialects)
    return frozenset(names)


def syntaxes(text: str, path: str, chosen: str | None = None) -> frozenset[str]:
    """Return the names of the dialects of a page: those that are chosen, else those that its text shows."""
    if chosen is not None:
        return chosen_names(chosen) - {"none"}
    lines = "\n" + text  # so that every line begins after a line break
    return frozenset(dialect.name for dialect in DIALECTS if dialect.recognised(lines, path))


def plain_markdown(
    text: str, source: SourceFile, names: frozenset[str], shortcodes: Mapping[str, str] | None = None
) -> str:
    """Return the text without the marks of these dialects, but for those that the grammar reads.

    shortcodes: of a user's own, those that they are like.
    """
    changes = [dialect.plain for dialect in DIALECTS if dialect.plain is not None and dialect.name in names]
    if not changes:
        return text
    page = Page(source, shortcodes)
    text = page.without_code(text)
    for change in changes:
        text = change(text, page)
    return page.restored(text)
