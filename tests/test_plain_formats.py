"""The four formats that are read in their plainest form: what they do read."""

from __future__ import annotations

import pytest
from structformer import Document, read
from structformer.errors import ReadError
from structformer.graph import build_graph
from structformer.ingest import ingest


def outline(document: Document) -> list[tuple[int, str]]:
    return [(len(path) - 1, section.title) for section, path in document.root.walk_with_path()]


def links(document: Document) -> list[tuple[str, str, str]]:
    return [(link.kind.value, link.target, link.text) for link in document.links()]


def test_html():
    page = b"""<html lang="en"><head><title>Page</title><style>x</style></head><body><nav>menu</nav>
    <h1 id="top">Top</h1><p>One <b>two</b>.</p><h2>See also</h2><ul><li><a href="b.html">the next</a></li></ul><script>no()</script></body></html>"""
    [document] = read(page, format="html")
    assert outline(document) == [(0, "Top"), (1, "See also")]
    assert (document.title, document.language, document.root.text) == ("Page", "en", "One two.")
    assert links(document) == [("see_also", "b.html", "the next")]


def test_html_in_the_encoding_it_declares():
    [document] = read('<html><meta charset="windows-1251"><body><h1>Привет</h1>'.encode("cp1251"), format="html")
    assert document.title == "Привет"


def test_wikitext():
    [document] = read(b"Lead '''bold''' [[Page name|shown]].\n== Part ==\ntext\n=== Deep ===\n== See also ==\n* [[Other]]\n[[Category:X]]",
                      format="wikitext")  # fmt: skip
    assert outline(document) == [(0, "document"), (1, "Part"), (2, "Deep"), (1, "See also")]
    assert document.root.text == "Lead bold shown."
    assert links(document) == [("hyperlink", "Page name", "shown"), ("see_also", "Other", "Other"), ("category", "Category:X", "")]


def test_latex():
    text = rb"""\documentclass{article}\title{The Title}\begin{document}
\section{One}\label{sec:one} See \ref{sec:two} and \cite{knuth,lamport}. % comment
\subsection{Two}\label{sec:two} Go to \href{https://x.y}{the site}.\end{document}"""
    [document] = read(text, format="latex")
    assert outline(document) == [(0, "The Title"), (1, "One"), (2, "Two")]
    assert links(document) == [
        ("xref", "#sec:two", ""), ("citation", "cite:knuth", ""), ("citation", "cite:lamport", ""), ("hyperlink", "https://x.y", "the site")
    ]  # fmt: skip
    assert "comment" not in document.root.subtree_text()


def test_xml():
    text = b"""<?xml version="1.0"?><article><title>T</title><para>Lead.</para>
<section xml:id="s1"><title>One</title><para>Text <link linkend="s2">there</link>.</para></section>
<section xml:id="s2"><title>Two</title><para>More.</para></section></article>"""
    [document] = read(text, format="xml")
    assert outline(document) == [(0, "T"), (1, "One"), (1, "Two")]
    assert document.root.text == "Lead."
    assert links(document) == [("xref", "#s2", "there")]
    with pytest.raises(ReadError, match="line 1: not well-formed"):
        list(read(b"<a><b></a>", format="xml"))


def test_an_external_entity_is_never_read(tmp_path):
    (tmp_path / "secret").write_text("CANARY")
    text = f'<!DOCTYPE a [<!ENTITY e SYSTEM "file://{tmp_path}/secret">]><a><title>T</title><p>x &e; y</p></a>'
    [document] = read(text.encode(), format="xml")
    assert "CANARY" not in document.root.subtree_text()


def test_links_between_files_of_each_format_resolve(tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "a.html").write_text('<h1>A</h1><p><a href="b.html#x">b</a></p>')
    (pages / "b.html").write_text('<h1>B</h1><h2 id="x">X</h2><p>t</p>')
    (pages / "One_page.wiki").write_text("[[Other page#Part]]")
    (pages / "Other page.wiki").write_text("== Part ==\nt")
    (pages / "a.tex").write_text("\\section{S}\\label{s} \\ref{u}")
    (pages / "b.tex").write_text("\\section{U}\\label{u}")
    (pages / "a.xml").write_text('<d><title>T</title><p id="p">x <xref linkend="q"/></p></d>')
    (pages / "b.xml").write_text('<d><title>T</title><sec id="q"><title>Q</title></sec></d>')
    ingest(pages, tmp_path / "w")
    graph = build_graph(tmp_path / "w")
    assert sum(counts["resolved"] for counts in graph.statistics["links"].values()) == 4
    assert {(edge["source_document"], edge["target_document"], edge["target_section"]) for edge in graph.edges()} == {
        (0, 1, 1),
        (2, 5, 1),
        (3, 6, 1),
        (4, 7, 1),
    }
