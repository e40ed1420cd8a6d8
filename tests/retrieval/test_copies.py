"""Pages and sections that say the same are one result, with the places where they also are."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer import Retriever
from structformer.corpus import Corpus
from structformer.graph import ReferenceGraph
from structformer.ingestion import ingest
from structformer.retrieval.documents.copies import CopyFinder
from structformer.retrieval.hits import Filter
from structformer.retrieval.indexing import build_index
from structformer.retrieval.learning.structure_pairs import structure_pairs
from structformer.retrieval.questions.pseudo_queries import draw_pseudo_queries
from structformer.retrieval.vectors.descriptions import drawn_descriptions
from structformer.text.id_marks import version_of
from structformer.workspace import Workspace

MOOR = [
    "A mooring line holds the boat at the quay.",
    "Choose one that is twice as long as the boat, and thick enough for its weight.",
    "Lead it from the bow to a ring ashore and back again, so that you can let it go from on board.",
    "Fenders keep the hull off the wall: hang three of them where the boat is widest.",
    "In a strong tide a second line from the stern stops her from swinging round.",
    "Look at the lines again when the water has fallen by a metre.",
    "Never step over a line that is under load, and keep your fingers away from the cleat.",
    "When you leave, let go the line that carries nothing first.",
]
LONG = [
    *MOOR,
    *(f"Berth {number} is {number} metres long, and its rings are {number} steps apart." for number in range(1, 40)),
]
ROW = (
    "Rowing needs two oars of the same length. Sit with your back to the bow, and pull with the back and not the arms."
)


def page(title: str, sentences: list[str]) -> str:
    return f"# {title}\n\n" + "\n\n".join(sentences) + "\n"


@pytest.fixture
def harbour(tmp_path) -> Path:
    folder = tmp_path / "docs"
    for path, content in {
        "v2/moor.md": page("Moor", LONG),
        "v1/moor.md": page(
            "Moor", [*MOOR[:-1], "When you leave, let go the line that carries nothing last.", *LONG[8:]]
        ),
        "tie-up.md": page("Moor", LONG),
        "anchor.md": page("Anchor", [*MOOR[:4], "An anchor digs into the ground when the chain pulls along it.", ROW]),
        "row.md": page("Row", [ROW]),
        "todo-a.md": "# Towing\n\nTo be written.\n",
        "todo-b.md": "# Sculling\n\nTo be written.\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    ingest(folder, tmp_path / "w")
    build_index(tmp_path / "w", encoders=["structure"])
    return tmp_path / "w"


def test_copies_are_one_document_with_the_names_of_the_others(harbour):
    found = Retriever.open(harbour).search("leave the quay", pipeline="lexical", group=True)
    first = found[0]
    assert {first.document_id, *(place.address for place in first.also_at)} == {"v1/moor.md", "v2/moor.md", "tie-up.md"}
    assert "anchor.md" in {hit.document_id for hit in found[1:]}
    assert not {place.document_id for place in first.also_at} & {hit.document_id for hit in found}


def test_the_command_names_them_and_so_does_its_json(run, harbour):
    done = run("search", "leave the quay", "--group", "-k", 1, "--pipeline", "lexical", "-w", harbour)
    assert "    also at " in done.out
    [hit] = run("search", "leave the quay", "--group", "-k", 1, "--pipeline", "lexical", "-w", harbour, "--json").json[
        "hits"
    ]
    assert len(hit["also_at"]) == 2


def test_sections_of_copies_are_one_hit_without_grouping_too(harbour):
    hits = Retriever.open(harbour).search("leave the quay", k=10, pipeline="lexical")
    names = {"v1/moor.md", "v2/moor.md", "tie-up.md"}
    [first] = [hit for hit in hits if hit.document_id in names]
    assert {first.document_id, *(place.document_id for place in first.also_at)} == names
    assert {place.anchor for place in first.also_at} <= {"moor", "tie-up"}


GAINED = (
    "Because on held-out questions the trained encoder was not better than the untrained one. This happens {} on "
    "small corpora. The search continues without it, and you lose nothing. To see the trained search all the same, "
    "name its pipeline. No gain shown is less: the difference may be chance."
)
MOORED = "Tie the bow first, then the stern, and look at both lines again {} when the tide has turned."


def versions(folder: Path) -> Path:
    """Three versions of a page with a word changed in the second one's first section and much in its last."""

    def faq(often: str, last: str) -> str:
        rest = "".join(
            f"## Berth {number}\n\nBerth {number} is {number} metres long, its rings are {number} steps apart, and ship "
            f"{number} lies there in winter, with {number} fenders at her side and {number} lines ashore.\n\n"
            for number in range(60)
        )
        return (
            f"# Questions\n\n## Why does train say that nothing was gained?\n\n{GAINED.format(often)}\n\n{rest}"
            f"## Moored\n\n{last}\n"
        )

    for path, content in {
        "v1/faq.md": faq("often", MOORED.format("an hour later")),
        "v2/faq.md": faq("usually", MOORED.format("on the second day, from the shore,")),
        "v3/faq.md": faq("often", MOORED.format("an hour later")),
        "train.md": f"# Training\n\n## What train says when nothing was gained\n\n{GAINED.format('rarely')}\n",
        "other.md": page("Harbours", ["Nothing was gained in the other harbour.", ROW]),
    }.items():
        (folder / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / path).write_text(content)
    ingest(folder / "docs", folder / "w")
    build_index(folder / "w", encoders=[])
    return folder / "w"


