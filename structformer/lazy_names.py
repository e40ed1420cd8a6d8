"""Names that a package offers and imports when they are first used, so that importing the package stays quick."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's `__getattr__`. modules: the module, or "module:other name" of it, by the name that is offered."""

    def attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, inner = modules[name].partition(":")
        return getattr(importlib.import_module(module), inner or name)

    return attribute
