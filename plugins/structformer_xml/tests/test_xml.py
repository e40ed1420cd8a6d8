"""XML: vocabularies, a user's own mapping, entities, inclusions."""

from __future__ import annotations

from contextlib import suppress

import pytest
from structformer import read
from structformer.document import Document
from structformer.errors import ReadError, UsageError
from structformer.formats.source import SourceFile

from reading import Folder, links, one, outline, text
from structformer_xml.format import XmlFormat
from structformer_xml.vocabulary import BUILT_IN, built_in, from_toml

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


def test_a_mapping_adds_to_names_and_removes_some():
    own = from_toml('titles = "kopf titel"\ncells.remove = "td th"\ninline.add = ["wort"]', "mapping")
    common = from_toml("", "mapping")
    assert (own.titles, common.titles) == ({"kopf", "titel"}, {"title"})
    assert own.cells == common.cells - {"td", "th"}
    assert own.inline == common.inline | {"wort"}
    extending = from_toml('extends = "tei"\nroots.remove = ["TEI.2"]\nskipped_in = { q = "a b" }', "mapping")
    assert (extending.name, extending.roots) == ("tei", {"TEI", "teiCorpus"})
    assert extending.skipped_in == {"q": {"a", "b"}}
    assert extending.sections == built_in("tei").sections
    by_part = from_toml('[parts]\n"list @ab 1" = "folge reihe"\n"" = ["list/li"]', "mapping").marks
    assert by_part == {**common.marks, "folge": "list @ab 1", "reihe": "list @ab 1", "list/li": ""}


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_built_in_vocabulary_is_a_table_that_a_mapping_may_extend(name: str):
    vocabulary = built_in(name)
    assert vocabulary.name == name
    assert vocabulary.sections
    assert from_toml(f'extends = "{name}"', "mapping") == vocabulary


def test_a_wrong_mapping_is_named():
    for broken, message in (
        ("x = 1", "no key 'x'"),
        ("sections = 3", "must be a list"),
        ('lines.take = ["a"]', "lines must be a list"),
        ("lines.remove = 3", "lines must be a list"),
        ("skipped_in = []", "skipped_in must be dict"),
        ("=", "mapping"),
        ('extends = "nothing"', "built in"),
    ):
        with pytest.raises(UsageError, match=message):
            from_toml(broken, "mapping")


def test_xlink_needs_no_declaration():
    page = b'<article><title>A</title><para>See <ulink xlink:href="b.xml#c">there</ulink>.</para></article>'
    [document] = XmlFormat().read(SourceFile("a.xml", page), {})
    assert document.root.text == "See there."
    assert [(link.target, link.text) for link in document.links()] == [("b.xml#c", "there")]
    with pytest.raises(ReadError, match="Namespace prefix other"):
        list(XmlFormat().read(SourceFile("a.xml", page.replace(b"xlink", b"other")), {}))


def test_broken_xml_is_refused_with_its_line():
    for data, message in (
        (b"<a>\n<b></a>", "line 2: not well-formed"),
        (b"", "empty"),
        (b"<a/><b/>", "line 1"),
        (b"\xef\xbb\xbf<?xml version='1.0' encoding='latin-1'?><a/>", "mark"),
    ):
        with pytest.raises(ReadError, match=message):
            one(data, "xml")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-16"])
@pytest.mark.parametrize("declared", ["", " encoding='UTF-16'"])
def test_entities_are_found_in_utf_16_with_a_mark_or_without(encoding, declared):
    page = f"<?xml version='1.0'{declared}?><article><title>Größe</title><para>&eacute;tai 結び方</para></article>"
    document = one(page.encode(encoding), "xml")
    assert document.title == "Größe"
    assert "étai 結び方" in text(document)


def test_utf_8_that_is_declared_as_latin_1_is_utf_8():
    page = "<?xml version='1.0' encoding='ISO-8859-1'?><article><title>Größe</title><para>étai</para></article>"
    assert [one(page.encode(encoding), "xml").title for encoding in ("utf-8", "latin-1")] == ["Größe", "Größe"]


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


def test_a_book_s_files_name_files_that_the_book_declares():
    files = {name: f'<!ENTITY {name} SYSTEM "{name}.xml">' for name in ("parts", "oars", "sails", "unused")}
    folder = Folder(
        {
            "book.xml": f"<!DOCTYPE book [{''.join(files.values())}]><book><title>B</title>&parts;</book>",
            "parts.xml": "<chapter><title>Parts</title>&oars;&sails;</chapter>",
            "oars.xml": "<section><title>Oars</title><!-- a & b --><screen><![CDATA[row && &#65; &sails;]]></screen></section>",
            "sails.xml": "<section><title>Sails</title><para>Up &#38; down.</para></section>",
            "unused.xml": "<section><title>Unused</title><para>Not.</para></section>",
        }
    )
    source = folder.source("book.xml")
    [document] = XmlFormat().read(source, {})
    assert outline(document) == [(0, "B"), (1, "Parts"), (2, "Oars"), (2, "Sails")]
    assert text(document).endswith("row && &#65; &sails;\nSails\nUp & down.")
    assert XmlFormat().parts(source) == {"parts.xml", "oars.xml", "sails.xml"}


