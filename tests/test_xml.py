"""XML: vocabularies, a user's own mapping, entities, inclusions."""

from __future__ import annotations

import pytest
from structformer.errors import ReadError, UsageError

from reading import Folder, links, one, outline, text
from structformer_xml import XmlFormat
from structformer_xml.vocabulary import from_toml

DB = 'xmlns="http://docbook.org/ns/docbook" xmlns:xlink="http://www.w3.org/1999/xlink"'


def test_docbook():
    page = f"""<article {DB}><info><title>T</title></info><para>Lead.</para>
<section xml:id="s1"><title>One</title><para>Text <link linkend="s2">there</link>, <link xlink:href="https://e.org">out</link>.</para>
<note><title>Mind</title><para>This.</para></note><programlisting>x =
  1</programlisting></section>
<section xml:id="s2"><title>Two</title><itemizedlist><listitem><para>a</para></listitem><listitem><para>b</para></listitem></itemizedlist></section></article>"""
    document = one(page, "xml")
    assert outline(document) == [(0, "T"), (1, "One"), (1, "Two")]
    assert document.root.text == "Lead."
    assert links(document) == [("xref", "#s2", "there"), ("hyperlink", "https://e.org", "out")]
    assert document.root.children[0].text == "Text there, out.\n\nMind\n\nThis.\n\nx =\n  1"
    assert document.root.children[1].text == "a\nb"


def test_a_docbook_reference_page_and_its_related_pages():
    page = f"""<refentry xml:id="function.knot" {DB}><refnamediv><refname>knot</refname><refpurpose>Ties</refpurpose></refnamediv>
<refsect1 role="seealso"><title>See Also</title><simplelist><member><function>bend</function></member></simplelist></refsect1></refentry>"""
    document = one(page, "xml")
    assert (document.title, links(document)) == ("knot", [("see_also", "name:bend", "bend")])
    assert {"id:function.knot", "name:knot"} <= set(document.names)


def test_jats():
    page = """<article><front><article-meta><article-id pub-id-type="doi">10.1/x</article-id><title-group><article-title>On <italic>knots</italic></article-title>
</title-group><contrib-group><contrib><name><surname>Lee</surname></name><xref ref-type="aff" rid="a1">1</xref></contrib></contrib-group>
<abstract><p>Short.</p></abstract></article-meta></front><body><sec id="s1"><title>Intro</title><p>As in <xref ref-type="bibr" rid="b1 b2">[1,2]</xref>.</p>
<sec><title>Deep</title><p>x</p></sec></sec></body><back><ref-list><title>References</title><ref id="b1"><mixed-citation>Lee 1999</mixed-citation></ref></ref-list></back></article>"""
    document = one(page, "xml")
    assert document.title == "On knots"
    assert outline(document) == [(0, "On knots"), (1, "Intro"), (2, "Deep"), (1, "References")]
    assert document.root.text == "Short."
    assert [link for link in links(document) if link[0] == "citation"] == [
        ("citation", "#b1", "[1,2]"),
        ("citation", "#b2", "[1,2]"),
    ]
    assert "b1" in document.root.children[1].anchors


def test_tei_and_dita():
    tei = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>Log</title></titleStmt></fileDesc></teiHeader>
<text><body><div xml:id="d"><head>Day one</head><p>We <ref target="#d">sailed</ref>.</p><div><head>Night</head><p>Dark.</p></div></div></body></text></TEI>"""
    assert outline(one(tei, "xml")) == [(0, "Log"), (1, "Day one"), (2, "Night")]
    dita = """<concept id="c"><title>Knots</title><shortdesc>Short.</shortdesc><conbody><p>a</p><section id="u"><title>Uses</title><p>b</p></section></conbody>
