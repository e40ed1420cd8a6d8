"""Imports point one way, as docs/design.md draws them."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import structformer
from structformer.models.kinds import ranker_kinds
from structformer.plugins import Hooks
from structformer.retrieval.pipeline import stage_kinds
from structformer.sampling.tasks import tasks

from structformer_engines import search_engines

ROOT = Path(structformer.__file__).parent
PLUGINS = ROOT.parent / "plugins"
# Each layer imports only from those before it.
LAYERS = [
    {"_version", "did_you_mean", "errors", "lazy_names", "notebook"},
    {"document", "extras"},
    {"text"},
    {"storage", "formats"},
    {"workspace", "plugins"},
    {"corpus", "engines", "pages"},
    {"graph"},
    {"ingestion"},
    {"sampling", "models", "static_encoder"},
    {"training"},
    {"retrieval"},
    {"query_side", "upserting"},
    {"evaluation"},
    {"cli"},
]


def module_of(path: Path) -> str:
    """The dotted name of a module of structformer."""
    parts = ("structformer", *path.relative_to(ROOT).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in ROOT.rglob("*.py")}


SOURCES = {name: path.read_text() for name, path in MODULES.items()}


def imported_names(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """(module, name) of each import in a piece of code; the name is empty where a module itself is imported."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                is_module = inner in MODULES and f'"{alias.name}"' not in SOURCES.get(node.module, "")
                yield (inner, "") if is_module else (node.module, alias.name)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)


def for_type_checkers(tree: ast.AST) -> list[ast.If]:
    """The parts of a module that run for type checkers alone."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)]


def lazy(package: str) -> dict[str, str]:
    """The module of each name that a package imports when it is first used."""
    tree = ast.parse(MODULES[package].read_text())
    if "lazy_names" not in ast.dump(tree):
        return {}
    imports = (node for test in for_type_checkers(tree) for node in test.body if isinstance(node, ast.ImportFrom))
    return {alias.asname or alias.name: str(node.module) for node in imports for alias in node.names}


def names_imported(path: Path) -> Iterator[tuple[str, str]]:
    """(module, name) of what a module imports, inside functions and for type checkers too. A name that a package imports
    when it is first used is its module's, and is no import of the package.
    """
    tree = ast.parse(path.read_text())
    late = for_type_checkers(tree) if LAZY.get(module_of(path)) else []
    left_out = {id(node) for test in late for node in ast.walk(test)}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom | ast.Import) and id(node) not in left_out:
            for module, name in imported_names(node):
                yield LAZY.get(module, {}).get(name, module), name


LAZY = {name: lazy(name) for name in MODULES}


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


def reached(graph: Mapping[str, Collection[str]], start: str) -> set[str]:
    """What a module imports, over others too."""
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for other in graph.get(waiting.pop(), ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return seen


def import_graph() -> dict[str, set[str]]:
    """By each module of structformer those that it imports."""
    return {name: {each for each in imports(path) if each in MODULES} - {name} for name, path in MODULES.items()}


def circles(graph: Mapping[str, Collection[str]]) -> list[tuple[str, ...]]:
    """Groups of modules each of which imports, over others, itself."""
    reach = {name: reached(graph, name) for name in graph}
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
    assert circles(import_graph()) == []
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


def test_the_rooms_of_retrieval_import_one_way():
    rooms = ["documents", "rankings", "words", "questions", "vectors", "learning"]
    for number, room in enumerate(rooms):
        for path in (ROOT / "retrieval" / room).glob("*.py"):
            others = {name.split(".")[2] for name in imports(path) if name.startswith("structformer.retrieval.")}
            assert others <= set(rooms[: number + 1]), path


def test_who_only_searches_imports_nothing_that_learns():
    searching = reached(import_graph(), "structformer.retrieval.opened")
    assert "structformer.retrieval.index" in searching
    assert [name for name in searching if ".learning" in name or "static_encoder" in name] == []


def test_training_and_retrieval_share_models_not_each_other():
    for path in (ROOT / "retrieval").rglob("*.py"):
        assert "training" not in imported(path)


def plugin_paths() -> Iterator[Path]:
    """The modules of plugins, without their tests."""
    return (path for path in PLUGINS.rglob("*.py") if "tests" not in path.relative_to(PLUGINS).parts)


def package_of(path: Path) -> str:
    """The package of a plugin's module."""
    return next(part for part in path.relative_to(PLUGINS).parts if (PLUGINS / part / "__init__.py").exists())