@pytest.mark.parametrize("part", ["<para>&a;</para>", "&b;&b;", "&c;" * 50_000])
def test_files_that_name_each_other_without_end_are_refused(part):
    declared = "".join(f'<!ENTITY {name} SYSTEM "{name}.xml">' for name in "abc")
    book = f"<!DOCTYPE book [{declared}]><book><title>B</title>&a;</book>"
    folder = Folder({"book.xml": book, "a.xml": part, "b.xml": "x&a;", "c.xml": "y" * 50_000})
    with pytest.raises(ReadError, match=r"entity|MB"):
        list(XmlFormat().read(folder.source("book.xml"), {}))


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


@pytest.mark.parametrize(
    ("inner", "said"),
    [
        (
            "<personname><firstname>Ann</firstname><surname>Bee</surname></personname> and others",
            "Ann Bee and others",
        ),
        ("<keycombo><keycap>Ctrl</keycap><keycap>C</keycap></keycombo> stops", "Ctrl+C stops"),
        ("<menuchoice><guimenu>File</guimenu><guimenuitem>Open</guimenuitem></menuchoice>", "File > Open"),
        ("<cmdsynopsis><command>ls</command><arg>-l</arg><arg>-a</arg></cmdsynopsis>", "ls [-l] [-a]"),
        ("<menuchoice>\n<guimenu>File</guimenu>\n<guimenuitem>Open</guimenuitem>\n</menuchoice>.", "File > Open."),
        (
            "<cmdsynopsis><command>cp</command><arg choice='req' rep='repeat'>f</arg>\n<group>\n<arg choice='plain'>-x</arg>\n"
            "<arg choice='plain'>-y</arg>\n</group><arg choice='plain'>to</arg></cmdsynopsis>",
            "cp {f...} [-x | -y] to",
        ),
        ("He said <quote>yes</quote>.", "He said “yes”."),
        ("<emphasis>un</emphasis><emphasis>real</emphasis>", "unreal"),
        ("x<subscript>1</subscript><superscript>2</superscript>", "x1²"),
        ("see <citerefentry><refentrytitle>cp</refentrytitle><manvolnum>1</manvolnum></citerefentry>.", "see cp(1)."),
    ],
)
def test_neighbours_that_nothing_joins_are_parted(inner, said):
    page = f"<article {DB}><title>T</title><para>{inner}</para></article>"
    assert one(page, "xml").root.text == said


def test_a_citation_keeps_its_words_apart_and_its_volume():
    page = """<article><front><article-meta><title-group><article-title>T</article-title></title-group><volume>9</volume></article-meta></front>
<back><ref-list><title>References</title><ref><element-citation><person-group><name><surname>Lee</surname><given-names>A</given-names></name><name>
<surname>Ray</surname><given-names>B</given-names></name></person-group><year>2009</year><article-title>Knots: a study</article-title><volume>37</volume>
<fpage>W2</fpage></element-citation></ref></ref-list></back></article>"""
    document = one(page, "xml")
    assert document.root.children[0].text == "Lee A Ray B 2009 Knots: a study 37 W2"
    assert "9" not in document.root.text


def test_what_tei_says_in_two_ways_is_read_once_and_examples_are_text():
    page = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>Log</title></titleStmt></fileDesc></teiHeader><text><body><div>
<head>Day</head><p>break<lb/>here be<lb break="no"/>fore a<pb/>b <choice><sic>teh</sic><corr>the</corr></choice> <app><lem>sea</lem><rdg>see</rdg></app>
<ref target="#a #b">both</ref></p><egXML xmlns="http://www.tei-c.org/ns/Examples"><div><head>Shown</head><ptr target="#q"/></div></egXML></div></body></text></TEI>"""
    document = one(page, "xml")
    assert outline(document) == [(0, "Log"), (1, "Day")]
    assert document.root.children[0].text == "break here before a b the sea both\n\nShown"
    assert links(document) == [("xref", "#a", "both"), ("xref", "#b", "both")]


def test_a_book_of_parts_with_sections():
    page = """<book><book-meta><book-title-group><book-title>Knots</book-title></book-title-group></book-meta><book-body><book-part><book-part-meta>
<title-group><title>One</title></title-group></book-part-meta><body><sec><title>Bends</title><p>x</p></sec></body></book-part></book-body></book>"""
    document = one(page, "xml")
    assert (document.title, outline(document)) == ("Knots", [(0, "Knots"), (1, "One"), (2, "Bends")])


def test_manual_pages_that_name_each_other():
    page = f"""<refentry {DB}><refmeta><refentrytitle>mv</refentrytitle><manvolnum>1</manvolnum></refmeta><refnamediv><refname>mv</refname>
<refpurpose>move</refpurpose></refnamediv><refsect1><title>See also</title><para><citerefentry><refentrytitle>cp</refentrytitle><manvolnum>1</manvolnum>
</citerefentry></para></refsect1></refentry>"""
    document = one(page, "xml")
    assert links(document) == [("see_also", "name:cp(1)", "cp(1)")]
    assert {"name:mv", "name:mv(1)"} <= set(document.names)
    assert list(XmlFormat().resolve(document.root.children[0].links[0], document)) == ["name:cp(1)", "name:cp"]


def test_references_by_bare_ids_show_what_they_lead_to():
    page = """<document><title>Arriving</title><section id="a"><title>Approach</title><content>Keep left. See also <reference target="b"/>.</content></section>
