"""The workspace: the one place that knows where things are, who may write, and what is current.

    workspace.json    the marker: format version, the current generation of every part, the corpus's sources
    base.json         the encoder that was named, if one was; seal.json beside it
    structformer.lock held for the whole of every command that writes; structformer.lock.json says by whom
    corpus/shards/    the corpus's shards, named by what went into them
    corpus/000003/    a generation of the corpus: its manifest; likewise graph/, samples/, index/, judged/; of
                      samples/ several are current, the sets of Examples that stand side by side
    models/NAME/      a trained model; models/earlier/ holds those that were replaced
    checkpoints/NAME/ an unfinished run
    evaluation/NAME/  an evaluation's runs and reports
    datasets/         documents of ir_datasets ids, as they were ingested
    websites/HOST/    pages of websites, as they were fetched; HOST.jsonl beside it says what is known of them
    parts/            what parts of a command have made, until they are merged
    cache/, logs/     what can be made again; what trackers write

What is published is a new generation, made visible by replacing workspace.json, which also says of which generations of
the corpus and its graph the index was made: while a newer corpus has no index yet, readers have this whole pair. A
reader holds the generation that it opened (`hold`), and one that is neither current, nor in that pair, nor held is
deleted by the next writer. Nothing else in the folder is
ever deleted or replaced."""

from __future__ import annotations

import json
import os
import re
import secrets
import socket
import threading
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from structformer.errors import UsageError, WorkspaceError
from structformer.storage import files
from structformer.storage.seal import SEAL, Sealed, Stamps, seal
from structformer.text.visible_text import visible

MARKER = "workspace.json"
MODEL_RECORD = "structformer.json"  # of a model that structformer trained
BASE = "base.json"  # the encoder that was named (models/base.py)
BASE_ADVICE = "name the base again with `structformer index --base-model NAME`"
_LOCK, _HOLDER = "structformer.lock", "structformer.lock.json"
FORMAT, FORMAT_VERSION = "structformer workspace", 1
# The parts that are published in generations, each with the command that makes it.
ADVICE = {
    "corpus": "run `structformer ingest FOLDER`",
    "graph": "run `structformer ingest`",
    "samples": "run `structformer sample`",
    "index": "run `structformer index`",
    "judged": "run `structformer finetune`",
}
_NAMES = {"graph": "reference graph", "samples": "Examples", "judged": "judged Examples"}  # other than their own
# What is replaced or deleted is below these.
FOLDERS = (
    *(*ADVICE, "corpus/shards", "models", "models/earlier", "checkpoints", "cache", "parts", "holds", "logs"),
    *("datasets", "websites", "evaluation", "experiments", "feedback"),
)
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_GENERATION = re.compile(r"\d{6,}")


def checked_name(name: str, what: str = "name") -> str:
    """Return a name safe for a folder: letters, digits, ".", "_", "-", no dot at an end. Raises UsageError."""
    if not _NAME.fullmatch(name) or name.endswith("."):
        raise UsageError(
            f"{what} {name!r}: use letters, digits, '.', '_' and '-', at most 100, neither "
            "beginning nor ending with a dot"
        )
    return name


@dataclass(frozen=True, slots=True)
class Source:
    """A source of documents: a folder or file, and the label before its documents' paths, "" for none."""

    label: str
    path: str


