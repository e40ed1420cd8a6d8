"""Wikitext: pages, dumps and WikiExtractor output; the scanner beside mwparserfromhell."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import re
import time

import pytest
import zstandard
from structformer import Corpus
from structformer.document import MarkKind
from structformer.errors import UsageError
from structformer.formats.source import SourceFile
from structformer.graph import ReferenceGraph
from structformer.ingestion import ingest, read

from reading import links, one, outline, text
from structformer_wikitext.format import WikitextFormat

DUMP = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="de"><siteinfo><dbname>dewiki</dbname>
<base>https://de.wikipedia.org/wiki/Hauptseite</base><case>first-letter</case><namespaces><namespace key="0"/><namespace key="6">Datei</namespace>
<namespace key="14">Kategorie</namespace><namespace key="1">Diskussion</namespace></namespaces></siteinfo>
<page><title>Knoten</title><ns>0</ns><id>1</id><revision><id>9</id><text xml:space="preserve">Ein '''Knoten''' hält. [[Datei:K.jpg|mini|Ein [[Palstek]]]]
== Arten ==
Der [[palstek]] &amp; andere.
== Siehe auch ==
* [[Segel]]
[[Kategorie:Seil]] [[en:Knot]]</text></revision></page>
<page><title>Palstek</title><ns>0</ns><id>2</id><redirect title="Knoten#Arten" /><revision><text>#WEITERLEITUNG [[Knoten#Arten]]</text></revision></page>
<page><title>Segel</title><ns>0</ns><id>3</id><revision><text>Ein Segel. Siehe [[Knoten]] und [[Palstek]].</text></revision></page>
<page><title>Diskussion:Segel</title><ns>1</ns><id>4</id><revision><text>Rede</text></revision></page>
</mediawiki>"""


def test_a_page():
    document = one(
        "Lead '''bold''' [[Page name|shown]]s.\n== Part ==\ntext\n=== Deep ===\n== See also ==\n* [[Other]]\n[[Category:X]]",
        "wikitext",
    )
    assert outline(document) == [(0, "document"), (1, "Part"), (2, "Deep"), (1, "See also")]
    assert document.root.text == "Lead bold showns."
    assert links(document) == [
        ("hyperlink", "Page name", "showns"),
        ("see_also", "Other", "Other"),
        ("category", "Category:X", ""),
    ]


def test_what_is_no_markup_is_kept_and_what_is_no_text_is_left_out():
    page = "<nowiki>== no ==\n[[no]]</nowiki> <!-- == no2 == -->word<ref>{{cite web|url=https://e.org/x|title=T}}</ref>\n<pre>\n== no3 ==\n</pre>\n== Head ==\nend"
    document = one(page, "wikitext")
    assert outline(document) == [(0, "document"), (1, "Head")]
    assert "[[no]]" in document.root.text
    assert "no2" not in text(document)
    assert links(document) == [("citation", "https://e.org/x", "https://e.org/x")]