<section id="b"><title>Moorings</title><content>By <reference target="a">the approach</reference>, not <reference target="gone"/> .</content></section></document>"""
    document = one(page, "xml")
    first, second = document.root.children
    assert first.text == "Keep left. See also Moorings."
    assert second.text == "By the approach, not."
    assert links(document) == [("see_also", "#b", ""), ("xref", "#a", "the approach"), ("hyperlink", "gone", "")]
    assert first.text[first.links[0].start : first.links[0].end] == "Moorings"


@pytest.mark.parametrize(
    "name",
    [
        "svg",
        "xsl:stylesheet xmlns:xsl='x'",
        "mxfile",
        "plist",
        "OpenSearchDescription xmlns='x'",
        "package xmlns='http://www.idpf.org/2007/opf'",
        "project xmlns='http://maven.apache.org/POM/4.0.0'",
        "xliff xmlns='urn:oasis:names:tc:xliff:document:1.2'",
        "grammar xmlns='http://relaxng.org/ns/structure/1.0'",
    ],
)
def test_drawings_stylesheets_and_settings_are_no_documents(name):
    source = SourceFile("a.xml", f"<?xml version='1.0'?><{name}><title>T</title></{name.split()[0]}>".encode())
    assert list(XmlFormat().read(source, {})) == []
    assert source.warnings == [f"{name.split()[0].rpartition(':')[2]}: not a document"]


@pytest.mark.parametrize(
    ("page", "settings"),
    [
        ("<project version='25'><meta><String>boat</String></meta></project>", True),
        ("<resources><!-- of an app --><string name='a'>Boats</string></resources>", True),
        ("<root><resheader name='v'/><data name='a'><value>Boats</value></data></root>", True),
        ("<root><title>Boats</title><p>They float.</p></root>", False),
        ("<project><title>Boats</title><p>They float.</p></project>", False),
        ("<resources><title>Boats</title><p>They float.</p></resources>", False),
    ],
)
def test_settings_are_told_from_documents_with_the_same_first_element(page, settings):
    documents = list(XmlFormat().read(SourceFile("a.xml", page.encode()), {}))
    assert [document.title for document in documents] == ([] if settings else ["Boats"])


def test_elements_without_any_text_are_no_document():
    source = SourceFile("book.xml", b"<book title='Manual'><chapters><sub link='a.html' name='A'/></chapters></book>")
    assert list(XmlFormat().read(source, {})) == []
    assert source.warnings == ["no text: not a document"]


def test_back_matter_and_letters_without_a_title_are_not_part_of_the_abstract():
    page = """<article><front><article-meta><title-group><article-title>Fingers</article-title></title-group><abstract><p>We look.</p></abstract>
    </article-meta></front><body><sec><title>Methods</title><p>We did.</p></sec></body><back><ack><p>To all.</p></ack><ref-list><ref><mixed-citation>Lee
    1999</mixed-citation></ref></ref-list></back><sub-article><front-stub><title-group><article-title>Decision letter</article-title></title-group>
    </front-stub><body><p>Accepted.</p></body></sub-article></article>"""
    document = one(page, "xml")
    assert (document.title, document.root.text) == ("Fingers", "We look.")
    assert [(section.title, section.text) for section in document.root.children] == [
        ("Methods", "We did."),
        ("Acknowledgments", "To all."),
        ("References", "Lee 1999"),
        ("Decision letter", "Accepted."),
    ]


def test_a_footnote_in_a_title_follows_it():
    page = "<book><bookinfo><title>Boats</title></bookinfo><chapter><title>Knots<footnote><para>Tied.</para></footnote> of old</title><para>x</para></chapter></book>"
    document = one(page, "xml")
    assert [(section.level, section.title, section.text) for section in document.sections()] == [
        (0, "Boats", ""),
        (2, "Knots of old", "Tied.\n\nx"),
    ]


def jats(body: str, back: str = "", title: str = "Pears") -> Document:
    return one(
        f"""<article xmlns:mml="http://www.w3.org/1998/Math/MathML"><front><article-meta><title-group><article-title>{title}
        </article-title></title-group><abstract><p>Short.</p></abstract></article-meta></front><body>{body}</body>{back}</article>""",
        "xml",
    )


def sections(document: Document) -> list[tuple[str, str]]:
    return [(section.title, section.text) for section in document.sections()]


def test_what_stands_before_a_title_is_the_sections_own():
    document = jats("""<sec id="s1"><label>1.</label><title>Soil</title><p>Clay.</p><sec id="s2"><label>1.1</label><title>Depth</title>
    <p>Deep.</p></sec></sec><sec id="s3"><label>2</label><p>Only a number.</p></sec><sec><p>Not even that.</p></sec>""")
    assert sections(document) == [
        ("Pears", "Short."),
        ("Soil", "Clay."),
        ("Depth", "Deep."),
        ("2", "Only a number.\n\nNot even that."),
    ]
    assert [section.anchors for section in document.sections()] == [(), ("s1",), ("s2",), ("s3",)]
    chapter = """<book><book-meta><book-title-group><book-title>B</book-title></book-title-group></book-meta><book-body>
    <book-part id="c"><book-part-meta><title-group><label>Chapter 1</label><title>Bends</title></title-group></book-part-meta><body>
    <p>x</p></body></book-part></book-body></book>"""
    assert [(section.title, section.anchors) for section in one(chapter, "xml").sections()] == [
        ("B", ()),
        ("Bends", ("c",)),
    ]
    page = f"<article {DB}><title>T</title><section><titleabbrev>Kn</titleabbrev><title>Knots</title><para>x</para></section></article>"
    assert sections(one(page, "xml")) == [("T", ""), ("Knots", "x")]
    chapters = f"""<book {DB}><title>B</title><chapter><title>One</title><para>x</para></chapter><chapter xml:id="c"><info><author>
    <personname>Ann</personname></author><title>Two</title></info><para>y</para></chapter></book>"""
    document = one(chapters, "xml")
    assert sections(document) == [("B", ""), ("One", "x"), ("Two", "Ann\n\ny")]
    assert document.root.children[1].anchors == ("c",)


def test_notes_and_floats_are_no_abstract():
    document = jats(
        "<sec><title>Soil</title><p>Clay.</p></sec>",
        """<back><notes><title>Data</title><p>All.</p></notes><fn-group><fn id="n"><label>*</label><p>Paid.</p></fn></fn-group></back>
        <floats-group><fig id="f"><label>Fig. 1</label><caption><p>A pear.</p></caption></fig></floats-group>""",
        'Pears<xref ref-type="fn" rid="n">*</xref>',
    )
    assert sections(document) == [
        ("Pears", "Short."),
        ("Soil", "Clay."),
        ("Data", "All."),
        ("Notes", "* Paid."),
        ("Figures and tables", "Fig. 1\n\nA pear."),
    ]
    assert links(document) == [("xref", "#n", "*")]


def test_a_block_begins_a_line_and_a_label_ends_with_a_space():
    text = jats("""<sec><title>S</title><p>It weighs 10.<fig><label>Fig. 1</label><caption><p>A pear.</p></caption></fig> Then
    <disp-formula><tex-math>x</tex-math><label>(1)</label></disp-formula> holds.</p><code>a = 1</code><p>Call <code>f</code>.</p></sec>
    <sec><title>R</title><ref-list><ref><label>1</label><mixed-citation>Low A</mixed-citation></ref></ref-list></sec>""").root
    assert text.children[0].text == "It weighs 10.\n\nFig. 1\n\nA pear.\n\nThen\nx (1)\nholds.\n\na = 1\n\nCall f."
    assert text.children[1].text == "1 Low A"


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        (
            r"<alternatives><tex-math>\documentclass[12pt]{minimal}\usepackage{x}\begin{document}$$a + 1$$\end{document}</tex-math>"
            "<mml:math><mml:mi>a</mml:mi></mml:math><inline-graphic/></alternatives>",
            "$$a + 1$$",
        ),
        (
            "<alternatives><inline-graphic/><mml:math><mml:mi>a</mml:mi></mml:math><tex-math>a</tex-math></alternatives>",
            "a",
        ),
        ("<mml:math><mml:mfrac><mml:mn>1</mml:mn><mml:mn>2</mml:mn></mml:mfrac></mml:math>", "1/2"),
        (
            "<mml:math><mml:msup><mml:mrow><mml:mi>a</mml:mi><mml:mo>+</mml:mo><mml:mn>1</mml:mn></mml:mrow><mml:mn>2</mml:mn>"
            "</mml:msup></mml:math>",
            "(a + 1)²",
        ),
        (
            "<mml:math><mml:semantics><mml:msub><mml:mi>x</mml:mi><mml:mn>1</mml:mn></mml:msub><mml:annotation>x_1</mml:annotation>"
            "</mml:semantics></mml:math>",
            "x1",
        ),
    ],
)
def test_of_a_formula_one_version_is_read(formula, said):
    document = jats(f"<sec><title>S</title><p>Let <inline-formula>{formula}</inline-formula> be.</p></sec>")
    assert document.root.children[0].text == f"Let {said} be."


def test_what_grobid_makes_of_a_paper():
    page = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader><fileDesc><titleStmt><title>Pears</title></titleStmt></fileDesc><profileDesc>
    <textClass><keywords><term>fruit</term></keywords></textClass><abstract><div><p>We boil <ref type="bibr" target="#b0">[1]</ref>.</p></div>
    </abstract></profileDesc></teiHeader><text><body><div><head n="1">Intro</head><p>One.</p></div><div><p>Two.</p></div>
    <figure xml:id="f0"><label>1</label><figDesc>A pear.</figDesc></figure></body><back><div type="references"><listBibl>
    <biblStruct xml:id="b0"><analytic><title>Old pears</title></analytic></biblStruct></listBibl></div></back></text></TEI>"""
    document = one(page, "xml")
    assert sections(document) == [
        ("Pears", "We boil [1]."),
        ("Intro", "One.\n\nTwo."),
        ("Figures and tables", "1 A pear."),
        ("References", "Old pears"),
    ]
    assert "b0" in document.root.children[-1].anchors


