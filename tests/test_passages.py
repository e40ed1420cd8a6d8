"""Cutting text to sentences and passages."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from structformer.text.passages import passages, query_like, sentences


def test_sentences_end_at_stops_and_line_breaks_not_at_abbreviations():
    assert list(sentences("Use e.g. Linux. It works! Does it?\nlist item")) == [
        "Use e.g. Linux.",
        "It works!",
        "Does it?",
        "list item",
    ]
    assert list(sentences("版本一。版本二。")) == ["版本一。", "版本二。"]


def test_a_table_row_is_asked_by_its_longest_cell():
    assert query_like("--rm | bool | Remove the container on exit") == "Remove the container on exit"


def test_short_paragraphs_share_a_passage_and_long_ones_are_cut():
    text = "one two\n\nthree four\n\n" + " ".join(["word."] * 9)
    assert list(passages(text, 4)) == [
        "one two\n\nthree four",
        "word. word. word. word.",
        "word. word. word. word.",
        "word.",
    ]


@given(st.text(alphabet="ab .\n|", max_size=200), st.integers(1, 8))
def test_no_word_is_lost_and_no_passage_is_too_long(text, most):
    found = list(passages(text, most))
    assert " ".join(found).split() == text.split()
    assert all(0 < len(passage.split()) <= most for passage in found)
