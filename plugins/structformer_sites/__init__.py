"""Site generators: one file and one object each. `settings` is the one reader of their settings files."""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from structformer.formats import SiteGenerator
from structformer.lazy_names import lazy_names
from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer_sites.page_settings import markdown_of, published_paths, settings_above, settings_files
    from structformer_sites.settings import load, parse_lines, parse_toml, parse_yaml, text_of

__all__ = [
    "load", "markdown_of", "parse_lines", "parse_toml", "parse_yaml", "published_paths", "settings_above",
    "settings_files", "text_of",
]  # fmt: skip
__getattr__ = lazy_names(__name__)


# Modules whose generators come before others: of two that know a file of one name, such as config.toml, the one whose
# settings are plainer; of two that know a page, the one whose marks are more its own.
_FIRST = "mediawiki mkdocs material jupyter jekyll docusaurus sphinx mdbook docfx zola hugo starlight vitepress".split()


@hookimpl
def structformer_site_generators() -> list[SiteGenerator]:
    others = sorted(module.name for module in iter_modules(__path__) if module.name not in _FIRST)
    modules = [import_module(f"{__name__}.{name}") for name in (*_FIRST, *others)]
    return [value for module in modules for value in vars(module).values() if isinstance(value, SiteGenerator)]


@hookimpl
def structformer_theme(text: str) -> SiteGenerator:
    from structformer_sites.theme import read_theme

    return read_theme(text)
