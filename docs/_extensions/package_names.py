"""The directive `package-names`: what each package of structformer names for plugins, with a line about each name."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import structformer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


def first_line(value: object) -> str:
    """The first sentence of a function's or a class's docstring."""
    if not (inspect.isclass(value) or inspect.isroutine(value)):
        return "a value or a type"
    return (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ").partition(". ")[0].rstrip(".") + "."


def packages() -> dict[str, list[tuple[str, str]]]:
    """(name, line) of all that each package lists in `__all__`."""
    found = {}
    for info in pkgutil.iter_modules(structformer.__path__, "structformer."):
        package = importlib.import_module(info.name) if not info.name.endswith("__main__") else None
        if names := getattr(package, "__all__", ()):
            found[info.name] = [(name, first_line(getattr(package, name))) for name in names]
    return found


class PackageNames(SphinxDirective):
    """One section for each package."""

    def run(self) -> list[nodes.Node]:
        sections: list[nodes.Node] = []
        for package, names in packages().items():
            section = nodes.section(ids=[nodes.make_id(package)], names=[package])
            section += nodes.title(package, package)
            rows = nodes.bullet_list()
            for name, line in names:
                rows += nodes.list_item("", nodes.paragraph("", "", nodes.literal(name, name), nodes.Text(f": {line}")))
            section += rows
            sections.append(section)
        return sections


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.add_directive("package-names", PackageNames)
    return {"parallel_read_safe": True}
