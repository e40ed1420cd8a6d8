"""XML that is cut short or broken: what precedes the damage is kept and the damage is said; the rest of the rules hold."""

from __future__ import annotations

import pytest
from structformer.errors import ReadError
from structformer.formats import SourceFile
from structformer.ingestion import read

from structformer_xml import format as xml_format
from structformer_xml.format import XmlFormat

DOCBOOK = """<book><title>Boats</title>
<chapter id="hulls"><title>Hulls</title><para>A hull floats.</para></chapter>
<chapter><title>Oars</title><para>An oar moves a boat. <emphasis>Two"""
JATS = """<article xmlns:xlink="http://www.w3.org/1999/xlink"><front><article-meta><title-group>
<article-title>Boats</article-title></title-group></article-meta></front><body>
<sec><title>Hulls</title><p>A hull floats.</p></sec>
<sec><title>Oars</title><p>An oar moves a boat. <italic>Two"""
TEI = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>Boats</title></titleStmt></fileDesc>
</teiHeader><text><body>
<div><head>Hulls</head><p>A hull floats.</p></div>
<div><head>Oars</head><p>An oar moves a boat. <hi>Two"""
DITA = """<topic id="boats"><title>Boats</title><body>
<section><title>Hulls</title><p>A hull floats.</p></section>
<section><title>Oars</title><p>An oar moves a boat. <b>Two"""
OTHER = """<manual><title>Boats</title>
<part><title>Hulls</title><text>A hull floats.</text></part>
<part><title>Oars</title><text>An oar moves a boat. <em>Two"""


def sections(data: str | bytes) -> tuple[list[tuple[str, str]], SourceFile]:
    """(title and text of the sections of a file, the file with what was said of it)."""
    source = SourceFile("boats.xml", data.encode() if isinstance(data, str) else data)
    [document] = XmlFormat().read(source, {})
    return [(section.title, section.text) for section in document.sections()], source


@pytest.mark.parametrize("damage", ["", " more & less</", "<b></c>", "\x01"])
@pytest.mark.parametrize("data", [DOCBOOK, JATS, TEI, DITA, OTHER])
def test_all_before_the_damage_is_kept_in_every_dialect(data, damage):
    found, source = sections(data + damage)
    assert [title for title, _ in found] == ["Boats", "Hulls", "Oars"]
    assert [text for _, text in found][1:2] == ["A hull floats."]
    assert found[2][1].startswith("An oar moves a boat. Two")
    assert source.is_damaged
    [said] = source.warnings
    assert said.startswith(f"line {data.count(chr(10)) + 1}: not well-formed (")
    assert said.endswith("): what precedes it is kept")


def test_a_long_file_that_is_read_as_a_stream_keeps_it_too(monkeypatch):
    monkeypatch.setattr(xml_format, "BIG", 100)
    found, source = sections(DOCBOOK)
    assert found[:2] == [("Boats", ""), ("Hulls", "A hull floats.")]
    assert found[2][1].startswith("An oar moves a boat.")
    assert source.is_damaged


def test_a_title_and_a_paragraph_are_a_section_before_the_damage():
    assert sections("<article><title>Boats</title><para>A boat floats")[0] == [("Boats", "A boat floats")]
    for nothing in ("<article><title>Boats", "<article><para>A boat floats", "<article><title>Boats</title>", "<a"):
        with pytest.raises(ReadError, match="line 1: not well-formed"):
            sections(nothing)


def test_entities_that_multiply_and_prefixes_that_nobody_declares_are_no_damage():
    chapter = "<chapter><title>Hulls</title><para>A hull floats.</para></chapter>"
    lol = "".join(f'<!ENTITY a{number} "{f"&a{number - 1};" * 10}">' for number in range(1, 10))
    for refused in (
        f'<!DOCTYPE book [<!ENTITY a0 "lol">{lol}]><book><title>Boats</title>{chapter}<para>&a9;</para></book>',
        f'<!DOCTYPE book [<!ENTITY a "&b;"><!ENTITY b "&a;">]><book><title>Boats</title>{chapter}<para>&a;</para></book>',
        f"<book><title>Boats</title>{chapter}<para other:a='b'>x</para></book>",
    ):
        with pytest.raises(ReadError):
            sections(refused)


def test_the_summary_names_the_file_and_counts_it(tmp_path, run):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "boats.xml").write_text(DOCBOOK)
    (folder / "whole.xml").write_text("<article><title>Sails</title><para>A sail.</para></article>")
    (folder / "nothing.xml").write_text("<article><para>")
    done = run("ingest", folder, "-w", tmp_path / "ws")
    assert done.code == 0
    assert "files: 3 seen: 2 read, 0 included by others, 0 skipped, 1 failed; 1 damaged, read in part" in done.out
    assert "boats.xml: line 3: not well-formed (" in done.err
    assert "what precedes it is kept" in done.err
    assert [document.title for document in read(folder)] == ["Boats", "Sails"]
    for path in ("boats.xml", "whole.xml"):
        (folder / path).unlink()
    assert run("ingest", folder, "-w", tmp_path / "other").code == 1  # nothing is left to keep