def test_sections_of_copies_that_hardly_differ_are_one_hit(tmp_path, run):
    workspace = versions(tmp_path)
    asked = ("search", "why does train say nothing was gained", "--pipeline", "lexical", "-w", workspace)
    hits = run(*asked, "-k", 3, "--json").json["hits"]
    of_versions = [hit for hit in hits if hit["document_id"].endswith("faq.md")]
    assert of_versions[0] == hits[0]
    places = {hits[0]["document_id"], *(place["document_id"] for place in hits[0]["also_at"])}
    assert places == {"v1/faq.md", "v2/faq.md", "v3/faq.md"}
    assert {hit["document_id"] for hit in hits} >= {"train.md", "other.md"}  # which are copies of nothing
    assert len(hits) == 3  # as many as were asked for
    assert run(*asked, "-k", 1).out.count("faq.md#why-does-train") == 3


def test_sections_of_copies_that_differ_are_two_hits(tmp_path):
    retriever = Retriever.open(versions(tmp_path))
    assert retriever.opened.copies.others(retriever.opened.document_number("v2/faq.md"))
    hits = retriever.search("tie the bow and the stern", pipeline="lexical")
    found = [(hit.document_id, [place.address for place in hit.also_at]) for hit in hits if hit.title == "Moored"]
    assert sorted(found) == [("v2/faq.md", []), ("v3/faq.md", ["v1/faq.md#moored"])]
    [ranked] = retriever.rank_documents(["why does train say nothing was gained"], "lexical")
    assert {"v1/faq.md", "v2/faq.md", "v3/faq.md"} <= {document for document, _ in ranked}


def test_a_filter_leaves_the_version_that_is_asked_for(tmp_path):
    retriever = Retriever.open(versions(tmp_path))
    where = Filter(paths=("v2/*",))
    first = retriever.search("why does train say nothing was gained", pipeline="lexical", where=where)[0]
    assert (first.document_id, first.also_at) == ("v2/faq.md", ())


def test_pages_that_say_next_to_nothing_are_no_copies(harbour):
    found = Retriever.open(harbour).search("to be written", group=True, pipeline="lexical")
    assert [hit.also_at for hit in found if hit.document_id.startswith("todo")] == [(), ()]


def test_a_copy_that_a_filter_hides_is_not_named(harbour):
    [hit] = Retriever.open(harbour).search("leave the quay", group=True, where=Filter(paths=("v1/*",)))
    assert (hit.document_id, hit.also_at) == ("v1/moor.md", ())


def test_a_run_has_every_document_by_its_own_name(harbour):
    [ranked] = Retriever.open(harbour).rank_documents(["leave the quay"])
    assert {"v1/moor.md", "v2/moor.md", "tie-up.md"} <= {document for document, _ in ranked}


def test_of_copies_one_is_asked_and_the_others_are_no_wrong_answers(harbour):
    workspace = Workspace(harbour)
    corpus, opened = Corpus.open(workspace), Retriever.open(harbour).opened
    asked = draw_pseudo_queries(
        corpus, ReferenceGraph.open(workspace, corpus), opened.units, copies=opened.copies, lengths=(3, 30)
    )
    ids = [document.id for document in opened.documents]
    of_copies = [question for question in asked if ids[question.document] == "tie-up.md"]
    assert of_copies
    assert all({ids[each] for each in question.passed_over} >= {"v1/moor.md", "v2/moor.md"} for question in of_copies)
    assert not {ids[question.document] for question in asked} & {"v1/moor.md", "v2/moor.md"}
    described = drawn_descriptions(corpus, ReferenceGraph.open(workspace, corpus), opened.units)
    texts = {name: {each.text for each in described if ids[each.document] == name} for name in ids}
    assert texts["tie-up.md"] == texts["v1/moor.md"] == texts["v2/moor.md"] != set()