def _wrong_state(value: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a marker, None if nothing: its names become paths, and its digest is not secret."""
    named = {key: value.get(key, {}) for key in ("current", "kept", "beside", "indexed")}
    sources = value.get("sources", [])
    if not {"current", "kept"} <= value.keys() or not isinstance(sources, list):
        return "lacks `current`, `kept` or `sources`"
    for key, generations in named.items():
        if not isinstance(generations, dict):
            return f"has {generations!r} as generations ({key})"
        for part, names in generations.items():
            if part not in ADVICE:
                return f"names {part!r} as a part, where only {', '.join(ADVICE)} may be"
            for name in names if isinstance(names, list) else [names]:
                if not isinstance(name, str) or not _GENERATION.fullmatch(name):
                    return f"names {name!r} as a generation of {part}, which is a number of six digits"
            if isinstance(names, list) != (key in ("kept", "beside")):
                return f"has {names!r} as the generations of {part}"
    for source in sources:
        if not isinstance(source, dict) or not all(isinstance(source.get(key), str) for key in ("label", "path")):
            return f"has {source!r} as a source, which is a label and a path"
        if not isinstance(source.get("near", ""), str):
            return f"has {source!r} as a source, whose path from here is not a text"
    return None


class Hold:
    """Keeps a generation from being deleted for as long as this object lives, or its process."""

    def __init__(self, path: Path) -> None:
        lock = FileLock(path, timeout=0, thread_local=False)
        with suppress(OSError, Timeout):  # a workspace that may only be read is not written by us either
            path.parent.mkdir(exist_ok=True)
            lock.acquire()
            weakref.finalize(self, _release, lock)


def _release(lock: BaseFileLock) -> None:
    try:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release(force=True)
    except OSError:  # the workspace is gone; so is what was held
        return


@dataclass(slots=True)
class _Writer:
    """The lock that this process holds on a workspace: the thread that does, and how often it entered."""

    thread: int
    depth: int
    lock: BaseFileLock


_writers: dict[Path, _Writer] = {}
_holds: weakref.WeakValueDictionary[tuple[Path, str, str], Hold] = weakref.WeakValueDictionary()
_stamps: dict[Path, Stamps] = {}
_guard = threading.Lock()


# Names that any project's folder of pages may have.
_PLAIN_NAMES = frozenset("doc docs documentation src source content contents pages site public html build book".split())


def _own_name(path: Path) -> str:
    """Return the name of what was read; of a folder that any project may have, that of the project."""
    own = next((each for each in (path, *path.parents[:2]) if each.name.lower() not in _PLAIN_NAMES), path)
    return own.name.split(".")[0] or path.name or str(path)


class _Inside:
    """A file or folder inside a workspace, as an attribute of it."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def __get__(self, workspace: Workspace, owner: type[Workspace]) -> Path:
        return workspace.path.joinpath(*self._names)


class Workspace:
    """A workspace by its path; nothing is read or written until a method is called."""

    def __init__(self, path: str | Path | Workspace = ".structformer") -> None:
        self._given: str = str(path._given if isinstance(path, Workspace) else path)
        # Once and for all: a notebook's %cd, or a daemon, may change what the given path means.
        self.absolute: str = path.absolute if isinstance(path, Workspace) else os.path.abspath(path)

    def __str__(self) -> str:
        """Return the path as it was given, as long as it means the same."""
        with suppress(OSError):  # the current folder may be gone
            if os.path.abspath(self._given) == self.absolute:
                return self._given
        return self.absolute

    @property
    def path(self) -> Path:
        """The folder."""
        return Path(files.utf8_path(self.absolute))

    # Paths

    marker = _Inside(MARKER)
    datasets = _Inside("datasets")
    websites = _Inside("websites")
    """The folder of the pages of websites, by host."""
    shards = _Inside("corpus", "shards")
    """The folder of the corpus's shards, which its generations share."""
    reports = _Inside("corpus")
    """The folder of the last ingest's report."""
    models = _Inside("models")
    earlier_models = _Inside("models", "earlier")
    """The folder of the models that were replaced."""
    cache = _Inside("cache")
    feedback = _Inside("feedback")
    """The folder of what people searched for on the page, and clicked."""
    parts = _Inside("parts")
    """The folder of what the parts of commands have made, until they are merged."""
    experiments = _Inside("experiments")

    def model(self, name: str) -> Path:
        """The folder of a model that the workspace trains. Raises UsageError on what is not a name, or not free."""
        folder = self.models / checked_name(name, "the model name")
        if folder == self.earlier_models:
            raise UsageError(f"the model name {name!r} is taken: replaced models are kept there")
        return folder

    def checkpoints(self, name: str) -> Path:
        """The folder of a run's checkpoints while it is not finished. Raises UsageError on what is not a name."""
        return self.path / "checkpoints" / checked_name(name, "the run name")

    def runs(self) -> list[Path]:
        """Return folders of the unfinished runs, each with its checkpoints."""
        return sorted((self.path / "checkpoints").glob("*"))

    def unfinished(self, file: str) -> list[Path]:
        """Return folders of the unfinished runs, those with a `file` in them."""
        return sorted(path.parent for path in (self.path / "checkpoints").glob(f"*/{file}"))

    def logs(self, name: str) -> Path:
        return self.path / "logs" / checked_name(name, "the run name")

    def evaluation(self, name: str) -> Path:
        """Return the folder of an evaluation. Raises UsageError on what is not a name."""
        return self.path / "evaluation" / checked_name(name, "the evaluation's name")

    # State

    def exists(self) -> bool:
        """Whether the folder is a workspace."""
        return self.marker.is_file()

    def state(self) -> dict[str, Any]:
        """The marker's content. Raises WorkspaceError when this is not a workspace, or one of another version."""
        if not self.exists():
            raise WorkspaceError(self._not_one())
        marker = self._marker()
        if not isinstance(marker, dict) or marker.get("format") != FORMAT:
            raise WorkspaceError(f"{self.marker} is another program's: name another folder with -w")
        value: dict[str, Any] = self._marker(digest=True)
        if value.get("format_version") != FORMAT_VERSION:
            raise WorkspaceError(
                f"{self} is a workspace of format version {value.get('format_version')}, this "
                "version of structformer reads "
                f"{FORMAT_VERSION}: ingest into another folder"
            )
        if (wrong := _wrong_state(value)) is not None:
            raise WorkspaceError(f"{self.marker} was not written by structformer: it {wrong}")
        return value

    def _marker(self, *, digest: bool = False) -> Any:
        try:
            return files.read_json(self.marker, digest=digest)
        except WorkspaceError as error:
            raise WorkspaceError(f"{error}: run `structformer ingest FOLDER` with a new folder as -w") from error

    def _not_one(self) -> str:
        if self.path.is_dir() and any(self.path.iterdir()):
            return f"{self} is not a workspace (it has no {MARKER}): name another folder with -w"
        flag = "" if self._given == ".structformer" else f" -w {self}"
        return f"no corpus in {self}: run `structformer ingest FOLDER{flag}` first"

    def sources(self) -> list[Source]:
        """Where the corpus's documents come from; none before the first ingest. What lay beside the workspace is looked
        for beside it, so that both may be moved or cloned together, else where it was.
        """
        if not self.exists():
            return []
        return [Source(each["label"], self._place(each)) for each in self.state().get("sources", [])]

    def _place(self, source: Mapping[str, str]) -> str:
        near = os.path.normpath(self.path.resolve() / source["near"]) if source.get("near") else ""
        return near if os.path.lexists(near) else source["path"]

    def _described(self, source: Source) -> dict[str, str]:
        """A source in the marker. near: its path from the workspace, of what is below the workspace's parent folder."""
        own = self.path.resolve()
        described = {"label": source.label, "path": source.path}
        if not Path(source.path).is_relative_to(own.parent):
            return described
        return {**described, "near": Path(os.path.relpath(source.path, own)).as_posix()}

    @property
    def title(self) -> str:
        """The names of what was read; "" before the first ingest."""
        return ", ".join(dict.fromkeys(_own_name(Path(source.path)) for source in self.sources()))[:80]

    def has(self, part: str) -> bool:
        """Whether a part was published."""
        return self.exists() and part in self.state()["current"]

    def folder(self, part: str) -> Path:
        """Return the folder of a part's current generation. Raises WorkspaceError naming the command that makes it."""
        generation = self.state()["current"].get(part)
        if generation is None:
            raise WorkspaceError(f"no {_NAMES.get(part, part)} in {self}: {ADVICE[part]} first")
        return self.path / part / str(generation)

    def beside(self, part: str) -> list[Path]:
        """The folders of a part's generations that stand side by side, the oldest first; none before the first."""
        if not self.exists():
            return []
        state = self.state()
        current = [state["current"][part]] if part in state["current"] else []
        staying = set(state.get("beside", {}).get(part, [])) & set(state["kept"].get(part, []))
        return [self.path / part / name for name in sorted({*staying, *current}, key=int)]

    def indexed(self, part: str) -> str | None:
        """The generation of the corpus or the graph that the current index was made of; None if it does not say."""
        generation: str | None = self.state().get("indexed", {}).get(part)
        return generation

    def kept(self, part: str) -> list[Path]:
        """The folders of a part's generations that are not deleted yet: the current one, and those that were held."""
        return [self.path / part / generation for generation in self.state()["kept"].get(part, [])]

    def hold(self, part: str, generation: str | None = None) -> tuple[Path, Hold]:
        """Return the folder of a part's current or another generation, held against deletion. Raises WorkspaceError."""
        while True:
            folder = self.folder(part) if generation is None else self.path / part / generation
            was_held = (self.path.resolve(), part, folder.name) in _holds
            held = self._held(part, folder.name)
            staying = was_held or generation is None or generation == self.indexed(part) or folder in self.beside(part)
            if not staying:
                raise WorkspaceError(f"{folder} was deleted meanwhile: run the command again")
            if generation is not None or self.folder(part) == folder:
                return folder, held  # else it was replaced, and maybe deleted, before it was held

    def _held(self, part: str, generation: str) -> Hold:
        key = (self.path.resolve(), part, generation)
        with _guard:
            if (hold := _holds.get(key)) is None:
                name = f"{part}-{generation}-{secrets.token_hex(6)}.lock"
                hold = _holds[key] = Hold(self.path / "holds" / name)
            return hold

    def sealed(self, part: str, generation: str | None = None) -> tuple[Sealed, Hold]:
        """A part's current generation, or another, whose files are verified when opened. Raises WorkspaceError."""
        folder, hold = self.hold(part, generation)
        return Sealed(folder, f"{ADVICE[part]} again", self.stamps), hold

    @property
    def stamps(self) -> Stamps:
        """Which files of this workspace were compared with their digests already."""
        key = self.path.resolve()
        with _guard:
            if key not in _stamps:
                _stamps[key] = Stamps(self.path / "cache" / "compared.json")
            return _stamps[key]

    # Writing

    @contextmanager
    def writing(self, what: str, *, wait: float = 0.0) -> Iterator[None]:
        """Be the only writer. An empty or missing folder becomes a workspace. what: the command, for other writers.
        Reentrant in a thread. Raises UsageError on a folder that is neither, WorkspaceError naming a writer that does
        not end in `wait` seconds.
        """
        self._refuse_others()
        key = self.path.resolve()
        me = threading.get_ident()
        with _guard:
            writer = _writers.get(key)
            if writer is not None and writer.thread == me:
                writer.depth += 1
        if writer is None or writer.thread != me:
            writer = self._locked(key, me, what, wait)
        try:
            yield
        finally:
            writer.depth -= 1
            if not writer.depth:
                with suppress(OSError):
                    self._remove_temporaries()  # of workers that were stopped when another one failed
                self._unlock(key, writer)

    def _refuse_others(self) -> None:
        """Raise UsageError when the folder holds what is not ours, WorkspaceError when it leads to what is not."""
        if self.exists():
            self.state()
            for folder in (*(self.path / name for name in FOLDERS), *self.runs()):
                if folder.is_symlink():
                    raise WorkspaceError(
                        f"{folder} is a link: what is in a workspace's folders is replaced and deleted, so they must "
                        "be its own"
                    )
            return
        if self.path.exists() and not self.path.is_dir():
            raise UsageError(f"{self} is a file: name a folder with -w")
        if self.path.is_symlink() and not self.path.exists():
            raise UsageError(f"{self} is a link that leads nowhere: name a folder with -w")
        entries = sorted(entry.name for entry in self.path.iterdir()) if self.path.is_dir() else []
        others = [name for name in entries if name not in (_LOCK, _HOLDER) and not files.is_temporary(name)]
        if others and not self.exists():  # it may have been made since
            raise UsageError(
                f"{self} is not a workspace, and not empty "
                f"({visible(', '.join(others[:3]), keep='')}{', ...' if len(others) > 3 else ''}): "
                "name an empty or new folder with -w"
            )

    def _locked(self, key: Path, me: int, what: str, wait: float) -> _Writer:
        lock = FileLock(self.path / _LOCK, thread_local=False)
        with files.writing_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire(timeout=wait, poll_interval=0.02)
            except Timeout as error:
                raise WorkspaceError(f"{self} is being written by {self._holder()}: wait for it to end") from error
        writer = _Writer(me, 1, lock)
        with _guard:
            _writers[key] = writer
        try:
            if not self.exists():
                self._write_state({"current": {}, "kept": {}, "sources": []})
            with files.writing_errors(self.path):
                since = time.strftime("%Y-%m-%d %H:%M:%S")
                holder = {"pid": os.getpid(), "host": socket.gethostname(), "command": what, "since": since}
                (self.path / _HOLDER).write_text(json.dumps(holder), encoding="utf-8")
            self._tidy()
        except BaseException:
            self._unlock(key, writer)
            raise
        return writer

    def _unlock(self, key: Path, writer: _Writer) -> None:
        (self.path / _HOLDER).unlink(missing_ok=True)
        with _guard:
            _writers.pop(key, None)
        writer.lock.release(force=True)

    def _holder(self) -> str:
        try:
            holder = files.read_json(self.path / _HOLDER)
            return f"`{holder['command']}` (process {holder['pid']} on {holder['host']}, since {holder['since']})"
        except (WorkspaceError, KeyError, TypeError):
            return "another process"

    def _write_state(self, state: Mapping[str, Any]) -> None:
        files.write_json(self.marker, {**state, "format": FORMAT, "format_version": FORMAT_VERSION}, digest=True)

    def _tidy(self) -> None:
        """Remove what killed writers left, and the generations that are neither current nor held."""
        self._remove_temporaries()
        state = self.state()
        current: dict[str, str] = state["current"]
        kept: dict[str, list[str]] = {}
        for part, generations in state["kept"].items():
            wanted = {current.get(part), state.get("indexed", {}).get(part), *state.get("beside", {}).get(part, [])}
            kept[part] = [each for each in generations if each in wanted or self._is_held(part, each)]
        for part in ADVICE:  # also those that a killed writer had named but not yet listed
            for entry in sorted((self.path / part).glob("[0-9]*")):
                if entry.name not in kept.get(part, []) and entry.name != current.get(part):
                    self._remove_generation(entry)
        if kept != state["kept"]:
            self._write_state({**state, "kept": kept})

    def _remove_temporaries(self) -> None:
        for folder in (self.path, self.shards, self.models, self.cache, *(self.path / part for part in ADVICE)):
            files.remove_temporaries(folder)

    def _remove_generation(self, folder: Path) -> None:
        """Delete a generation, which is known by its number and its seal."""
        if _GENERATION.fullmatch(folder.name) and (folder / SEAL).is_file():
            doomed = folder.with_name(files.temporary_name())  # killed meanwhile, it is still known to be ours
            os.replace(folder, doomed)
            files.remove(doomed)

    def _is_held(self, part: str, generation: str) -> bool:
        for path in (self.path / "holds").glob(f"{part}-{generation}-*.lock"):
            lock = FileLock(path, timeout=0, thread_local=False)
            try:
                lock.acquire()
            except Timeout:
                return True
            except OSError:
                continue
            path.unlink(missing_ok=True)
            lock.release(force=True)
        return False

    @contextmanager
    def publishing(self, what: str, *, wait: float = 0.0) -> Iterator[Publication]:
        """Write new generations of parts, which become current together when the block ends well. Raises as `writing`,
        and WorkspaceError when the disk is full.
        """
        with self.writing(what, wait=wait), ExitStack() as stack:
            publication = Publication(self, stack)
            with files.writing_errors(self.path):
                yield publication
                self._publish(publication)
            self._tidy()

    def _publish(self, publication: Publication) -> None:
        state = self.state()
        current, kept = dict(state["current"]), {part: list(names) for part, names in state["kept"].items()}
        beside = dict(state.get("beside", {}))
        for part, temporary in publication.folders.items():
            seal(temporary)
            files.fsync_tree(temporary)
            taken = [int(path.name) for path in (self.path / part).iterdir() if _GENERATION.fullmatch(path.name)]
            name = f"{max(taken, default=0) + 1:06}"
            os.replace(temporary, self.path / part / name)
            files.fsync_folder(self.path / part)
            current[part] = name
            kept.setdefault(part, []).append(name)
            beside.pop(part, None)
            if staying := publication.beside.get(part):
                beside[part] = [*staying, name]
        changes: dict[str, Any] = {"beside": beside} if beside else {}
        if publication.sources is not None:
            changes["sources"] = list(map(self._described, publication.sources))
        if "index" in publication.folders:
            changes["indexed"] = {part: current[part] for part in ("corpus", "graph") if part in current}
        state.pop("beside", None)
        self._write_state({**state, "current": current, "kept": kept, **changes})

    @contextmanager
    def replacing_model(self, name: str, *, keep: bool = True) -> Iterator[Path]:
        """A folder that becomes the model `name`. An earlier one goes to models/earlier, with its date, or away without
        `keep`. Raises UsageError on a folder of that name that is not a model of ours.
        """
        final = self.model(name)
        earlier = self.earlier_models / f"{name}.{dated_name()}" if keep else None
        if final.exists() and not (final / SEAL).is_file():
            raise UsageError(f"{final} was not written by structformer: move it away, or train with another --name")
        with self.writing(f"saving the model {name}"), files.replacing_folder(final, earlier=earlier) as folder:
            yield folder
            # People edit a model's card.
            written = (path for path in folder.rglob("*") if path.is_file() and path.name != "README.md")
            seal(folder, [path.relative_to(folder).as_posix() for path in written])


class Publication:
    """The generations that a writer is making. sources: of a new corpus, None to leave them as they are. beside: the
    generations of a part that stay current beside the new one.
    """

    def __init__(self, workspace: Workspace, stack: ExitStack) -> None:
        self._workspace = workspace
        self._stack = stack
        self.folders: dict[str, Path] = {}
        self.sources: list[Source] | None = None
        self.beside: dict[str, list[str]] = {}

    def folder(self, part: str) -> Path:
        """Return the folder of a part's new generation, made at the first call."""
        if part not in self.folders:
            path = self._workspace.path / part / files.temporary_name()
            path.mkdir(parents=True)
            self.folders[part] = path
            self._stack.callback(files.remove, path)
        return self.folders[part]


def dated_name() -> str:
    """Return the time as a name: 2026-01-31-120000, with a few letters more, so that two of one second differ."""
    return f"{time.strftime('%Y-%m-%d-%H%M%S')}-{secrets.token_hex(2)}"
