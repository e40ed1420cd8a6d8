"""Logs of releases come after the pages that explain, unless the query asks for a release."""

from __future__ import annotations

import pytest
from structformer import Retriever, index, ingest

SAIL = "Reefing the main sail takes in the reef, so that the ship heels less in strong wind."
LOG = (
    "".join(
        f"## v{version}\n\n- Reefing the main sail in strong wind: the ship heels less.\n- Reef points of the main sail.\n\n"
        for version in ("1.2", "1.3", "1.4")
    )
    + "- Sonar for the winch on the shore.\n"
)
PAGES = {
    "CHANGELOG.md": f"# Changelog\n\n{LOG}",
    "notes/release-notes/v2-1.md": "# What came\n\nReefing in strong wind is quicker.\n",
    "sails.md": f"# Sails\n\n## Main\n\nIt is hoisted first.\n\n## Wind\n\n{SAIL}\n",
    "changes.md": "# Changes of course\n\n## Tacking\n\nTurn the bow through the wind.\n",
    "oars.md": "# Oars\n\nRow when there is no wind.\n",
    "anchor.md": "# Anchor\n\nDrop it in the lee of the shore.\n",
}


@pytest.fixture(scope="module")
def retriever(tmp_path_factory: pytest.TempPathFactory) -> Retriever:
    top = tmp_path_factory.mktemp("logs")
    for name, text in PAGES.items():
        path = top / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    ingest([top / "docs"], top / "w")
    index(top / "w")
    return Retriever(top / "w")


def test_which_documents_are_logs_is_kept_with_the_index(retriever):
    opened = retriever.opened
    logs = {opened.documents[number].id for number in opened.release_logs.nonzero()[0].tolist()}
    assert logs == {"CHANGELOG.md", "notes/release-notes/v2-1.md"}  # a page on changes of course is none


def test_a_log_comes_after_the_page_that_explains(retriever):
    hits = retriever.search("reefing the main sail in strong wind", 5, pipeline="hybrid:structure")
    assert hits[0].document_id == "sails.md"
    assert "CHANGELOG.md" in {hit.document_id for hit in hits}  # behind, but found


@pytest.mark.parametrize(
    "query", ["reefing the main sail in v1.3", "changelog of the main sail", "main sail in release 1.4"]
)
def test_a_query_that_asks_for_a_release_finds_the_log_first(retriever, query):
    assert retriever.search(query, 5, pipeline="hybrid:structure")[0].document_id == "CHANGELOG.md"


def test_a_log_vouches_for_no_question_that_a_page_does_not_answer(retriever):
    query = "sonar for the winch on the shore"
    logs = set(retriever.opened.release_logs.nonzero()[0].tolist())
    assert retriever.opened.lexical.coverage(query) == pytest.approx(1)
    assert retriever.opened.lexical.coverage(query, apart=logs) < 0.5
    hits = retriever.search(query, 3, pipeline="hybrid:structure")
    assert hits[0].document_id == "anchor.md"
    assert not hits.confident
    assert retriever.search("sonar winch", 1, pipeline="hybrid:structure").confident  # the log is what it finds