def test_what_copies_say_is_learned_from_once(harbour):
    workspace, opened = Workspace(harbour), Retriever.open(harbour).opened
    drawn = structure_pairs(workspace, opened.units, opened.documents, mix={"passage": 1.0})
    ids = [document.id for document in opened.documents]
    learned = {ids[number] for number in drawn.pairs.documents}
    assert "tie-up.md" in learned
    assert not learned & {"v1/moor.md", "v2/moor.md"}


class _Texts:
    """Units by number, of which only the texts are asked for."""

    def __init__(self, documents: list[list[str]]) -> None:
        self._texts = [text for texts in documents for text in texts]

    def value(self, number: int, name: str) -> str:
        return self._texts[number]


def groups(documents: list[list[str]], titles: list[str] | None = None) -> list[int]:
    finder = CopyFinder()
    for number, texts in enumerate(documents):
        finder.add(f"{number}.md", titles[number] if titles else f"Page {number}", texts)
    return finder.first_of_each(_Texts(documents)).tolist()  # type: ignore[arg-type]


def test_how_alike_copies_are():
    long = [f"Sentence {number} tells of knot number {number}." for number in range(100)]
    one_other = [*long[:99], "Sentence 99 tells of something else."]
    ten_others = [*long[:90], *(f"Another {number} of quite other things." for number in range(10))]
    assert groups([long, one_other, ten_others, [" ".join(long)], [], []], ["Knots"] * 6) == [0, 0, 2, 0, 4, 5]
    assert groups([long, one_other, [" ".join(long)]]) == [0, 1, 0]  # of other titles only equal texts are copies


@given(st.lists(st.lists(st.sampled_from(MOOR), max_size=8, unique=True), max_size=9))
def test_a_group_is_named_by_its_first_document_and_equal_ones_share_it(documents):
    found = groups(documents)
    for number, first in enumerate(found):
        assert first <= number
        assert found[first] == first
        if sum(map(len, documents[number])) >= 200:
            assert all(found[other] == first for other in range(number) if documents[other] == documents[number])


# ----------------------------------------------------------------------------------------------------- versions of a page


def install(version: str, *more: str) -> str:
    """A page that says half of the same in each version."""
    return page("Moor", [*MOOR[:4], *(f"Release {version} changes the rule {number}." for number in range(4)), *more])


def of_versions(folder: Path, pages: dict[str, str]) -> Retriever:
    for path, content in pages.items():
        (folder / "docs" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / path).write_text(content)
    ingest(folder / "docs", folder / "w")
    build_index(folder / "w", encoders=[])
    return Retriever.open(folder / "w")


OLD_ALONE = "## Capstan\n\nA capstan heaves the cable in."


def test_a_page_in_two_formats_is_one_result(tmp_path):
    html = "".join(f"<p>{line}</p>" for line in MOOR)
    pages = {"use/a.md": page("Moor", MOOR[:4]), "use/a.html": f"<h1>Moor</h1>{html}", "b.md": page("Row", [ROW])}
    hits = of_versions(tmp_path, pages).search("mooring line", group=True, pipeline="lexical")
    assert {hits[0].document_id, *(place.address for place in hits[0].also_at)} == {"use/a.html", "use/a.md"}
    assert [hit.document_id for hit in hits[1:]] == []


@pytest.mark.parametrize(
    "newest_first",
    [
        ["2.10/moor.md", "2.9/moor.md", "1.0/moor.md", "next/moor.md"],
        ["docs/moor.md", "docs/v3/moor.md", "docs/v2.1/moor.md"],
        ["stable/moor.md", "1.1/moor.md", "1.1-rc1/moor.md", "main/moor.md"],
        ["versioned_docs/version-2.0/moor.md", "versioned_docs/version-1.0/moor.md", "docs/moor.md"],
        ["v2/2.20/moor.md", "v2/2.3/moor.md", "v1/1.76/moor.md"],
    ],
)
def test_versions_of_a_page_are_one_result_and_the_newest_is_shown(tmp_path, newest_first):
    pages = {path: install(path) for path in newest_first} | {"row.md": page("Row", [ROW, "A boat is rowed."])}
    retriever = of_versions(tmp_path, pages)
    hits = retriever.search("a second line from the stern keeps the boat", group=True, pipeline="lexical")
    assert hits[0].document_id == newest_first[0]
    assert {place.document_id for place in hits[0].also_at} == {*newest_first[1:]}
    assert {hit.document_id for hit in hits[1:]} <= {"row.md"}


def test_the_version_that_a_query_names_is_shown(tmp_path):
    pages = {path: install(path) for path in ("docs/3.0/moor.md", "docs/2.1/moor.md", "docs/1.0/moor.md")}
    retriever = of_versions(tmp_path, pages)
    for query in ("moor the boat in v2.1", "2.1: boat", "the boat (2.1)?"):
        assert retriever.search(query, group=True, pipeline="lexical")[0].document_id == "docs/2.1/moor.md"


