"""Documents that a program gives as objects: shards of their own, which every ingest keeps beside those of the files.

They are spread over shards by their ids, so that a change writes one small shard and reads no file."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from structformer._version import __version__
from structformer.corpus import FORMAT_VERSION, Corpus, manifest_value, write_other_files
from structformer.corpus.rows import Row, document_rows
from structformer.corpus.shards import ShardInfo, describe_shard, read_shard, shard_writer
from structformer.corpus.site import write_site
from structformer.document import Document
from structformer.errors import UsageError, WorkspaceError
from structformer.formats.link_names import path_names
from structformer.graph import write_graph
from structformer.ingestion.looking import SurveyedFile
from structformer.ingestion.reading import Outcome
from structformer.ingestion.shard import source_row
from structformer.ingestion.walk import path_order
from structformer.plugins import load_plugins
from structformer.storage.files import become, building_folder, write_json
from structformer.workspace import Workspace

_WHY = "given by a program"
_PREFIX = "00000000-"  # of the shards' names; a shard of files may have it by chance, so its sources are looked at too
_SHARDS = 64
_ID_CHARACTERS = 500
Rows = tuple[Row, list[Row]]


@dataclass(frozen=True, slots=True)
class Changed:
    """Ids of the documents that were added, replaced, deleted or left alone."""

    added: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    """Those that were to be deleted and were not there."""

    def __bool__(self) -> bool:
        """Whether the corpus is another one now."""
        return bool(self.added or self.replaced or self.deleted)

    def __str__(self) -> str:
        counts = {name: len(getattr(self, name)) for name in self.__slots__}
        return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing to do"


def given_shards(workspace: Workspace, beside: list[ShardInfo]) -> list[ShardInfo]:
    """The current corpus's shards of given documents, which stay in the next. Raises WorkspaceError if it cannot be
    read, as they are kept nowhere else; UsageError if a file has the id of one.
    """
    shards = _given_shards(workspace)
    if shards:
        corpus = Corpus(workspace.shards, workspace.shards, shards)
        _check_not_of_files(Corpus(workspace.shards, workspace.shards, beside), set(corpus.document_ids()))
    return shards


def _given_shards(workspace: Workspace) -> list[ShardInfo]:
    names = {each.name for each in workspace.shards.glob(f"{_PREFIX}*")}
    if not names or not workspace.has("corpus"):
        return []
    try:
        corpus = Corpus.open(workspace)
    except WorkspaceError as error:
        raise WorkspaceError(
            f"{workspace} holds documents that a program gave that would be lost ({error}): "
            "ingest into another workspace, and give them again"
        ) from error
    named = [shard for shard in corpus.shards if shard.key in names]
    return [shard for shard in named if next(corpus.rows(shard, "sources", ["why"]), {}).get("why") == _WHY]


def given_rows(documents: Iterable[Document]) -> dict[str, Rows]:
    """Return the documents as kept, by id, the last of each. Raises UsageError on other objects and unknown formats."""
    return {row["id"]: (row, sections) for row, sections in map(_rows, documents)}


def _rows(document: Document) -> Rows:
    if not isinstance(document, Document):
        raise UsageError(f"{type(document).__name__} is not a Document: give structformer.Document objects")
    if not document.id or len(document.id) > _ID_CHARACTERS or not document.id.isprintable():
        raise UsageError(f"the id {document.id[:80]!r}: give 1 to {_ID_CHARACTERS} printable characters")
    load_plugins().format(document.source.format)  # which says what its links mean
    named = replace(document, names=document.names or path_names(document.id))
    problems: list[str] = []
    rows = document_rows(named, f"given/{document.id}", problems.append)
    if problems:
        raise UsageError(f"{document.id}: {problems[0]} where a file says it; give what JSON can hold")
    return rows


def change_given(workspace: Workspace, new: Mapping[str, Rows], ids: Sequence[str] = ()) -> Changed:
    """Change and remove documents in corpus and graph, all or nothing. Raises UsageError on an id that a file has."""
    with workspace.writing("structformer upsert" if new else "structformer delete"):
        files, given = _parted(workspace)
        there: dict[str, Rows] = {}
        for folder, shard in ((given.shard_folder(each), each) for each in given.shards):
            if describe_shard(folder) != shard:
                raise WorkspaceError(f"{folder} has changed since it was written: use a new workspace")
            there |= {row["id"]: (row, sections) for row, sections in read_shard(folder)}
        _check_not_of_files(files, {*new, *ids} - there.keys())
        same = {each for each in new.keys() & there.keys() if _digest([new[each]]) == _digest([there[each]])}
        changed = Changed(
            added=tuple(each for each in new if each not in there),
            replaced=tuple(each for each in new if each in there and each not in same),
            unchanged=tuple(each for each in new if each in same),
            deleted=tuple(each for each in dict.fromkeys(ids) if each in there),
            unknown=tuple(each for each in dict.fromkeys(ids) if each not in there),
        )
        if changed:
            left = {each: rows for each, rows in {**there, **new}.items() if each not in changed.deleted}
            _publish(workspace, [*files.shards, *_written(workspace.shards, left)])
    return changed


def _parted(workspace: Workspace) -> tuple[Corpus, Corpus]:
    """Return the corpus's files, and what it was given; empty before the first ingest."""
    given = _given_shards(workspace)
    keys = {shard.key for shard in given}
    shards = Corpus.open(workspace).shards if workspace.has("corpus") else []
    files = [shard for shard in shards if shard.key not in keys]
    return Corpus(workspace.shards, workspace.shards, files), Corpus(workspace.shards, workspace.shards, given)