def test_templates_by_policy():
    page = (
        "{{Infobox|land=[[France]]}}\n{{main|Rope|Cord}}\nLong {{nowrap|5 km}} {{lang|fr|un nœud}} {{unknown|words}}."
    )
    known = one(page, "wikitext")
    assert "5 km" in known.root.text
    assert "un nœud" in known.root.text
    assert "words" not in known.root.text
    assert ("hyperlink", "France", "France") in links(known)
    assert ("hyperlink", "Cord", "Cord") in links(known)
    assert "words" in one(page, "wikitext", templates="text").root.text
    assert "5 km" not in one(page, "wikitext", templates="drop").root.text
    assert ("see_also", "Sheet", "Sheet") in links(one("{{see also|Sheet}}", "wikitext"))
    assert ("see_also", "Sheet", "Sheet") in links(one("{{Див. також|Sheet}}", "wikitext"))


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("{{formatnum:31500}} / {{FORMATNUM: 1,5 |R}}", "31500 / 1,5"),
        ("{{lc:SEA}} {{uc:sea}} {{ucfirst:sea}} {{lcfirst:Sea}}", "sea SEA Sea sea"),
        ("{{padleft:7|3}} {{padright:7|3|ab}} {{padleft:7|999999999|x}}.", "007 7ab 7."),
        ("{{plural:1|mast|masts}} {{PLURAL:3|mast|masts}} {{plural:12|12=a dozen|many}}", "mast masts a dozen"),
        ("{{#if: x |wide|narrow}} {{#if:|wide|narrow}} {{#if:{{{1|}}}|wide}}.", "wide narrow ."),
        ("{{#ifeq:a|a|same|other}} {{#ifeq:a|b|same|other}} {{#ifeq:a|b|same}}.", "same other ."),
        ("{{#switch:b|a=1|b|c=2|#default=3}} {{#switch:z|#default=3|a=1}} {{#switch:z|a=1|4}}", "2 3 4"),
        ("{{#iferror: fine |bad}} {{#if: {{lc:X}} | {{uc:y}} }} {{subst:lc:Z}}", "fine Y z"),
        (
            "'''{{PAGENAME}}''' {{SUBPAGENAME:Port/Quay}} {{BASEPAGENAME:Port/Quay}} {{NAMESPACE}}.",
            "document Quay Port .",
        ),
        ("{{#invoke:Boat|sail}} {{#expr:1+1}} {{DEFAULTSORT:Boat}} {{pagename}} {{Template:X}} {{:Y}}.", "."),
    ],
)
def test_functions_of_plain_text_are_computed(source, shown):
    assert one(source, "wikitext").root.text == shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("-{zh-hans:计算机;zh-hant:電腦}-", "计算机"),
        ("-{A|zh-cn:船; zh-tw:舟}-，-{R|舵}-，-{zh-hant|帆}-，-{桨}-", "船，舵，帆，桨"),
        ("-{T|zh:标题}--{H|zh-cn:船;zh-tw:舟;}-一-{-|zh-cn:船}-", "一"),
        ("-{[[舟|船]]}-在-{http://a.example/x}-", "船在http://a.example/x"),
    ],
)
def test_words_in_the_variants_of_a_language(source, shown):
    assert one(source, "wikitext").root.text == shown


def test_a_theme_says_what_templates_of_the_user_s_show():
    theme = '[templates]\n"boat our_ship" = "{1}[ of {port}, {year}]"\nmain = "{1}"\nlang = "{1}: {2}"'
    page = (
        "{{Boat|Ann|port=Hull|year=1900}}, {{our ship|''Bee''|port=Kiel}}, {{lang|fr|mât}}, {{other|no}}{{main|Mast}}"
    )
    document = one(page, "wikitext", theme=theme)
    assert document.root.text == "Ann of Hull, 1900, Bee, fr: mât,\nMain article: Mast"
    [*_, document] = read(DUMP.replace("Ein Segel.", "{{boat|Cee}}.").encode(), format="wikitext", theme=theme)
    assert document.root.text.startswith("Cee.")


