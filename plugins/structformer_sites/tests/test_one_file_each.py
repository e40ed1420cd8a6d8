"""A site generator is one file: no module outside of structformer_sites has its name or its words."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import structformer
from structformer.plugins import load_plugins

ROOT = Path(structformer.__file__).parent.parent
# Names of generators and themes, their settings files, and words that only they have.
WORDS = (
    r"mkdocs|docusaurus|vitepress|mdbook|docfx|docsy|antora|starlight|docsify|gitbook|jekyll|eleventy|11ty|nextra|quarto"
    r"|bookdown|exdoc|javadoc|doxygen|rustdoc|typedoc|phpdocumentor|texinfo|makeinfo|sphinx|pydata\b|\b(?:hugo|zola|astro|furo)\b"
    r"|versioned_docs|sidebar_position|nav_order|_category_\.|SUMMARY\.md|\bconf\.py|\bbook\.toml|_config\.yml|_sources/"
)
# What has still such words, and why. A line is only ever taken away.
LEFT = {
    "plugins/structformer_exports/mkdocs.py": "runs within it, and has its API",
    "plugins/structformer_exports/sphinx.py": "runs within it, and has its API",
    "plugins/structformer_markdown/includes.py": "a directive of that name",
    "plugins/structformer_rst/directives.py": "a builder that `only` names",
    "structformer/formats/file_names.py": "the name of a language that is not read",
}
# Where a rule is from may be said: "Source: the documentation of ..."
SOURCE = re.compile(r'\bSources?: .*?(?=\n\s*\n|""")', re.DOTALL)


def classes() -> set[str]:
    """The classes of HTML that generators declare, but for plain words."""
    rules = [generator.html for generator in load_plugins().site_generators.values()]
    values = [getattr(rule, field.name) for rule in rules for field in fields(rule)]
    return {name for value in values if isinstance(value, frozenset) for name in value if re.search(r"\w[-_]\w", name)}


def test_no_module_elsewhere_has_the_words_of_a_generator():
    quoted = "|".join(map(re.escape, sorted(classes())))
    words = re.compile(rf"{WORDS}|[\"' .](?:{quoted})[\"' ]", re.IGNORECASE)
    known: dict[str, str] = {}
    for path in (*(ROOT / "structformer").rglob("*"), *(ROOT / "plugins").rglob("*")):
        name = path.relative_to(ROOT).as_posix()
        if path.suffix not in (".py", ".js", ".html", ".css") or "/tests/" in name or "structformer_sites" in name:
            continue
        if (match := words.search(SOURCE.sub("", path.read_text(encoding="utf-8")))) is not None:
            known[name] = match[0]
    assert {name: word for name, word in known.items() if name not in LEFT} == {}
    assert sorted(known) == sorted(LEFT)