<related-links><link href="sails.dita"><linktext>Sails</linktext></link></related-links></concept>"""
    document = one(dita, "xml")
    assert outline(document) == [(0, "Knots"), (1, "Uses")]
    assert links(document) == [("see_also", "sails.dita", "Sails")]


def test_an_unknown_vocabulary_by_its_titles_and_by_a_mapping():
    page = "<manual><part><title>One</title><para>a</para><part><title>Deep</title></part></part></manual>"
    assert outline(one(page, "xml"))[1:] == [(1, "Deep")] or outline(one(page, "xml"))[-1][1] == "Deep"
    own = "<handbuch><kapitel id='k'><name>Eins</name><satz>Ein langer Satz, <wort>fett</wort> gesetzt.</satz><siehe ziel='k'>dort</siehe></kapitel></handbuch>"
    mapping = 'sections = ["kapitel"]\ntitles = ["name"]\nparagraphs = ["satz"]\nreferences = ["siehe"]\n[targets]\nziel = "#"\n'
    document = one(own, "xml", mapping=mapping)
    assert (document.title, document.root.text) == ("Eins", "Ein langer Satz, fett gesetzt.\n\ndort")
    assert links(document) == [("xref", "#k", "dort")]


def test_a_wrong_mapping_is_named():
    for broken, message in (
        ("x = 1", "no key 'x'"),
        ("sections = 3", "must be a list"),
        ("=", "mapping"),
        ('extends = "nothing"', "built in"),
    ):
        with pytest.raises(UsageError, match=message):
            from_toml(broken, "mapping")


def test_broken_xml_is_refused_with_its_line():
    for data, message in (
        (b"<a>\n<b></a>", "line 2: not well-formed"),
        (b"", "empty"),
        (b"<a/><b/>", "line 1"),
        (b"\xef\xbb\xbf<?xml version='1.0' encoding='latin-1'?><a/>", "mark"),
    ):
        with pytest.raises(ReadError, match=message):
            one(data, "xml")


def test_entities_within_limits_and_from_files_of_the_folder_only():
    laughs = (
        '<!DOCTYPE a [<!ENTITY a0 "lol">'
        + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10))
        + "]><a><p>&a9;</p></a>"
    )
    with pytest.raises(ReadError, match=r"amplification|entity"):
        one(laughs, "xml")
    folder = Folder(
        {
            "book.xml": '<!DOCTYPE book [<!ENTITY ch SYSTEM "ch.xml"><!ENTITY out SYSTEM "../../etc/passwd">]><book><title>B</title>&ch;<p>&out;&name; &nbsp;&eacute;</p></book>',
            "ch.xml": '<?xml version="1.0"?><section><title>C</title><p>&#60;kept&#62;</p></section>',
            "lang.ent": "<!ENTITY name 'the name'>",
        }
    )
    source = folder.source("book.xml")
    [document] = XmlFormat().read(source, {})
    assert "the name" in text(document)
    assert "é" in text(document)
    assert "<kept>" in text(document)
    assert outline(document) == [(0, "B"), (1, "C")]
    assert any("not inside the ingested folder" in warning for warning in source.warnings)
    assert {"ch.xml", "lang.ent", "*.ent"} <= source.dependencies


def test_inclusions_inside_the_folder():
    xi = 'xmlns:xi="http://www.w3.org/2001/XInclude"'
    folder = Folder(
        {
            "book.xml": f'<book {DB} {xi}><title>B</title><xi:include href="c/one.xml"/><xi:include href="../out.xml"><xi:fallback><para>instead</para></xi:fallback>'
            f'</xi:include><xi:include href="book.xml"/></book>',
            "c/one.xml": f"<chapter {DB} xml:id='c1'><title>One</title><para>x</para></chapter>",
        }
    )
    source = folder.source("book.xml")
    [document] = XmlFormat().read(source, {})
    assert outline(document) == [(0, "B"), (1, "One")]
    assert "instead" in text(document)
    assert XmlFormat().parts(folder.source("book.xml")) == {"c/one.xml"}
    assert any("includes itself" in warning for warning in source.warnings)


def test_a_big_file_read_as_a_stream_gives_the_same_tree(monkeypatch):
    page = (
        f"<article {DB}><title>T</title>"
        + "".join(
            f"<section xml:id='s{n}'><title>S{n}</title><para>w{n} <link linkend='s0'>x</link> y</para></section>"
            for n in range(300)
        )
        + "</article>"
    )
    whole = one(page, "xml")
    monkeypatch.setattr("structformer_xml.format.BIG", 100)
    assert one(page, "xml") == whole


def test_a_suggested_mapping_reads_what_it_was_suggested_from():
    page = b"""<buch><kapitel id="a"><ueberschrift>Eins</ueberschrift><absatz>Hier steht ein Absatz mit genug Worten darin, <fett>fett</fett> und lang.</absatz>
<verweis ziel="b">zu b</verweis></kapitel><kapitel id="b"><ueberschrift>Zwei</ueberschrift><absatz>Noch ein Absatz, der genug Worte hat, um als Text zu gelten, ja.</absatz></kapitel></buch>"""
    mapping = XmlFormat().suggest_mapping(Folder({"b.xml": page}).source("b.xml"))
    document = one(page, "xml", mapping=mapping)
    assert outline(document)[1:] == [(1, "Eins"), (1, "Zwei")]
    assert ("xref", "#b", "zu b") in links(document)
