"""What documents say of themselves costs no step a thing: reading, graph, sampling, index, filters, search, exports."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from structformer import Document, Filter, Retriever, Section, UsageError, export, index, ingest, sample, upsert
from structformer.corpus import Corpus
from structformer.document import Source

OURS = ["path", "id", "title", "url", "language", "date", "number", "document_id", "score", "canonical", "slug", "tags"]
ODD = [
    9**400, -(2**63), 2**64, 1e308, float("nan"), float("inf"), "", "\ud800", "a\u2028b", "x" * 5000, True, None,
    "9" * 400, "2024-13-45", [], {}, [[]], {"": {"": ""}},
]  # fmt: skip
VALUES = st.recursive(
    st.sampled_from(ODD) | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
NESTED = "[" * 900 + "]" * 900


def page(metadata: str, words: str = "") -> str:
    return f"---\n{metadata}\n---\n# Page {words}\n\nText about apples {words}.\n\n## Part\n\nText about pears.\n"


def searched(folder: Path, workspace: Path) -> Retriever:
    """The documents of a folder led through every step."""
    ingest(folder, workspace, workers=1)
    sample(workspace, workers=1)
    index(workspace, encoders=())
    export("beir", workspace.parent / "beir", workspace)
    return Retriever.open(workspace)


def documents(workspace: Path) -> dict[str, Document]:
    return {document.id: document for document in Corpus.open(workspace).documents()}


@settings(max_examples=6, deadline=None, derandomize=True, phases=[Phase.generate])  # a run takes seconds
@given(
    st.lists(st.dictionaries(st.sampled_from(OURS) | st.text(max_size=3), VALUES, max_size=6), min_size=3, max_size=6)
)
def test_any_metadata_passes_every_step(records):
    with TemporaryDirectory() as made:
        folder = Path(made, "docs")
        folder.mkdir()
        lines = [
            json.dumps({**record, "id": f"d{number}", "title": f"Title {number}", "text": f"apples r{number}"})
            for number, record in enumerate(records)
        ]
        (folder / "records.jsonl").write_text("\n".join(lines))
        for number, record in enumerate(records):
            (folder / f"p{number}.md").write_text(page(json.dumps({**record, "title": f"Page {number}"}), f"w{number}"))
        retriever = searched(folder, Path(made, "w"))
        kept = documents(Path(made, "w"))
        assert len(kept) == 2 * len(records)
        hits = retriever.search("apples", 50)
        assert {hit.document_id for hit in hits} == set(kept)
        json.dumps([hit.as_dict() for hit in hits], allow_nan=False)
        for document in kept.values():
            for key, value in document.metadata.items():
                if key not in ("language", "url") and isinstance(value, str | bool | int | float):
                    found = retriever.search("apples", 50, where=Filter(metadata={key: value}))
                    assert document.id in {hit.document_id for hit in found}, (key, value)


@pytest.mark.parametrize(
    ("said", "kept", "problem"),
    [
        ("path: /blog/x", "/blog/x", ""),
        ("path: " + "9" * 400, "9" * 400, "metadata 'path': a number of over 64 bits: kept as text"),
        ("path: 0x" + "f" * 5000, "0x" + "f" * 5000, "metadata 'path': a number of over 64 bits: kept as text"),
        ("path: .nan", "nan", ""),
        ("path: 2024-02-03", "2024-02-03", ""),
    ],
)
def test_what_no_step_can_hold_is_kept_as_text(tmp_path, said, kept, problem):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(page(said))
    report = ingest(tmp_path / "docs", tmp_path / "w")
    assert documents(tmp_path / "w")["a.md"].metadata["path"] == kept
    assert report.messages == ([("a.md", problem)] if problem else [])


def test_half_a_surrogate_pair_in_a_text_is_said(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.jsonl").write_text(
        '{"id": "a", "text": "half \\ud83d here"}\n{"id": "b", "text": "\\ud83d\\ude00"}\n'
    )
    report = ingest(tmp_path / "docs", tmp_path / "w")
    assert report.messages == [("a.jsonl", "a: half of a surrogate pair in its text: kept as \ufffd")]
    assert documents(tmp_path / "w")["b"].root.text == "\U0001f600"


LONG = "9" * 5000


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.md", f"+++\ntitle = 0x{LONG}\nid = 0x{LONG}\n+++\n# Page\n\napples\n"),
        ("b.md", f"---\ntitle: 0x{LONG}\n---\n# Page\n\napples\n"),
        ("c.md", "---\ntitle:\n  en: Page\n  de: Seite\n---\n# Page\n\napples\n"),
        ("d.rst", f"Page\n====\n\napples\n\n{LONG}. one\n\n({LONG}) two\n\n.. [{LONG}] three\n"),
        ("e.rst", f"Page\n====\n\napples\n\n.. include:: f.txt\n   :start-line: {LONG}\n"),
        (
            "g.ipynb",
            f'{{"nbformat": {LONG}, "metadata": {{"n": -{LONG}}}, "cells": '
            '[{"cell_type": "markdown", "source": "# Page\\n\\napples"}]}',
        ),
    ],
)
def test_a_number_too_long_for_python_costs_no_page(name, text, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / name).write_text(text)
    ingest(tmp_path / "docs", tmp_path / "w", workers=1)
    [document] = documents(tmp_path / "w").values()
    assert (document.title, "apples" in " ".join(section.text for section in document.sections())) == ("Page", True)


@pytest.mark.parametrize("value", ["0x" + "f" * 5000, "[" * 2000 + "]" * 2000])
def test_settings_that_python_cannot_read_are_said(value, tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "structformer.toml").write_text(f"[serve]\nport = {value}\n")
    told = run("serve", "-w", "w")
    assert (told.code, "Traceback" in told.err, "structformer.toml" in told.err) == (2, False, True)
    (tmp_path / "structformer.toml").unlink()
    told = run("train", "--set", f"seed={value}", "-w", "w")
    assert (told.code in (1, 2), "Traceback" in told.err) == (True, False)


def test_a_value_nested_too_deep_is_left_out_by_name(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "r.jsonl").write_text(f'{{"id": "x", "text": "apples", "deep": {NESTED}, "flat": [1]}}\n')
    report = ingest(tmp_path / "docs", tmp_path / "w")
    assert documents(tmp_path / "w")["x"].metadata == {"flat": [1]}
    assert report.messages == [("r.jsonl", "x: metadata 'deep': nested over 50 deep: left out")]


def test_a_key_that_is_called_like_a_facet_of_ours_is_none(tmp_path):
    (tmp_path / "docs" / "sub").mkdir(parents=True)
    for place, path in (("sub/a.md", "/x"), ("sub/b.md", "/y"), ("c.md", "/x")):
        (tmp_path / "docs" / place).write_text(page(f"path: {path}\nkind: {path[1:]}"))
    searched(tmp_path / "docs", tmp_path / "w")
    manifest = json.loads(next((tmp_path / "w" / "index").glob("*/manifest.json")).read_text())
    assert manifest["facets"] == [{"name": "kind", "values": ["x", "y"]}]


def test_a_programs_metadata_is_refused_by_name(tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text(page("a: 1"))
    ingest(tmp_path / "docs", tmp_path / "w")
    for value, why in ((9**400, "a number of over 64 bits"), (json.loads(NESTED), "nested over 50 deep")):
        given = Document(
            "given", "Given", Section("", text="apples"), Source("given", "markdown"), metadata={"n": value}
        )
        with pytest.raises(UsageError, match=f"given: metadata 'n': {why}"):
            upsert([given], tmp_path / "w")
