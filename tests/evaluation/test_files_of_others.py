"""Runs, topics and judgements as other tools write them, and what is refused in them."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest
from structformer.errors import UsageError
from structformer.evaluation import read_queries
from structformer.evaluation.comparison import _check_shared
from structformer.retrieval import read_qrels, read_run
from structformer.retrieval.rankings.run_files import write_run


def written(folder: Path, name: str, text: str) -> Path:
    data = text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return folder / name


def test_equal_scores_are_in_trec_eval_s_order(tmp_path):
    run = written(tmp_path, "a.run", "q Q0 a 1 1.0 x\nq Q0 c 2 1.0 x\nq Q0 b 3 2.0 x\n")
    assert read_run(run) == ("x", {"q": [("b", 2.0), ("c", 1.0), ("a", 1.0)]})


def test_a_run_is_read_packed_and_in_three_columns(tmp_path):
    assert read_run(written(tmp_path, "a.run.gz", "q Q0 a 1 1e+01 x\n")) == ("x", {"q": [("a", 10.0)]})
    assert read_run(written(tmp_path, "marco.tsv", "q\tb\t2\nq\ta\t1\n"))[1] == {"q": [("a", -1.0), ("b", -2.0)]}
    packed = written(tmp_path, "cut.gz", "q Q0 a 1 1 x\n")
    packed.write_bytes(packed.read_bytes()[:-9])
    with pytest.raises(UsageError, match=r"cut\.gz is not whole"):
        read_run(packed)


def test_tabs_and_blanks_may_be_mixed_and_ids_may_have_blanks(tmp_path):
    qrels = written(tmp_path, "qrels", "q1\t0  a\t 1\nq1 0\tb 2\nq two\ta page\t1\nq two\t0\tanother page\t2\n")
    assert read_qrels(qrels) == {"q1": {"a": 1, "b": 2}, "q two": {"a page": 1, "another page": 2}}
    assert read_run(written(tmp_path, "a.run", "q1\tQ0 a\t1  2.5 x\n")) == ("x", {"q1": [("a", 2.5)]})
    for run in ({"q two": [("a", 2.0)]}, {"q": [("a page", 2.0)]}, {"q": [("a", 2.0)]}):
        write_run(tmp_path / "b.run", run, "x")
        assert read_run(tmp_path / "b.run") == ("x", run)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("q Q0 a 1 2 x\nq Q0 b 2 1 x\nq Q0 a 3 1 x\n", "line 3: the query 'q' has 'a' on line 1 already"),
        ("q Q0 a 1 nan x\n", "line 1: a score that is not a number: 'nan'"),
        ("q Q0 a 1 2 x\nq Q0 b 2 1_000 x\n", "line 2: a score that is not a number: '1_000'"),
        ("q Q0 a 1 -inf x\n", "line 1: a score that is not a number"),
        ("q Q0 a 1 1e999 x\n", "line 1: a score that is not a number"),
        ("q\ta\t１\n", "line 1: a rank that is not a whole number"),
        ("q\ta\t17.5\nq\tb\t12.5\n", "line 1: a rank that is not a whole number: '17.5'"),
        ("q Q0 a 1 x\n", "line 1: not TREC's"),
    ],
)
def test_what_no_order_follows_from_is_refused_by_its_line(tmp_path, text, said):
    with pytest.raises(UsageError, match=said):
        read_run(written(tmp_path, "a.run", text))


@pytest.mark.parametrize("grade", ["1_0", "inf", "nan", "0.5", "٣", "1e7", ""])
def test_a_judgement_without_a_whole_grade_is_refused_by_its_line(tmp_path, grade):
    with pytest.raises(UsageError, match=r"qrels, line 2: neither .* with a whole grade"):
        read_qrels(written(tmp_path, "qrels", f"q 0 a 1\nq 0 b {grade}\n"))


def test_a_document_has_one_grade_for_a_query(tmp_path):
    with pytest.raises(UsageError, match="qrels, line 3: 'a' has another grade on an earlier line"):
        read_qrels(written(tmp_path, "qrels", "q 0 a 1\nq 0 b 1\nq 0 a 2\n"))
    twice = written(tmp_path, "qrels", "q 0 a 1\nq 0 a 1\nq 1 a 2\n")  # said twice, and of another subtopic
    assert read_qrels(twice) == {"q": {"a": 2}}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_only_the_ends_of_lines_end_lines(tmp_path, end):
    queries = written(tmp_path, "q.tsv", f"1\tsalt\u2028and\x0csea{end}2\tthe mast\x85{end}")
    assert read_queries(queries) == {"1": "salt\u2028and\x0csea", "2": "the mast"}


def test_a_run_of_other_ids_is_said():
    path = Path("u.run")
    with pytest.raises(UsageError, match=r"u\.run has rankings for 0 of 2 queries$"):
        _check_shared(path, {}, ["1", "2"], ["a"])
    with pytest.raises(UsageError, match="1 of its 1 documents are not in the corpus"):
        _check_shared(path, {"1": [("docs/a", 1.0)]}, ["1"], ["a"])
    with pytest.warns(UserWarning, match="for 1 of 2 queries; 1 of its 2 documents are not in the corpus"):
        _check_shared(path, {"1": [("a", 1.0), ("b", 1.0)]}, ["1", "2"], ["a"])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "t.xml",
            '<topics>\n<topic number="7">\n<query>salt &amp; sea</query>\n<question>Why?</question>\n</topic>\n</topics>',
        ),
        ("t.xml.gz", "<topics><topic number='7'><query>salt &amp; sea</query></topic></topics>"),
        ("t.trec", "<top>\n<num> Number: 7\n<title> salt & sea\n\n<desc> Description:\nWhy?\n</top>\n"),
        ("q.jsonl", '{"qid": 7, "query": "salt & sea"}\n'),
        ("q.json", '[{"_id": "7", "text": "salt & sea"}]'),
        ("q.tsv", "7\tsalt & sea\n"),
        ("named.tsv", "query-id\ttext\n7\tsalt & sea\n"),
        ("t.xml", "<topics><topic number='7'><query><![CDATA[salt & sea]]></query></topic></topics>"),
        (
            "t.xml",
            "<!-- <topic number='8'><query>old</query></topic> -->\n<topic number='7'><query>salt &amp; sea</query></topic>",
        ),
        ("t.xml", "<topics><topic number='7'><title lang='en'>salt &amp; sea</title></topic></topics>"),
    ],
)
def test_topics_of_any_kind_say_the_same(tmp_path, name, text):
    assert read_queries(written(tmp_path, name, text)) == {"7": "salt & sea"}


def test_queries_may_come_through_a_pipe(tmp_path):
    """As a shell's <(zcat queries.gz) gives them."""
    os.mkfifo(tmp_path / "pipe")
    writing = threading.Thread(target=(tmp_path / "pipe").write_text, args=("q1\tapples\n",), daemon=True)
    writing.start()
    assert read_queries(tmp_path / "pipe") == {"q1": "apples"}
    writing.join()


