"""Imports point one way, as docs/design.md draws them."""

from __future__ import annotations

import ast
from pathlib import Path

import structformer

ROOT = Path(structformer.__file__).parent
# Each layer imports only from those before it.
LAYERS = [
    {"_version", "errors", "lengths"},
    {"document"},
    {"text"},
    {"storage", "formats"},
    {"workspace", "plugins", "portions"},
    {"outputs"},
    {"corpus", "engines", "pages"},
    {"graph"},
    {"ingestion"},
    {"sampling", "models"},
    {"training"},
    {"retrieval"},
    {"query_side"},
    {"evaluation"},
    {"adapters", "checks", "search_engines"},
    {"serving"},
    {"static_site"},
    {"cli"},
]
FOR_PLUGINS = {"errors", "lengths", "document", "text", "formats", "plugins"}


def imported(path: Path) -> set[str]:
    """The parts of structformer that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = (
            [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else []
        )
        found |= {name.split(".")[1] for name in names if name.startswith("structformer.")}
    return found


def test_no_module_imports_one_below_it_in_the_picture():
    level = {part: number for number, parts in enumerate(LAYERS) for part in parts}
    for path in ROOT.rglob("*.py"):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part in ("__init__", "__main__"):
            continue  # the package's public names and its command point at everything
        for other in imported(path) - {part}:
            assert level[other] < level[part], f"{path.relative_to(ROOT)} imports {other}"


def test_training_and_retrieval_share_models_not_each_other():
    for path in (ROOT / "retrieval").rglob("*.py"):
        assert "training" not in imported(path)


def test_first_party_plugins_use_what_a_third_party_may():
    plugins = list((ROOT.parent / "plugins").glob("structformer_*/*.py"))
    assert plugins
    for path in plugins:
        assert imported(path) <= FOR_PLUGINS, path


def test_the_core_names_no_plugin():
    for path in ROOT.rglob("*.py"):
        for name in ("html", "latex", "markdown", "notebook", "records", "rst", "wikitext", "xml"):
            assert f"structformer_{name}" not in path.read_text(), path