def test_a_play_and_a_corrected_manuscript():
    page = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body><div><head>Act</head><castList><castItem><role>ANN</role>,
    <roleDesc>a cook</roleDesc></castItem></castList><p>the <del>way</del><add>road</add>, 10<hi rend="sup">3</hi> miles</p></div></body></text></TEI>"""
    assert one(page, "xml").root.text == "ANN, a cook\n\nthe road, 10³ miles"


def test_a_part_of_a_text_without_a_title_is_called_by_its_number():
    chapters = """<div type="textpart" subtype="chapter" n="1"><p>All Gaul</p></div><div type="chapter" n="2"><p>is</p></div>
<div n="3"><pb n="9"/><head>Of Gaul</head><p>divided.</p></div><div n="urn:cts:latin:1"><p>End.</p></div>"""
    page = f"""<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body><div type="book" n="1">{chapters}</div></body></text></TEI>"""
    assert outline(one(page, "xml")) == [(0, "book 1"), (1, "chapter 1"), (1, "chapter 2"), (1, "Of Gaul")]


def test_a_dictionarys_entries_are_sections_called_by_their_headwords():
    entries = """<entry><form><orth>boat</orth><pron>bəut</pron></form><sense><cit type="trans"><quote>Boot</quote></cit></sense></entry>