@pytest.mark.parametrize(
    ("theme", "message"),
    [
        ("templates = 'x'", "templates is 'x': it must be a table"),
        ("[templates]\nboat = 1", "templates: boat is 1: write a text"),
        ("[templates]\nboat = '{1}[, {2}'", "templates: boat is '{1}[, {2}': write a text, each [ of which has its ]"),
    ],
)
def test_a_faulty_pattern_of_a_template_is_refused(theme, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        list(read(b"Text", format="wikitext", theme=theme))


def test_a_page_s_name_is_that_of_the_dump():
    dump = DUMP.replace("<ns>1</ns>", "<ns>0</ns>").replace(
        "Rede", "{{SEITENNAME}} in {{NAMENSRAUM}}: {{FULLPAGENAME}}"
    )
    [*_, page] = read(dump.encode(), format="wikitext")
    assert page.root.text == "Segel in Diskussion: Diskussion:Segel"


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("{{val|4.5|u=kg}}, {{val|1.2|0.1|e=-3|ul=m}}", "4.5 kg, 1.2 ± 0.1×10⁻³ m"),
        ("{{frac|3|4}}, {{sfrac|2|3|4}}, {{bruch|5}}, {{дробь|1|3}}", "3/4, 2 3/4, 1/5, 1/3"),
        ("{{convert|3|to|4|km|mi|1}}, {{cvt|5|ft|2|in|m}}, {{convertir|9|kg}}", "3 to 4 km, 5 ft 2 in, 9 kg"),
        ("{{unité|300|km}}, {{unité|8|m|2}}, {{unité|2|e=6|t}}, {{nombre|41|mâts}}", "300 km, 8 m², 2×10⁶ t, 41"),
        ("{{date|3|mai|1871}}, {{XVIIIe siècle}}, {{s|XVI|e}}, XV{{e}}", "3 mai 1871, XVIIIe siècle, XVIe siècle, XVe"),
        (
            "{{nihongo|Boat|舟|fune}}, {{nihongo|Sail|帆}}, {{読み仮名|港|みなと}}",
            "Boat (舟, fune), Sail (帆), 港（みなと）",
        ),
        (
            "{{enS|oar}}, {{lang-ru|весло}}, {{langx|fr|rame}}, {{num|7|м}}, {{fmtn|12|km}}",
            "oar, весло, rame, 7 м, 12 km",
        ),
        (
            "{{siglo|XV||s}}, {{séc|XV}}, {{Höhe|912|DE-NN}}, {{US$|6}}, {{circa|1650}}",
            "siglo XV, século XV, 912 m, US$6, c. 1650",
        ),
        (
            "{{nowrap|[[Oar|oars]]}}, {{abbr|kn|knots}}, {{chem|H|2|O}}, {{sclass|Wasa|ship}}",
            "oars, kn, H2O, Wasa-class ship",
        ),
        (
            "{{nowrap|10<sup>3</sup> kg}}, 2<sup>-5</sup>, 10{{sup|3}}, 10{{exp|4}}, 7{{sub|8}}",
            "10³ kg, 2⁻⁵, 10³, 10⁴, 7₈",
        ),
        (
            "{{l|en|oar}}, {{der|en|la|remus}}, {{lb|en|dated|nautical}}, {{label|Q1}}{{ux|en|Row!}}",
            "oar, remus, (dated, nautical), Row!",
        ),
        ("{{c|Chapter}} {{di|T}}he {{hws|ru|rudder}}{{hwe|dder|rudder}} {{larger|turns}}", "Chapter The rudder turns"),
        (
            "* {{eat|name=Galley|alt=Pub|address=3 Quay|phone=1|content=Stew.|url=http://g.example}}\n* {{see|name=Dock}}",
            "Galley (Pub), 3 Quay. Stew. http://g.example\nDock",
        ),
        (
            "{{ic|pacman ''-S''}} of {{Pkg|linux}}, {{AUR|yay}}, {{man|8|pacman}}.",
            "pacman -S of linux, yay, pacman(8).",
        ),
    ],
)
def test_templates_of_a_sentence_in_ten_wikis(source, shown):
    assert one(source, "wikitext").root.text == shown


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("Intro <poem>\none [[Oar|oar]]\n  ''two''\n\n:three</poem> On.", "Intro\n\none oar\ntwo\n\nthree\nOn."),
        ("* <poem class=x>one\ntwo</poem>\n<poem>open\nend", "one\ntwo\n\nopen end"),
        ("{{poemquote|one\ntwo|Ann}}", "one\ntwo"),
    ],
)
def test_a_poem_keeps_its_lines(source, shown):
    document = one(source, "wikitext")
    assert document.root.text == shown
    assert not [mark for mark in document.root.marks if mark.kind is MarkKind.CODE]


