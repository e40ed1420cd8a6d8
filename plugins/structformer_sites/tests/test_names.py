"""Names that generators give pages, and links that lead outside of the site."""

from __future__ import annotations

from pathlib import Path

import pytest
from structformer import Corpus, ReferenceGraph
from structformer.ingestion import ingest

from conftest import write_pages


def targets(folder: Path, page: str, pages: dict[str, str]) -> list[str]:
    """What the links of a page lead to: an id, or the outcome of a link that leads to none."""
    write_pages(folder / "site", pages)
    links = ingest(folder / "site", folder / "w", workers=1).links
    corpus = Corpus.open(folder / "w")
    ids = list(corpus.document_ids())
    edges = ReferenceGraph.open(folder / "w", corpus).edges()
    reached = [ids[edge["target_document"]] for edge in edges if ids[edge["source_document"]] == page]
    dead = (outcome for counts in links.values() for outcome in ("external", "unresolved") if counts.get(outcome))
    return [*reached, *dead]


ANTORA = {
    "a/antora.yml": "name: boats\nversion: '1.0'\n",
    "a/modules/ROOT/pages/index.adoc": "= Boats\n\nText.\n",
    "a/modules/deck/pages/rope.adoc": "= Rope\n\nText.\n",
    "b/antora.yml": "name: knots\n",
}


@pytest.mark.parametrize(
    ("reference", "target"),
    [
        ("boats::index.adoc", "a/modules/ROOT/pages/index.adoc"),
        ("boats:deck:rope.adoc", "a/modules/deck/pages/rope.adoc"),
        ("1.0@boats:deck:rope.adoc#text", "a/modules/deck/pages/rope.adoc"),
        ("_@boats::index.adoc", "a/modules/ROOT/pages/index.adoc"),
        ("knots::start.adoc", "b/modules/ROOT/pages/start.adoc"),
        ("sails::index.adoc", "external"),
        ("knots::gone.adoc", "unresolved"),
    ],
)
def test_antora_s_references_to_components(reference, target, tmp_path):
    page = "b/modules/ROOT/pages/start.adoc"
    assert targets(tmp_path, page, {**ANTORA, page: f"= Start\n\nSee xref:{reference}[there].\n"}) == [target]


@pytest.mark.parametrize(
    "target",
    [
        "`Ecto.Repo.insert/2`",
        "`Supervisor`",
        "`Kernel.+/2`",
        "`mix help`",
        "`c:init/1`",
        "m:Ecto.Query",
        "t:t/0",
        "help:gnome-help/files",
        "man:ls(1)",
        "apt:vim",
        "std::vec::Vec",
        "Vec::push()",
        "fn@tie_knot",
    ],
)
def test_names_of_other_documentation_lead_outside(target, tmp_path):
    assert targets(tmp_path, "a.md", {"a.md": f"# A\n\nSee [it](<{target}>).\n"}) == ["external"]


def test_prefixes_of_intersphinx_lead_outside(tmp_path):
    pages = {"conf.py": "intersphinx_mapping = {'python': ('https://docs.python.org/3', None)}\n"}
    page = "A\n=\n\nSee :ref:`python:slicings`.\n"
    assert targets(tmp_path, "a.rst", {**pages, "a.rst": page}) == ["external"]


def test_a_guide_is_found_under_the_slug_of_its_file_s_name(tmp_path):
    pages = {"guides/Dynamic Queries.md": "# Q\n\nText.\n", "guides/a.md": "# A\n\n[Q](dynamic-queries.html).\n"}
    assert targets(tmp_path, "guides/a.md", pages) == ["guides/Dynamic Queries.md"]


def test_numbers_that_order_files_are_left_out_of_links(tmp_path):
    pages = {"98-reference/02-svelte-window.md": "# W\n\nText.\n", "98-reference/a.md": "# A\n\n[W](svelte-window).\n"}
    assert targets(tmp_path, "98-reference/a.md", pages) == ["98-reference/02-svelte-window.md"]


@pytest.mark.parametrize("page", ["docs/a.md", "versioned_docs/version-2.x/a.md"])
def test_a_version_is_published_without_its_prefix(page, tmp_path):
    released = {f"versioned_docs/version-{version}/cli/build.md": "# B\n\nText.\n" for version in ("2.x", "1.x")}
    pages = {"docs/cli/build.md": "# B\n\nText.\n", **released, page: "# A\n\n[B](/docs/2.x/cli/build).\n"}
    assert targets(tmp_path, page, pages) == ["versioned_docs/version-2.x/cli/build.md"]


def test_a_version_of_a_second_set_of_pages_is_in_a_folder_of_its_own(tmp_path):
    pages = {"api/b.md": "# B\n\nNew.\n", "api_versioned_docs/version-1.1/b.md": "# B\n\nOld.\n"}
    pages["api/a.md"] = "# A\n\n[B](/api/1.1/b).\n"
    assert targets(tmp_path, "api/a.md", pages) == ["api_versioned_docs/version-1.1/b.md"]


def test_the_next_version_is_the_folder_without_a_version(tmp_path):
    page = "versioned_docs/version-2.x/a.md"
    pages = {"docs/cli/build.md": "# B\n\nText.\n", page: "# A\n\n[B](/docs/next/cli/build).\n"}
    assert targets(tmp_path, page, pages) == ["docs/cli/build.md"]