<entryFree key="oar"><orth>oar</orth> (<cit><quote>an oar</quote> <bibl><author>Bee</author> <biblScope>2</biblScope></bibl></cit>),
<tr>rudder</tr>, also <orth>ore</orth>.</entryFree>"""
    document = one(f"""<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>{entries}</body></text></TEI>""", "xml")
    assert sections(document)[-2:] == [
        ("boat", "bəut\n\nBoot"),
        ("oar", "(an oar Bee 2), rudder, also ore."),
    ]
    assert not document.root.children[0].marks


def test_a_law_is_called_by_its_title_and_its_articles_are_linked():
    body = """<article eId="art_1"><num>1.</num><heading>Of<eol/>boats</heading><p>As in <ref href="#art_2">2</ref>.</p></article>
<article eId="art_2"><num>2.</num><heading>Of oars</heading><p>None.</p></article>"""
    page = f"""<akomaNtoso><act><preface><p>Act <docTitle>on Boats</docTitle></p></preface><body>{body}</body></act></akomaNtoso>"""
    document = one(page, "xml")
    assert outline(document) == [(0, "on Boats"), (1, "Of boats"), (1, "Of oars")]
    assert ("xref", "#art_2", "2") in links(document)
    assert "art_2" in document.root.children[1].anchors
    data = "<us-bibliographic-data-grant><invention-title>An oar</invention-title></us-bibliographic-data-grant>"
    patent = (
        f"<us-patent-grant>{data}<description><heading>Field</heading><p>Boats.</p></description></us-patent-grant>"
    )
    assert one(patent, "xml").title == "An oar"


def test_a_functions_call_is_written_as_one():
    page = f"""<article {DB}><title>T</title><methodsynopsis><type>int</type> <methodname>f</methodname> <methodparam><type>string</type>
    <parameter>a</parameter></methodparam><methodparam choice="opt"><type class="union"><type>int</type>
    <type>null</type></type><parameter>b</parameter><initializer>0</initializer>
    </methodparam></methodsynopsis><methodsynopsis><methodname>g</methodname><void/></methodsynopsis><funcsynopsis><funcprototype><funcdef>int
    <function>max</function></funcdef><paramdef>int <parameter>a</parameter></paramdef></funcprototype></funcsynopsis></article>"""
    assert one(page, "xml").root.text == "int f(string a, int|null b = 0)\n\ng()\n\nint max(int a)"


def test_a_section_s_title_may_be_an_entity_that_is_declared_elsewhere():
    page = """<refentry><refnamediv><refname>oar</refname></refnamediv><refsect1 role="description">
    &reftitle.description;<para>It is &true;.</para></refsect1><section>&see.also;<para>Sails.</para></section></refentry>"""
    folder = Folder({"oar.xml": page, "lang.ent": "<!ENTITY see.also '<title>See also</title>'>"})
    source = folder.source("oar.xml")
    [document] = XmlFormat().read(source, {})
    assert outline(document) == [(0, "oar"), (1, "Description"), (1, "See also")]
    assert [section.text for section in document.root.children] == ["It is &true;.", "Sails."]
    assert "&reftitle.description;" in source.warnings[0]


def test_dita_references_to_the_topic_that_refers_and_to_lines_of_code():
    page = """<concept id="c"><title>Knots</title><conbody><p>See <xref href="#./u"/> and <xref href="b.dita#./v">v</xref>.</p>
    <codeblock><coderef href="tie.py#token=begin,end"/></codeblock><section id="u"><title>Uses</title><p>b</p></section></conbody></concept>"""
    document = one(page, "xml")
    assert [link[1] for link in links(document)] == ["#u", "b.dita#v", "tie.py"]
    assert document.root.text == "See Uses and v."


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (
            f"<article {DB}><title>T</title><para>Boil<footnote><para>In a pot.</para><para>Or <emphasis>two</emphasis>.</para></footnote>"
            "<footnote/> it.</para></article>",
            "Boil (In a pot. Or two.) it.",
        ),
        ("<concept id='c'><title>T</title><conbody><p>Boil<fn>In a pot.</fn> it.</p></conbody></concept>", "Boil (In a pot.) it."),
        (
            "<TEI xmlns='http://www.tei-c.org/ns/1.0'><text><body><div><head>T</head><p>Boil<note place='foot'><p>In a <ref target='#p'>pot</ref>."
            "</p></note> it.</p><note>At last.</note></div></body></text></TEI>",
            "Boil (In a pot.) it.\n\nAt last.",
        ),
    ],
)  # fmt: skip
def test_a_footnote_in_a_sentence_is_there_in_brackets(page, said):
    assert one(page, "xml").root.text == said


def test_the_footnotes_below_a_table_are_lines_wherever_the_table_is():
    notes = "<fn><label>a</label><p>Ripe ones.</p></fn><fn><p>Washed.</p></fn>"
    table = f"<table-wrap><table><tr><td>3</td></tr></table><table-wrap-foot>{notes}</table-wrap-foot></table-wrap>"
    page = f"<article><body><sec><title>T</title><p>Pears: {table}</p></sec></body></article>"
    assert one(page, "xml").root.text == "Pears:\n\n3\n\na Ripe ones.\nWashed."


def test_a_manual_page_in_a_book_is_a_section_called_by_its_name():
    pages = "".join(
        f"""<refentry xml:id="{name}"><refnamediv><refname>{name}</refname><refpurpose>tie</refpurpose></refnamediv>
        <refsect1><title>Use</title><para>x</para></refsect1></refentry>"""
        for name in ("bend", "hitch")
    )
    document = one(f"<book {DB}><title>B</title><reference><title>Knots</title>{pages}</reference></book>", "xml")
    assert outline(document)[1:] == [(1, "Knots"), (2, "bend"), (3, "Use"), (2, "hitch"), (3, "Use")]
    assert [section.anchors for section in document.root.children[0].children] == [("bend",), ("hitch",)]


def test_a_glossary_and_a_bibliography_without_titles_are_sections():
    page = f"""<article {DB}><title>T</title><para>Text.</para><glossary><glossentry><glossterm>Bend</glossterm><glossdef><para>A knot.
    </para></glossdef></glossentry></glossary><bibliography><bibliomixed>Lee 1999</bibliomixed></bibliography></article>"""
    assert sections(one(page, "xml")) == [("T", "Text."), ("Glossary", "Bend\n\nA knot."), ("Bibliography", "Lee 1999")]


def test_a_link_without_words_to_elsewhere_shows_its_address():
    page = f"<article {DB}><title>T</title><para>See <link xlink:href='https://e.org'/>.</para></article>"
    document = one(page, "xml")
    assert (document.root.text, links(document)) == (
        "See https://e.org.",
        [("hyperlink", "https://e.org", "")],
    )
    image = page.replace(
        "'/>", "'><inlinemediaobject><imageobject><imagedata fileref='a.png'/></imageobject></inlinemediaobject></link>"
    )
    assert one(image, "xml").root.text == "See ."


DITA = {
    "a.dita": """<concept id="a"><title>Use <keyword keyref="prod"/></title><conbody><p>Run <ph keyref="prod"/>, a <term>pear</term>, and see
    <xref keyref="bee"/>.</p><p conref="on/b.dita#b/p1">Old.</p><note conkeyref="bee/n1"/><p>In <xref href="on/b.dita#b/s1"/>, <xref
    href="#a/own"/> and <xref href="gone.dita"/>. <menucascade><uicontrol>File</uicontrol> <uicontrol>Save</uicontrol></menucascade>.</p>
    <section id="own"><title>Own</title><p conref="#a/own"/></section></conbody></concept>""",
    "on/b.dita": """<concept id="b"><title>Bee</title><titlealts><navtitle>Nav</navtitle></titlealts><conbody><p id="p1">Shared
    <xref href="c.dita">words</xref>.</p><note id="n1">Mind <ph keyref="prod"/>.</note><section id="s1"><title>Part</title></section>
    </conbody></concept>""",
    "maps/m.ditamap": """<map><title>M</title><keydef keys="prod"><topicmeta><keywords><keyword>PearOS</keyword></keywords></topicmeta></keydef>
    <keydef keys="bee" href="../on/b.dita"/></map>""",
}


def test_ditas_references_show_what_they_lead_to():
    source = Folder(DITA).source("a.dita")
    [document] = XmlFormat().read(source, {})
    assert document.title == "Use PearOS"
    assert document.root.text == (
        "Run PearOS, a pear, and see Bee.\n\nShared words.\n\nMind PearOS.\n\nIn Part, Own and. File > Save."
    )
    assert [link.target for link in document.root.links] == [
        "on/b.dita", "on/c.dita", "on/b.dita#b/s1", "#a/own", "gone.dita",
    ]  # fmt: skip
    assert {"on/b.dita", "gone.dita", "*.ditamap"} <= source.dependencies
    [other] = XmlFormat().read(Folder(DITA).source("on/b.dita"), {})
    assert "Nav" not in text(other)
    [alone] = XmlFormat().read(SourceFile("a.dita", DITA["a.dita"].encode()), {})
    assert (alone.title, "Old." in text(alone)) == ("Use", True)


def test_what_one_topic_shows_of_others_has_a_bound():
    doubled = "".join(f"<p id='p{n}'><ph conref='#a/p{n - 1}'/><ph conref='#a/p{n - 1}'/></p>" for n in range(1, 60))
    page = f"<concept id='a'><title>T</title><conbody><p id='p0'>word </p>{doubled}</conbody></concept>"
    assert len(one(page, "xml").root.text) < 2_000_000


def test_references_to_figures_show_their_titles():
    page = f"""<article {DB}><title>T</title><section><title>One</title><para>See <xref linkend="f"/>.</para>
