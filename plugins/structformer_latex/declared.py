"""Commands and environments that users declare, in a plugin or a theme, and those that pylatexenc knows."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from structformer.errors import ReadError, UsageError
from structformer.plugins import load_plugins

from structformer_latex.macros import Macro, macro

_NUMBERS = range(9, 0, -1)  # of arguments


@dataclass(frozen=True, slots=True)
class Declared:
    """Commands and environments by name. Arguments are in pylatexenc's form: * a star, [ in brackets, { in braces."""

    macros: dict[str, Macro] = field(default_factory=dict)
    environments: dict[str, tuple[Macro, str]] = field(default_factory=dict)
    arguments: dict[str, str] = field(default_factory=dict)
    """Of commands that have no text declared: what they have in braces is text."""
    environment_arguments: dict[str, str] = field(default_factory=dict)
    """Of environments that have nothing else declared: their arguments are left out."""

    def add(self, spec: Any) -> None:
        """Add a MacroSpec or an EnvironmentSpec of pylatexenc."""
        is_verbatim = hasattr(spec.args_parser, "verbatim_arg_type")
        if hasattr(spec, "macroname"):
            if is_verbatim:
                self.macros[spec.macroname] = Macro("\\verb ", same="verb")
            else:
                self.arguments[spec.macroname] = spec.args_parser.argspec
        elif is_verbatim:
            self.environments[spec.environmentname] = Macro("\\lst@"), ""
        elif spec.is_math_mode:
            self.environments[spec.environmentname] = Macro("\\begin{equation}"), "\\end{equation}"
        else:
            self.environment_arguments[spec.environmentname] = spec.args_parser.argspec


@cache
def built_in() -> tuple[dict[str, Macro], dict[str, str]]:
    """Return the commands that others can say, and the arguments of those that print nothing."""
    table = tomllib.loads((files("structformer_latex") / "commands.toml").read_text("utf-8"))["macros"]
    values = dict(_entries("macros", table, ("text",)))
    with_text = {name: macro(value["arguments"], value["text"]) for name, value in values.items() if value["text"]}
    return with_text, {name: value["arguments"] for name, value in values.items() if name not in with_text}


@cache
def known_arguments() -> dict[str, str]:
    """Return the arguments of the commands in pylatexenc's default context."""
    from pylatexenc.latexwalker import get_default_latex_context_db  # type: ignore[import-untyped]

    return {spec.macroname: spec.args_parser.argspec for spec in get_default_latex_context_db().iter_macro_specs()}


@lru_cache(maxsize=8)
def declared(theme: str = "") -> Declared:
    """Return what plugins declare by structformer_latex_specs, and a theme in TOML. Raises ReadError if a plugin's code
    raises or returns something else, UsageError on a faulty theme."""
    plugins, result = load_plugins(), Declared()
    try:
        for spec in (each for specs in plugins.manager.hook.structformer_latex_specs() for each in specs):
            result.add(spec)
    except Exception as error:
        raise ReadError(f"a plugin's structformer_latex_specs failed ({type(error).__name__}: {error})") from error
    own = plugins.theme(theme)
    for key, table in (("macros", own.macros), ("environments", own.environments)):
        if not isinstance(table, dict):
            raise UsageError(f"theme: {key} is {table!r}: it must be a table")
    for name, value in _entries("macros", own.macros, ("text",)):
        if "text" in value:
            result.macros[name] = macro(value["arguments"], value["text"])
        else:
            result.arguments[name] = value["arguments"]
    for name, value in _entries("environments", own.environments, ("begin", "end")):
        result.environments[name] = macro(value["arguments"], value.get("begin", "")), value.get("end", "")
    return result


def _entries(key: str, table: Mapping[str, Any], texts: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what a theme's table says of each name, of which a key of macros may have several. Raises UsageError."""
    for names, given in table.items():
        short = {text: given if text == "text" else f"\\{text}{{{given}}}" for text in texts}
        value = _checked(f"{key}: {names}", short if isinstance(given, str) else given, texts)
        yield from ((name, value) for name in (names.split() if key == "macros" else [names]))


def _checked(place: str, value: Any, texts: Sequence[str]) -> dict[str, str]:
    """Return a theme's entry with its arguments, by default as many as its texts have. Raises UsageError."""
    parts = ("arguments", *texts)
    if not isinstance(value, dict) or any(key not in parts or not isinstance(value[key], str) for key in value):
        raise UsageError(f"theme: {place} is {value!r}: write a text, or a table of texts: {', '.join(parts)}")
    used = next((number for number in _NUMBERS if any(f"#{number}" in value.get(text, "") for text in texts)), 0)
    arguments = value.get("arguments", "{" * used)
    if arguments.strip("*[{") or not used <= len(arguments) <= len(_NUMBERS):
        raise UsageError(f"theme: {place}: arguments {arguments!r}: write * for a star, [ and {{ for what is in these")
    return {**value, "arguments": arguments}
