"""One reader for the settings of all site generators: YAML with any tags, TOML, JSON, and what scripts in JavaScript,
TypeScript and Python write out as plain literals. Nothing in them is executed; a value that is computed is left out.
"""

import ast
import datetime
import json
import re
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import yaml
from structformer.formats import is_address

_LONGEST = 1_000_000  # characters of a file
_MAX_VALUES = 20_000  # of front matter
_MAX_SETTINGS = 200_000  # values of a settings file: a navigation may have thousands of pages
_MAX_DEPTH = 50
SCRIPTS = (".js", ".ts", ".mjs", ".mts", ".cjs", ".cts")
_OBJECTS = 8  # objects of a script that are looked at
_SIMPLE_LINE = re.compile(r"([A-Za-z_][\w-]*):\s*(\S.*)?")
# A comment, text in quotes, or one sign of a script. What is not closed goes on to the end, so a hostile file is read
# once.
_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|(?P<text>'(?:\\.|[^'\\\n])*+(?:'|\\?\Z|(?=\n))"""
    r"""|"(?:\\.|[^"\\\n])*+(?:"|\\?\Z|(?=\n))|`(?:\\.|[^`\\])*+(?:`|\\?\Z))"""
    r"|(?P<name>[\w$.-]+)|(?P<sign>.)",
    re.DOTALL,
)
# Where an object begins that a script exports, names or returns, also within calls: `export default defineConfig({`.
_BEGINS = re.compile(
    r"(?:\bmodule\.exports\s*=|\bexport\s+default\b|\breturn\b|\b(?:const|let|var)\s+\w+\s*(?::\s*[\w.]+\s*)?=|\A)"
    r"\s*(?:[\w.]*\s*\(\s*){0,4}(?=\{)"
)
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_CONSTANTS = {"true": True, "false": False}
_CASTS = ("as", "satisfies", "!")  # after a literal in TypeScript


def load_list(text: str) -> list[Any]:
    """Return a YAML or JSON text that is a list; [] if it is none."""
    indented = "".join(f" {line}\n" for line in text.splitlines())
    loaded = parse_yaml(f"list:\n{indented}", _MAX_SETTINGS)[0] if len(text) <= _LONGEST else None
    items = (loaded or {}).get("list")
    return items if isinstance(items, list) else []


def load(name: str, text: str, keys: Sequence[str] = ()) -> dict[str, Any]:
    """Return what a settings file says, in JSON's types; {} if it is damaged or says nothing. Of a script, the object
    with most of the keys among those that it exports, names or returns; of conf.py, its assignments.
    """
    if len(text) > _LONGEST:
        return {}
    suffix = name[name.rfind(".") :].lower()
    if suffix in SCRIPTS:
        return max(objects(text), key=lambda each: (sum(key in each for key in keys), len(each)), default={})
    if suffix == ".py":
        return assignments(text)
    if suffix in (".toml", ".json"):
        return _loaded(json.loads if suffix == ".json" else tomllib.loads, text, _MAX_SETTINGS) or {}
    return parse_yaml(text, _MAX_SETTINGS)[0] or {}


def text_of(value: object) -> str:
    """Return a setting that is text; "" for any other value."""
    return value.strip() if isinstance(value, str) else ""


def table_of(value: object) -> dict[str, Any]:
    """Return a setting that is a table; {} for any other value."""
    return value if isinstance(value, dict) else {}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's safe loader, for which an unknown tag is no error."""


def _untagged(loader: Any, tag: str, node: yaml.Node) -> Any:
    """Return the value under an unknown tag: `!ENV [NAME, default]` has the default, `!ENV NAME` and Python's none."""
    if isinstance(node, yaml.ScalarNode):
        return None if tag == "ENV" or "python/" in tag else node.value
    if isinstance(node, yaml.MappingNode):
        return loader.construct_mapping(node, deep=True)
    items = loader.construct_sequence(node, deep=True)
    return (items[-1] if len(items) > 1 else None) if tag == "ENV" else items


_Loader.add_multi_constructor("!", _untagged)
_Loader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, tag, node: None)
_Loader.add_multi_constructor("tag:", _untagged)