<figure xml:id="f"><title>A <emphasis>boat</emphasis></title></figure></section></article>"""
    assert one(page, "xml").root.children[0].text == "See A boat.\n\nA boat"


def test_works_cited_in_a_sentence_stay_in_it():
    page = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body><div><head>H</head>
<p>See <bibl><author>Bee</author>, <title>Sea</title></bibl>, too.</p><listBibl><bibl>A</bibl><bibl>B</bibl></listBibl></div></body></text></TEI>"""
    assert text(one(page, "xml")).endswith("See Bee, Sea, too.\n\nA\nB")
    page = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body><entry>Boat, <bibl><author>Bee</author> <title>Sea</title>
<biblScope>2</biblScope></bibl>; of wood.</entry></body></text></TEI>"""
    assert text(one(page, "xml")).endswith("Boat, Bee Sea 2; of wood.")


def test_tables_of_choices_and_properties_and_words_parted_by_breaks():
    choices = """<chhead><choptionhd>O</choptionhd><chdeschd>D</chdeschd></chhead>
<chrow><choption>a</choption><chdesc>b</chdesc></chrow>"""
    page = f"""<task id="a"><title>T</title><taskbody><steps><step><cmd>Do.</cmd><choicetable>{choices}</choicetable></step></steps></taskbody></task>"""
    assert one(page, "xml").root.text == "Do.\n\nO | D\na | b"
    cells = "<property><proptype>a</proptype><propvalue>b</propvalue></property>"
    page = f"""<reference id="a"><title>T</title><refbody><properties>{cells}</properties></refbody></reference>"""
    assert one(page, "xml").root.text == "a | b"
    page = """<article><front/><body><sec><title>A</title><p>Big<break/>boat</p></sec></body></article>"""
    assert text(one(page, "xml")).endswith("Big boat")


def test_maven_s_pages_have_their_headings_in_attributes():
    page = """<document xmlns="http://maven.apache.org/XDOC/2.0"><properties><title>T</title></properties><body>