def test_what_is_for_translators_is_no_markup():
    page = "<translate><!--T:1--> An oar.\n\n<!--T:2--> See <tvar name=1>[[Oar]]</tvar> and <tvar|2>sails</>.\n</translate>"
    document = one(page, "wikitext")
    assert document.root.text == "An oar.\n\nSee Oar and sails."
    assert links(document) == [("hyperlink", "Oar", "Oar")]
    assert not document.root.marks


def test_code_of_the_archwiki_is_code():
    page = "Run {{ic|ls}}:\n{{bc|1=mount ''sda1''\n  a=b &lt;c&gt;}}\n{{hc|/etc/fstab|<nowiki>\n{{x}}\n</nowiki>}}\n"
    document = one(page, "wikitext")
    assert document.root.text == "Run ls:\n\nmount sda1\n  a=b <c>\n\n/etc/fstab\n\n{{x}}"
    marks = [(mark.kind, document.root.text[mark.start : mark.end]) for mark in document.root.marks]
    assert marks == [
        (MarkKind.CODE_SPAN, "ls"),
        (MarkKind.CODE, "mount sda1\n  a=b <c>"),
        (MarkKind.CODE, "{{x}}"),
    ]


def test_links_to_pages_that_another_wiki_has():
    page = "{{ll|Help:Oar|oar}} {{ill|Oar|de|Riemen|lt=oars}} {{lien|langue=en|trad=Oar|fr=Rame|texte=rames}} {{нп5|Весло|вёсла|en|Oar}} {{tsl|en|Oar|槳}}"
    assert links(one(page, "wikitext")) == [
        ("hyperlink", "Help:Oar", "oar"),
        ("hyperlink", "Oar", "oars"),
        ("hyperlink", "Rame", "rames"),
        ("hyperlink", "Весло", "вёсла"),
        ("hyperlink", "槳", "槳"),
    ]


def test_a_source_that_is_called_as_a_quotation_keeps_its_address():
    page = one("Said. {{citation|title=Oars|url=https://e.org/oars}}", "wikitext")
    assert (page.root.text, [target for _, target, _ in links(page)]) == ("Said.", ["https://e.org/oars"])


def test_tables_lists_files_and_external_links():
    page = "{| class=x\n|+ Cap\n! a !! b\n|-\n| 1 || style=y | 2\n|}\n* one\n*: two\n; t : d\n[[File:F.jpg|thumb|200px|Cap [[Link]]]]\n[http://e.org/a label] http://e.org/b."
    document = one(page, "wikitext")
    assert "a | b\n1 | 2" in document.root.text
    assert "one\ntwo\nt\nd" in document.root.text
    assert [(kind, target) for kind, target, _ in links(document)] == [
        ("embed", "File:F.jpg"),
        ("hyperlink", "Link"),
        ("hyperlink", "http://e.org/a"),
        ("hyperlink", "http://e.org/b"),
    ]


@pytest.mark.parametrize(
    "title",
    [
        "See also",
        "Siehe auch",
        "Voir aussi",
        "Véase también",
        "関連項目",
        "Zobacz też",
        "См. также",
        "Katso myös",
        "ראו גם",
    ],
)
def test_see_also_in_other_languages(title):
    assert links(one(f"a\n== {title} ==\n* [[B]]", "wikitext")) == [("see_also", "B", "B")]


@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".bz2", bz2.compress), (".gz", gzip.compress), (".zst", zstandard.compress)]
)
def test_dumps(tmp_path, suffix, pack):
    file = tmp_path / f"dump.xml{suffix}"
    file.write_bytes(pack(DUMP.encode()))
    documents = list(read(file))
    assert [document.id for document in documents] == ["dump.xml#Knoten", "dump.xml#Segel"]
    knoten = documents[0]
    assert outline(knoten) == [(0, "Knoten"), (1, "Arten"), (1, "Siehe auch")]
    assert (knoten.language, knoten.metadata["categories"], knoten.metadata["languages"]) == (
        "de",
        ["Seil"],
        ["en:Knot"],
    )
    assert "Ein Palstek" in knoten.root.text


