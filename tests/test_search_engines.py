"""The hybrid from a search engine finds what the workspace's own finds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from structformer.errors import UsageError, WorkspaceError
from structformer.retrieval.opened import OpenedIndex
from structformer.retrieval.retriever import Retriever
from structformer.search_engines import EngineIndex, EngineRetriever, open_engine, write_engine
from structformer.workspace import Workspace

from test_cli import run as run  # the fixture

ENGINES = ["lancedb", "qdrant"]
QUERIES = [
    "publish a package",
    "remove what is not used",
    "log in to the registry",
    "show outdated dependencies",
    "change the version number",
    "run a script of a package",
    "who maintains this",
    "install without network",
]


@pytest.fixture(scope="module")
def indexed(npm: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """npm's manual, with vectors."""
    from structformer.ingestion import ingest
    from structformer.retrieval.index import build_index

    workspace = tmp_path_factory.mktemp("engine") / "w"
    ingest(npm, workspace)
    build_index(workspace, encoders=["base"])
    return workspace


@pytest.fixture(scope="module", params=ENGINES)
def written(request, indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> EngineIndex:
    engine = open_engine(f"{request.param}:{tmp_path_factory.mktemp(request.param) / 'db'}")
    assert write_engine(indexed, engine) == len(OpenedIndex(Workspace(indexed)).units)
    return engine


def test_the_nearest_are_those_of_an_exact_search(indexed, written):
    encoder, index, weights = OpenedIndex(Workspace(indexed)).encoder("base")
    for vector in encoder.encode_queries(QUERIES):
        wanted = index.search_all(vector[None], 10, overview_weight=weights.overview)[0]
        found = written.nearest(vector, 10)
        assert [score for _, score in found] == pytest.approx([score for _, score in wanted], abs=1e-3)
        assert len({unit for unit, _ in found} & {unit for unit, _ in wanted}) >= 9


def test_words_find_what_has_them(indexed, written):
    opened = OpenedIndex(Workspace(indexed))
    for query in QUERIES:
        found = written.by_words(opened.lexical.terms(query), 5)
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)
        wanted = set(opened.lexical.terms(query))
        for unit, _ in found:
            its = opened.units[unit]
            assert wanted & set(opened.lexical.words(f"{' '.join(its.path)} {its.text} {its.incoming}"))


def test_hits_are_those_of_the_workspace(indexed, written):
    ours, theirs = Retriever.open(indexed), EngineRetriever(written, indexed)
    shares = []
    for query in QUERIES:
        wanted = {(hit.document_id, hit.section) for hit in ours.search(query, 10, "hybrid:base")}
        found = theirs.search(query, 10)
        shares.append(len(wanted & {(hit.document_id, hit.section) for hit in found}) / 10)
        assert all(hit.text and hit.breadcrumb for hit in found)
    assert np.mean(shares) > 0.7  # one field of words there, five here


def test_writing_again_replaces_what_was_there(indexed, written):
    assert write_engine(indexed, written) == written.facts()["units"]
    assert len(written.by_words(["packag"], 10_000)) <= written.facts()["units"]


@pytest.mark.parametrize("name", ENGINES)
def test_from_the_command_line(run, indexed, tmp_path, name):
    address = f"{name}:{tmp_path / 'db'}"
    exported = run("export", "-w", indexed, "--engine", address)
    assert (exported.code, "passages, with vectors of base" in exported.out) == (0, True)
    if name == "qdrant":  # its folder has one client at a time, and this process is still that one
        return
    found = run("search", "-w", indexed, "--engine", address, "--json", "publish a package")
    assert "publish" in json.loads(found.out)["hits"][0]["document_id"]


@pytest.mark.parametrize("address", ["solr:x", "lancedb", "qdrant:", ""])
def test_an_engine_that_is_not_known_is_said(address):
    with pytest.raises(UsageError, match="is no search engine"):
        open_engine(address)


@pytest.mark.parametrize("name", ENGINES)
def test_an_engine_without_an_index_of_ours_is_said(indexed, tmp_path, name):
    with pytest.raises(WorkspaceError, match="write it with structformer export"):
        EngineRetriever(open_engine(f"{name}:{tmp_path / 'empty'}"), indexed)
