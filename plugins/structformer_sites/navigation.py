"""What several generators share: nested lists of pages, lists of links, the page that an entry of a navigation means;
places of the search box.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from math import inf
from typing import Any

from structformer.formats import NavEntry, SitePage, is_external, join, path_names, split_fragment, without_suffix

from structformer_sites.settings import path_in

_DEEPEST = 40  # lists in each other
# A link of Markdown, its text without brackets but of one level: "* [The `x` option](x.md)".
_LINK = re.compile(r"\[((?:[^\[\]\n]|\[[^\[\]\n]*\])*)\]\(\s*<?([^()<>\n]*?)>?(?:\s+\"[^\"\n]*\")?\s*\)")


class PageNames:
    """Pages by the names that entries of a navigation give them."""

    def __init__(self, pages: Sequence[SitePage]) -> None:
        self._paths: dict[str, str] = {page.path: page.path for page in pages}
        for page in pages:
            for name in path_names(page.path):
                self._paths.setdefault(name, page.path)

    def entry(self, target: str, title: str = "", folder: str = "") -> NavEntry | None:
        """Return the entry of the page that a target means, as seen from a folder; None if it means none."""
        path = None if is_external(target) else join(folder, split_fragment(target)[0])
        if path is None:
            return None
        entry = next((self._paths[name] for name in (path or ".", without_suffix(path)) if name in self._paths), None)
        return None if entry is None else NavEntry(entry, title)

    def entries(self, targets: Iterator[tuple[str, str]], folder: str = "") -> Iterator[NavEntry]:
        """Return the entries of (target, title)."""
        for target, title in targets:
            if (entry := self.entry(target, title, folder)) is not None:
                yield entry


def links_in(text: str) -> Iterator[tuple[str, str]]:
    """Return (target, text) of the links of a Markdown list."""
    for match in _LINK.finditer(text):
        yield match[2], re.sub(r"[`*]", "", match[1]).strip()


def nested(
    item: Any, targets: Sequence[str], titles: Sequence[str], *, base: str = "", depth: int = 0
) -> Iterator[tuple[str, str]]:
    """Return (target, title) of nested lists and tables: texts are targets; of a table, the keys `targets` have it, the
    keys `titles` its title, and all lists and tables in it are looked through. base: the key of a table whose text
    precedes the targets in it.
    """
    if isinstance(item, str):
        yield item, ""
    elif depth > _DEEPEST:
        return
    elif isinstance(item, list):
        for each in item:
            yield from nested(each, targets, titles, base=base, depth=depth + 1)
    elif isinstance(item, Mapping):
        title = next((item[key] for key in titles if isinstance(item.get(key), str)), "")
        own = next((item[key] for key in targets if isinstance(item.get(key), str)), None)
        if own is not None:
            yield own, title
        before = item.get(base) if base else None
        for key, each in item.items():
            if isinstance(each, list) or (isinstance(each, Mapping) and key not in titles):
                for target, name in nested(each, targets, titles, base=base, depth=depth + 1):
                    yield f"{before}{target}" if isinstance(before, str) else target, name


def by_weight(pages: Sequence[SitePage], key: str, title_keys: Sequence[str] = ()) -> Iterator[NavEntry]:
    """Return pages ordered within their folders by a number of their front matter. A folder has the number of its index
    page; one without an index page, the least of its own pages.

    key: of the number, with points for tables in tables; 0 counts as none."""
    weights = {page.path: number_at(page.metadata, key) or inf for page in pages}
    of_folder: dict[str, float] = {}
    for page in pages:
        folder = page.path.rpartition("/")[0]
        of_folder[folder] = min(of_folder.get(folder, inf), weights[page.path])
    of_folder |= {page.path.rpartition("/")[0]: weights[page.path] for page in pages if _is_index(page.path)}

    def place(page: SitePage) -> list[tuple[float, str]]:
        *folders, name = page.path.split("/")
        steps = [(of_folder.get(above, inf), part) for above, part in zip(prefixes(folders), folders, strict=True)]
        return [*steps, (-inf, "") if _is_index(name) else (weights[page.path], page.title or name)]

    for page in sorted(pages, key=place):
        yield NavEntry(page.path, next((text for each in title_keys if (text := text_at(page.metadata, each))), ""))


def _is_index(path: str) -> bool:
    return without_suffix(path).rpartition("/")[2] in ("_index", "index")


def prefixes(parts: Sequence[str]) -> list[str]:
    """Return the paths down to a folder: a, a/b."""
    return list(accumulate(parts, "{}/{}".format))


def number_at(values: Mapping[str, Any], key: str) -> float | None:
    """Return a number of front matter; None if there is none."""
    value = path_in(values, *key.split("."))
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def text_at(values: Mapping[str, Any], key: str) -> str:
    """Return a text of front matter; "" if there is none."""
    value = path_in(values, *key.split("."))
    return value if isinstance(value, str) else ""


def place(
    beside: str, put: str, look: str, style: str = "", *, above: int = 0, below: int = 0, solid: bool = False
) -> dict[str, Any]:
    """Return a place of `SearchBox.at`. above, below: the widths of the window, in pixels, where it is there."""
    values = {"beside": beside, "put": put, "look": look, "style": style, "from": above, "until": below, "solid": solid}
    return {key: value for key, value in values.items() if value}