def test_multistream_dumps_and_redirects_in_a_corpus(tmp_path):
    half = DUMP.index("<page><title>Palstek")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "dump.xml.bz2").write_bytes(
        bz2.compress(DUMP[:half].encode()) + bz2.compress(DUMP[half:].encode())
    )
    report = ingest(tmp_path / "pages", tmp_path / "w")
    graph = ReferenceGraph.open(tmp_path / "w")
    assert (report.documents, report.formats) == (2, {"wikitext": 2})
    edges = {(edge["source_document"], edge["target_document"], edge["text"]) for edge in graph.edges()}
    assert (1, 0, "Palstek") in edges  # by the redirect
    assert (0, 1, "Segel") in edges
    assert graph.see_also(0) == [1]
    assert "Palstek" in graph.incoming_texts()[0, 0]


def test_redirects_over_redirects_are_names_of_what_they_lead_to(tmp_path):
    pages = "".join(
        f'<page><title>{title}</title><ns>0</ns><id>{number}</id><redirect title="{target}" />'
        f"<revision><text>#WEITERLEITUNG [[{target}]]</text></revision></page>"
        for number, (title, target) in enumerate(
            [("Kreuzknoten", "Knoten"), ("Samariterknoten", "Kreuzknoten"), ("Nichts", "Niemand")], 100
        )
    )
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "dump.xml").write_text(DUMP.replace("</mediawiki>", f"{pages}</mediawiki>"))
    ingest(tmp_path / "pages", tmp_path / "w")
    texts = ReferenceGraph.open(tmp_path / "w").incoming_texts()
    assert {"Palstek", "Kreuzknoten", "Samariterknoten"} <= set(texts[0, 0])
    assert not any("Nichts" in each for each in texts.values())


def test_a_dump_is_cut_into_pieces_and_is_the_same_however_many_workers(tmp_path, monkeypatch):
    body = "".join(
        f"<page><title>P{n}</title><ns>0</ns><id>{n}</id><revision><text>{'word ' * 400}[[P{n + 1}]]</text></revision></page>\n"
        for n in range(6000)
    )
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "big.xml").write_text(DUMP[: DUMP.index("<page>")] + body + "</mediawiki>")
    corpora = []
    for workers in (1, 2):
        report = ingest(tmp_path / "pages", tmp_path / f"w{workers}", workers=workers)
        assert report.documents == 6000
        corpus = Corpus.open(tmp_path / f"w{workers}")
        assert len(corpus.shards) > 1
        corpora.append(corpus.fingerprint)
    assert corpora[0] == corpora[1]
    again = ingest(tmp_path / "pages", tmp_path / "w2")
    assert (again.parsed, again.documents) == (0, 6000)


@pytest.mark.parametrize("size", range(60, 700, 7))
def test_a_page_over_the_limit_is_left_out_alone_wherever_the_dump_is_cut(size, monkeypatch):
    monkeypatch.setattr("structformer_wikitext.dump._READ_BYTES", size)
    lengths = {"A": 9, "B": 900, "C": 60, "D": 9}
    pages = "".join(f"<page><title>{name}</title>{'x' * length}</page>" for name, length in lengths.items())
    parts = list(WikitextFormat().pieces(io.BytesIO(f"<mediawiki>{pages}</mediawiki>".encode()), 150))
    kept = b"".join(part for part in parts if isinstance(part, bytes))
    assert [kept.count(b"<title>" + name) for name in (b"A", b"C", b"D")] == [1, 1, 1]
    assert all(part.startswith("page B: ") for part in parts if isinstance(part, str))


