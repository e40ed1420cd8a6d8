"""Properties that hold for any input whatever, in every format."""

from __future__ import annotations

import unicodedata
from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structformer import read
from structformer.corpus.rows import document_rows, rows_document
from structformer.errors import ReadError

PIECES = {
    "html": [
        "<h1>",
        "</h1>",
        "<h2 id=x>",
        "</h2>",
        "<p>",
        "<a href=x>",
        "</a>",
        "<a name=y>",
        "<table><tr><td>",
        "</table>",
        "<pre>",
        "</pre>",
        "<!--",
        "-->",
        "<script>",
        "</script>",
        "<nav>",
        "</nav>",
        "<main>",
        "</main>",
        "<li>",
        "<dt>See also</dt><dd>",
        "<img src=i alt=t>",
        "&amp;",
        "<div role=heading>",
        "</div>",
        "<template>",
        "</html>",
        "<br>",
        "text ",
        "\n",
        "\t",
        "é",
        "<",
        ">",
        "\x00",
        "<svg>",
        "<select><option>",
        "<base href=a/>",
    ],
    "wikitext": [
        "== ",
        " ==",
        "===",
        "[[",
        "]]",
        "|",
        "[[File:x|",
        "[[Category:",
        "{{",
        "}}",
        "{{{",
        "}}}",
        "{|",
        "|}",
        "|-",
        "!!",
        "||",
        "''",
        "'''",
        "<ref>",
        "</ref>",
        "<nowiki>",
        "</nowiki>",
        "<!--",
        "-->",
        "* ",
        "# ",
        "; ",
        ": ",
        "http://e.f ",
        "[http://e.f ",
        "]",
        "text ",
        "\n",
        "&nbsp;",
        "\x7f1\x7f",
        "{{main|",
        "#REDIRECT [[",
        "----",
        "<pre>",
        "</pre>",
        "<h2>",
        "</h2>",
        "-{",
        "}-",
        "~~~~",
        "RFC 1 ",
        "\x00",
    ],
    "latex": [
        "\\section{",
        "\\subsection*{",
        "}",
        "{",
        "\\label{a}",
        "\\ref{a}",
        "\\cite{k}",
        "$",
        "$$",
        "\\[",
        "\\]",
        "\\begin{itemize}",
        "\\end{itemize}",
        "\\item ",
        "\\begin{verbatim}",
        "\\end{verbatim}",
        "%",
        "\\newcommand{\\x}[1]{#1 ",
        "\\x{",
        "\\def\\y",
        "\\y",
        "\\footnote{",
        "\\href{u}{",
        "\\url{",
        "\\iffalse ",
        "\\fi ",
        "\\else ",
        "\\\\",
        "~",
        "&",
        "\\begin{document}",
        "\\end{document}",
        "\\verb|",
        "|",
        "\\'e",
        "\\input{a}",
        "text ",
        "\n",
        "\n\n",
        "[",
        "]",
        "\\",
        "\\begin{tabular}{l}",
        "\\end{tabular}",
        "\\bibitem{k}",
        "--",
        "``",
        "#1",
        "\\let\\x\\y",
        "\\newif\\ifa",
        "\\ifa ",
    ],
    "xml": [
        "<article>",
        "</article>",
        "<sec>",
        "</sec>",
        "<title>",
        "</title>",
        "<p>",
        "</p>",
        "<xref rid='a'/>",
        "<section id='a'>",
        "</section>",
        "&amp;",
        "&x;",
        "<![CDATA[",
        "]]>",
        "<!--",
        "-->",
        "<?pi?>",
        "text ",
        "\n",
        "<b>",
        "</b>",
        "<!DOCTYPE a [<!ENTITY x 'y'>]>",
        "<?xml version='1.0'?>",
        "<list><item>",
        "</item></list>",
        "<info>",
        "</info>",
        "<head>",
        "</head>",
        "é",
        "<table><row><entry>",
        "</entry></row></table>",
    ],
    "rst": [
        "A\n=\n\n",
        "B\n-\n\n",
        "\\ ",
        "\\*",
        "*a*",
        "``b``",
        ":func:`",
        ":class:`~a.B <",
        ":option:`a -b=1` ",
        ":ref:`甲 <",
        ":x:`!",
        ">`",
        "`_ ",
        ".. _乙:\n\n",
        ".. _a b:\n\n",
        "\n\n.. function:: f(\n   g\n",
        "\n\n.. py:class:: a.B\n\n",
        "   .. method:: c()\n\n",
        "\n\n.. class:: d\n",
        "\n\n.. module:: m\n",
        "\n\n.. option:: -b, --bb=<x>\n",
        "\n\n.. cpp:function:: template<a<b>> x::y(\n",
        "\n\n.. versionadded::",
        "\n\n.. contents::\n",
        "\n\n.. toctree::\n\n   a\n",
        "\n\n   text\n",
        "text ",
        "\n",
        "\t",
        "\x00",
        "\x1b",
    ],
}


