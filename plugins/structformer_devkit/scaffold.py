"""Writes the package of a new plugin of any kind: code that works, and a test that runs the checks of its kind."""

import re
from importlib.resources import files
from pathlib import Path
from string import Template

from structformer import __version__
from structformer.errors import UsageError
from structformer.plugins import load_plugins
from structformer.workspace import new_folder

# A kind's modules, each from the template of that name; of other kinds one module is from the template of the kind's.
_MODULES = {
    "format": {"__init__": "format_init", "format": "format"},
    "search-engine": {"__init__": "search_engine_init", "index": "search_engine"},
}


def _files(kind: str) -> dict[str, str]:
    """Return the templates of a kind's files by their paths in the package; `$name` in a path is the plugin's."""
    template = kind.replace("-", "_")
    modules = _MODULES.get(kind, {"__init__": template})
    return {
        "pyproject.toml": "pyproject.toml",
        "README.md": "readme.md",
        **{f"structformer_$name/{module}.py": f"{own}.py" for module, own in modules.items()},
        "tests/test_$name.py": f"{template}_test.py",
        **({"tests/samples/knots.$name": "format_sample.txt"} if kind == "format" else {}),
    }


def new_plugin(name: str, folder: Path, kind: str) -> list[Path]:
    """Write the package below `folder`; returns its files. Raises UsageError on a bad or taken name or place."""
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
        for relative, template in _files(kind).items():
            path = Template(relative).substitute(values)
            text = templates.joinpath(f"{template}.txt").read_text(encoding="utf-8")
            (made / path).parent.mkdir(parents=True, exist_ok=True)
            (made / path).write_text(Template(text).substitute(values), encoding="utf-8")
            written.append(root / path)
    return written