def test_a_cut_dump_keeps_its_whole_pages_and_says_what_is_missing(tmp_path):
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "cut.xml").write_text(DUMP[: DUMP.index("Ein Segel") + 3])
    report = ingest(tmp_path / "pages", tmp_path / "w")
    assert report.documents == 1
    assert any("ends inside a page (Segel" in message for _, message in report.messages)


def test_a_dump_that_declares_entities_is_refused(tmp_path):
    (tmp_path / "d.xml").write_text('<?xml version="1.0"?><!DOCTYPE m [<!ENTITY a "b">]>' + DUMP)
    report = ingest(tmp_path / "d.xml", tmp_path / "w")
    assert report.documents == 0
    assert "declares entities" in report.messages[0][1]


def test_wikiextractor_output():
    plain = '<doc id="1" url="https://e.org/?curid=1" title="Knot">\nKnot\n\nA knot.\n## Kinds.\nMany.\n## See also.\nBULLET::::- Rope\n\n</doc>\n'
    [document] = read(plain.encode(), format="wikitext")
    assert (document.title, document.root.text, outline(document)[1:]) == (
        "Knot",
        "A knot.",
        [(1, "Kinds"), (1, "See also")],
    )
    assert links(document) == [("see_also", "Rope", "Rope")]
    lines = json.dumps({"id": "1", "url": "u", "title": "Knot", "text": "Knot\n\nA knot."}) + "\n"
    assert [found.title for found in read(lines.encode(), format="wikitext")] == ["Knot"]
    assert list(WikitextFormat().pieces(io.BytesIO(lines.strip().encode()), 1000)) == [lines.strip().encode()]


@pytest.mark.parametrize(
    "page",
    [
        "{{a|" * 20_000 + "}}" * 20_000,
        "[[a|" * 20_000 + "]]" * 20_000,
        "{{a|" * 200_000,
        "[[File:a|" * 100_000,
        "{|\n|\n" * 5000,
        "<ref>a" * 20_000,
        "''a'''b" * 20_000,
        "[[a|<div><span>[[b|<i><b>" * 2000,
        "{{{a|" * 5000 + "}}}" * 5000,
    ],
)
def test_nesting_costs_no_more_than_length(page):
    began = time.monotonic()
    list(WikitextFormat().read(SourceFile("p.wiki", page.encode()), {}))
    assert time.monotonic() - began < 60  # seconds, where quadratic work takes minutes


def test_headings_and_links_beside_mwparserfromhell(shared):
    mwparserfromhell = pytest.importorskip("mwparserfromhell")
    """The scanner finds what the full parser finds, on real pages."""
    dump = shared / "corpora" / "enwiki-pages-articles-sample.xml.bz2"
    if not dump.exists():
        pytest.skip(f"no {dump}")
    from structformer_wikitext.dump import dump_pages

    with bz2.open(dump, "rt", encoding="utf-8") as file:
        pages = {page.title: page.text for page in dump_pages(file.read()) if not page.redirect}
    same = total = found = wanted = 0
    for document in list(read(dump))[:25]:
        code = mwparserfromhell.parse(pages[document.title])
        headings = [" ".join(str(heading.title.strip_code()).split()) for heading in code.filter_headings()]
        total += 1
        same += headings == [section.title for section in document.sections()][1:]
        targets = {
            str(link.title).strip().lstrip(":").replace("_", " ") for link in code.filter_wikilinks(recursive=True)
        }
        targets = {target for target in targets if not target.lower().startswith(("file:", "image:", "category:"))}
        ours = {link.target.lstrip(":") for link in document.links()}
        wanted += len(targets)
        found += len(targets & ours)
    assert same == total
    assert found / wanted > 0.98


