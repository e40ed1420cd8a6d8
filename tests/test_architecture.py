"""Imports point one way, as docs/design.md draws them."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import structformer
from structformer.models.kinds import ranker_kinds
from structformer.plugins import Hooks
from structformer.retrieval.registry import stage_kinds
from structformer.sampling.tasks import tasks
from structformer.search_engines import search_engines

ROOT = Path(structformer.__file__).parent
PLUGINS = ROOT.parent / "plugins"
# Each layer imports only from those before it.
LAYERS = [
    {"_version", "blocks", "errors", "near_names", "notebook_html", "word_counts"},
    {"document_in_notebook", "notebook_progress", "option_names"},
    {"document", "extras"},
    {"text"},
    {"storage", "formats"},
    {"workspace", "plugins", "parts"},
    {"outputs"},
    {"corpus", "engines", "pages"},
    {"graph"},
    {"ingestion"},
    {"sampling", "models", "static_encoder"},
    {"training"},
    {"retrieval"},
    {"query_side", "search_engines"},
    {"evaluation"},
    {"adapters", "checks"},
    {"serving"},
    {"static_site"},
    {"api_documents", "api_export", "api_serving"},
    {"cli"},
]
FOR_PLUGINS = {"errors", "word_counts", "blocks", "document", "text", "formats", "plugins"}
# What a plugin may import beside these parts: the public names of modules, which are those in `__all__` of a package.
FOR_ONE_PLUGIN = {
    "structformer_agent": {
        "structformer.cli.common",
        "structformer.cli.hits_view",
        "structformer.cli.searching",
        "structformer.retrieval",
    },
    "structformer_cluster": {"structformer.engines", "structformer.extras"},
    "structformer_engines": {"structformer.retrieval", "structformer.search_engines"},
    "structformer_kernels": {
        "structformer.cli.common",
        "structformer.corpus",
        "structformer.models",
        "structformer.models.cross_encoder",
        "structformer.models.loading",
        "structformer.outputs",
    },
    "structformer_papers": {
        "structformer.sampling",
        "structformer.sampling.collection",
        "structformer.sampling.neighbourhood",
        "structformer.sampling.poisson",
        "structformer.sampling.store",
        "structformer.sampling.survey",
        "structformer.sampling.word_sets",
    },
    "structformer_webformer": {
        "structformer.cli.common",
        "structformer.corpus",
        "structformer.models.base",
        "structformer.models.length_batches",
        "structformer.models.loading",
        "structformer.outputs",
        "structformer.storage.digests",
        "structformer.storage.files",
        "structformer.training.checkpoint",
        "structformer.training.masked",
        "structformer.training.out_of_memory",
        "structformer.training.schedule",
        "structformer.workspace",
    },
}


def module_of(path: Path) -> str:
    """The dotted name of a module of structformer."""
    parts = ("structformer", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in ROOT.rglob("*.py") if "templates" not in path.parts}


def names_imported(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of what a module imports, inside functions too; the name is empty where a module itself is
    imported. What type checkers alone need is left out.
    """
    tree = ast.parse(path.read_text())
    for_types = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and "TYPE_CHECKING" in ast.dump(test.test)
        for node in ast.walk(test)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner, "") if inner in MODULES else (node.module, alias.name)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def imports(path: Path) -> Iterator[str]:
    """The modules that a module imports."""
    return (module for module, _ in names_imported(path))


def values(node: ast.AST, constants: Mapping[str, Sequence[object]]) -> Iterator[object]:
    """The constants of an expression: itself, those in a tuple, a list or a set, those that a module's constant names."""
    for each in getattr(node, "elts", [node]):
        if isinstance(each, ast.Constant):
            yield each.value
        elif isinstance(each, ast.Name):
            yield from constants.get(each.id, ())


def constants_of(tree: ast.Module) -> dict[str, list[object]]:
    """The values of a module's constants by their names."""
    found: dict[str, list[object]] = {}
    for node in tree.body:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            several = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            for name, value in zip(target.elts, node.value.elts, strict=True) if several else [(target, node.value)]:
                if isinstance(name, ast.Name):
                    found[name.id] = list(values(value, found))
    return found


def told_apart(tree: ast.Module) -> Iterator[tuple[int, object]]:
    """(line, constant) of what a module compares, matches, or looks for at an end of a name or a kind."""
    constants = constants_of(tree)
    for node in ast.walk(tree):
        sides: list[ast.AST] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchValue):
            sides = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            sides = node.args if node.func.attr in ("startswith", "endswith") else []
        for side in sides:
            yield from ((node.lineno, value) for value in values(side, constants))


