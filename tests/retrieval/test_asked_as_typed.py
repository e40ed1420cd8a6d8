"""What people paste finds its page, and is not answered surely by something else: quotes, versions, codes, paths."""

from __future__ import annotations

import pytest
from structformer import Retriever, index, ingest

PAGES = {
    "errors.md": "# Errors\n\nThere is no reader mapped for the id: check the registration of the reader.\n",
    "json.md": "# JSON\n\nA json file holds json values. Files of json are small.\n",
    "log.md": "# Log\n\n## v2.3.1\n\n### Fixes\n\nThe rack was mended.\n\n## v2.3.10\n\n### Fixes\n\nThe rack was mended.\n",
    "history.md": (
        "# History\n\n## 3.6.13 (2031-07-23)\n\nThe 3.6.13 sail is new.\n\n### Mended\n\nSee 3.6.13 of the sail, 3.6.13.\n\n"
        "## 3.6.12 (2031-06-02)\n\nUpdate to 3.6.13 at once: 3.6.12, unlike 3.6.13, leaks.\n"
    ),
    "code.md": "# CVE-2031-1234\n\nMended in the anchor.\n",
    "ships/set-up.md": "# Before you sail\n\nHoist the sail.\n",
    "other.md": "# Links\n\nRead `ships/set-up.md`, set up the file.\n",
    "be.md": "# To be or not to be\n\nThat is asked.\n",
    "being.md": "# Being\n\nThe list is to be sorted, or it is not, and has to be read.\n",
    "copies.md": "# Copies\n\nMake a backup of the ship.\n",
    "back.md": "# Back\n\nGo back, then up.\n",
    "disk.md": "# File system\n\nWhere files are.\n",
    "deck log.md": "# Daily notes\n\nOf the deck.\n",
    "part.md": "# Spare parts\n\nScrew AB-12/34-C, patch KB5001330; write to `help@ships.example`.\n",
    "norms.md": "# Norms\n\nMade by ISO 9001:2015 and RFC 2119; error 404 is shown, Oars 3.11 and 3.12 are needed.\n",
    "net.md": "# הרשת\n\nחיבור לרשת מהמחשב.\n",
    "mount.md": "# Mount\n\nMount a filesystem; a file system is a filesystem. The filesystem is mounted.\n",
}


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Retriever:
    top = tmp_path_factory.mktemp("typed")
    for name, text in PAGES.items():
        path = top / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    ingest([top / "docs"], top / "w")
    index(top / "w", encoders=[])
    return Retriever(top / "w")


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ('There is no reader mapped for the id "json"', "errors.md"),  # the quoted word is the asker's own
        ("reader mapped -v json registration", "errors.md"),  # an option, and no wish
        ("v2.3.1", "log.md"),
        ('"v2.3.1"', "log.md"),
        ("ships/set-up.md", "ships/set-up.md"),
        ("set-up.md", "ships/set-up.md"),
        ("https://example.org/docs/ships/set-up.html#sails", "ships/set-up.md"),
        ('"to be or not to be"', "be.md"),
        ("back-up", "copies.md"),
        ("filesystem", "disk.md"),
        ("ships/set-up.md:12", "ships/set-up.md"),  # as tools print a line of it
        ("deck log.md", "deck log.md"),
        ("version 2.3.1", "log.md"),
        ("רשת", "net.md"),  # without its article
    ],
)
def test_what_is_pasted_finds_its_page(retriever, query, first):
    assert retriever.search(query, 3)[0].document_id == first


def test_a_heading_without_text_is_a_result_and_a_version_is_not_another(retriever):
    hits = retriever.search("v2.3.1", 5)
    assert hits[0].path == ("Log", "v2.3.1")
    assert hits[0].text == "Fixes"
    assert hits.confident


@pytest.mark.parametrize("query", ["3.6.13", "v3.6.13", "version 3.6.13"])
def test_a_version_finds_its_own_heading_whatever_else_that_says(retriever, query):
    assert retriever.search(query)[0].path == ("History", "3.6.13 (2031-07-23)")


def test_the_neighbour_of_a_code_is_no_sure_answer(retriever):
    assert retriever.search("CVE-2031-1234").confident
    unknown = retriever.search("CVE-2031-1235")
    assert not unknown.confident
    assert unknown.absent_name == "CVE-2031-1235"
    for query in ("KB5001331", "AB-12/34-D", "sales@ships.example", "how is CVE-2031-1235 mended?"):
        unknown = retriever.search(query)
        assert not unknown.confident, query
        assert unknown.absent_name
        assert unknown.absent_name in query
    for query in ("KB5001330", "AB-12/34-C", "help@ships.example", "how is CVE-2031-1234 mended?"):
        assert not retriever.search(query).absent_name, query


@pytest.mark.parametrize(
    "query",
    ["CVE 2031 1235", "CVE-2031 1235", "ISO 9001:2016", "RFC 9999", "Oars 3.99", "error 1234", "KB 5001331"],
)
def test_a_word_and_numbers_are_one_name_which_a_page_has_whole(retriever, query):
    unknown = retriever.search(query)
    assert unknown.absent_name == query
    assert not unknown.confident


