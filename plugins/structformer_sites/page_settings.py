"""Settings of site generators for a page, by what a format asks for and never by a generator's name."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from structformer.formats import SourceFile
from structformer.plugins import load_plugins

_FARTHEST = 12  # folders above a page where its site's settings are looked for


@cache
def settings_files(key: str) -> Mapping[str, str]:
    """Return the names of settings files that answer to a key of `page_settings`, with what precedes a value's name."""
    declared = (each.page_settings.get(key, {}) for each in load_plugins().site_generators.values())
    return {name: before for files in declared for name, before in files.items()}


def settings_above(source: SourceFile, key: str) -> SourceFile | None:
    """Return the first settings file that answers to a key in the page's folder or above it; None if there is none."""
    files = (source.above(name, _FARTHEST) for name in settings_files(key))
    return next((file for file in files if file is not None), None)


def published_paths(path: str, metadata: Mapping[str, Any], source: SourceFile) -> Iterator[str]:
    """Yield further paths under which site generators publish a page."""
    for generator in load_plugins().site_generators.values():
        if generator.published is not None:
            yield from generator.published(path, metadata, source)


def markdown_of(name: str) -> tuple[str, ...]:
    """Return the dialects of Markdown that a generator's pages have; () for an unknown name."""
    generator = load_plugins().site_generators.get(name)
    return generator.markdown if generator is not None else ()
