"""What may not grow unseen: lines of code, regular expressions of the readers, folders of the core.

A bound that is met falls with the code. It is raised only in a commit of its own, whose body says which lines were
looked for to take their place, and not found. `python tests/project/test_bounds.py` prints the table of today.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE, PLUGINS = ROOT / "structformer", ROOT / "plugins"
READERS = ("asciidoc", "html", "latex", "markdown", "org", "rst", "wikitext", "xml")
RESEARCH = ("agent", "kernels", "lab", "papers", "webformer")
# Lines of Python without tests. "all" is the core with every plugin, research too.
LINES = {
    "agent": 492,
    "asciidoc": 1_395,
    "cluster": 113,
    "colbert": 641,
    "core": 37_062,
    "demo": 189,
    "devkit": 1_402,
    "engines": 1_108,
    "exports": 2_223,
    "html": 2_323,
    "kernels": 655,
    "lab": 3_114,
    "latex": 3_873,
    "markdown": 4_185,
    "notebook": 121,
    "office": 896,
    "org": 714,
    "papers": 1_993,
    "records": 516,
    "rst": 1_301,
    "serve": 7_948,
    "sites": 1_915,
    "tasks": 685,
    "web": 1_165,
    "webformer": 750,
    "wikitext": 2_261,
    "xml": 1_981,
    "readers": 18_033,
    "research": 7_004,
    "all": 81_021,
}  # fmt: skip
# Calls that compile or use a regular expression.
PATTERNS = {
    "asciidoc": 44,
    "html": 35,
    "latex": 109,
    "markdown": 224,
    "org": 39,
    "rst": 40,
    "wikitext": 67,
    "xml": 39,
    "readers": 597,
}  # fmt: skip
MOST_MODULES, MOST_IN_THE_HALL, MOST_IN_A_FOLDER = 223, 12, 21  # of the core
PLAIN = (
    "cli", "corpus", "evaluation", "did_you_mean.py", "errors.py", "lazy_names.py", "notebook.py", "plugins.py",
    "upserting.py",
)  # fmt: skip
RULE = (
    "over their bounds: {}. Look for lines to delete or to simplify first. Raise a bound in tests/project/test_bounds.py "
    "only in a commit of its own that says which lines were looked for and not found."
)
_MATCHES = frozenset({"match", "search", "fullmatch", "finditer"})
_USES = frozenset("compile match search sub subn findall finditer fullmatch split".split())


def sources(folder: Path) -> list[str]:
    """The texts of a package's modules, without its tests."""
    return [
        path.read_text(encoding="utf-8") for path in folder.rglob("*.py") if "tests" not in path.relative_to(ROOT).parts
    ]


def patterns(text: str) -> int:
    """How many calls of a module compile or use a regular expression."""
    tree = ast.parse(text)
    modules, functions = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.asname or alias.name for alias in node.names if alias.name == "re"}
        elif isinstance(node, ast.ImportFrom) and node.module == "re":
            functions |= {alias.asname or alias.name for alias in node.names if alias.name in _USES}
    called = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return sum(
        (isinstance(each, ast.Name) and each.id in functions)
        or (
            isinstance(each, ast.Attribute)
            and each.attr in _USES
            and isinstance(each.value, ast.Name)
            and each.value.id in modules
        )
        for each in called
    )


def with_sums(counts: dict[str, int], groups: dict[str, tuple[str, ...]]) -> dict[str, int]:
    """Counts by package, and those of groups of packages."""
    return counts | {name: sum(counts[package] for package in packages) for name, packages in groups.items()}


def lines() -> dict[str, int]:
    """Lines by package: the core, each plugin, the readers, research, all."""
    folders = {"core": CORE} | {
        path.name.removeprefix("structformer_"): path for path in PLUGINS.glob("structformer_*")
    }
    counts = {name: sum(len(text.splitlines()) for text in sources(path)) for name, path in sorted(folders.items())}
    return with_sums(counts, {"readers": READERS, "research": RESEARCH, "all": tuple(counts)})


def pattern_counts() -> dict[str, int]:
    """Uses of regular expressions by reader, and of all readers."""
    counts = {name: sum(map(patterns, sources(PLUGINS / f"structformer_{name}"))) for name in READERS}
    return with_sums(counts, {"readers": READERS})


def over(counts: dict[str, int], bounds: dict[str, int]) -> list[str]:
    """What is above its bound, or has none."""
    return [
        f"{name} {count:,} (bound {bounds.get(name, 0):,})"
        for name, count in counts.items()
        if count > bounds.get(name, 0)
    ]


def test_bounds_of_lines_hold():
    assert not (above := over(lines(), LINES)), RULE.format(", ".join(above))


def test_bounds_of_regular_expressions_hold():
    assert not (above := over(pattern_counts(), PATTERNS)), RULE.format(", ".join(above))
    assert (
        patterns("import re as r\nfrom re import sub\nr.compile('a').match('b')\nsub('a', 'b', 'c')\n'a'.split()") == 2
    )


def test_bounds_of_folders_hold():
    assert len(list(CORE.rglob("*.py"))) <= MOST_MODULES
    for folder in {path.parent for path in CORE.rglob("*.py")}:
        assert len(list(folder.glob("*.py"))) <= (MOST_IN_THE_HALL if folder == CORE else MOST_IN_A_FOLDER), folder


def docstrings(folder: Path) -> Iterator[tuple[str, str]]:
    """(place, first line) of the docstrings of a package or a module."""
    for path in folder.rglob("*.py") if folder.is_dir() else [folder]:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
                yield f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}", text.partition("\n")[0]


def test_docstrings_of_these_packages_say_what_is_done():
    """They begin with a verb or a noun. A package joins PLAIN when it is clean, and does not leave it."""
    for name in PLAIN:
        assert not [place for place, line in docstrings(CORE / name) if line.startswith("What ")], name


def vague_names(module: ast.Module) -> list[int]:
    """The lines that give a variable a name which says nothing of what it holds: its, said, and found, which is the
    name of a match of a regular expression alone.
    """
    vague: list[int] = []
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in {"its", "said"}:
            vague.append(node.lineno)
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.NamedExpr) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            called = {call.attr for call in ast.walk(node.value) if isinstance(call, ast.Attribute)}
            stored = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
            names = {name.id for name in stored if isinstance(name.ctx, ast.Store)}
            if "found" in names and called.isdisjoint(_MATCHES):
                vague.append(node.lineno)
    return vague


def test_variables_are_named_by_what_they_hold():
    assert sorted(vague_names(ast.parse("found = re.search('a', text)\nits = 1\nfound = []"))) == [2, 3]
    for path in [*CORE.rglob("*.py"), *PLUGINS.rglob("*.py")]:
        if "tests" not in path.relative_to(ROOT).parts:
            assert not vague_names(ast.parse(path.read_text(encoding="utf-8"))), path


if __name__ == "__main__":
    for table, counts in (("LINES", lines()), ("PATTERNS", pattern_counts())):
        print(
            f"{table} = {{\n"
            + "".join(f'    "{name}": {count:_},\n' for name, count in counts.items())
            + "}  # fmt: skip"
        )
