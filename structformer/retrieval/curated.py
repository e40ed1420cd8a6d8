"""Additions made to a search by hand, in a file beside the documents: synonyms, pinned pages, hidden ones."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from unicodedata import normalize

from structformer.did_you_mean import did_you_mean
from structformer.errors import UsageError
from structformer.storage import read_toml
from structformer.workspace import Workspace

FILE = "search.toml"
_KEYS = ("synonyms", "pins", "hide")
_LONGEST = 512  # characters of a query with what is searched for too


@dataclass(frozen=True, slots=True)
class Curated:
    """Contents of a `search.toml`."""

    synonyms: Mapping[str, str] = field(default_factory=dict)
    """Words searched for in addition to a query's word."""
    pins: Mapping[str, str] = field(default_factory=dict)
    """The id of the document that comes first, by the query in small letters."""
    hide: tuple[str, ...] = ()
    """Patterns of the ids of documents that no search finds."""

    def __str__(self) -> str:
        return f"{FILE} applies: synonyms {len(self.synonyms)}, pins {len(self.pins)}, hidden {len(self.hide)}"

    def added(self, query: str) -> list[str]:
        """Return what a query is searched for beside its own words."""
        small = query.lower()
        added = (meaning for word, meaning in self.synonyms.items() if _has(small, word) and not _has(small, meaning))
        return list(dict.fromkeys(added))

    def expanded(self, query: str, known: Callable[[str], bool] = bool) -> str:
        """Return a query with what is searched for too, as far as a query may be long. Words that no page has (not
        `known`) are replaced: they would only make good results look doubtful."""
        for each in self.added(query):
            query = f"{query} {each}" if len(query) + len(each) < _LONGEST else query
        for word in self.synonyms:
            if _has(query.lower(), word) and not known(word):
                query = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", "", query, flags=re.IGNORECASE).strip()
        return query

    def pinned(self, query: str) -> str:
        """Return the id of the document that comes first for a query; "" for none."""
        return self.pins.get(_plain(query), "")

    def reason(self, query: str, document: str) -> str:
        """Say what was done by hand for a document that a query found; "" for nothing."""
        pinned = ["pinned to this query"] if document == self.pinned(query) else []
        added = self.added(query)
        return "; ".join([*pinned, *([f"searched for too: {', '.join(added)}"] if added else [])])

    def unmet(self, documents: Iterable[str]) -> list[str]:
        """Return the pins and the patterns that meet none of these documents, in words."""
        ids = {normalize("NFC", each) for each in documents} if self.pins or self.hide else set()
        pins = [f"{query!r} is pinned to {id}, no document here" for query, id in self.pins.items() if id not in ids]
        idle = [pattern for pattern in self.hide if not any(fnmatchcase(id, normalize("NFC", pattern)) for id in ids)]
        return [*pins, *(f"hide: no document matches {pattern!r}" for pattern in idle)]


def curated_file(workspace: Workspace) -> Path | None:
    """The `search.toml` of a workspace: in the one folder that was read, else in the workspace; None without one."""
    sources = workspace.sources()
    places = [Path(sources[0].path)] if len(sources) == 1 else []
    return next((each / FILE for each in (*places, workspace.path) if (each / FILE).is_file()), None)


def unused_files(workspace: Workspace) -> list[Path]:
    """Return those in folders that were read together, of which none speaks for all."""
    places = [Path(each.path) / FILE for each in workspace.sources()]
    return [place for place in places if len(places) > 1 and place.is_file()]


def read_curated(path: Path | None) -> Curated:
    """Raises UsageError where a file is not as it should be."""
    values = {} if path is None else read_toml(path)
    for key, value in values.items():
        if key not in _KEYS:
            raise UsageError(f"{path}: no table {key!r}; {did_you_mean(key, _KEYS)}")
        fits = isinstance(value, list if key == "hide" else dict)
        texts = [None] if not fits else value if key == "hide" else value.values()
        if not all(isinstance(each, str) and each.strip() for each in texts):
            shape = 'a list of patterns: hide = ["internal/*"]' if key == "hide" else f'a table: [{key}], "a" = "b"'
            raise UsageError(f"{path}: {key} is {shape}")
    return Curated(
        {_plain(word): _plain(meaning) for word, meaning in values.get("synonyms", {}).items()},
        {_plain(query): document for query, document in values.get("pins", {}).items()},
        tuple(values.get("hide", ())),
    )


def _plain(text: str) -> str:
    return " ".join(text.lower().split()).rstrip("?")


def _has(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None