<section name="One"><p>a</p><subsection name="Two"><p>b</p></subsection></section><section name="Three"><p>c</p></section></body></document>"""
    assert outline(one(page, "xml")) == [(0, "T"), (1, "One"), (2, "Two"), (1, "Three")]


RFC = """<rfc docName="draft-boat"><front><title abbrev="Boats">Boats at Sea</title><author fullname="A. Bee"><address>
<email>bee@a.example</email></address></author><date year="2020"/><abstract><t>Short.</t></abstract></front>
<middle>{}</middle><back><references><name>Works</name><reference anchor="RFC1"><front><title>Host Software</title><author fullname="Crocker"/>
<abstract><t>Long.</t></abstract></front><seriesInfo name="RFC" value="1"/></reference></references></back></rfc>"""


def test_rfcs_of_both_versions():
    page = RFC.format(
        """<section anchor="hull"><name>The Hull</name><t>As <bcp14>MUST</bcp14> be, see <xref target="RFC1"/>, <xref
target="RFC2"/> and <xref target="tide"/>; <eref target="https://a.example">there</eref>.</t><ul><li>a</li><li><t>b</t></li></ul>
<figure anchor="f"><name>A boat</name><artwork>  ~~
 ~~~~</artwork></figure></section><section anchor="tide"><name>Tides</name><t>See <xref target="f"/>.</t></section>"""
    )
    document = one(page, "xml")
    assert outline(document) == [(0, "Boats at Sea"), (1, "The Hull"), (1, "Tides"), (1, "Works")]
    hull, tides, works = document.root.children
    assert (document.root.text, tides.text, works.text) == ("Short.", "See A boat.", "RFC1 Host Software")
    assert hull.text == "As MUST be, see [RFC1], [RFC2] and Tides; there.\n\na\nb\n\nA boat\n\n  ~~\n ~~~~"
    assert links(document)[:4] == [
        ("xref", "#RFC1", ""),
        ("xref", "#RFC2", ""),
        ("xref", "#tide", ""),
        ("hyperlink", "https://a.example", "there"),
    ]
    page = RFC.format(
        """<section anchor="hull" title="The Hull"><t>Parts:<list style="hanging"><t hangText="Keel">of lead</t><t>b</t></list></t>
<texttable title="Sizes"><ttcol>A</ttcol><ttcol>B</ttcol><c>1</c><c>2</c><c>3</c><c/></texttable>
<section title="Sails"><t>x</t></section></section>"""
    )
    document = one(page, "xml")
    assert outline(document)[1:] == [(1, "The Hull"), (2, "Sails"), (1, "Works")]
    assert document.root.children[0].text == "Parts:\n\nKeel of lead\n\nb\n\nSizes\n\nA | B\n1 | 2\n3 |"


def test_the_help_of_gnomes_programs():
    page = """<page xmlns="http://projectmallard.org/1.0/" type="topic" id="sails"><info><link type="guide" xref="index#all"/>
<link type="seealso" xref="ropes"/><desc>Of sails.</desc></info><title>Set <app>sails</app></title><p>Press <keyseq><key>Ctrl</key>
<key>S</key></keyseq> or <guiseq><gui>Sea</gui><gui>Set</gui></guiseq>, as in <link xref="ropes#ties">Ropes</link>.</p>
<steps><item><p>Run <cmd>sail</cmd>.</p></item></steps><section id="more"><title>More</title><code>x
  y</code></section></page>"""
    assert XmlFormat().sniff(page.encode(), "sails.page") > 0.6
    [document] = XmlFormat().read(Folder({"C/sails.page": page}).source("C/sails.page"), {})
    assert outline(document) == [(0, "Set sails"), (1, "More")]
    assert document.root.text == "Press Ctrl+S or Sea > Set, as in Ropes.\n\nRun sail."
    assert document.root.children[0].text == "x\n  y"
    assert links(document) == [
        ("hyperlink", "index#all", ""),
        ("see_also", "ropes", ""),
        ("hyperlink", "ropes#ties", "Ropes"),
    ]
    assert "C/ropes.page#ties" in list(XmlFormat().resolve(list(document.links())[2], document))


def test_open_textbooks_in_pretext():
    page = """<pretext><docinfo><macros>\\x</macros></docinfo><article xml:id="a"><title>Boats in <pretext/></title>
