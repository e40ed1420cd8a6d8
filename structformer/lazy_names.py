"""Names that a package offers and imports when they are first used, so that importing the package stays quick."""

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def named_object(place: str) -> Any:
    """Return the object that "package.module:attribute" names."""
    module, _, attribute = place.partition(":")
    return getattr(importlib.import_module(module), attribute)


def lazy_names(package: str) -> Callable[[str], Any]:
    """A package's `__getattr__`: gives the names that it imports for type checkers (`if TYPE_CHECKING`), of which
    `__all__` lists those that are meant for others.
    """
    source = Path(str(sys.modules[package].__file__)).read_text(encoding="utf-8")
    blocks = (node for node in ast.parse(source).body if isinstance(node, ast.If))
    imports = (node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom))
    homes = {alias.asname or alias.name: (str(node.module), alias.name) for node in imports for alias in node.names}

    def attribute(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return named_object(":".join(homes[name]))

    return attribute
