"""Judged collections and plain records: ids are kept, streams stay streams, what is exported can be read again."""

from __future__ import annotations

import io
import json
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer import Corpus, read
from structformer.cli.main import main
from structformer.errors import ReadError
from structformer.formats.source import SourceFile
from structformer.ingestion import ingest

from conftest import write_pages
from structformer_exports.dataset_files import export_beir
from structformer_records.format import RecordsFormat
from structformer_records.layout import layout_of, pieces

BEIR = (
    '{"_id": "d1", "title": "Tides", "text": "Water rises twice a day.\\n\\nThe moon does it.", "metadata": {"year": 1901}}\n'
    '{"_id": "d2", "title": "", "text": "Ropes are laid from three strands.", "metadata": {}}\n'
)
TREC = """<DOC>
<DOCNO> FT-1 </DOCNO><HEADLINE>Tides</HEADLINE>
<TEXT><P>Water rises &amp; falls.</P></TEXT>
</DOC>
<DOC>
<DOCNO>FT-2</DOCNO>
<TEXT>Ropes.</TEXT>
</DOC>
"""
MS_MARCO = "".join(f"D{n}\thttps://e.org/{n}\tTitle {n}\tText of the document number {n}.\n" for n in range(3))
PASSAGES = "".join(
    f"{n}\tThis passage says at some length what there is to say of the number {n} here.\n" for n in range(3)
)
CSV = 'id,title,text,shelf\n7,"Ropes, laid","Three\nstrands",A\n8,Tides,"He said ""twice""",B\n'


@pytest.mark.parametrize(
    ("content", "ids", "titles", "text"),
    [
        (BEIR, ["d1", "d2"], ["Tides", "d2"], "Water rises twice a day.\n\nThe moon does it."),
        (TREC, ["FT-1", "FT-2"], ["Tides", "FT-2"], "Water rises & falls."),
        (MS_MARCO, ["D0", "D1", "D2"], ["Title 0", "Title 1", "Title 2"], "Text of the document number 0."),
        (
            PASSAGES,
            ["0", "1", "2"],
            ["0", "1", "2"],
            "This passage says at some length what there is to say of the number 0 here.",
        ),
        (CSV, ["7", "8"], ["Ropes, laid", "Tides"], "Three\nstrands"),
        ("docno\tbody\n1\tOne two.\n", ["1"], ["1"], "One two."),
    ],
)
def test_records_keep_their_ids(content, ids, titles, text):
    documents = list(read(content.encode(), format="records"))
    assert [document.id for document in documents] == ids
    assert [document.title for document in documents] == titles
    assert documents[0].root.text == text


def test_a_collection_is_ingested_without_its_queries_and_can_be_exported_and_read_again(tmp_path):
    write_pages(
        tmp_path / "beir",
        {
            "corpus.jsonl": BEIR,
            "queries.jsonl": '{"_id": "q1", "text": "When does water rise?"}\n',
            "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td1\t1\n",
        },
    )
    report = ingest(tmp_path / "beir", tmp_path / "w")
    assert dict(report.formats) == {"records": 2}
    assert list(Corpus.open(tmp_path / "w").document_ids()) == ["d1", "d2"]
    export_beir(tmp_path / "w", tmp_path / "again")
    ingest(tmp_path / "again", tmp_path / "w2")
    first, second = (list(Corpus.open(tmp_path / name).documents()) for name in ("w", "w2"))
    assert [(each.id, each.root.text) for each in first] == [(each.id, each.root.text) for each in second]
    assert first[0].metadata["metadata"] == {"year": 1901}


def test_bad_records_cost_themselves_alone():
    content = BEIR + "{broken\n[1]\n" + '{"text": "no id"}\n{"_id": "e", "text": ""}\n{"_id": "d1", "text": "again"}\n'
    source = SourceFile("corpus.jsonl", content.encode())
    assert [document.id for document in RecordsFormat().read(source, {})] == ["d1", "d2", "d1~2"]
    assert [warning.partition(":")[0] for warning in source.warnings] == [
        "record on line 3",
        "record on line 4",
        "record 3",
        "record e",
        "record d1",
    ]


@pytest.mark.parametrize("content", [BEIR, TREC, MS_MARCO, CSV])
def test_pieces_are_whole_records(content, monkeypatch):
    monkeypatch.setattr("structformer_records.layout.PIECE_BYTES", 40)
    monkeypatch.setattr("structformer_records.layout._READ_BYTES", 256)
    many = content if content is CSV else content * 5
    parts = [part for part in pieces(io.BytesIO(many.encode()), 10_000) if isinstance(part, bytes)]
    whole = [document.root.text for document in read(many.encode(), format="records")]
    assert [document.root.text for part in parts for document in read(part, format="records")] == whole


