"""A site generator is one file: no code outside of structformer_sites has its name or its words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import structformer

ROOT = Path(structformer.__file__).parent.parent
# Names of generators, and words that only they have. "MediaWiki" and "Sphinx" are also the names of formats' authors.
WORDS = re.compile(
    r"mkdocs|docusaurus|vitepress|mdbook|docfx|antora|starlight|docsify|gitbook|jekyll|\bhugo\b|quarto|bookdown|\bzola\b"
    r"|exdoc|javadoc|doxygen|rustdoc|typedoc|phpdocumentor|texinfo|makeinfo|theme-doc|td-content|md-content"
    r"|versioned_docs|sidebar_position|nav_order|_category_\.|SUMMARY\.md|admonitionHeading|starlight-aside",
    re.IGNORECASE,
)
# What has still such words, and why. A line is only ever taken away.
LEFT = {
    "plugins/structformer_asciidoc": "the families of files that its includes name",
    "plugins/structformer_markdown": "names of syntaxes, as --option dialect has them",
    "plugins/structformer_rst/directives.py": "a writer's name in docutils' directives",
    "structformer/formats/file_names.py": "the name of a language that is not read",
    "structformer/text/headings.py": "a heading that a program writes",
}


def written(path: Path) -> Iterator[str]:
    """The texts and names in a file's code, without docstrings and comments."""
    tree = ast.parse(path.read_text())
    described = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in described:
            yield node.value
        elif isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


def test_no_code_elsewhere_has_the_words_of_a_generator():
    paths = [*(ROOT / "structformer").rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]
    known: dict[str, str] = {}
    for path in paths:
        name = path.relative_to(ROOT).as_posix()
        if "/tests/" in name or "structformer_sites" in name:
            continue
        if match := next((match for text in written(path) if (match := WORDS.search(text))), None):
            known[name] = match[0]
    left = {name: word for name, word in known.items() if not name.startswith(tuple(LEFT))}
    assert left == {}
    assert [name for name in LEFT if not any(each.startswith(name) for each in known)] == []