def test_links_of_templates_within_templates_that_are_left_out():
    page = "{{Infobox place\n|name1=[[A]]\n|name3={{Collapsible list|1=[[B]]|title=x}}\n}}\nText of [[C]].\n"
    document = one(page, "wikitext")
    assert document.root.text == "Text of C."
    assert sorted(target for _, target, _ in links(document)) == ["A", "B", "C"]


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("{{Quote|text=Words|author=Bee}}", "Words"),
        ("{{blockquote|1=Words}}", "Words"),
        ("{{Note|Mind ''this''.}}\nAnd {{note|a}} that.", "Note: Mind this.\n\nAnd that."),
        ("{{ISBN|1}}, {{doi|10.1/a}}, {{key press|Ctrl|C}}", "ISBN 1, doi:10.1/a, Ctrl+C"),
        ("Hear [[Media:a.ogg|it]] now.", "Hear it now."),
        ("{{(}}\n* oar\n{{-}}\n* sail\n{{)}}\nOf {{(}}a{{)}}.", "oar\n\nsail\n\nOf {a}."),
        ("''One <br\n/>two'', <span\n class=x>three</span>", "One\ntwo, three"),
        ("<gallery>\nA.jpg|alt=x|Boat [[a|b]]\nB.jpg|Sail|link=\n</gallery>", "Boat b\n\nSail"),
        ("<table><tr><th>A</th><th>B</th></tr><tr><td>1</td>\n<td>2</td></tr></table>", "A | B\n1 | 2"),
        (
            '{|\n! A !! B\n|-\n| {{yes}} || {{No|Not yet}}\n|-\n| rowspan="2" {{n/a}} || {{Partial|Some}}\n|}',
            "A | B\nYes | Not yet\nN/A | Some",
        ),
    ],
)
def test_what_templates_galleries_and_tables_of_html_show(page, said):
    assert one(page, "wikitext").root.text == said


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("=== {{S|nom|fr|num=1}} ===", "nom"),
        ("=== {{S|étymologie}} ===", "étymologie"),
        ("== {{langue|fr}} ==", "langue fr"),
        ("=={{-pt-}}==", "pt"),
        ("==={{ετυμολογία}}===", "ετυμολογία"),
        ("=== {{sustantivo femenino|es}} ===", "sustantivo femenino es"),
        ("== Segel ({{Sprache|Deutsch}}) ==", "Segel (Deutsch)"),
        ("=== {{Wortart|Substantiv|Deutsch}}, {{n}} ===", "Substantiv, n"),
        ("== {{s|XIX|e}} ==", "XIXe siècle"),
        ("== Keel {{citation needed}} ==", "Keel"),
    ],
)
def test_a_heading_that_is_a_template_is_what_this_says(heading, title):
    [section] = one(f"{heading}\nText.\n", "wikitext").root.children
    assert (section.title, section.text) == (title, "Text.")


def test_files_categories_and_redirects_in_more_languages():
    page = "[[ไฟล์:a.jpg|thumb|เรือ]] [[หมวดหมู่:เรือ]] [[വർഗ്ഗം:കപ്പൽ]] [[Kategooria:Laevad]]"
    assert [kind for kind, _, _ in links(one(page, "wikitext"))] == ["embed", "category", "category", "category"]
    assert one("#เปลี่ยนทาง [[เรือ]]", "wikitext").metadata["redirect"] == "เรือ"


def test_pages_of_a_scan_and_tabs_are_no_text():
    assert one('<pages index="Boats.djvu" from=1 to=9 />Hulls.', "wikitext").root.text == "Hulls."
    assert one("<tabber>\nOne=\nBow\n|-|Two=\nStern\n</tabber>", "wikitext").root.text == "One= Bow\n\nTwo= Stern"


