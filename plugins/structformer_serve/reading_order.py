"""The order that a site itself gives its pages: MkDocs' nav, Docusaurus' sidebars, and weights in front matter. Of a
sidebars file counts what it lists as a plain literal, beside the positions that pages and folders have: no script of a
site is run.
"""

import json
import re
from collections.abc import Iterator, Mapping
from itertools import islice
from math import inf
from pathlib import Path
from typing import Any

import yaml
from structformer.corpus import Corpus
from structformer.retrieval import IndexedDocuments
from structformer.workspace import Workspace

from structformer_serve.shelves import prefixes

_WEIGHTS = ("weight", "sidebar_position", "nav_order")  # Hugo's, Docusaurus', Just the Docs'
_NAV = re.compile(r"^nav:[^\n]*\n((?:[ \t#-][^\n]*\n|\n)*)", re.MULTILINE)
_PAGE = re.compile(r"[^\s:'\"\[\],]{1,300}\.md\b")
_FILES = ("sidebars.js", "sidebars.ts", "sidebars.mjs", "sidebars.cjs", "sidebars.json")
_CATEGORIES = ("_category_.json", "_category_.yml", "_category_.yaml")
_LARGEST, _DEEPEST = 200_000, 60  # bytes; nested lists
_SCRIPTS = 5  # objects of a script that are looked at
# What is not closed goes on to its end, so that a hostile file is read once.
_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?(?:\*/|\Z)|(?P<text>'(?:\\.|[^'\\\n])*+(?:'|\\?\Z|(?=\n))"""
    r"""|"(?:\\.|[^"\\\n])*+(?:"|\\?\Z|(?=\n))|`(?:\\.|[^`\\$])*+(?:`|\\?\Z|(?=\$)))"""
    r"|(?P<name>[\w$.-]+)|(?P<sign>.)",
    re.DOTALL,
)
_BEGINS = re.compile(
    r"(?:\bmodule\.exports\s*=|\bexport\s+default\b|\b(?:const|let|var)\s+\w+\s*(?::\s*[\w.]+\s*)?=)\s*(?=\{)|\A\s*(?=\{)"
)
_NUMBERED = re.compile(r"(\d{1,9})\s*[-_.]+\s*(?=[^\s\d])")
_SUFFIX = re.compile(r"\.mdx?\Z")


def page_ranks(workspace: Workspace, documents: IndexedDocuments) -> dict[int, float]:
    """Where documents come in their site's own order, by their numbers; without those that it does not place."""
    site, sources = Corpus.open(workspace).site, workspace.sources()
    if len(sources) == 1:
        folder = Path(sources[0].path)
        if site.said_by.endswith(("mkdocs.yml", "mkdocs.yaml")) and (nav := _nav(folder / site.said_by, site.root)):
            return {number: float(nav[each.id]) for number, each in enumerate(documents) if each.id in nav}
        if found := sidebar_ranks(folder, site.root, documents):
            return found
    ranks = ((number, _weight(each.values())) for number, each in enumerate(documents))
    return {number: rank for number, rank in ranks if rank is not None}


def _weight(metadata: Mapping[str, Any]) -> float | None:
    given = (metadata.get(key) for key in _WEIGHTS)
    return next((float(each) for each in given if isinstance(each, int | float) and each), None)


def _nav(file: Path, root: str) -> dict[str, int]:
    """The pages of MkDocs' nav by their ids; empty where the site has none, or its settings are out of reach."""
    try:
        settings = file.read_text(encoding="utf-8") + "\n" if file.is_file() else ""
    except (OSError, ValueError):
        return {}
    found = _NAV.search(settings)
    return {root + page: place for place, page in enumerate(_PAGE.findall(found[1]))} if found else {}


def sidebar_ranks(folder: Path, root: str, documents: IndexedDocuments) -> dict[int, float]:
    """Where documents come by the sidebars of the site whose pages are in a folder; empty where it has none.

    root: what the ids of the site's own pages begin with."""
    names = {each.id for each in documents if _SUFFIX.search(each.id)}
    folders = {above for name in names for above in prefixes(name)[:-1]}
    places = {each: place for each in folders if (place := _category(folder / each)) is not None}
    base = folder / root
    listed = next((found for at in (base, base.parent) if (found := _sidebars(at))), None)
    if listed is None and not places:
        return {}
    if listed and not _sidebars(base.parent) and any(name.startswith(f"{root}docs/") for name in names):
        root += "docs/"  # a sidebars file lies beside the folder of pages
    pages = [(number, each.id, each.values()) for number, each in enumerate(documents) if each.id in names]
    generated = sorted(pages, key=lambda page: _place(page[1], page[2], places))
    if listed is None:
        return {number: float(rank) for rank, (number, _, _) in enumerate(generated)}
    numbers: dict[str, int] = {}
    for number, name, values in generated:
        numbers.setdefault(_docusaurus_id(name.removeprefix(root), values), number)
    ordered: dict[int, float] = {}
    for each in listed:
        its = [numbers[each]] if each in numbers else []
        if each.endswith("/"):  # a folder, in the order that Docusaurus generates
            below = "" if each == "./" else each
            its = [number for number, name, _ in generated if name.removeprefix(root).startswith(below)]
        for number in its:
            ordered.setdefault(number, float(len(ordered)))
    return ordered