def test_other_words_of_a_query_are_no_versions(tmp_path):
    pages = {path: install(path) for path in ("next/moor.md", "main/moor.md", "3/moor.md", "2/moor.md")}
    retriever = of_versions(tmp_path, pages)
    for query in ("the next boat", "moor the main boat ?", "2 boats"):
        assert retriever.search(query, group=True, pipeline="lexical")[0].document_id == "3/moor.md"
    assert retriever.search("the boat in v2", group=True, pipeline="lexical")[0].document_id == "2/moor.md"


def test_hundreds_of_versions_are_one_group():
    finder, texts = CopyFinder(), [[*MOOR, f"In {number}."] for number in range(400)]
    for number, its in enumerate(texts):
        finder.add(f"1.{(number * 7) % 400}/moor.md", "Moor", its)
    assert set(finder.first_of_each(_Texts(texts)).tolist()) == {next(n for n in range(400) if n * 7 % 400 == 399)}  # type: ignore[arg-type]


def test_what_only_an_old_version_has_is_found_there(tmp_path):
    pages = {"2/moor.md": install("2", "## Fender\n\nA fender."), "1/moor.md": install("1", OLD_ALONE)}
    hit = of_versions(tmp_path, pages).search("capstan", group=True, pipeline="lexical")[0]
    assert (hit.document_id, hit.anchor) == ("1/moor.md", "capstan")


def test_equal_sections_are_shown_in_the_newest_version_without_grouping_too(tmp_path):
    pages = {f"{version}/moor.md": page("Moor", LONG) for version in ("1.0", "1.9", "1.10")}
    hit = of_versions(tmp_path, pages).search("fenders keep the hull", pipeline="lexical")[0]
    assert hit.document_id == "1.10/moor.md"


def test_a_filter_leaves_versions_alone(tmp_path):
    pages = {f"{version}/moor.md": install(version) for version in ("1.0", "2.0")}
    retriever = of_versions(tmp_path, pages)
    [hit] = retriever.search("the boat", group=True, pipeline="lexical", where=Filter(paths=("1.0/*",)))
    assert (hit.document_id, hit.also_at) == ("1.0/moor.md", ())


@pytest.mark.parametrize(
    "pages",
    [
        {"1.0/notes.md": page("Notes", MOOR[:4]), "1.1/notes.md": page("Notes", MOOR[4:])},  # they say other things
        {"1/moor.md": page("Moor", MOOR), "2/tie.md": page("Moor", [*MOOR[:4], ROW])},  # other names
        {"1/moor.md": page("Moor", MOOR), "2/moor.md": page("Tie", [*MOOR[:4], ROW])},  # other titles
        {"01/moor.md": page("Moor", MOOR), "02-tie/moor.md": page("Moor", [*MOOR[:4], ROW])},  # chapters
        {"left/moor.md": page("Moor", MOOR), "right/moor.md": page("Moor", [*MOOR[:4], ROW])},  # no versions
    ],
)
def test_pages_that_are_no_versions_of_each_other(tmp_path, pages):
    hits = of_versions(tmp_path, pages).search("boat line", group=True, pipeline="lexical")
    assert {hit.document_id for hit in hits} == set(pages)
    assert [hit.also_at for hit in hits] == [(), ()]


def test_pages_of_many_versions_leave_room_for_others(tmp_path):
    """200 sections are looked at, and 6 versions have 240 with the word."""
    parts = "".join(f"\n## Part {number}\n\nThe halyard {number}.\n" for number in range(40))
    pages = {f"{version}.0/moor.md": install(version, parts) for version in "123456"}
    pages |= {f"{version}.0/row{number}.md": f"# Row {number}\n\nRow on, and on, and mind the halyard as you row on.\n"
              for version in "123456" for number in range(3)}  # fmt: skip
    hits = of_versions(tmp_path, pages).search("halyard", group=True, pipeline="lexical")
    assert {hit.document_id for hit in hits} == {"6.0/moor.md", *(f"6.0/row{number}.md" for number in range(3))}


def test_of_versions_the_newest_is_asked(tmp_path):
    retriever = of_versions(tmp_path, {f"{version}/moor.md": install(version) for version in ("1.9", "1.10", "1.2")})
    copies, newest = retriever.opened.copies, retriever.opened.document_number("1.10/moor.md")
    assert copies.first_of_each.tolist() == [newest] * 3


@given(st.lists(st.text(alphabet="v12.x-_/adm", max_size=12), max_size=6))
def test_a_mark_of_a_version_is_taken_out_whole(parts):
    document_id = "/".join([*parts, "page.md"])
    family, _ = version_of(document_id)
    assert family.endswith("page.md")
    assert version_of(family)[0].split("/")[-1] == "page.md"
