"""A file that is gone, cut or changed gives the answer of before or one line that names it, never another answer."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from structformer import Corpus
from structformer.corpus.checking import check_workspace
from structformer.errors import StructformerError, WorkspaceError
from structformer.graph import ReferenceGraph
from structformer.ingestion import ingest
from structformer.retrieval.hits import Filter
from structformer.retrieval.indexing import build_index
from structformer.retrieval.retriever import Retriever
from structformer.sampling import Samples, sample
from structformer.storage.files import temporary_name
from structformer.workspace import Workspace

PAGES = 12
# What tells people something, and no command reads.
NOT_READ = {"README.md", "report.html", "report.json", "report.jsonl", "command.json"}


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with all that an ordinary search reads, the static encoder's part too."""
    folder = tmp_path_factory.mktemp("damage")
    for number in range(PAGES):
        page = folder / "docs" / ("boats" if number % 2 else "knots") / f"page{number}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(
            f"---\ntags: t{number % 3}\n---\n# Page {number}\n\nBowline number {number} holds the mast in strong wind.\n\n"
            f"## Tie it {number}\n\nTo tie a bowline of kind {number} take a rope of {number} metres.\n\n"
            f"## See also\n\n- [next](../boats/page{number | 1}.md)\n"
        )
    ingest([folder / "docs"], folder / "w", workers=1)
    sample(folder / "w", ["ict"])
    build_index(folder / "w", encoders=["structure"])
    answers(folder / "w")
    return folder / "w"


def answers(workspace: Path) -> list[object]:
    """What the ordinary commands read."""
    corpus, retriever = Corpus.open(workspace), Retriever.open(workspace)
    return [
        list(corpus.documents()),
        list(corpus.sources()),
        list(corpus.other_files()),
        corpus.site,
        list(ReferenceGraph.open(workspace, corpus).edges()),
        list(Samples.open(workspace)),
        [hit.as_dict() for hit in retriever.search("tie a bowline")],
        [hit.as_dict() for hit in retriever.search("mast in strong wind", pipeline="lexical >> bm25")],
        [hit.as_dict() for hit in retriever.search("rope", where=Filter(metadata={"tags": "t1"}))],
    ]


def removed(path: Path) -> None:
    path.unlink()


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def changed(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)


def changed_unseen(path: Path) -> None:
    """As a disk changes it: no time of change tells."""
    status = path.stat()
    changed(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def artefacts(workspace: Path) -> Iterator[Path]:
    for path in sorted(workspace.rglob("*")):
        own = path.relative_to(workspace).parts[0]
        if path.is_file() and path.stat().st_size and path.suffix != ".lock" and own not in ("cache", "holds"):
            yield path


def told_by(path: Path) -> str:
    """What names a file: itself, or of the seal of a later addition what it sealed."""
    return str(path).removesuffix(".seal.json")


def is_said(error: StructformerError, path: Path) -> bool:
    """Whether the error is one line that names the file, and what to do."""
    said = str(error)
    return told_by(path) in said and "\n" not in said and any(word in said for word in ("structformer ", "again"))


@pytest.mark.parametrize("harm", [removed, cut, changed, changed_unseen])
def test_damage_is_said_or_changes_nothing(workspace: Path, harm: Callable[[Path], None]) -> None:
    whole = answers(workspace)
    assert check_workspace(workspace) == []
    wrong = []
    for path in artefacts(workspace):
        kept, status = path.read_bytes(), path.stat()
        harm(path)
        try:
            if harm is not changed_unseen and answers(workspace) != whole:
                wrong.append(f"{path}: another answer")
        except StructformerError as error:
            if not is_said(error, path) and path.name != "workspace.json":
                wrong.append(f"{path}: {error}")
        try:
            named = any(told_by(path) in problem.text for problem in check_workspace(workspace))
        except WorkspaceError as error:
            named = is_said(error, path) or path.name == "workspace.json"
        if not named and path.name not in NOT_READ:
            wrong.append(f"{path}: not seen by check")
        path.write_bytes(kept)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert wrong == []
    assert answers(workspace) == whole


def test_a_model_without_its_record_is_named_and_no_other_ranks_in_its_place(workspace: Path) -> None:
    record = Workspace(workspace).models / "structure" / "structformer.json"
    kept = record.read_bytes()
    record.unlink()
    with pytest.raises(WorkspaceError, match=r"structformer\.json is missing: run `structformer index` again"):
        Retriever.open(workspace).search("tie a bowline")
    record.write_bytes(kept)


def test_damaged_vectors_are_made_again_and_not_kept_by_the_next_index(workspace: Path) -> None:
    whole = answers(workspace)
    place = Workspace(workspace)
    [vectors] = [path for path in (place.folder("index") / "dense").glob("*.npy") if path.name.count(".") == 1]
    good = vectors.read_bytes()
    changed(vectors)
    build_index(workspace, encoders=["structure"])
    assert (place.folder("index") / "dense" / vectors.name).read_bytes() == good
    assert answers(workspace) == whole


def test_what_a_kill_has_left_of_a_model_is_no_damage(workspace):
    left = Workspace(workspace).models / temporary_name()
    left.mkdir(parents=True)
    (left / "seal.json").write_text('{"files": {"model.safetensors": "1"}')
    assert check_workspace(workspace) == []
    left.rename(left.with_name("mine"))
    assert [problem.advice for problem in check_workspace(workspace)] == ["train mine again"]
    (left.with_name("mine") / "seal.json").unlink()
    left.with_name("mine").rmdir()