def test_plugins_use_what_packages_name_for_them():
    """These lists are the library's surface: docs/reference has them."""
    paths = list(plugin_paths())
    assert paths
    for path in paths:
        for module, name in imported_names(ast.parse(path.read_text())):
            if module == "structformer" or module.startswith("structformer."):
                where = f"{path.relative_to(PLUGINS)} imports {name} from {module}"
                assert name, where
                assert module.count(".") < 2, where
                assert name in public_names(module), where


def test_plugins_use_of_each_other_what_a_package_names_and_no_two_need_each_other():
    packages = {package_of(path) for path in plugin_paths()}
    needs: dict[str, set[str]] = {package: set() for package in packages}
    for path in plugin_paths():
        tree = ast.parse(path.read_text())
        named = {str(node.value).partition(".")[0] for node in ast.walk(tree) if is_place(node)}
        assert named & packages <= {package_of(path)}, f"{path.relative_to(PLUGINS)} names a place in {named}"
        for module, name in imported_names(tree):
            package = module.partition(".")[0]
            if package in packages - {package_of(path)}:
                where = f"{path.relative_to(PLUGINS)} imports {name} from {module}"
                assert module == package, f"{where}: import from the package what its __all__ names"
                assert name in getattr(importlib.import_module(package), "__all__", ()), where
                needs[package_of(path)].add(package)
    assert circles(needs) == []


def is_place(node: ast.AST) -> bool:
    """Whether a node is a text like "package.module:name", which is imported when it is needed."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, str) and re.fullmatch(r"structformer_\w+\.[\w.]+:\w+", value) is not None


def public_names(module: str) -> Collection[str]:
    """What a package names in `__all__`; what a single module has without an underscore in front."""
    offered = getattr(importlib.import_module(module), "__all__", None)
    if offered is None:
        assert MODULES[module].name != "__init__.py", f"{module} has no __all__"
        return [name for name in vars(importlib.import_module(module)) if not name.startswith("_")]
    return offered


def test_a_package_that_imports_late_lists_what_it_imports():
    for package, homes in LAZY.items():
        if homes and package != "structformer":  # which calls one by another name
            module = importlib.import_module(package)
            assert set(homes) <= set(module.__all__), package
            assert all(getattr(module, name) is not None for name in homes), package
            assert not [name for name in homes if f"{package}.{name}" in MODULES]  # Python would give the module


def test_plugins_tests_have_names_of_their_own():
    """pytest imports them and their helpers by their file names alone."""
    paths = [
        *(ROOT.parent / "tests").glob("*.py"),
        *(ROOT.parent / "tests").glob("*/test_*.py"),
        *PLUGINS.glob("*/tests/*.py"),
        ROOT.parent / "conftest.py",
    ]
    names = [path.name for path in paths]
    assert sorted(names) == sorted(set(names))


def test_the_core_names_no_plugin():
    """But for the public names of `structformer` itself, two of which plugins supply."""
    plugins = {path.name for path in PLUGINS.glob("structformer_*")}
    assert len(plugins) > 8
    for path in ROOT.rglob("*.py"):
        if path != ROOT / "__init__.py":
            text = path.read_text()
            assert not [name for name in plugins - set(vars(Hooks)) if re.search(rf"\b{name}\b", text)], (
                path
            )  # a hook has one's name
            assert not plugins & {module.partition(".")[0] for module in imports(path)}, path


SHORT = 60  # lines
# Short modules that serve one other, each of a concept of its own.
CONCEPTS = {
    "structformer.evaluation.development_queries",
    "structformer.ingestion.ir_datasets_source",
    "structformer.ingestion.warc",
    "structformer.retrieval.rankings.doubt",
}


def test_a_short_module_serves_more_than_one_or_is_a_concept_of_its_own():
    graph = import_graph()
    for name, path in MODULES.items():
        importers = [other for other, its in graph.items() if name in its and MODULES[other].name != "__init__.py"]
        if path.name != "__init__.py" and len(path.read_text().splitlines()) < SHORT and len(importers) == 1:
            assert name in CONCEPTS, f"{name} serves {importers[0]} alone: fold it"