def parse_yaml(block: str, most: int = _MAX_VALUES) -> tuple[dict[str, Any] | None, str]:
    """Return (a YAML text's mapping or None, warning). Of text that is not valid, plain `key: value` lines count."""
    try:
        _check_depth(block)
        loaded = yaml.load(block, Loader=_Loader)
        loaded = {} if loaded is None else loaded
        return (_plain(loaded, most) if isinstance(loaded, dict) else None), ""
    except (yaml.YAMLError, ValueError, RecursionError, TypeError) as error:
        # Templates ("{{ site.name }}") are common and not YAML; the plain lines still say the title.
        values = parse_lines(block)
        if not values:
            return None, ""
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 2}: " if mark else ""
        return values, f"{place}front matter is not valid YAML; it was read line by line"


def parse_lines(block: str) -> dict[str, Any]:
    """Return the lines of a block that are `key: value`."""
    lines = filter(None, map(_SIMPLE_LINE.fullmatch, block.splitlines()))
    return {match[1][0].lower() + match[1][1:]: (match[2] or "").strip("\"'") for match in lines}


def parse_toml(block: str, most: int = _MAX_VALUES) -> tuple[dict[str, Any] | None, str]:
    """Return what a TOML text says, as `parse_yaml` does."""
    return _loaded(tomllib.loads, block, most), ""


def _loaded(loads: Callable[[str], Any], block: str, most: int) -> dict[str, Any] | None:
    try:
        loaded = loads(block)
        return _plain(loaded, most) if isinstance(loaded, dict) else None
    except (ValueError, RecursionError):
        return None