@pytest.mark.parametrize(
    "query",
    [
        *("CVE 2031 1234", "CVE-2031 1234", "ISO 9001:2015", "iso 9001", "RFC 2119?", "KB 5001330", "errors 404"),
        *("oars 3.11 release", "oars 3.12 3.11", "error 404 page", "top 10 sails"),
    ],
)
def test_a_word_and_numbers_that_a_passage_has_together_are_not_doubted(retriever, query):
    assert not retriever.search(query).absent_name


def test_of_codes_alone_the_one_that_no_page_has_is_named(retriever):
    assert retriever.search("KB5001330 CVE-2031-1234").absent_name == ""
    assert retriever.search("KB5001330 KB5001331").absent_name == "KB5001331"


def test_the_section_whose_heading_is_asked_for_comes_before_others_of_its_page(tmp_path):
    text = "# Pump\n\n## Options\n\n`pumpSpeed`: how fast. Set pumpSpeed, or pumpSpeed again.\n\n"
    text += "## pumpSpeed\n\nTurns in a minute.\n\n## v2.1\n\n### New\n\nA valve.\n\n### Bug fixes\n\nOf a leak.\n"
    (tmp_path / "pump.md").write_text(text)
    ingest([tmp_path / "pump.md"], tmp_path / "w")
    index(tmp_path / "w", encoders=["structure"])
    retriever = Retriever(tmp_path / "w")
    assert retriever.search("pumpSpeed")[0].path[-1] == "pumpSpeed"
    assert retriever.search("v2.1")[0].path[1] == "v2.1"
    assert retriever.search("2.1 bug fixes")[0].path == ("Pump", "v2.1", "Bug fixes")


def test_a_name_that_is_a_heading_of_another_page_comes_before_pages_that_use_it(tmp_path):
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "guide.md").write_text("# Guide\n\n## Use of pumpSpeed\n\npumpSpeed: set pumpSpeed, or pumpSpeed again.\n")
    (docs / "options.md").write_text(
        "# Options\n\n## pumpSpeed(turns)\n\nTurns in a minute.\n\n## speed\n\nOf a ship.\n"
    )
    (docs / "log.md").write_text(
        "# Log\n\n## Autumn (v3.7.1)\n\nA valve.\n\n## Spring (v3.6.1)\n\nSee 3.7.1, unlike 3.7.1.\n"
    )
    (docs / "speed.md").write_text("# All about speed\n\nspeed, and speed: the speed of a ship.\n")
    ingest([docs], tmp_path / "w")
    index(tmp_path / "w", encoders=["structure"])
    retriever = Retriever(tmp_path / "w")
    assert retriever.search("pumpSpeed")[0].path == ("Options", "pumpSpeed(turns)")
    assert retriever.search("v3.7.1")[0].path == ("Log", "Autumn (v3.7.1)")
    assert retriever.search("speed")[0].document_id == "speed.md"  # a word, and no name


def test_a_phrase_that_no_page_has_is_named(retriever):
    hits = retriever.search('"rack of the ship"')
    assert hits
    assert hits.absent_phrases == ("rack of the ship",)
    assert retriever.search('"make a backup"').absent_phrases == ()


def test_the_only_passage_that_may_be_found_is_not_doubted_for_that(tmp_path):
    (tmp_path / "a.md").write_text("# Signs\n\nThe walrus operator assigns.\n", encoding="utf-8")
    ingest([tmp_path / "a.md"], tmp_path / "w")
    index(tmp_path / "w", encoders=[])
    assert Retriever(tmp_path / "w").search("walrus operator").confident


def test_code_of_a_hit_can_be_had_in_fences(tmp_path):
    (tmp_path / "a.md").write_text("# Oars\n\nRow:\n\n```sh\nrow --fast\n```\n\nDone.\n", encoding="utf-8")
    ingest([tmp_path / "a.md"], tmp_path / "w")
    index(tmp_path / "w", encoders=[])
    [hit] = Retriever(tmp_path / "w").search("row")
    assert hit.fenced == "Row:\n\n```\nrow --fast\n```\n\nDone."


def test_the_last_whole_pair_of_corpus_and_index_answers_until_the_next_one_is_there(tmp_path):
    page = tmp_path / "docs" / "a.md"
    page.parent.mkdir()
    page.write_text("# Anchors\n\nDrop the anchor.\n", encoding="utf-8")
    ingest([page.parent], tmp_path / "w")
    index(tmp_path / "w", encoders=[])
    for text in ("# Sails\n\nHoist the sail.\n", "# Oars\n\nRow.\n"):
        page.write_text(text, encoding="utf-8")
        ingest([page.parent], tmp_path / "w")
        retriever = Retriever(tmp_path / "w")
        assert [hit.title for hit in retriever.search("anchor")] == ["Anchors"]
        assert [document.title for document in retriever.opened.index.corpus.documents()] == ["Anchors"]
        assert retriever.opened.index.is_stale
    index(tmp_path / "w", encoders=[])
    assert [hit.title for hit in Retriever(tmp_path / "w").search("row")] == ["Oars"]
