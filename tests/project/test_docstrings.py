"""Public docstrings are valid reStructuredText, as Sphinx reads them: the names that packages list in `__all__`."""

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator

import pytest
import structformer

docutils = pytest.importorskip("docutils.core", reason="docutils is not installed: it comes with the extra docs")

_SWALLOWED = re.compile(r"(?m)^( *)(?![-*] )[^\s][^\n]*\n\1[-*] \S[^\n]*\n")  # a list without a blank line before it
_LEAST = 2  # docutils' level of warnings
_OF_SPHINX = ("Unknown interpreted text role", "No role entry", "Unknown directive type", "No directive entry")


def documented() -> Iterator[tuple[str, str]]:
    """Yield (name, docstring) of public names, and of the public members of classes among them."""
    for package in [structformer, *packages()]:
        for name in getattr(package, "__all__", ()):
            thing = getattr(package, name, None)
            if not (inspect.isclass(thing) or inspect.isfunction(thing)):
                continue
            yield f"{package.__name__}.{name}", inspect.getdoc(thing) or ""
            for member, value in vars(thing).items() if inspect.isclass(thing) else ():
                if not member.startswith("_") and (inspect.isfunction(value) or isinstance(value, property)):
                    yield f"{package.__name__}.{name}.{member}", inspect.getdoc(value) or ""


def packages() -> Iterator[object]:
    for info in pkgutil.iter_modules(structformer.__path__, "structformer."):
        if info.name != "structformer.__main__":  # importing that runs the command
            yield importlib.import_module(info.name)


def problems(docstring: str) -> list[str]:
    """Return what docutils and the look for lists that it takes for prose complain of."""
    from docutils.utils import Reporter

    said: list[str] = []
    settings = {"report_level": Reporter.SEVERE_LEVEL + 1, "halt_level": Reporter.SEVERE_LEVEL + 1}
    document = docutils.publish_doctree(docstring, settings_overrides=settings)
    for message in document.findall(lambda node: node.tagname == "system_message"):
        text = message.astext()
        if message["level"] >= _LEAST and not any(each in text for each in _OF_SPHINX):
            said.append(text)
    return said + [f"no blank line before: {match[0]!r}" for match in _SWALLOWED.finditer(docstring + "\n")]


def test_public_docstrings_build():
    wrong = {name: said for name, docstring in dict(documented()).items() if (said := problems(docstring))}
    assert wrong == {}


@pytest.mark.parametrize("wrong", ["Return:\n- a\n- b", "Return ``a", "A:\n\n- a\n  b\nc"])
def test_a_docstring_that_does_not_build_is_seen(wrong):
    assert problems(wrong)