def documents(format: str):
    return st.lists(st.one_of(st.sampled_from(PIECES[format]), st.text(max_size=6)), max_size=40).map("".join)


def well_formed():
    """XML that is well-formed, of the elements that readers know."""
    names = st.sampled_from(
        [
            "article",
            "sec",
            "section",
            "title",
            "p",
            "para",
            "b",
            "list",
            "item",
            "xref",
            "table",
            "row",
            "entry",
            "info",
            "div",
            "head",
            "other",
        ]
    )
    words = st.text(
        st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"), exclude_characters="<&>\ufffe\uffff"), max_size=8
    )

    def element(children):
        return st.builds(
            lambda name, inner: f"<{name} id='a' rid='b c'>{''.join(inner)}</{name}>",
            names,
            st.lists(st.one_of(words, children), max_size=5),
        )

    return st.recursive(st.builds(lambda name, word: f"<{name}>{word}</{name}>", names, words), element, max_leaves=20)


def check_tree(document) -> None:
    assert document.root.level == 0
    for section, path in document.root.walk_with_path():
        assert all(above.level < below.level for above, below in pairwise(path[1:]))
        assert section.text == section.text.strip("\n")
        for said in (section.title, section.text, *section.anchors, *(link.target for link in section.links)):
            assert not {c for c in said if unicodedata.category(c) == "Cc"} - {"\n", "\t"}
        for link in section.links:
            assert 0 <= link.start <= link.end <= len(section.text)
            assert link.start == link.end or not link.text or section.text[link.start : link.end] == link.text


@pytest.mark.parametrize(
    ("format", "text", "expected"),
    [
        ("latex", r"\ref{a}\begin{itemize}\ref{a}", ""),
        ("latex", "Before \\ref{a}\n\n\\ref{b}\n\nAfter \\ref{c}, and \\ref{d}", "Before\n\nAfter, and"),
        ("xml", "<article><article>0</article><xref rid='b c'></xref></article>", "0"),
    ],
)
def test_references_that_show_nothing_leave_no_gap(format, text, expected):
    [document] = read(text.encode(), format=format)
    assert document.root.text == expected
    check_tree(document)


@pytest.mark.parametrize("format", PIECES)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_any_text_reads_to_a_valid_tree_or_is_refused_in_words(format, data):
    text = data.draw(documents(format))
    with suppress(ReadError):
        for document in read(text.encode("utf-8", "surrogatepass"), format=format):
            check_tree(document)
            assert rows_document(*document_rows(document)) == document


@settings(max_examples=150, deadline=None)
@given(well_formed())
def test_any_well_formed_xml_reads_to_a_valid_tree(text):
    for document in read(text.encode(), format="xml"):  # a file without text gives none
        check_tree(document)


@pytest.mark.parametrize("format", PIECES)
@settings(max_examples=80, deadline=None)
@given(data=st.binary(max_size=200))
def test_any_bytes_read_or_are_refused_in_words(format, data):
    with suppress(ReadError):
        list(read(data, format=format))


@pytest.mark.parametrize("format", PIECES)
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_line_ends_do_not_matter(format, data):
    text = data.draw(documents(format)).replace("\r", "")
    results = []
    for variant in (text, text.replace("\n", "\r\n")):
        try:
            results.append(
                [document.root for document in read(variant.encode("utf-8", "surrogatepass"), format=format)]
            )
        except ReadError:
            results.append(None)
    assert results[0] == results[1]


DIGITS = "9" * 5000  # Python turns no more than 4,300 into a number


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("html", f"<div role=heading aria-level={DIGITS}>A</div><ol start={DIGITS}><li value={DIGITS}>kept</ol><td colspan={DIGITS}>"),
        ("latex", rf"\newcommand{{\x}}[{DIGITS}]{{a}}\setcounter{{section}}{{{DIGITS}}}\begin{{document}}kept \x\end{{document}}"),
        ("markdown", f"{DIGITS}. kept\n\n|a|\n|-|\n|{DIGITS}|\n"),
        ("wikitext", f"<mediawiki><page><title>A</title><ns>{DIGITS}</ns><revision><text>kept</text></revision></page></mediawiki>"),
        ("wikitext", f"kept {{{{#expr:{DIGITS}}}}} [[File:x|{DIGITS}px]]"),
        ("rst", f"{DIGITS}. kept\n\n.. image:: x\n   :width: {DIGITS}\n"),
        ("xml", f"<book version='5'><title>A</title><para>kept</para><tgroup cols='{DIGITS}'><colspec colnum='{DIGITS}'/></tgroup></book>"),
        ("notebook", '{"nbformat": 4, "nbformat_minor": ' + DIGITS + ', "metadata": {}, "cells": [{"cell_type": "markdown", "metadata": {}, "source": "kept"}]}'),
    ],
)  # fmt: skip
def test_a_number_of_any_length_stops_no_reader(name, text):
    with suppress(ReadError):
        assert any("kept" in document.root.subtree_text() for document in read(text.encode(), format=name))