def test_a_record_over_the_limit_is_left_out_and_said(monkeypatch):
    monkeypatch.setattr("structformer_records.layout.PIECE_BYTES", 100)
    monkeypatch.setattr("structformer_records.layout._READ_BYTES", 400)
    long = json.dumps({"_id": "long", "text": "x" * 3000}) + "\n"
    found = list(pieces(io.BytesIO((BEIR + long + BEIR).encode()), 1000))
    assert any(isinstance(part, str) and "over the limit" in part for part in found)
    ids = [d.id for part in found if isinstance(part, bytes) for d in read(part, format="records")]
    assert ids == ["d1", "d2", "d1", "d2"]


@pytest.mark.parametrize(
    "head",
    [
        b"# Markdown\n\nid, text and more\n",
        b'{"name": "x",\n "version": 1}\n',
        b'{"id": "12", "revid": "1", "url": "https://en.wikipedia.org/wiki?curid=12", "title": "A", "text": "B"}\n',
        b"q1\twhat is this\nq2\twho is that\n",
        b"",
    ],
)
def test_what_holds_no_records(head):
    assert layout_of(head) is None


@given(st.binary(max_size=400))
def test_any_bytes_may_come_first(data):
    layout_of(data)
    with suppress(ReadError):
        list(pieces(io.BytesIO(data), 100))


def test_a_folder_of_records_and_pages(tmp_path: Path):
    write_pages(tmp_path / "pages", {"a.md": "# A\n", "records.csv": CSV, "package.json": '{"name": "x"}\n'})
    assert dict(ingest(tmp_path / "pages", tmp_path / "w").formats) == {"markdown": 1, "records": 2}


ROWS = [
    {"_id": f"d{number}", "title": f"T{number}", "text": f"Rope number {number}.", "year": 1900} for number in range(9)
]
ODD = [{"key": f"k{number}", "html": f"Sail number {number}."} for number in range(3)]


def parquet(rows: list[dict]) -> bytes:
    stream = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), stream)
    return stream.getvalue()


def in_lines(rows: list[dict]) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


@pytest.mark.parametrize("pack", [lambda rows: json.dumps(rows, indent=2).encode(), parquet])
def test_arrays_and_parquet_are_the_records_that_lines_are(pack, tmp_path, monkeypatch):
    expected = [
        (document.id, document.title, document.root.text) for document in read(in_lines(ROWS), format="records")
    ]
    assert [(d.id, d.title, d.root.text) for d in read(pack(ROWS), format="records")] == expected
    monkeypatch.setattr("structformer_records.layout.PIECE_BYTES", 200)
    (tmp_path / "rows").write_bytes(pack(ROWS))
    ingest(tmp_path / "rows", tmp_path / "w", workers=1)
    found = Corpus.open(tmp_path / "w").documents()
    assert [(d.id, d.title, d.root.text) for d in found] == expected


@pytest.mark.parametrize("pack", [in_lines, lambda rows: json.dumps(rows).encode(), parquet])
def test_fields_name_the_parts_of_records(pack, tmp_path, capsys):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "odd.jsonl").write_bytes(pack(ODD))
    (tmp_path / "rows" / "settings.json").write_text('[{"a": 1}]')
    command = ["ingest", str(tmp_path / "rows"), "-w", str(tmp_path / "w")]
    with pytest.raises(SystemExit) as exit:
        main(command)
    assert exit.value.code == 1
    with pytest.raises(SystemExit) as exit:
        main([*command, "--fields", "id=key,text=html"])
    assert exit.value.code == 0
    assert sorted(Corpus.open(tmp_path / "w").document_ids()) == ["k0", "k1", "k2"]
    assert "--fields" in capsys.readouterr().err


@pytest.mark.parametrize("broken", [b'[{"_id": "a", "text": "b"}, {"_id": ', parquet(ROWS)[:-30]])
def test_damaged_arrays_and_tables_are_said(broken, tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a").write_bytes(broken)
    report = ingest(tmp_path / "rows", tmp_path / "w", workers=1)
    assert [path for path, _ in report.messages] == ["a"]


LONG = "9" * 5000


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        (LONG, LONG),
        (f"-{LONG}", f"-{LONG}"),
        ("9" * 400, "9" * 400),
        ("NaN", "nan"),
        ("-Infinity", "-inf"),
        ("1e999", "inf"),
        ('"half \\ud800"', None),
        (f"{'[' * 900}{']' * 900}", None),
    ],
)
@pytest.mark.parametrize("layout", ["{}\n{}\n", "[{},\n {}]\n", "[{}{}]"])
def test_one_value_costs_no_record(value, kept, layout, tmp_path):
    first = f'{{"id": "a", "text": "apples", "number": {value}}}'
    name = "r.json" if layout.startswith("[") else "r.jsonl"
    write_pages(tmp_path / "rows", {name: layout.format(first, '{"id": "b", "text": "pears"}')})
    ingest(tmp_path / "rows", tmp_path / "w", workers=1)
    found = {document.id: document.metadata for document in Corpus.open(tmp_path / "w").documents()}
    assert set(found) == {"a", "b"}
    assert kept is None or found["a"]["number"] == kept