def test_half_a_surrogate_pair_in_a_query_can_be_asked(tmp_path):
    queries = written(
        tmp_path, "q.jsonl", '{"_id": "q\\ud83d", "text": "half \\ud83d"}\n{"_id": "b", "text": "\\ud83d\\ude00"}'
    )
    (name, text), whole = read_queries(queries).items()
    assert (set(name[1:]), set(text[5:]), whole) == ({"\ufffd"}, {"\ufffd"}, ("b", "\U0001f600"))


def test_a_query_may_tell_of_topics(tmp_path):
    assert read_queries(written(tmp_path, "q.tsv", "1\twhat is a <topic>\n")) == {"1": "what is a <topic>"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("<top><num>1</num><title>a</title></top>\n<top><num>1</num><title>b</title></top>", "topic 2: another text"),
        ('{"_id": "1", "text": null}', "line 1: not a BEIR query"),
        ('{"_id": null, "text": "a"}', "line 1: not a BEIR query"),
        ('{"_id": NaN, "text": "a"}', "line 1: not a BEIR query"),
        ('{"_id": "1", "text": ["a", "b"]}', "line 1: not a BEIR query"),
    ],
)
def test_what_is_no_query_is_refused_by_its_place(tmp_path, text, said):
    with pytest.raises(UsageError, match=said):
        read_queries(written(tmp_path, "q", text))


def test_the_parts_of_topics_in_xml(tmp_path):
    text = '<topics><topic number="1"><query>a</query><question>b</question><narrative>c</narrative></topic></topics>'
    assert read_queries(written(tmp_path, "t.xml", text), ("title", "desc", "narr")) == {"1": "a b c"}


@pytest.mark.parametrize(
    "head", ["query-id\tcorpus-id\tscore\n", "query_id\tcorpus_id\tscore\n", "qid\tdocid\trel\n", ""]
)
def test_grades_may_be_written_as_whole_decimals(tmp_path, head):
    assert read_qrels(written(tmp_path, "q.tsv", f"{head}1\ta\t1.0\n1\tb\t2\n")) == {"1": {"a": 1, "b": 2}}
    with pytest.raises(UsageError, match="with a whole grade"):
        read_qrels(written(tmp_path, "q.tsv", f"{head}1\ta\t0.5\n"))


@pytest.mark.parametrize("grade", ["1e300", "-1e300", str(2**63), "2147483648", "9" * 400, "inf", "0x1", "²"])
def test_a_grade_that_no_measure_can_hold_is_refused(grade, tmp_path):
    (tmp_path / "qrels").write_text(f"q1 0 a.md 1\nq1 0 b.md {grade}\n")
    with pytest.raises(UsageError, match=r"qrels, line 2: .* of at most 10,000"):
        read_qrels(tmp_path / "qrels")


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("<top>\n<num> Number: 1\n<title> a" + " " * 300_000 + "walrus\n</top>", "a walrus"),
        ("<top>\n<num> Number: 1\n<title> a" + "\n" * 300_000 + "walrus\n</top>", "a"),
        ("<top>\n<num> Number: 1\n<title> a walrus\n</top>\n" + "<top>\n" * 100_000, None),
        ("<top " * 300_000 + ">\n<title> a\n</top>", None),
        ("<top>\n<num>" + " " * 300_000 + "\n<title> a\n</top>", None),
    ],
)
def test_topics_are_read_in_linear_time(said, asked, tmp_path):
    (tmp_path / "topics").write_text(said)
    if asked is None:
        with pytest.raises(UsageError, match=r"topics, topic \d+: no <num>"):
            read_queries(tmp_path / "topics")
    else:
        assert read_queries(tmp_path / "topics") == {"1": asked}
