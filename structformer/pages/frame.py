"""Self-contained pages from templates: nothing is fetched, no script runs, a corpus's texts are escaped."""

import time
from functools import cache
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from structformer._version import __version__
from structformer.text.visible_text import visible


@cache
def environment(package: str = "structformer", folder: str = "templates/pages") -> Environment:
    """Return the templates in a package's folder, and the frame that they may extend."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(package, folder), PackageLoader("structformer", "templates/pages")]),
        autoescape=True,
        undefined=StrictUndefined,
        # Control and bidirectional characters of texts are made visible; markup of ours stays as it is.
        finalize=lambda value: visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters["thousands"] = lambda value: f"{value:,}"
    made.filters["percent"] = lambda value: f"{value:.0%}"
    return made


def render(template: str, *, title: str, about: str, templates: Environment | None = None, **values: Any) -> bytes:
    """Return a page of a template, with time and version. title, about: shown on top; templates: a plugin's."""
    made = time.strftime("%Y-%m-%d %H:%M")
    page = (templates or environment()).get_template(template)
    text = page.render(title=title, about=about, made=made, version=__version__, **values)
    return text.encode("utf-8", "backslashreplace")
