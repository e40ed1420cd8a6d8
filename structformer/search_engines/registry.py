"""The search engines by their names, and indexes in them by their addresses. All engines come from plugins."""

from __future__ import annotations

import re
from pathlib import Path

from structformer.errors import UsageError
from structformer.plugins import load_plugins
from structformer.search_engines.interface import EngineIndex, SearchEngine

_USER = re.compile(r"://[^/?#]*@")
_KEYWORD = re.compile(r"(password=)('[^']*'|[^\s&#]+)")


def search_engines() -> dict[str, SearchEngine]:
    """All search engines by name."""
    supplied = load_plugins().supplied("structformer_search_engines", "search engine", SearchEngine)
    return {name: engine for name, (engine, _) in supplied.items()}


def open_engine(address: str) -> EngineIndex:
    """An engine's index by its address, NAME:PLACE. Raises UsageError with the addresses that there are."""
    name, _, place = address.partition(":")
    engine = search_engines().get(name)
    if engine is None or not place:
        raise UsageError(f"{without_password(address)!r} is not the address of a search engine: {_advice()}")
    return engine.open(place)


def folder_of(address: str) -> Path | None:
    """The folder that an engine's address names, None of one that is asked over a network."""
    name, _, place = address.partition(":")
    engine = search_engines().get(name)
    return engine.folder(place) if engine is not None else None


def without_password(address: str) -> str:
    """An engine's address as it may be shown."""
    return _KEYWORD.sub(r"\1...", _USER.sub("://", address))


def _advice() -> str:
    *others, last = [each for engine in search_engines().values() for each in engine.addresses] or [""]
    return f"write {', '.join(others)} or {last}" if others else f"write {last}" if last else "none is installed"
