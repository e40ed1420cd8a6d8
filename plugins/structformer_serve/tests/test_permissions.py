"""What a token lets through, and that nothing of the rest shows: not in counts, not in what others call a page."""

from __future__ import annotations

import fnmatch
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient
from structformer.errors import UsageError
from structformer.graph import ReferenceGraph
from structformer.graph.resolution import NOWHERE
from structformer.ingestion import ingest
from structformer.retrieval.documents import metadata
from structformer.retrieval.documents.metadata import Facet, MetadataTable, MetadataWriter, open_facets
from structformer.retrieval.documents.units import DOCUMENTS, IndexedDocument, IndexedDocuments, TableWriter
from structformer.retrieval.hits import Filter
from structformer.retrieval.indexing import build_index
from structformer.retrieval.retriever import Retriever
from structformer.workspace import Workspace

from conftest import write_pages
from structformer_serve.app import Application
from structformer_serve.http.access import Access, read_tokens
from structformer_serve.http.options import ServerOptions
from structformer_serve.links import LinkTable
from structformer_serve.schemas import SearchRequest
from structformer_serve.service import SearchService

PAGES = {
    "secret/plan.md": "---\nreleased: false\n---\n# Plan\n\nWe buy them: [project bluewhale merger](../public/shared.md#terms).\n",
    "secret/budget.md": "# Budget\n\nIt costs much, see [narwhal budget](../public/shared.md).\n",
    "public/shared.md": "---\nreleased: true\nversion: 2\n---\n# Shared\n\nA page for all.\n\n## Terms\n\nThe terms of use.\n",
    "public/guide.md": "---\nreleased: true\nversion: 2.5\n---\n# Guide\n\nRead the [small print for sailors](shared.md#terms) first.\n",
    "public/other.md": '---\nreleased: "true"\nversion: "2"\n---\n# Other\n\nAnother page, of no interest here.\n',
}
PUBLIC = Access("public", Filter(("public/*",)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("permissions")
    ingest(write_pages(place / "pages", PAGES), place / "w", workers=1)
    build_index(place / "w", encoders=["base"])
    return place / "w"


@pytest.fixture(scope="module")
def service(folder) -> SearchService:
    return SearchService(folder)


def found(service: SearchService, query: str, access: Access, **options: object) -> list[str]:
    answer = service.seen_by(access).search(SearchRequest(q=query, pipeline="words", **options))  # type: ignore[arg-type]
    return [hit.document for hit in answer.hits]


@pytest.mark.parametrize("query", ["bluewhale merger", "bluewhale", "narwhal budget", "narwhal"])
@pytest.mark.parametrize("options", [{}, {"typing": True}, {"partial": True}], ids=["whole", "typing", "partial"])
def test_what_hidden_pages_call_a_page_finds_it_for_nobody_else(service, query, options):
    assert "public/shared.md" in found(service, query, Access(), **options)
    assert found(service, query, PUBLIC, **options) == []
    assert found(service, query[:6], PUBLIC, typing=True) == []


def test_what_hidden_pages_call_a_page_counts_for_nobody_else(service):
    def counts(access: Access, query: str) -> set[str]:
        hits = service.seen_by(access).search(SearchRequest(q=query, explain=True)).hits
        return {hit.document for hit in hits if any(part.name == "called" and part.value for part in hit.why.parts)}

    assert counts(Access(), "bluewhale merger") == {"public/shared.md"}
    assert counts(PUBLIC, "bluewhale merger") == set()
    assert counts(PUBLIC, "print for sailors") == {"public/shared.md"}


@pytest.mark.parametrize("options", [{}, {"typing": True}], ids=["whole", "typing"])
def test_what_visible_pages_call_a_page_still_finds_it(service, options):
    assert found(service, "sailors print", PUBLIC, **options)[:1] in (["public/shared.md"], ["public/guide.md"])
    assert "public/shared.md" in found(service, "small print", PUBLIC, **options)


def test_a_token_that_sees_all_pages_but_one_ranks_as_nobody_is_restricted(service):
    """The scores of what it may see are those of the whole index, with the links of the hidden page left out."""
    all_but_budget = Access("most", Filter(("public/*", "secret/plan.md")))
    for query in ("bluewhale merger terms", "small print terms page", "guide"):
        restricted = service.seen_by(all_but_budget).search(SearchRequest(q=query, pipeline="words"))
        whole = service.seen_by(Access()).search(SearchRequest(q=query, pipeline="words"))
        scores = {(hit.document, hit.section): hit.score for hit in whole.hits}
        assert restricted.hits
        for hit in restricted.hits:
            assert hit.score == pytest.approx(scores[hit.document, hit.section], rel=1e-5)


def test_whether_a_hidden_page_has_a_word_does_not_show_in_how_a_query_is_completed(folder, tmp_path):
    """ "costs" is in a hidden page: with or without it, whoever may not see it gets the same."""
    without = {name: text for name, text in PAGES.items() if name != "secret/budget.md"}
    ingest(write_pages(tmp_path / "pages", without), tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=[])
    here, there = SearchService(folder), SearchService(tmp_path / "w")
    for query in ("cost", "costs", "muc", "bud", "inter"):
        request = SearchRequest(q=query, partial=True, pipeline="words")
        assert [hit.document for hit in here.seen_by(PUBLIC).search(request).hits] == [
            hit.document for hit in there.seen_by(PUBLIC).search(request).hits
        ]


def test_links_of_a_deleted_page_find_nothing_more(tmp_path):
    ingest(write_pages(tmp_path / "pages", PAGES), tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=[])
    service = SearchService(tmp_path / "w")
    assert found(service, "narwhal budget", Access())
    (tmp_path / "pages" / "secret" / "budget.md").unlink()
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    service.refresh()
    assert found(service, "narwhal budget", Access()) == []


TOKEN = 'token = "a long secret of the test"'


def tokens(tmp_path: Path, text: str) -> Path:
    (tmp_path / "tokens.toml").write_text(text)
    return tmp_path / "tokens.toml"


@pytest.mark.parametrize("more", ["paths = []", "where = {}", "paths = []\nwhere = {released = true}"])
def test_a_token_with_an_empty_filter_is_refused(tmp_path, more):
    with pytest.raises(UsageError, match="is empty: leave it out"):
        read_tokens(tokens(tmp_path, f"[[tokens]]\n{TOKEN}\n{more}\n"))


def test_a_token_that_stands_twice_and_lists_of_values_are_refused(tmp_path):
    with pytest.raises(UsageError, match="the same token"):
        read_tokens(tokens(tmp_path, f'[[tokens]]\n{TOKEN}\n[[tokens]]\n{TOKEN}\npaths = ["public/*"]\n'))
    with pytest.raises(UsageError, match=r"where\.team is one value"):
        read_tokens(tokens(tmp_path, f'[[tokens]]\n{TOKEN}\nwhere = {{team = ["a", "b"]}}\n'))


@pytest.mark.parametrize("token", ["público-público-público", " a long secret of the test"])
def test_a_token_that_no_header_carries_is_refused(tmp_path, token):
    with pytest.raises(UsageError, match="a token of ASCII characters alone, without spaces around it"):
        read_tokens(tokens(tmp_path, f'[[tokens]]\ntoken = "{token}"\n'))


@pytest.mark.parametrize(
    ("where", "documents"),
    [
        ("released = true", {"public/shared.md", "public/guide.md"}),
        ("released = false", {"secret/plan.md"}),
        ('released = "true"', {"public/shared.md", "public/guide.md", "public/other.md"}),
        ("version = 2", {"public/shared.md"}),
        ("version = 2.0", {"public/shared.md"}),
        ("version = 2.5", {"public/guide.md"}),
        ('version = "2"', {"public/shared.md", "public/other.md"}),
        ("version = true", set()),
    ],
)
def test_truth_values_and_numbers_are_compared_as_what_they_are(service, tmp_path, where, documents):
    access = read_tokens(tokens(tmp_path, f"[[tokens]]\n{TOKEN}\nwhere = {{{where}}}\n")).by_token[0][1]
    assert {name for name, _, _ in service.seen_by(access).documents()} == documents


def test_the_list_for_language_models_comes_in_pages(tmp_path):
    count = 1203
    write_pages(tmp_path / "pages", {f"p{number:04}.md": f"# P{number}\n\nText.\n" for number in range(count)})
    ingest(tmp_path / "pages", tmp_path / "w", workers=1)
    build_index(tmp_path / "w", encoders=[])
    application = Application(SearchService(tmp_path / "w"), ServerOptions(), watch=False)
    with TestClient(application.asgi, base_url="http://localhost") as client:
        first = client.get("/llms.txt").text
        assert first.count("- [P") == 1000
        assert "[More documents](/llms.txt?start=1000)" in first
        rest = client.get("/llms.txt?start=1000").text
        assert rest.count("- [P") == count - 1000
        assert "More documents" not in rest
        assert client.get("/llms.txt?start=-1").status_code == 422


def test_links_are_looked_up_as_the_graph_has_them(folder):
    graph = ReferenceGraph.open(folder)
    links = LinkTable(graph)
    edges = [tuple(row.values()) for row in graph.edges()]
    ids = list(graph.corpus.document_ids())
    assert len(edges) == 3
    for document in range(len(ids)):
        assert [edge[0] for edge in edges if edge[0] == document] == [
            e.source_document for e in links.outgoing(document)
        ]
        assert [edge[0] for edge in edges if edge[2] == document and edge[0] != document] == [
            edge.source_document for edge in links.incoming(document)
        ]
    shared = ids.index("public/shared.md")
    only_guide = np.array([name == "public/guide.md" for name in ids])
    assert links.texts(shared, 1, only_guide) == ["small print for sailors"]
    assert links.texts(shared, 1, ~only_guide) == ["project bluewhale merger"]
    assert graph.incoming_texts()[shared, 1] == ["small print for sailors", "project bluewhale merger"]
    assert all(row["source_document"] != NOWHERE for row in graph.edges())


NAMES = st.text("ab/*.?[]!-^\\xyZé\n", max_size=8)
VALUES = st.one_of(
    st.booleans(), st.integers(-3, 3), st.sampled_from([0.5, 2.0, -1.0]), st.sampled_from("a b true 2 2.0".split())
)


def written(folder: Path, documents: list[IndexedDocument]) -> tuple[MetadataTable, list[Facet]]:
    folder.mkdir(exist_ok=True)
    for name in (metadata.TABLE, metadata.FACETS, "documents.arrow"):
        (folder / name).unlink(missing_ok=True)
    writer = MetadataWriter(folder)
    with TableWriter(folder / "documents.arrow", DOCUMENTS) as table:
        for document in documents:
            table.add(document)
            writer.add(document)
    facets = open_facets(folder, writer.close())
    return MetadataTable(folder, IndexedDocuments(folder / "documents.arrow")), facets


@given(st.lists(NAMES, min_size=1, max_size=6, unique=True), st.lists(NAMES, min_size=1, max_size=3))
@settings(max_examples=150, deadline=None)
def test_patterns_match_as_the_shells_do(tmp_path_factory, names, patterns):
    table, _ = written(
        tmp_path_factory.getbasetemp() / "patterns", [IndexedDocument(name, "", "", "{}") for name in names]
    )
    wanted = [any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns) for name in names]
    assert table.matching(patterns, {}).tolist() == wanted
    assert [table.number(name) for name in names] == list(range(len(names)))


@given(
    st.lists(
        st.dictionaries(st.sampled_from("kl"), st.one_of(VALUES, st.lists(VALUES, max_size=2))), min_size=1, max_size=5
    ),
    VALUES,
)
@settings(max_examples=150, deadline=None)
def test_metadata_is_matched_as_a_look_at_every_document_would(tmp_path_factory, rows, wanted):
    import json

    documents = [IndexedDocument(str(number), "", "", json.dumps(row)) for number, row in enumerate(rows)]
    table, _ = written(tmp_path_factory.getbasetemp() / "values", documents)

    def equal(value: object) -> bool:
        if isinstance(wanted, str):
            number = None if isinstance(value, (bool, str)) or wanted not in ("2", "2.0") else float(wanted)
            return value == wanted or str(value).lower() == wanted or (number is not None and value == number)
        return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted and not isinstance(value, str)

    expected = [
        any(equal(each) for each in (row.get("k") if isinstance(row.get("k"), list) else [row.get("k")]))
        for row in rows
    ]
    assert table.matching((), {"k": wanted}).tolist() == expected


def test_facets_are_properties_with_a_handful_of_values(tmp_path):
    import json

    documents = [
        IndexedDocument(
            f"{'guide' if number % 2 else 'reference'}/{number}",
            "",
            "",
            json.dumps(
                {
                    "team": ["red", "blue"] if number % 3 == 0 else "red",
                    "number": number,  # too many values
                    "url": "a" if number % 2 else "b",  # not a thing to narrow by
                    "rare": "x" if number < 2 else None,
                    "done": bool(number % 2),
                }
            ),
        )
        for number in range(30)
    ]
    _, facets = written(tmp_path / "i", documents)
    assert [(facet.name, set(facet.values)) for facet in facets] == [
        ("path", {"guide", "reference"}),
        ("done", {"true", "false"}),
        ("team", {"red", "blue"}),
    ]
    assert facets[2].counts(range(30)) == [("red", 30), ("blue", 10)]
    assert facets[0].counts([1, 3, 4]) == [("guide", 2), ("reference", 1)]
    assert facets[0].counts([]) == []


def test_a_wide_filter_finds_what_a_narrow_one_does(folder, monkeypatch):
    """Documents of a wide filter are not named in the query; what they are not is left out of what is found."""
    retriever = Retriever.open(Workspace(folder))
    for where in (Filter(("public/*",)), Filter(("*.md",)), Filter(("secret/*",)), Filter(("nowhere/*",))):
        named = [hit.address for hit in retriever.search("page for the terms", 20, "lexical", where=where)]
        monkeypatch.setattr("structformer.retrieval.words.rows._TERMS", 0)
        assert [hit.address for hit in retriever.search("page for the terms", 20, "lexical", where=where)] == named
        monkeypatch.undo()
