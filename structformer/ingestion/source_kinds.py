"""Kinds of PATHs that are fetched before they are read: the addresses of websites, and what plugins supply."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from structformer.plugins import load_plugins
from structformer.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Fetched:
    """Result of a fetch."""

    summary: str
    """In a line: what was fetched, and where it is."""
    problems: Sequence[tuple[str, str]] = ()
    """(address, why) of what could not be fetched."""
    remark: str = ""
    """A remark for the user, such as why it stopped early."""


@runtime_checkable
class SourceKind(Protocol):
    """A kind of PATH whose files are fetched into a folder of the workspace, which an ingest then reads like any."""

    @property
    def name(self) -> str: ...

    @property
    def options(self) -> Sequence[Any]:
        """click.Options that `structformer ingest` takes for it."""

    def claims(self, path: str) -> bool:
        """Whether a PATH is of this kind; nothing is fetched."""

    def folder(self, path: str, workspace: Workspace) -> Path:
        """Where its files are kept, inside the workspace. Raises UsageError on a malformed PATH, MissingPackage."""

    def fetch(
        self, path: str, workspace: Workspace, values: Mapping[str, Any], progress: Callable[[str, int, int], None]
    ) -> Fetched:
        """Fetch, or fetch again what has changed. values: of `options`. Raises ReadError where nothing is there."""


def source_kinds() -> dict[str, SourceKind]:
    """Return the kinds by name, all of plugins."""
    supplied = load_plugins().supplied("structformer_sources", "source", SourceKind)  # type: ignore[type-abstract]
    return {name: kind for name, (kind, _) in supplied.items()}


def kind_of(path: str) -> SourceKind | None:
    """Return the kind of a PATH that is fetched; None of a file or folder."""
    return next((kind for kind in source_kinds().values() if kind.claims(path)), None)