def listed_in(script: str) -> list[str]:
    """What the objects list that a script names or exports, as far as it is written out: ids of pages, and generated
    folders with a slash behind. The longest list, where several are written.
    """
    found = []
    for begins in islice(_BEGINS.finditer(script), _SCRIPTS):
        tokens = (each for each in _TOKEN.finditer(script, begins.end()) if each.lastgroup)
        found.append(list(_listed(_value(tokens, next(tokens, None), 0)[0])))
    return max(found, key=len, default=[])


def _value(
    tokens: Iterator[re.Match[str]], token: re.Match[str] | None, depth: int
) -> tuple[Any, re.Match[str] | None]:
    """A value, and the token behind it. What is computed is passed over, up to the comma or bracket that ends it."""
    value: Any = None
    if token is not None and token.lastgroup == "text":
        value, token = re.sub(r"\\(.)", r"\1", token[0][1:-1]), next(tokens, None)
    elif token is not None and token[0] in ("[", "{") and depth < _DEEPEST:
        value, token = _inside(tokens, "]" if token[0] == "[" else "}", depth + 1), next(tokens, None)
    open_ = 0
    while token is not None and (open_ or token[0] not in (",", "]", "}", ")", ";")):
        open_ += (token[0] in ("(", "[", "{")) - (token[0] in (")", "]", "}"))
        token = next(tokens, None)
    return value, token


def _inside(tokens: Iterator[re.Match[str]], closing: str, depth: int) -> list[Any] | dict[str, Any]:
    """What a list has, or an object by its names, as far as it is a literal."""
    found: list[tuple[str, Any]] = []
    token = next(tokens, None)
    while token is not None and token[0] != closing:
        name = ""
        if closing == "}" and token.lastgroup:
            given, token = token, next(tokens, None)
            if token is not None and token[0] == ":":
                name, token = given[0].strip("'\"`"), next(tokens, None)
        value, token = _value(tokens, token, depth)
        if name or closing == "]":
            found.append((name, value))
        if token is not None and token[0] == ",":
            token = next(tokens, None)
        elif token is not None and token[0] != closing:
            break  # not a literal
    return dict(found) if closing == "}" else [value for _, value in found]


def _listed(sidebar: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(sidebar, str):
        yield sidebar
    elif depth > _DEEPEST:
        return
    elif isinstance(sidebar, list):
        for each in sidebar:
            yield from _listed(each, depth + 1)
    elif isinstance(sidebar, Mapping):
        kind = sidebar.get("type")
        if kind == "autogenerated":
            yield f"{str(sidebar.get('dirName', '.')).strip('/')}/"
        elif not isinstance(kind, str):  # sidebars by their names, or categories by their labels
            for each in sidebar.values():
                yield from _listed(each, depth + 1) if isinstance(each, list | Mapping) else ()
        else:
            link = sidebar.get("link")
            for each in (sidebar, link):
                if isinstance(each, Mapping) and each.get("type") in ("doc", "ref") and isinstance(each.get("id"), str):
                    yield each["id"]
            yield from _listed(sidebar.get("items"), depth + 1)


def _sidebars(folder: Path) -> list[str] | None:
    return next((found for name in _FILES if (text := _text(folder / name)) and (found := listed_in(text))), None)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig") if path.is_file() and path.stat().st_size < _LARGEST else ""
    except (OSError, ValueError):
        return ""


def _category(folder: Path) -> float | None:
    """The position of a folder by its `_category_` file."""
    for name in _CATEGORIES:
        text = _text(folder / name)
        try:
            said = (json.loads if name.endswith(".json") else yaml.safe_load)(text) if text else None
        except (ValueError, RecursionError, yaml.YAMLError):
            continue
        place = said.get("position") if isinstance(said, dict) else None
        if isinstance(place, int | float) and not isinstance(place, bool):
            return float(place)
    return None


def _place(name: str, values: Mapping[str, Any], categories: Mapping[str, float]) -> list[tuple[float, str]]:
    """What Docusaurus sorts a page by: at each level the position, then the name."""
    parts = name.split("/")
    folders = zip(prefixes(name)[:-1], parts, strict=False)
    steps = [(categories.get(above, _number(part)), part) for above, part in folders]
    own = values.get("sidebar_position")
    place = float(own) if isinstance(own, int | float) and not isinstance(own, bool) else _number(parts[-1])
    stem = _SUFFIX.sub("", parts[-1]).lower()
    first = stem in ("index", "readme") or (len(parts) > 1 and stem == parts[-2].lower())
    return [*steps, (-inf if first and len(parts) > 1 else place, parts[-1])]


def _number(part: str) -> float:
    found = _NUMBERED.match(part)
    return float(found[1]) if found else inf


def _docusaurus_id(name: str, values: Mapping[str, Any]) -> str:
    *folders, last = (_NUMBERED.sub("", part, count=1) if _NUMBERED.match(part) else part for part in name.split("/"))
    own = values.get("id")
    return "/".join([*folders, own if isinstance(own, str) and own else _SUFFIX.sub("", last)])
