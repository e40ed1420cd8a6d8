"""Writes the package of a new plugin: a reader that works, a sample, and a test that runs the conformance suite."""

from __future__ import annotations

import re
from pathlib import Path
from string import Template

from structformer import __version__
from structformer.errors import UsageError
from structformer.plugins import load_plugins

_PYPROJECT = Template('''[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "structformer-$dashed"
version = "0.1.0"
description = "The $name format for structformer"
requires-python = ">=3.11"
dependencies = ["structformer>=$version"]

[project.optional-dependencies]
dev = ["pytest>=9.0"]

[project.entry-points.structformer]
$name = "structformer_$name"

[tool.hatch.build.targets.wheel]
packages = ["structformer_$name"]
''')  # fmt: skip
_INIT = Template('''"""The $name format for structformer."""

from __future__ import annotations

from structformer.plugins import Format, hookimpl

from structformer_$name.format import ${camel}Format

__all__ = ["${camel}Format"]


@hookimpl
def structformer_formats() -> list[Format]:
    return [${camel}Format()]
''')  # fmt: skip
_FORMAT = Template('''"""The $name format: bytes to Documents, and the names that its links may mean.

As it stands it reads an outline: lines that begin with stars are headings, as many stars as their level, and [[target]] or
[[target|text]] is a link. Put your own grammar in its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from structformer.builder import TreeBuilder
from structformer.document import Document, Link, Source
from structformer.names import link_names, path_names
from structformer.sources import SourceFile, decode

_HEADING = re.compile(r"(\\*+)[ \\t]+(.*)")
_LINK = re.compile(r"\\[\\[([^\\[\\]|]+)(?:\\|([^\\[\\]]+))?\\]\\]")


class ${camel}Format:
    """What `structformer plugins list` shows of it, and how it reads."""

    name = "$name"
    suffixes = (".$name",)
    media_types = ("text/x-$name",)
    completeness = "headings, links and text"

    def sniff(self, head: bytes, path: str) -> float:
        """0..1: how sure it is, from the first bytes, that a file of unknown suffix is of this format."""
        return 0.0

    def read(self, source: SourceFile, options: Mapping[str, Any]) -> Iterator[Document]:
        """The source's Documents. Raise ReadError, and nothing else, on what can't be read; `decode` does so on binary content."""
        text = decode(source)
        if not text.strip():
            source.warn("empty: no document")
            return
        builder = TreeBuilder()
        for line in text.splitlines():
            heading = _HEADING.fullmatch(line)
            if heading is not None:
                builder.open_heading(len(heading[1]))
                _inline(heading[2], builder)
                builder.close_heading()
            elif line.strip():
                _inline(line, builder)
                builder.line()
            else:
                builder.paragraph()
        document = builder.finish(Source(source.path, self.name))
        document.names = path_names(source.path)
        yield document

    def resolve(self, link: Link, document: Document) -> Iterable[str]:
        """Names that the link may mean, best first, each "name" or "name#anchor"."""
        yield from link_names(document.id, document.source.path, link.target)


def _inline(text: str, builder: TreeBuilder) -> None:
    position = 0
    for link in _LINK.finditer(text):
        builder.flow(text[position : link.start()])
        builder.open_link(link[1].strip())
        builder.flow(link[2] or link[1])
        builder.close_link()
        position = link.end()
    builder.flow(text[position:])
''')  # fmt: skip
_SAMPLE = """* Knots

A knot joins ropes, or fastens a rope to something. See [[sails]] too.

** Bowline

The bowline makes a loop at the end of a rope that [[#bowline|does not slip]].
"""
_TEST = Template('''"""The plugin keeps structformer's rules for formats, and reads its sample as its author means it."""

from __future__ import annotations

from pathlib import Path

from structformer.conformance import Sample, check_format
from structformer.sources import SourceFile
from structformer_$name import ${camel}Format

SAMPLES = [Sample(path.name, path.read_bytes()) for path in sorted((Path(__file__).parent / "samples").iterdir())]


def test_conformance():
    assert SAMPLES
    assert check_format(${camel}Format(), SAMPLES) == []


def test_the_tree_of_the_sample():
    [document] = ${camel}Format().read(SourceFile("knots.$name", SAMPLES[0].data), {})
    assert document.title == "Knots"
    assert [section.title for section in document.sections()] == ["Knots", "Bowline"]
    assert [(link.target, link.text) for link in document.links()] == [("sails", "sails"), ("#bowline", "does not slip")]
''')  # fmt: skip
_README = Template('''# structformer-$dashed

Reads .$name files into structformer's document tree.

    pip install -e '.[dev]'
    structformer plugins check $name tests/samples
    pytest
''')  # fmt: skip


def new_plugin(name: str, folder: Path) -> list[Path]:
    """Write the package below `folder`; gives the files. Raises UsageError on a bad name or where something stands already."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name):
        raise UsageError(f"{name!r}: a plugin's name is a lower-case word like 'asciidoc' (letters, digits, underscores)")
    known = load_plugins()
    if name in known.formats:
        raise UsageError(f"there is a format {name!r} already, of {known.provider(name).distribution}: choose another name")
    root = folder / f"structformer-{name.replace('_', '-')}"
    if root.exists():
        raise UsageError(f"{root} exists already")
    values = {
        "name": name,
        "dashed": name.replace("_", "-"),
        "camel": "".join(part.capitalize() for part in name.split("_")),
        "version": __version__,
    }
    files = {
        "pyproject.toml": _PYPROJECT.substitute(values),
        "README.md": _README.substitute(values),
        f"structformer_{name}/__init__.py": _INIT.substitute(values),
        f"structformer_{name}/format.py": _FORMAT.substitute(values),
        f"tests/test_{name}.py": _TEST.substitute(values),
        f"tests/samples/knots.{name}": _SAMPLE,
    }
    written = []
    for relative, content in files.items():
        path = root / relative
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        except OSError as error:
            raise UsageError(f"{path} cannot be written ({error.strerror or error})") from error
        written.append(path)
    return written
