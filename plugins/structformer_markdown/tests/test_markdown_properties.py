"""Properties that hold for any Markdown whatever."""

from __future__ import annotations

import time
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structformer import read
from structformer.corpus.rows import document_rows, rows_document
from structformer.errors import ReadError

PIECES = st.sampled_from(
    [
        "# ",
        "## ",
        "\n",
        "\n\n",
        "- ",
        "> ",
        "[a](b)",
        "[[w|x]]",
        "![i](j)",
        "`",
        "```\n",
        "<h2>",
        "</h2>",
        "<a href=x>",
        "</a>",
        "<!--",
        "-->",
        "| a | b |\n|--|--|\n",
        "---\n",
        "===\n",
        "text ",
        "*",
        "_",
        "\\",
        "&amp;",
        "{#id}",
        "http://e.f ",
        "a@b.cd ",
        "\t",
        "    ",
        "[^1]",
        "[^1]: n",
        "<script>",
        "é",
        "漢",
        "\u2028",
        "\x00",
        "\ud7ff",
    ]
)
MARKDOWN = st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=40).map("".join)


@settings(max_examples=300, deadline=None)
@given(MARKDOWN)
def test_any_text_reads_to_a_valid_tree(text):
    for document in read(text.encode("utf-8", "surrogatepass"), format="markdown"):
        for section, path in document.root.walk_with_path():
            assert section.level >= (0 if section is document.root else 1)
            assert all(above.level < below.level for above, below in pairwise(path[1:]))
            assert section.text == section.text.strip("\n")
            for link in section.links:
                assert 0 <= link.start <= link.end <= len(section.text)
                assert link.start == link.end or section.text[link.start : link.end] == link.text


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes_read_or_are_refused_in_words(data):
    with suppress(ReadError):
        list(read(data, format="markdown"))


@settings(max_examples=100, deadline=None)
@given(MARKDOWN)
def test_a_document_survives_storage(text):
    for document in read(text.encode("utf-8", "surrogatepass"), format="markdown"):
        assert rows_document(*document_rows(document)) == document


@pytest.mark.parametrize(
    ("first", "unit", "last"),
    [
        ("x\n{", " ", "x"),
        ("```js\n// [!code ", " ", "x\n```\n"),
        ("```js\n", "# [!code ", "x\n```\n"),
        ("| a | b |\n|---|---|\n", "| $|", "x"),
        ("<table><tr>", "<td>a", ""),
        ("<div>\n", "`x`{ .a ", "\n</div>"),
        ("```{glossary}\n", "a\n", "  b\n```\n"),
        ("", "[](#a) ", ""),
        ("", "{py:func}`a` ", ""),
    ],
)
def test_whatever_comes_many_times_takes_linear_time(first, unit, last):
    text = first + unit * 20_000 + last
    start = time.process_time()
    list(read(text.encode(), format="markdown"))
    assert time.process_time() - start < 4


@settings(max_examples=60, deadline=None)
@given(MARKDOWN)
def test_line_ends_do_not_matter(text):
    text = text.replace("\r", "")
    first, second = (
        list(read(variant.encode("utf-8", "surrogatepass"), format="markdown"))
        for variant in (text, text.replace("\n", "\r\n"))
    )
    assert [document.root for document in first] == [document.root for document in second]
