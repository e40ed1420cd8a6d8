"""Writes the package of a new plugin of any kind: code that works, and a test that runs the checks of its kind."""

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

from structformer import __version__
from structformer.did_you_mean import did_you_mean
from structformer.errors import UsageError
from structformer.plugins import load_plugins
from structformer.workspace import new_folder

# A kind's files below the package's folder, each from the template of that name; `$name` in a path is the plugin's.
_COMMON = {"pyproject.toml": "pyproject.toml", "README.md": "readme.md"}
KINDS: Mapping[str, Mapping[str, str]] = {
    "format": {
        "structformer_$name/__init__.py": "format_init.py",
        "structformer_$name/format.py": "format.py",
        "tests/test_$name.py": "format_test.py",
        "tests/samples/knots.$name": "format_sample.txt",
    },
    "sampler": {"structformer_$name/__init__.py": "sampler.py", "tests/test_$name.py": "sampler_test.py"},
    "ranker": {"structformer_$name/__init__.py": "ranker.py", "tests/test_$name.py": "ranker_test.py"},
    "stage": {"structformer_$name/__init__.py": "stage.py", "tests/test_$name.py": "stage_test.py"},
    "search-engine": {
        "structformer_$name/__init__.py": "search_engine_init.py",
        "structformer_$name/index.py": "search_engine.py",
        "tests/test_$name.py": "search_engine_test.py",
    },
    "command": {"structformer_$name/__init__.py": "command.py", "tests/test_$name.py": "command_test.py"},
}


def new_plugin(name: str, folder: Path, kind: str = "format") -> list[Path]:
    """Write the package below `folder`; returns its files. Raises UsageError on a bad or taken name or place."""
    if kind not in KINDS:
        raise UsageError(f"no kind of plugin {kind!r}; {did_you_mean(kind, KINDS)}")
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,40}", name):
        raise UsageError(
            f"{name!r}: a plugin's name is a lower-case word like 'textile' (letters, digits, underscores)"
        )
    taken = [plugin for plugin in load_plugins().installed if plugin.name == name]
    if taken or name in load_plugins().formats:
        raise UsageError(
            f"there is a plugin {name!r} already{f', of {taken[0].distribution}' if taken else ''}: choose another name"
        )
    root = folder / f"structformer-{name.replace('_', '-')}"
    values = {
        "name": name,
        "dashed": name.replace("_", "-"),
        "camel": "".join(part.capitalize() for part in name.split("_")),
        "version": __version__,
        "kind": kind.replace("-", " "),
        "check": f"{name} tests/samples" if kind == "format" else name,
    }
    templates = files("structformer_devkit").joinpath("templates")
    written = []
    with new_folder(root, recorded=False) as made:
        for relative, template in {**_COMMON, **KINDS[kind]}.items():
            path = Template(relative).substitute(values)
            text = templates.joinpath(f"{template}.txt").read_text(encoding="utf-8")
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_text(Template(text).substitute(values), encoding="utf-8")
            written.append(root / path)
    return written
