"""Request for an ingest, as one value that the ingest, its parts and its dry run take; and how it is run."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from structformer.corpus.site import Site
from structformer.engines import Engine
from structformer.errors import UsageError
from structformer.formats.source import Limits
from structformer.ingestion.looking import Ignored, LookTask, SurveyedFile, survey
from structformer.ingestion.slow_files import Slow
from structformer.ingestion.sources import added_sources, place_of, places_of, sources_of
from structformer.ingestion.walk import FileFilter
from structformer.plugins import load_plugins
from structformer.text.visible_text import listed
from structformer.workspace import Source, Workspace, is_workspace

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """Which files are read, and as what. Raises UsageError on an unknown format or option."""

    paths: tuple[str | Path, ...] = ()
    """Folders or files; none are those of the last ingest."""
    add: bool = False
    """The paths are read beside what the corpus came from so far."""
    replace_sources: bool = False
    """The paths are read in place of what the corpus came from so far."""
    remove: bool = False
    """The paths are taken out of the corpus."""
    format: str | None = None
    """The only format to read."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the formats."""
    limits: Limits = field(default_factory=Limits)
    wanted: FileFilter = field(default_factory=FileFilter)
    """Which of the files are read."""
    site: Site | None = None
    """Where the pages are read; None is that of the earlier ingest, else what the sources say."""

    def __post_init__(self) -> None:
        plugins = load_plugins()
        if self.format is not None:
            plugins.format(self.format)
        plugins.check_options(self.options)

    def description(self) -> dict[str, Any]:
        """Return the request in JSON's types, whatever folder it was made in. Parts of one ingest have the same."""
        paths = [str(Path(path).resolve()) for path in self.paths]
        return {**asdict(self), "paths": paths, "options": dict(self.options)}

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> IngestRequest:
        """Return the request that `description` gave."""
        given = {each.name: description[each.name] for each in fields(cls)}
        wanted = given["wanted"]
        given["paths"] = tuple(given["paths"])
        given["limits"] = Limits(**given["limits"])
        given["wanted"] = FileFilter(tuple(wanted["include"]), tuple(wanted["exclude"]), wanted["gitignore"])
        given["site"] = Site(**given["site"]) if given["site"] else None
        return cls(**given)

    def sources(self, workspace: Workspace) -> tuple[Source, ...]:
        """Sources of the next corpus. Raises UsageError if there are none, one is missing, or known ones get lost."""
        there = workspace.sources()
        if self.paths and not self.remove:
            for path in self.paths:
                # A link that leads nowhere is said and passed over, where it is one of many that a shell lists.
                if not Path(path).exists() and not (len(self.paths) > 1 and Path(path).is_symlink()):
                    raise UsageError(f"{path} does not exist")
                if is_workspace(Path(path)):
                    raise UsageError(f"{path} is a workspace: name the folder of the documents")
            return self._with(there, places_of(self.paths), str(workspace))
        if not self.paths:
            if not there:
                raise UsageError(f"name the folder or file to read: structformer ingest PATH -w {workspace}")
            _check_not_gone(there)
            return tuple(there)
        known = {source.path for source in there}
        spellings = [(str(place_of(path)), str(place_of(path, alone=False))) for path in self.paths]
        removed = [next((each for each in spelling if each in known), "") for spelling in spellings]
        for path, known_as in zip(self.paths, removed, strict=True):
            if not known_as:
                came_from = listed(source.path for source in there) or "nothing"
                raise UsageError(
                    f"the corpus of {workspace} did not come from {Path(path).resolve()}, but from {came_from}"
                )
        if not (kept := tuple(source for source in there if source.path not in removed)):
            raise UsageError(f"nothing would be left in {workspace}: name another PATH to read, with --replace")
        return kept

    def _with(self, there: Sequence[Source], places: Sequence[Path], workspace: str) -> tuple[Source, ...]:
        """Return the sources of the next corpus, given those that are there and what is to be read."""
        if not there or self.replace_sources:
            return sources_of(places)
        if self.add:
            _check_not_gone(there)
            return (*there, *added_sources(there, places))
        if set(map(str, places)) != {source.path for source in there}:
            raise UsageError(
                f"the corpus of {workspace} came from {listed(source.path for source in there)}: "
                "--add reads this beside it, --replace in its place, -w OTHER into another workspace"
            )
        return tuple(there)

    def files(
        self, sources: tuple[Source, ...], ignored: Ignored | None = None, workers: int | None = None
    ) -> list[SurveyedFile]:
        """Files to read, and those passed over with a reason; `ignored` counts others. workers: None for all cores."""
        task = LookTask(sources, self.limits, self.wanted, self.format, tuple(self.options.items()))
        return list(survey(task, ignored, workers=workers))


@dataclass(frozen=True, slots=True)
class Execution:
    """How an ingest is run; the corpus is the same."""

    workers: int | None = None
    """Reader processes; None for as many as the files need, at most one a core."""
    engine: str | Engine = "local"
    """Where shards are made."""
    fresh: bool = False
    """Reads every file again, whatever an earlier ingest left."""
    progress: Progress | None = None
    """Called with (stage, done, total)."""
    slow: Slow | None = None
    """Called with (path, seconds) of a file that takes long."""


def _check_not_gone(there: Sequence[Source]) -> None:
    """Raises UsageError where a source does not exist any more."""
    if gone := [source.path for source in there if not os.path.lexists(source.path)]:
        raise UsageError(
            f"{gone[0]}, from which the corpus was made, does not exist: name the PATHs to read, with --replace"
        )