def test_a_number_too_long_for_python_may_be_an_id():
    lines = f'{{"id": {LONG}, "text": "apples"}}\n{{"id": 5, "text": "pears"}}\n'
    assert [document.id for document in read(lines.encode(), format="records")] == [LONG, "5"]


@pytest.mark.parametrize(
    ("values", "kind", "kept"),
    [
        ([10**13, 1], pa.timestamp("s"), "<value out of range: 10000000000000000>"),
        ([2**31 - 1, 1], pa.date32(), "<value out of range: 2147483647>"),
        ([2**61, 1], pa.timestamp("us", tz="Mars/Olympus"), None),
        ([2**62, 1], pa.duration("s"), str(2**62)),
    ],
)
def test_a_date_that_is_none_costs_no_row(values, kind, kept):
    table = pa.table({"id": ["a", "b"], "text": ["apples", "pears"], "when": pa.array(values, kind)})
    stream = io.BytesIO()
    pq.write_table(table, stream)
    first, second = read(stream.getvalue(), format="records")
    assert (first.id, second.id) == ("a", "b")
    assert kept is None or first.metadata["when"] == kept


@pytest.mark.parametrize("end", ["", ",", ', {"id": "b"', "\xe9", ', {"id": b}]'])
def test_an_array_is_read_up_to_its_damage(end, tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "a.json").write_bytes(f'[{{"id": "a", "text": "apples"}}{end}'.encode("latin-1"))
    report = ingest(tmp_path / "rows", tmp_path / "w", workers=1)
    [(path, said)] = report.messages
    assert (path, said.partition(" (")[0]) == ("a.json", "not JSON after record 1")
    assert "\n" not in said
    assert list(Corpus.open(tmp_path / "w").document_ids()) == ["a"]


CASE = {"ajId": "4", "ajName": "盗窃案", "ajjbqk": "经审理查明", "pjjg": {"id": "no record"}, "qw": "公诉机关指控。"}


@pytest.mark.parametrize("indent", [None, 0, 2, "\t"])
@pytest.mark.parametrize("long", [1, 20_000])
def test_a_file_of_one_object_is_a_record_however_it_is_indented(indent, long, tmp_path, monkeypatch):
    monkeypatch.setattr("structformer_records.layout.PIECE_BYTES", 200)
    cases = {number: {**CASE, "ajId": number, "qw": CASE["qw"] * long} for number in ("4", "5")}
    files = {f"{number}.json": json.dumps(case, ensure_ascii=False, indent=indent) for number, case in cases.items()}
    write_pages(tmp_path / "cases", files)
    report = ingest(tmp_path / "cases", tmp_path / "w", workers=1)
    assert not report.messages
    documents = list(Corpus.open(tmp_path / "w").documents())
    assert [(document.id, document.title) for document in documents] == [("4", "盗窃案"), ("5", "盗窃案")]
    assert all(document.root.text == CASE["qw"] * long for document in documents)
    both = "\n".join(files.values())
    assert [document.id for document in read(both.encode(), format="records")] == ["4", "5"]


def test_an_indented_object_that_only_holds_records_deep_within_is_none():
    package = {"name": "x", "scripts": {"id": "1", "text": "run"}, "files": [{"id": "2", "text": "a"}]}
    assert layout_of(json.dumps(package, indent=2).encode()) is None
    assert layout_of(b"{\n}\n") is None


def test_documents_of_an_ir_datasets_id(tmp_path):
    import ir_datasets
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import JsonlDocs
    from ir_datasets.util import LocalDownload

    lines = [{"doc_id": "a", "text": "Ropes are laid."}, {"doc_id": "b", "text": "Tides rise."}]
    (tmp_path / "docs.jsonl").write_bytes(in_lines(lines))
    ir_datasets.registry.register("boats/docs", Dataset(JsonlDocs(LocalDownload(tmp_path / "docs.jsonl"))))
    command = ["ingest", "-w", str(tmp_path / "w"), "--dataset"]
    for again in range(2):  # what was fetched is kept
        with pytest.raises(SystemExit) as exit:
            main([*command, "boats/docs"])
        assert exit.value.code == 0, again
    assert [(d.id, d.root.text) for d in Corpus.open(tmp_path / "w").documents()] == [
        ("a", "Ropes are laid."),
        ("b", "Tides rise."),
    ]
    with pytest.raises(SystemExit) as exit:
        main([*command, "boats/nothing"])
    assert exit.value.code == 2
