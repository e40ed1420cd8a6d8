"""evaluate --beir reads, indexes and judges a folder of ConTEB's form: chunks of documents in Parquet files."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from structformer.corpus import Corpus

CHUNKS = {
    "geo_paris_0": "Paris is the capital of France.",
    "geo_paris_1": "Its mayor counts two million people.",
    "geo_bonn_0": "Bonn lies on the Rhine.",
    "geo_bonn_1": "Its ferry crosses the river each hour.",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, columns in (
        ("documents", {"chunk_id": list(CHUNKS), "chunk": list(CHUNKS.values())}),
        ("queries", {"query": ["ferry river", "capital of France"], "chunk_id": ["geo_bonn_1", "geo_paris_1"]}),
    ):
        (tmp_path / "geo" / name).mkdir(parents=True)
        pq.write_table(pa.table(columns), tmp_path / "geo" / name / "train-00000-of-00001.parquet")
    return tmp_path / "geo"


def test_chunks_of_a_document_are_its_sections_and_are_judged(run, folder):
    ran = run(
        "evaluate", "--beir", folder, "-w", "w", "--pipeline", "lexical", "--measures", "Success@1,R@10", "--json"
    )
    assert ran.code == 0, ran.err
    of_sections, of_documents = (each["rows"][0]["scores"]["Success@1"] for each in ran.json["results"])
    assert (of_sections, of_documents) == (0.5, 1.0)  # the capital is in another chunk than the judged one
    documents = {each.id: [section.anchors for section in each.sections()][1:] for each in Corpus.open("w").documents()}
    assert documents == {"geo_paris": [("0",), ("1",)], "geo_bonn": [("0",), ("1",)]}


def test_several_chunks_may_answer_a_query(run, folder):
    answers = [["geo_bonn_1", "geo_bonn_0"]]
    pq.write_table(
        pa.table({"query": ["river"], "chunk_ids": answers}), folder / "queries" / "train-00000-of-00001.parquet"
    )
    ran = run("benchmark", folder.parent, "-w", "w", "--pipeline", "lexical", "--measures", "R@10", "--json")
    assert list(ran.json["sets"]) == ["geo"], ran.err


def test_a_table_without_its_column_is_named(run, folder):
    pq.write_table(pa.table({"text": ["Paris"]}), folder / "documents" / "train-00000-of-00001.parquet")
    ran = run("evaluate", "--beir", folder, "-w", "w")
    assert ran.code == 2
    assert "train-00000-of-00001.parquet has no column 'chunk'" in ran.err