def _check_depth(block: str) -> None:
    """Raise ValueError on nesting that libyaml's constructor, which is recursive, would not survive."""
    depth = 0
    for event in yaml.parse(block, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _MAX_DEPTH:
            raise ValueError("nested too deep")


def _plain(value: dict[Any, Any], budget: int) -> dict[str, Any]:
    """Return the mapping with JSON's types only. Raises ValueError if aliases make it larger than any real file."""

    def convert(item: Any, depth: int) -> Any:
        nonlocal budget
        budget -= 1
        if budget < 0 or depth > _MAX_DEPTH:
            raise ValueError("too large or too deep")
        if isinstance(item, dict):
            return {str(key): convert(inner, depth + 1) for key, inner in item.items()}
        if isinstance(item, list | tuple | set):
            return [convert(inner, depth + 1) for inner in item]
        if isinstance(item, datetime.date | datetime.time):
            return item.isoformat()
        if item is None or isinstance(item, bool | int | str):
            return item
        if isinstance(item, float):
            return item if json.dumps(item) not in ("NaN", "Infinity", "-Infinity") else str(item)
        return str(item)

    converted: dict[str, Any] = convert(value, 0)
    return converted


def objects(script: str) -> list[dict[str, Any]]:
    """Return the objects that a script exports, names or returns, as far as they are written out."""
    script = _TOKEN.sub(lambda token: token[0] if token.lastgroup or not token[0].startswith("/") else " ", script)
    loaded = []
    for begins in islice(_BEGINS.finditer(script), _OBJECTS):
        tokens = (token for token in _TOKEN.finditer(script, begins.end()) if token.lastgroup)
        value, _ = _value(tokens, next(tokens, None), 0)
        if isinstance(value, dict):
            loaded.append(value)
    return loaded


_Token = re.Match[str] | None


def _value(tokens: Iterator[re.Match[str]], token: _Token, depth: int) -> tuple[Any, _Token]:
    """Return a value and the token after it. A computed value is None and passed over up to its comma or bracket."""
    value: Any = None
    if token is not None and token.lastgroup == "text":
        literal, token = token[0], next(tokens, None)
        if literal[0] != "`" or "${" not in literal:  # a template with an expression is computed
            value = re.sub(r"\\(.)", r"\1", literal[1:-1], flags=re.DOTALL)
    elif token is not None and token[0] in ("[", "{") and depth < _MAX_DEPTH:
        value, token = _inside(tokens, "]" if token[0] == "[" else "}", depth + 1), next(tokens, None)
    elif token is not None and token[0] == "(" and depth < _MAX_DEPTH:  # a literal after a comment with its type
        value, token = _value(tokens, next(tokens, None), depth + 1)
        token = next(tokens, None) if token is not None and token[0] == ")" else token
    elif token is not None and token.lastgroup == "name":
        name, token = token[0], next(tokens, None)
        value = (float if "." in name else int)(name) if _NUMBER.fullmatch(name) else _CONSTANTS.get(name)
        if token is not None and token[0] == "(" and depth < _MAX_DEPTH:  # a call has the object that it is given
            given, token = _value(tokens, next(tokens, None), depth + 1)
            value = given if isinstance(given, dict) else None
            while token is not None and token[0] == ",":
                _, token = _value(tokens, next(tokens, None), depth + 1)
            token = next(tokens, None) if token is not None and token[0] == ")" else token
    if token is not None and token[0] not in (",", "]", "}", ")", ";", *_CASTS):
        value = None
    open_ = 0
    before = ""
    while token is not None and (open_ or token[0] not in (",", "]", "}", ")", ";")):
        open_ += (token[0] in ("(", "[", "{")) - (token[0] in (")", "]", "}"))
        sign, token = token[0], next(tokens, None)
        if sign == before and sign in "|?" and not open_ and depth < _MAX_DEPTH:
            return _value(tokens, token, depth + 1)  # what holds if the computed value is none
        before = sign
    return value, token


def _inside(tokens: Iterator[re.Match[str]], closing: str, depth: int) -> list[Any] | dict[str, Any]:
    """Return a list, or an object by its names, as far as it is a literal."""
    items: list[tuple[str, Any]] = []
    token = next(tokens, None)
    while token is not None and token[0] != closing:
        name = ""
        if closing == "}" and token.lastgroup:
            key, token = token, next(tokens, None)
            if token is not None and token[0] == ":":
                name, token = key[0].strip("'\"`"), next(tokens, None)
        value, token = _value(tokens, token, depth)
        if name or closing == "]":
            items.append((name, value))
        if token is not None and token[0] == ",":
            token = next(tokens, None)
        elif token is not None and token[0] != closing:
            break  # not a literal
    return dict(items) if closing == "}" else [value for _, value in items]


def assignments(text: str) -> dict[str, Any]:
    """Return what a Python file assigns at its top, in JSON's types: literals, and literal parts of joined texts."""
    try:
        with warnings.catch_warnings(action="ignore"):  # about escapes in its strings
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    values: dict[str, Any] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    values[target.id] = _literal(node.value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign) and isinstance(node.target, ast.Name):
            value = _literal(node.value) if node.value is not None else None
            before = values.get(node.target.id)
            if isinstance(node, ast.AugAssign):
                joined = type(before) is type(value) and isinstance(value, str | list)
                value = before + value if joined else value if before is None else before  # type: ignore[operator]
            values[node.target.id] = value
    return values


def _literal(node: ast.expr, depth: int = 0) -> Any:
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str | int | float | bool) else None
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_literal(each, depth + 1) for each in node.elts]
    if isinstance(node, ast.Dict):
        pairs = ((_literal(key, depth + 1), value) for key, value in zip(node.keys, node.values, strict=True) if key)
        return {str(key): _literal(value, depth + 1) for key, value in pairs}
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts = [_literal(node.left, depth + 1), _literal(node.right, depth + 1)]
    elif isinstance(node, ast.JoinedStr):
        parts = [_literal(each, depth + 1) for each in node.values]
    else:
        return None
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if texts else None


def path_in(settings: Mapping[str, Any], *keys: str) -> Any:
    """Return the value under some keys, one in the other; None if any is missing."""
    value: Any = settings
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def address(host: object, base: object = "") -> str:
    """Return an address of a host and the path of the site there; "" if the host is none."""
    host, base = text_of(host), text_of(base)
    if not is_address(host):
        return ""
    return f"{host.rstrip('/')}/{base.strip('/')}".rstrip("/") + "/" if base else host
