"""What an ingest is asked for, as one value that the ingest, its parts and its dry run take; and how it is run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from structformer.corpus.site import Site
from structformer.engines import Engine
from structformer.errors import UsageError
from structformer.formats.limits import Limits
from structformer.ingestion.survey import Ignored, SurveyedFile, survey
from structformer.ingestion.walk import FileFilter
from structformer.plugins import load_plugins
from structformer.workspace import Source, Workspace

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class IngestRequest:
    """Which files are read, and as what.

    paths: folders or files; none are those of the last ingest. add: beside what the corpus came from so far;
    replace_sources: in its place; remove: they are taken out. format: the only one to read. options: of the formats.
    wanted: which of the files. site: where the pages are read; None is that of the earlier ingest, else what the
    sources say. Raises UsageError on an unknown format or option."""

    paths: tuple[str | Path, ...] = ()
    add: bool = False
    replace_sources: bool = False
    remove: bool = False
    format: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    wanted: FileFilter = field(default_factory=FileFilter)
    site: Site | None = None

    def __post_init__(self) -> None:
        plugins = load_plugins()
        if self.format is not None:
            plugins.format(self.format)
        plugins.check_options(self.options)

    def description(self) -> dict[str, Any]:
        """The request in JSON's types, whatever folder it was made in. Parts of one ingest have the same."""
        paths = [str(Path(path).resolve()) for path in self.paths]
        return {**asdict(self), "paths": paths, "options": dict(self.options)}

    @classmethod
    def of(cls, description: Mapping[str, Any]) -> IngestRequest:
        """The request that `description` gave."""
        given = {each.name: description[each.name] for each in fields(cls)}
        wanted = given["wanted"]
        given["paths"] = tuple(given["paths"])
        given["limits"] = Limits(**given["limits"])
        given["wanted"] = FileFilter(tuple(wanted["include"]), tuple(wanted["exclude"]), wanted["gitignore"])
        given["site"] = Site(**given["site"]) if given["site"] else None
        return cls(**given)

    def sources(self, workspace: Workspace) -> tuple[Source, ...]:
        """The sources of the next corpus. Raises UsageError when there are none, one does not exist, or those of the
        corpus would be lost unasked.
        """
        for path in self.paths:
            if not Path(path).exists() and not self.remove:
                raise UsageError(f"{path} does not exist")
        there = workspace.sources()
        given = list(dict.fromkeys(str(Path(path).resolve()) for path in self.paths))
        if not given:
            if not there:
                raise UsageError(f"name the folder or file to read: structformer ingest PATH -w {workspace}")
            gone = [source.path for source in there if not Path(source.path).exists()]
            if gone:
                raise UsageError(
                    f"{gone[0]}, of which the corpus was made, does not exist: name the PATHs to read, with --replace"
                )
            return tuple(there)
        if self.remove:
            unknown = [path for path in given if path not in {source.path for source in there}]
            if unknown:
                listed = ", ".join(source.path for source in there) or "nothing"
                raise UsageError(f"the corpus of {workspace} did not come from {unknown[0]}, but from {listed}")
            if not (kept := tuple(source for source in there if source.path not in given)):
                raise UsageError(f"nothing would be left in {workspace}: name another PATH to read, with --replace")
            return kept
        if there and not self.replace_sources:
            known = [source.path for source in there]
            if self.add:
                taken = {source.label for source in there}
                new = [path for path in given if path not in known]
                return (*there, *_labelled(new, taken | _top_names(there)))
            if set(given) != set(known):
                raise UsageError(
                    f"the corpus of {workspace} came from {', '.join(known)}: "
                    "--add reads this beside it, --replace in its place, -w OTHER into another workspace"
                )
            return tuple(there)
        return (Source("", given[0]),) if len(given) == 1 else tuple(_labelled(given, set()))

    def files(
        self, workspace: Workspace, sources: tuple[Source, ...], ignored: Ignored | None = None
    ) -> list[SurveyedFile]:
        """The files to read below the sources, and those that are passed over with a reason; `ignored` counts the
        others.
        """
        return list(
            survey(
                sources,
                load_plugins(),
                self.limits,
                own=workspace.path.resolve(),
                format=self.format,
                wanted=self.wanted,
                ignored=ignored,
                options=self.options,
            )
        )


@dataclass(frozen=True, slots=True)
class Execution:
    """How an ingest is run: the corpus is the same. workers: reader processes, None for one a core. engine: where
    shards are made. fresh: read every file again, whatever an earlier ingest left. progress: called with (stage, done,
    total).
    """

    workers: int | None = None
    engine: str | Engine = "local"
    fresh: bool = False
    progress: Progress | None = None


def _labelled(paths: Sequence[str], taken: set[str]) -> Iterator[Source]:
    for path in paths:
        name = Path(path).name or "root"
        label = next(
            each
            for number in range(1, len(paths) + len(taken) + 2)
            if (each := f"{name}-{number}" if number > 1 else name) not in taken
        )
        taken = taken | {label}
        yield Source(label, path)


def _top_names(sources: Sequence[Source]) -> set[str]:
    """Names at the top of a source without a label, which a label would collide with."""
    return {
        entry.name
        for source in sources
        if not source.label and Path(source.path).is_dir()
        for entry in Path(source.path).iterdir()
    }