def _check_not_of_files(files: Corpus, ids: set[str]) -> None:
    """Raise UsageError where a document of one of these ids was read from a file."""
    for shard in files.shards if ids else ():
        for row in files.rows(shard, "documents", ["id", "file"]):
            if row["id"] in ids:
                raise UsageError(
                    f"{row['id']} was read from the file {row['file']}: change or delete the file and ingest again; "
                    f"one that a program gave is taken out by structformer.delete({row['id']!r})"
                )


def _digest(documents: Iterable[Rows]) -> str:
    """Of documents' contents, wherever they stand in a shard."""
    digest = hashlib.sha256(f"{FORMAT_VERSION}\n".encode())
    for row, sections in documents:
        kept = [{**row, "number": 0}, [{**each, "document": 0} for each in sections]]
        digest.update(json.dumps(kept, sort_keys=True, default=bytes.hex).encode())
    return digest.hexdigest()


def _written(folder: Path, documents: dict[str, Rows]) -> list[ShardInfo]:
    """Return the shards of the documents; those that are there are not written again."""
    by_shard: defaultdict[int, list[str]] = defaultdict(list)
    for each in sorted(documents, key=path_order):
        by_shard[hashlib.sha256(each.encode()).digest()[0] % _SHARDS].append(each)
    shards: list[ShardInfo] = []
    for number in sorted(by_shard):
        rows = [documents[each] for each in by_shard[number]]
        name = f"{_PREFIX}{_digest(rows)[:20]}-0"
        if not (folder / name).exists():
            with building_folder(folder) as building:
                with shard_writer(building) as writer:
                    for row, sections in rows:
                        writer.add_document(row, sections)
                        writer.add_source(_source_row(row, sections))
                become(building, name, replace=True)
        shards.append(describe_shard(folder / name))
    return shards


def _source_row(row: Row, sections: list[Row]) -> Row:
    count = sum(len(each["text"]) + len(each["title"]) for each in sections)
    outcome = Outcome(row["file"], row["format"], _WHY, documents=1, bytes=count, characters=count)
    digest = {"sha256": _digest([(row, sections)]), "size": count}
    return source_row(outcome, SurveyedFile(row["file"], "", row["format"]), digest)


def _publish(workspace: Workspace, shards: list[ShardInfo]) -> None:
    """Make a corpus of these shards current, with its graph; all else stays as it is."""
    with workspace.publishing("structformer upsert") as publication:
        folder = publication.folder("corpus")
        write_json(folder / "manifest.json", manifest_value(shards, __version__))
        before = Corpus.open(workspace) if workspace.has("corpus") else None
        if before is not None:
            write_site(folder, before.site, before.navigation)
        write_other_files(folder, before.other_files() if before is not None else ())
        write_graph(Corpus(folder, workspace.shards, shards), publication.folder("graph"))