<section xml:id="hull"><title>Hulls</title><p>A <term>hull</term><idx>hull</idx> floats, see <xref ref="sails"/>; <q>so</q> says
<tag>p</tag>.<fn>On <em>water</em>.</fn> In Figure<nbsp/>3 is <m>x_1</m>:<md><mrow>x</mrow><mrow>y</mrow></md></p>
<theorem><title>Main</title><statement><p>All float.</p></statement></theorem>
<program language="python"><input>
x = 1
  y
</input></program></section><section xml:id="sails"><title>Sails</title><p>White.</p></section></article></pretext>"""
    document = one(page, "xml")
    assert document.metadata["vocabulary"] == "pretext"
    assert outline(document) == [(0, "Boats in PreTeXt"), (1, "Hulls"), (1, "Sails")]
    assert document.root.text == ""
    assert document.root.children[0].text == (
        "A hull floats, see Sails; “so” says <p>. (On water.) In Figure 3 is $x_1$:\n\nx\ny\n\nMain\n\nAll float.\n\nx = 1\n  y"
    )
    assert links(document) == [("xref", "#sails", "")]


def test_entities_of_a_dtd_that_the_doctype_names_or_that_a_catalogue_would_find():
    page = """<!DOCTYPE book SYSTEM "boats-en.dtd"><book><title>&app; at Sea</title><chapter><title>One</title>
<para>Choose &menu;, see <ulink url="&site;/x">there</ulink>.</para></chapter></book>"""
    dtds = {
        "boats-en.dtd": """<!ENTITY % menu "<guimenu>File</guimenu>"> <!-- <!ENTITY app "None"> -->
<!ENTITY % more SYSTEM "boats.dtd"> %more;""",
        "boats.dtd": """<!ENTITY app "<application>Sail</application>"> <!ENTITY menu "%menu;"> <!ENTITY site "https://a.example">
<!ENTITY % book PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "http://a.example/docbookx.dtd"> %book;""",
    }
    for folder in ("en/", "dtd/"):  # beside the page, or in another folder
        files = {folder + name: dtd for name, dtd in dtds.items()}
        [document] = XmlFormat().read(Folder({"en/book.xml": page, **files}).source("en/book.xml"), {})
        assert document.title == "Sail at Sea"
        assert document.root.children[0].text == "Choose File, see there."
        assert links(document) == [("hyperlink", "https://a.example/x", "there")]


def test_the_menus_of_a_site_that_a_page_takes_in_are_not_the_page():
    menus = """<project name="Boats"><title>Boats 12</title><body><menu name="Links"><item name="Home" href="index.html"/></menu></body>
</project>"""
    page = """<!DOCTYPE document [<!ENTITY project SYSTEM "project.xml">]><document>&project;<properties><title>Sails</title>
</properties><body><section name="White"><p>x</p></section></body></document>"""
    [document] = XmlFormat().read(Folder({"a.xml": page, "project.xml": menus}).source("a.xml"), {})
    assert outline(document) == [(0, "Sails"), (1, "White")]
    assert links(document) == []


def test_a_part_of_a_dtd_is_no_xml():
    assert XmlFormat().sniff(b"<?xml version='1.0'?>\n<!-- Lists -->\n<!ENTITY % list 'ul'>", "list.mod") == 0
    assert XmlFormat().sniff(b"<?xml version='1.0'?>\n<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", "a.boats") > 0.5


@pytest.mark.parametrize("root", ["<!DOCTYPE book [{}<book>", "<resources a='b'>{}", "<root a='b'>{}"])
def test_any_number_of_remarks_at_the_head_costs_no_more_than_its_length(root):
    page = root.format("<!-- It's a boat -->\n" * 150) + "<title>T</title><p>x</p>"
    with suppress(ReadError):  # of the one that is not well-formed
        list(read(page.encode(), "xml"))
    never_closed = "<book><title>T</title><p>&x;</p>" + "<!--" * 50_000
    with suppress(ReadError):
        list(read(never_closed.encode(), "xml"))


def test_a_title_that_holds_headings_and_sections_is_a_division(monkeypatch):
    """As in the laws of the United States (USLM), whose files are long: one read as a stream gives the same."""
    page = """<lawDoc><meta><title>Pan Law</title></meta><main><title identifier="/us/t9"><num>Title 9—</num><heading>PANS</heading>
<chapter identifier="/us/t9/ch1"><num>CHAPTER 1—</num><heading>GENERAL</heading>
<section identifier="/us/t9/s1"><num>§ 1.</num><heading>Heat</heading><p>Hot; see <ref href="/us/t9/s2">section 2</ref>.</p></section>
<section identifier="/us/t9/s2"><num>§ 2.</num><heading>Lids</heading><p>Cold.</p></section></chapter></title></main></lawDoc>"""
    document = one(page, "xml")
    titles = [title for _, title in outline(document)]
    assert titles[-4:] == ["PANS", "GENERAL", "Heat", "Lids"]
    [link] = [link for section in document.sections() for link in section.links]
    assert f"{document.id}#/us/t9/s2" in list(XmlFormat().resolve(link, document))
    monkeypatch.setattr("structformer_xml.format.BIG", 100)
    assert one(page, "xml") == document


def test_a_title_of_several_paragraphs_is_a_section():
    document = one("<doc><section><title><p>One.</p><p>Two.</p></title><p>Three.</p></section></doc>", "xml")
    assert "One.\n\nTwo." in text(document)