def test_links_to_pages_below_and_beside(tmp_path):
    pages = {
        "Boat/Hull": "See [[/Keel]], [[../Sail/]], [[../]].",
        "Boat/Hull/Keel": "K.",
        "Boat/Sail": "S.",
        "Boat": "B.",
    }
    dump = "".join(f"<page><title>{title}</title><text>{page}</text></page>" for title, page in pages.items())
    (tmp_path / "d.xml").write_text(f"<mediawiki>{dump}</mediawiki>")
    ingest([tmp_path], workspace=tmp_path / "w")
    edges = {(edge["source_document"], edge["target_document"]) for edge in ReferenceGraph.open(tmp_path / "w").edges()}
    assert edges == {(0, 1), (0, 2), (0, 3)}


def test_anchors_of_templates():
    document = one("== {{anchor|Old|Older}} New ==\nThe {{visible anchor|keel}}.\n", "wikitext")
    [section] = document.root.children
    assert (section.title, section.text) == ("New", "The keel.")
    assert {"Old", "Older", "New", "keel"} <= set(section.anchors)


def test_pages_of_a_repository_link_to_files(tmp_path):
    (tmp_path / "home.mediawiki").write_text("See [[big-boats.mediawiki|boats]] and [[img/sail_plan.wiki#Jib|sails]].")
    (tmp_path / "big-boats.mediawiki").write_text("== Keel ==\nLead.")
    (tmp_path / "img").mkdir()
    (tmp_path / "img" / "sail_plan.wiki").write_text("Of all.\n== Jib ==\nSmall.")
    report = ingest([tmp_path], workspace=tmp_path / "w")
    assert report.documents == 3
    graph = ReferenceGraph.open(tmp_path / "w")
    assert {edge["source_document"] for edge in graph.edges()} == {1}
    assert {(edge["target_document"], edge["target_section"]) for edge in graph.edges()} == {(0, 0), (2, 1)}


def test_pages_link_by_their_place_below_the_folders_of_their_namespaces(tmp_path):
    for path, page in {
        "Page/en/Manual/Sails.wiki": "See [[en/Ropes]], [[:Category:en/Boats]].\n[[Category:en/Boats]]",
        "Page/en/Ropes.wiki": "Of hemp.",
        "Category/en/Boats.wiki": "All about [[en/Ropes#Of hemp|ropes]].",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(page)
    ingest([tmp_path], workspace=tmp_path / "w")
    edges = {(edge["source_document"], edge["target_document"]) for edge in ReferenceGraph.open(tmp_path / "w").edges()}
    assert edges == {(0, 2), (1, 2), (1, 0)}


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("<center>14 443", "14 443"),
        ("<center>12</center>", "12"),
        ("<div align=right>a</div>", "a"),
        ("<p>a</p>", "a"),
        ("a<br />b", "a b"),
    ],
)
def test_a_block_in_a_cell_is_a_blank(cell, shown):
    page = f"{{| class=wikitable\n! Pan !! Count\n|-\n| Iron\n|{cell}\n|-\n| Steel || {cell}\n|}}"
    assert text(one(page, "wikitext")).endswith(f"Pan | Count\nIron | {shown}\nSteel | {shown}")


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("start date and age|1928|9|25", "1928-09-25"),
        ("end date|1950|5", "1950-05"),
        ("startdate|1950|5|6", "1950-05-06"),
        ("dts|1923|May|4", "4 May 1923"),
        ("bda|1950|5|4", "1950-05-04"),
        ("death date and age|2001|3|2|1950|12|4", "2001-03-02"),
        ("as of|2010|5|4", "as of 2010-05-04"),
        ("sort|02|Second", "Second"),
        ("sort|Third", "Third"),
    ],
)
def test_templates_of_dates_and_sort_keys_show_the_date_and_the_text(template, shown):
    assert text(one(f"Open {{{{{template}}}}} still.", "wikitext")).endswith(f"Open {shown} still.")


def test_addresses_in_templates_that_are_left_out_are_whole():
    document = one("Ash.{{cite web|url=http://a.org/?id=7&p=2|website=http://b.org|title=Knots}}", "wikitext")
    assert [link.target for link in document.links()] == ["http://a.org/?id=7&p=2", "http://b.org"]