def imported(path: Path) -> set[str]:
    """The parts of structformer that a module imports, wherever in it."""
    return {name.split(".")[1] for name in imports(path) if name.startswith("structformer.")}


def circles(graph: Mapping[str, Collection[str]]) -> list[tuple[str, ...]]:
    """Groups of modules each of which imports, over others, itself."""

    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        waiting = [start]
        while waiting:
            for other in graph.get(waiting.pop(), ()):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return seen

    reach = {name: reached(name) for name in graph}
    return sorted({tuple(sorted(n for n in reach[name] if name in reach.get(n, ()))) for name in graph} - {()})


def test_no_module_imports_one_below_it_in_the_picture():
    level = {part: number for number, parts in enumerate(LAYERS) for part in parts}
    for path in ROOT.rglob("*.py"):
        part = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if part in ("__init__", "__main__"):
            continue  # the package's public names and its command point at everything
        for other in imported(path) - {part}:
            assert level[other] < level[part], f"{path.relative_to(ROOT)} imports {other}"


def test_benchmarks_import_what_there_is():
    """They are not run here; a name that was changed is seen all the same."""
    for path in (ROOT.parent / "benchmarks").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("structformer"):
                continue
            module = importlib.import_module(node.module or "")
            for alias in node.names:
                there = hasattr(module, alias.name) or f"{node.module}.{alias.name}" in MODULES
                assert there, f"{path.name} imports {alias.name} from {node.module}"


def test_no_module_imports_itself_over_others():
    assert (
        circles({name: {each for each in imports(path) if each in MODULES} - {name} for name, path in MODULES.items()})
        == []
    )
    assert circles({"a": ["b"], "b": ["c"], "c": ["b"], "d": ["a"]}) == [("b", "c")]


def test_what_a_kind_is_asked_for_is_a_trait_never_its_name():
    """Kinds come from plugins too: whoever compares names knows only ours."""
    names = {*ranker_kinds(), *stage_kinds(), *tasks(), *search_engines(), "fusion"}
    told = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in MODULES.values()
        for line, value in told_apart(ast.parse(path.read_text()))
        if value in names
    ]
    assert told == []
    for evasion in (
        "its.ranker != 'drmm'",
        "_ONE, _TWO = 'drmm', 'ict'\nits.ranker == _TWO",
        "_ONES = ('late', 'drmm')\nits.name in _ONES",
        "match its.name:\n    case 'late':\n        pass",
        "its.name.startswith('late')",
    ):
        assert any(value in names for _, value in told_apart(ast.parse(evasion))), evasion


def test_training_and_retrieval_share_models_not_each_other():
    for path in (ROOT / "retrieval").rglob("*.py"):
        assert "training" not in imported(path)


def is_public(module: str, name: str) -> bool:
    """Whether a module offers a name to others."""
    offered = getattr(importlib.import_module(module), "__all__", None)
    return not name.startswith("_") if offered is None else name in offered


def test_first_party_plugins_use_what_a_third_party_may():
    paths = [path for path in PLUGINS.rglob("*.py") if "tests" not in path.relative_to(PLUGINS).parts]
    assert paths
    for path in paths:
        more = FOR_ONE_PLUGIN.get(path.relative_to(PLUGINS).parts[0], set())
        for module, name in names_imported(path):
            if module.startswith("structformer.") and module.split(".")[1] not in FOR_PLUGINS:
                assert module in more, f"{path.relative_to(PLUGINS)} imports {module}"
                assert is_public(module, name), f"{path.relative_to(PLUGINS)} imports {name} from {module}"


def test_plugins_tests_have_names_of_their_own():
    """pytest imports them and their helpers by their file names alone."""
    paths = [*(ROOT.parent / "tests").glob("*.py"), *PLUGINS.glob("*/tests/*.py"), ROOT.parent / "conftest.py"]
    names = [path.name for path in paths]
    assert sorted(names) == sorted(set(names))


def test_the_core_names_no_plugin():
    plugins = {path.name for path in PLUGINS.glob("structformer_*")}
    assert len(plugins) > 8
    for path in ROOT.rglob("*.py"):
        text = path.read_text()
        assert not [name for name in plugins - set(vars(Hooks)) if name in text], path  # a hook has the name of one
        assert not plugins & {module.partition(".")[0] for module in imports(path)}, path
