"""AsciiDoc: Asciidoctor's language, included files, conditions, references of one page and of many."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer import read as read_folder
from structformer.document import Document
from structformer.formats.source import SourceFile

from conftest import write_pages
from reading import Folder, links, one, outline
from structformer_asciidoc.format import AsciiDocFormat
from structformer_devkit.formats import Sample, check_format, mark_problems

BOATS = """= Boats
Ann Bee <ann@e.org>
:url-knots: https://e.org/knots
:icons:

All about *boats* and `sails`.

[[reefing]]
== Reefing a sail

See <<knots,the knots>>, link:other.adoc[another page] and {url-knots}[knots on the web].
Tie linkgit:git-tag[1] down.

ifdef::icons[]
image::sail.png[A sail]
endif::[]
ifndef::icons[]
Never shown.
endif::[]

-----
== not a heading
-----

Knots
~~~~~
Ropes::
  Laid from strands.
* first
** second
   goes on

|===
|Rope |Strands

|Hemp |3
|===

include::part.adoc[]

== See also
xref:other.adoc#top[Other]
"""
PAGES = {
    "boats.adoc": BOATS,
    "part.adoc": "=== Included\n\nFrom another file.\n",
    "other.adoc": "= Other\n\nBack to <<reefing>>.\n",
}


def read(text: str) -> Document:
    return one(text, "asciidoc")


def read_from(files: dict[str, str], path: str) -> Document:
    [document] = AsciiDocFormat().read(Folder(files).source(path), {})
    return document


def blocks(document: Document) -> list[tuple[str, str, str]]:
    """(kind, detail, text) of every mark of the root's text."""
    return [(mark.kind.value, mark.detail, document.root.text[mark.start : mark.end]) for mark in document.root.marks]


def test_conformance():
    assert check_format(AsciiDocFormat(), [Sample(path, text.encode()) for path, text in PAGES.items()]) == []


def test_a_page_with_all_that_is_common():
    source = Folder(PAGES).source("boats.adoc")
    [document] = AsciiDocFormat().read(source, {})
    assert [(section.level, section.title) for section in document.sections()] == [
        (0, "Boats"),
        (2, "Reefing a sail"),
        (3, "Knots"),
        (3, "Included"),
        (2, "See also"),
    ]
    _, reefing, knots, included, also = document.sections()
    assert document.root.text == "All about boats and sails."
    assert document.metadata == {"author": "Ann Bee"}
    assert "Tie git-tag(1) down." in reefing.text
    assert "== not a heading" in reefing.text
    assert "Never shown" not in reefing.text
    assert knots.text == "Ropes\nLaid from strands.\nfirst\nsecond goes on\n\nRope | Strands\nHemp | 3"
    assert included.text == "From another file."
    assert reefing.anchors[0] == "reefing"
    assert [(link.kind.value, link.target, link.text) for link in (*reefing.links, *also.links)] == [
        ("xref", "#knots", "the knots"),
        ("hyperlink", "other.adoc", "another page"),
        ("hyperlink", "https://e.org/knots", "knots on the web"),
        ("hyperlink", "git-tag", "git-tag(1)"),
        ("embed", "sail.png", "A sail"),
        ("see_also", "other.adoc#top", "Other"),
    ]
    assert AsciiDocFormat().parts(source) == {"part.adoc"}


def test_text_files_are_known_by_two_signs():
    sniff = AsciiDocFormat().sniff
    assert sniff(BOATS.encode(), "boats.txt") > 0.5
    assert sniff(b"# A Markdown page\n\n- [x](y)\n", "page.txt") == 0.0
    assert sniff(b"-----BEGIN PGP SIGNATURE-----\n:a: b\n[[c]]\n", "release.asc") == 0.0


def test_blocks_say_what_they_are():
    document = read(
        """.A title
[source,python]
----
x = 1 # <1>
----
<1> One.

NOTE: Mind the gap.

[WARNING]
====
Hot.

* very
====

[quote,Ann]
Said so.

[stem]
++++
x^2
++++

  as it stands
"""
    )
    assert document.root.text == (
        "A title\nx = 1\n\nOne.\n\nMind the gap.\n\nHot.\n\nvery\n\nSaid so.\nAnn\n\nx^2\n\nas it stands"
    )
    assert [(kind, detail) for kind, detail, _ in blocks(document)] == [
        ("code", "python"),
        ("list", "1"),
        ("item", ""),
        ("note", "note"),
        ("note", "warning"),
        ("list", ""),
        ("item", ""),
        ("quote", ""),
        ("formula", ""),
        ("code", ""),
    ]


def test_what_a_plus_attaches_belongs_to_the_item():
    document = read("* one\n+\n----\ncode\n----\n** inner\n\n+\nmore of one\n\n. other\n\nAfter.\n")
    kept = blocks(document)
    assert ("item", "", "one\n\ncode\n\ninner\nmore of one\nother") in kept
    assert ("list", "1", "other") in kept
    assert document.root.text.endswith("other\n\nAfter.")


def test_a_check_box_begins_an_item():
    assert read("= T\n\n* [x] done\n* press [x] to close\n").root.text == "done\npress [x] to close"


def test_terms_share_a_definition_that_begins_below_them():
    document = read("-q::\n--quiet::\n\n\tSay nothing.\n+\nReally.\n\n-v:: Say all.\n")
    assert [(kind, text) for kind, _, text in blocks(document) if kind in ("term", "definition")] == [
        ("term", "-q"),
        ("term", "--quiet"),
        ("definition", "Say nothing.\nReally."),
        ("term", "-v"),
        ("definition", "Say all."),
    ]


def test_tables_have_rows_of_as_many_cells_as_columns():
    document = read(
        """.Ropes
[%header,cols="1,2a"]
|===
|Rope
|Use

|Hemp
|* mooring
* towing
2+|nothing else
|===

,===
a,"b, c"
,===
"""
    )
    assert document.root.text == "Ropes\nRope | Use\nHemp | mooring towing\nnothing else\n\na | b, c"
    rows = [(detail, text) for kind, detail, text in blocks(document) if kind == "row"]
    assert rows == [("header", "Rope | Use"), ("", "Hemp | mooring towing"), ("", "nothing else"), ("", "a | b, c")]


def test_paragraphs_of_a_cell_are_on_its_line():
    assert read('[cols="2*"]\n|===\n|Iron\n\nof ships |14\n|===\n').root.text == "Iron of ships | 14"


def test_a_blank_line_within_a_cell_parts_no_header_from_rows():
    document = read(
        '[cols="1a"]\n|===\n|*Ropes*\n\n* tie\n+\n----\na\n----\n\n|Sails\n|===\n\n|===\n|A |B\n\n|c\n|d\n|===\n'
    )
    assert document.root.text == "Ropes tie a\nSails\n\nA | B\nc | d"
    assert [detail for kind, detail, _ in blocks(document) if kind == "row"] == ["", "", "header", ""]


@pytest.mark.parametrize(
    ("table", "shown"),
    [
        ("|===\n|Name |Key\n\n|cut\n|x\n|===", "Name | Key\ncut | x"),
        ("|===\n|Name |See vitamin c\n|===", "Name | See vitamin c"),
        ("|===\n|a |b\n2+|f\n|c s|d\n|===", "a | b\nf\nc | d"),
        ("!===\n!a !m\n!===", "a | m"),
    ],
)
def test_the_last_cell_of_a_table_has_no_style_of_one_behind_it(table, shown):
    assert read(f"{table}\n").root.text == shown


def test_references_without_text_show_what_they_lead_to():
    document = read(
        """= T

See <<two>>, <<_part_one>>, <<Part one>>, <<fig>> and xref:a/other-page.adoc[].

See <<marked>>.

== Part one

[#two]
== Part two

[[fig]]
.A figure
image::f.png[]

[[marked]]
.Of `git log` and *all* a_b_c
----
x
----
"""
    )
    said = "See Part two, Part one, Part one, A figure and other-page.\n\nSee Of git log and all a_b_c."
    assert document.root.text == said
    assert [link.target for link in document.root.links][2:5] == ["#part-one", "#fig", "a/other-page.adoc"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("*b*, _e_, `m`, #h#, H~2~O, **u**nder", "b, e, m, h, H2O, under"),
        ("2 * 3 * 4, snake_case_name, a*b*c", "2 * 3 * 4, snake_case_name, a*b*c"),
        (r"\*plain* and \{name}", "*plain* and {name}"),
        ("10^3^ kg, 2^-5^ m, 7~8~, 1^st^", "10³ kg, 2⁻⁵ m, 7₈, 1st"),
        ("`+*as it is*+` +++<u>x</u>+++ $$<u>$$", "*as it is* x <u>"),
        ("kbd:[Ctrl+C], menu:File[Save > As], btn:[OK]", "Ctrl+C, File > Save > As, OK"),
        ("A word.footnote:[See link:x.html[this].] More", "A word. (See this.) More"),
        ('((shown))(((hidden, word))) "`said`" it\'s -- so (C)', "shown “said” it's — so ©"),
        ("javadoc:org.Boat[] and javadoc:org.Sail[Sail]", "org.Boat and Sail"),
        ("boats`' sails, icon:check[] icon:times[] icon:tag[]", "boats’ sails, ✓ ✗"),
        ("&lt;tag&gt; {nbsp}and {nobody}", "<tag> and {nobody}"),
        ("link:a.html[+x[size]+], link:b.html[`+k[0]+`] and kbd:[+]", "x[size], k[0] and +"),
    ],
)
def test_inline_marks(written, shown):
    assert read(f"{written}\n").root.text == shown


def test_links_end_where_a_sentence_does():
    document = read(
        'See https://e.org/a. (https://e.org/b[B,role=x]) <https://e.org/c> link:d.html["D, E",window=_blank]\n'
    )
    assert links(document) == [
        ("hyperlink", "https://e.org/a", "https://e.org/a"),
        ("hyperlink", "https://e.org/b", "B"),
        ("hyperlink", "https://e.org/c", "https://e.org/c"),
        ("hyperlink", "d.html", "D, E"),
    ]


def test_titles_underlined_by_the_first_rules_make_single_quotes_marks():
    document = read("git-x(1)\n========\n\nNAME\n----\ngit-x - It's 'emphasis'\n\n[verse]\n'git x' [-q]\n\t<file>\n")
    assert outline(document) == [(0, "git-x(1)"), (1, "NAME")]
    assert document.root.children[0].text == "git-x - It's emphasis\n\ngit x [-q]\n<file>"


def test_what_is_included_can_be_a_piece_and_a_level_deeper():
    files = {
        "a.adoc": "= A\n\ninclude::b.adoc[leveloffset=+1]\nGoes on.\n\n----\ninclude::c.py[tag=x]\n----\n\n"
        "include::d.adoc[lines=2..3]\n\n== Last\n",
        "b.adoc": "= B\n\nOf B.\n",
        "c.py": "no\n# tag::x[]\nyes\n# end::x[]\nno\n",
        "d.adoc": "one\ntwo\nthree\nfour\n",
    }
    document = read_from(files, "a.adoc")
    assert outline(document) == [(0, "A"), (1, "B"), (1, "Last")]
    assert document.root.children[0].text == "Of B.\n\nGoes on.\n\nyes\n\ntwo three"
    assert AsciiDocFormat().parts(Folder(files).source("a.adoc")) == {"b.adoc"}


def test_nothing_outside_the_folder_is_included_and_no_file_in_itself_for_ever():
    files = {
        "a.adoc": "= A\n\ninclude::../secret[]\ninclude::/etc/passwd[]\ninclude::https://e.org/x[]\nx\ninclude::a.adoc[]\n"
    }
    source = Folder(files).source("a.adoc")
    list(AsciiDocFormat().read(source, {}))
    assert "include::/etc/passwd: not found: left out" in source.warnings
    assert set(source.dependencies) == {"a.adoc"}


def test_conditions_ask_for_attributes():
    text = """= T
:a:

ifdef::a,z[Has a or z.]
ifdef::a+z[Has both.]
ifndef::a[]
ifdef::a[nested]
endif::[]
ifeval::["{backend}" == "html5"]
It is HTML.
endif::[]
"""
    assert read(text).root.text == "Has a or z. It is HTML."
    assert "Has both." in one(text, "asciidoc", attributes="z=1").root.text


def test_pages_of_an_antora_site_find_each_other(tmp_path):
    files = {
        "modules/ROOT/pages/index.adoc": "= Home\n\nSee xref:rig:sails.adoc#top[Sails].\n\ninclude::partial$note.adoc[]\n",
        "modules/ROOT/partials/note.adoc": "A note.\n",
        "modules/rig/pages/sails.adoc": "= Sails\n:page-aliases: old.adoc\n\nText.\n",
    }
    document = read_from(files, "modules/ROOT/pages/index.adoc")
    assert document.root.text == "See Sails.\n\nA note."
    [link] = document.links()
    assert "modules/rig/pages/sails#top" in list(AsciiDocFormat().resolve(link, document))
    listed = "= A\n\nxref::b.adoc[B] and xref::b.adoc#c[C]\n\n|===\n|xref::b.adoc[`D`]\n|===\n"
    document = read_from({"modules/rig/pages/a.adoc": listed}, "modules/rig/pages/a.adoc")
    assert document.root.text == "B and C\n\nD"
    assert [link.target for link in document.links()] == ["b.adoc", "b.adoc#c", "b.adoc"]
    nav = read_from({"modules/rig/nav.adoc": "* xref:sails.adoc[]\n"}, "modules/rig/nav.adoc")
    assert "modules/rig/pages/sails" in list(AsciiDocFormat().resolve(next(nav.links()), nav))
    assert "old.adoc" in read_from(files, "modules/rig/pages/sails.adoc").names


def test_attachments_of_an_antora_site_are_files(tmp_path, run):
    links = "xref:attachment$guide.svg[], xref:rig:attachment$sails.dat[Sails] and xref:attachment$gone.svg[x]."
    files = {
        "modules/ROOT/pages/index.adoc": f"= Home\n\n{links}\n",
        "modules/ROOT/attachments/guide.svg": "guide",
        "modules/rig/attachments/sails.dat": "sails",
    }
    write_pages(tmp_path / "in", files)
    run("ingest", tmp_path / "in", "-w", tmp_path / "w", "-q")
    counts = run("graph", "stats", "-w", tmp_path / "w", "--json").json["links"]
    assert [sum(each[key] for each in counts.values()) for key in ("file", "unresolved")] == [2, 1]


ANTORA = """\
name: boats
title: Boats
asciidoc:
  attributes:
    site: https://e.org
    api: '{site}/api/{page-component-name}'
    soft: as the site says@
    hard: as the site says
    gone: ~
    flag: true
    number: 7
"""
PLAYBOOK = "site: {title: All}\nasciidoc:\n  attributes: {gone: here, yard: 'Fair {gone}', site: https://other.org}\n"


def test_what_an_antora_site_says_of_attributes_holds_on_its_pages():
    page = """= Mast
:soft: as the page says
:hard: as the page says

{api}/Mast.html[`Mast`], {soft}, {hard}, {gone}, {yard}, {number}.
ifdef::flag[A flag.]
"""
    files = {
        "docs/antora.yml": ANTORA,
        "antora-playbook.yml": PLAYBOOK,
        "docs/modules/ROOT/pages/rig/mast.adoc": page,
        "docs/other/mast.adoc": page,
    }
    document = read_from(files, "docs/modules/ROOT/pages/rig/mast.adoc")
    said = "Mast, as the page says, as the site says, {gone}, Fair here, 7. A flag."
    assert document.root.text == said
    assert [link.target for link in document.links()] == ["https://e.org/api/boats/Mast.html"]
    assert next(read_from(files, "docs/other/mast.adoc").links()).target == "//{api}/Mast.html"  # is of no module
    for damaged in ("a: [", "- 1", "asciidoc: 7", "asciidoc: {attributes: [1]}", "\x00\xff", "a: &a [*a]"):
        files["docs/antora.yml"] = damaged
        [link] = read_from(files, "docs/modules/ROOT/pages/rig/mast.adoc").links()
        assert link.target == "//{api}/Mast.html"


@pytest.mark.parametrize("folder", ["images", "assets/images"])
def test_an_image_of_an_antora_site_is_in_its_module(folder):
    files = {
        "antora.yml": "name: a\n",
        "modules/ROOT/pages/rig/mast.adoc": "= Mast\n\nimage::mast.png[]\n\nAn image:deck/sail.png[sail], image:hull:keel.png[].\n",
        f"modules/ROOT/{folder}/mast.png": "",
        f"modules/ROOT/{folder}/deck/sail.png": "",
        f"modules/hull/{folder}/keel.png": "",
    }
    found = [link.target for link in read_from(files, "modules/ROOT/pages/rig/mast.adoc").links()]
    places = ("ROOT", "mast.png"), ("ROOT", "deck/sail.png"), ("hull", "keel.png")
    assert found == [f"../../../{module}/{folder}/{name}" for module, name in places]


def test_a_resource_of_another_antora_component_is_found_by_that_components_settings():
    page = "= Mast\n\ninclude::hull::partial$keel.adoc[]\n\ninclude::2@hull:deck:example$sail.rb[]\n\nimage::hull:deck:bow.png[]\n"
    files = {
        "a/antora.yml": "name: mast\n",
        "a/modules/ROOT/pages/mast.adoc": page,
        "b/antora.yml": "name: hull\nversion: ~\n",
        "b/modules/ROOT/partials/keel.adoc": "Of oak.\n",
        "b/modules/deck/images/bow.png": "",
        "c/antora.yml": "name: hull\nversion: 2\n",
        "c/modules/deck/examples/sail.rb": "sail = 1\n",
    }
    document = read_from(files, "a/modules/ROOT/pages/mast.adoc")
    assert document.root.text == "Of oak.\n\nsail = 1"
    assert [link.target for link in document.links()] == ["../../../../b/modules/deck/images/bow.png"]


def test_an_include_may_say_where_the_document_is_and_by_how_much_headings_are_deeper():
    files = {
        "book/all.adoc": "= All\n\n:leveloffset: 1\n\ninclude::{docdir}/in/one.adoc[]\n",
        "book/in/one.adoc": "= One\n\ninclude::{docdir}/two.adoc[]\n",
        "book/two.adoc": "Of rope.footnoteref:[a,Or hemp.] And jute.footnoteref:[a]\n",
    }
    document = read_from(files, "book/all.adoc")
    [one] = document.root.children
    assert (one.title, one.text) == ("One", "Of rope. (Or hemp.) And jute.")


def test_an_id_of_another_page_counts_before_the_words_of_a_title():
    documents = [read(f"= A\n\n{section}\n\nText.\n") for section in ("[#rope]\n== Hemp", "[[_rope]]\n== Rope")]
    assert ["id:rope" in document.names for document in documents] == [True, False]


def test_a_page_of_a_manual_that_the_corpus_lacks_is_outside(tmp_path):
    (tmp_path / "a.adoc").write_text("= A\n\nSee man:ls[1] and man:rope[7].\n")
    (tmp_path / "rope.adoc").write_text("= Rope\n\nText.\n")
    document = next(each for each in read_folder(tmp_path) if each.title == "A")
    assert document.root.text == "See ls(1) and rope(7)."
    outside, page = (list(AsciiDocFormat().resolve(link, document)) for link in document.links())
    assert "//ls" in outside
    assert "rope" in page


def test_an_address_that_begins_with_an_attribute_of_the_build_leads_outside():
    document = read("See {api}/Mast.html#top[the `Mast`], link:{api}[all] and {sail} [sic], {sail}s, {a}[].\n")
    assert document.root.text == "See the Mast, all and {sail} [sic], {sail}s, {a}."
    assert [link.target for link in document.links()] == ["//{api}/Mast.html#top", "//{api}", "//{a}"]


def test_a_reference_to_a_file_that_is_included_stays_in_the_document():
    files = {
        "guide/index.adoc": "= Guide\n\ninclude::rig/mast.adoc[]\n\n:leveloffset: +0\ninclude::rig/sail.adoc[]\n",
        "guide/rig/mast.adoc": "[[mast]]\n== Mast\n\nSee <<rig/sail.adoc#sail,the sail>>, <<deck.adoc#deck,the deck>>.\n",
        "guide/rig/sail.adoc": "[[sail]]\n== Sail\n\nSee xref:rig/mast.adoc#mast[], <<rig/mast#mast>> and <<rig/mast.adoc#>>.\n",
        "guide/deck.adoc": "= Deck\n\nText.\n",
    }
    found = [link.target for link in read_from(files, "guide/index.adoc").links()]
    assert found == ["#sail", "deck.adoc#deck", "#mast", "#mast", "rig/mast.adoc#"]


def test_an_image_is_in_the_folder_of_images():
    document = read(":imagesdir: ./img\n\nimage::a.png[]\n\nimage:b.png[] image:https://e.org/c.png[] image:/d.png[]\n")
    assert [link.target for link in document.links()] == ["./img/a.png", "./img/b.png", "https://e.org/c.png", "/d.png"]
    assert [link.target for link in read("image::CB in color.svg[Logo,100]\n").links()] == ["CB in color.svg"]


def test_what_is_passed_through_is_marked_up_where_it_says_so():
    assert read("Use pass:q[`${{mast}}` and *sail*], pass:[*deck*] and pass:a,q[`keel`].").root.text == (
        "Use ${{mast}} and sail, *deck* and keel."
    )


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("A +++<b>sail</b><br>+++ or pass:[10<sup>3</sup> &lt; x].", "A sail\nor 10³ < x."),
        ("Set pass:q[<u>the *sail*</u>], not pass:c[<b>].", "Set the sail, not <b>."),
        ("++++\n<p>A <b>mast</b>.</p><p>Two.</p>\n<script>if (a<b) {}</script>\n++++", "A mast.\nTwo."),
    ],
)
def test_html_that_is_passed_through_shows_its_words(written, shown):
    assert read(f"{written}\n").root.text == shown


def test_code_has_marks_where_it_says_so():
    code = "git  *clone* _url_ a*b*c **`x`** [.r]#y# # z #"
    shown = "git  clone url a*b*c x y # z #"
    assert read(
        f'[source,bash,subs=+quotes]\n----\n{code}\n----\n\n[subs="quotes"]\n....\n{code}\n....\n'
    ).root.text == (f"{shown}\n\n{shown}")
    assert read(f"[source,bash]\n----\n{code}\n----\n").root.text == code


def test_a_reference_to_a_source_shows_its_label():
    document = read(
        "See <<knuth>>, <<k2>>, <<at>> and <<k2,Low>>.\n\n* [[[knuth]]] Knuth.\n* [[[k2,Low 2]]] [[at,There]]Low.\n"
    )
    assert document.root.text == "See [knuth], [Low 2], There and Low.\n\n[knuth] Knuth.\n[Low 2] Low."


def test_what_an_extension_would_include_is_left_out_and_said_once():
    source = SourceFile("a.adoc", b"Text.\n\ninclude-code::./Mast[tag=a]\n\ninclude-code::./Sail[]\n\nMore.\n")
    [document] = AsciiDocFormat().read(source, {})
    assert document.root.text == "Text.\n\nMore."
    assert source.warnings == ["include-code::./Mast: what an extension would include, left out like its others"]


def test_attributes_that_multiply_each_other_stay_small():
    lines = [":a0: " + "x" * 100, *(f":a{n + 1}: {{a{n}}}{{a{n}}}{{a{n}}}{{a{n}}}" for n in range(20)), "", "{a20}"]
    assert len(read("\n".join(lines)).root.text) < 5_000_000


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("In {cpp} and {cpp}11 `a{pp}`.", "In C++ and C++11 a++."),
        ("Ann&#8217;s boat &amp; #mine#.", "Ann’s boat & mine."),
        ("One.footnote:a[Note] Two.footnote:a[]", "One. (Note) Two."),
        (":long: one \\\n two \\\nthree\n\nSay {long}.", "Say one two three."),
        ("[%hardbreaks]\na\nb", "a\nb"),
        (
            r"A boat\'s mast \<= 5, a\->b \(C) `a \=> b`, not \'this' \d.",
            r"A boat's mast <= 5, a->b (C) a => b, not \'this' \d.",
        ),
    ],
)
def test_characters_notes_and_attributes_as_asciidoctor_shows_them(page, said):
    assert one(page, "asciidoc").root.text == said


MARKUP = st.lists(
    st.sampled_from(
        "a|b c|*|**|_|`|+|++|#|^|~|<<|>>|[[|]]|((|))|[|]|{a}|\\|::|x::|* |** |. |----|====|--|____|****|++++|////"
        "||===|,===|+|= |== |include::a[]|ifdef::a[]|endif::[]|:a: b|[NOTE]|.T|//|'''|  a|https://e.org|xref:a[|\n|\n|\n\n".split(
            "|"
        )
    ),
    max_size=60,
).map("".join)


@given(MARKUP)
def test_any_mixture_of_marks_gives_a_valid_tree(text):
    for document in AsciiDocFormat().read(SourceFile("a.adoc", text.encode()), {}):
        for section in document.sections():
            assert not list(mark_problems(section.text, section.marks))
            for link in section.links:
                assert link.text == section.text[link.start : link.end] or link.start == link.end or not link.text


def test_what_is_a_document_is_a_reference_where_it_is_included_and_a_chapter_in_a_book():
    files = {
        "notes.adoc": "= Notes\n\ninclude::rig/one.adoc[]\n\n----\ninclude::rig/one.adoc[]\n----\n",
        "book.adoc": "= Book\n:doctype: book\n:rig: rig\n\ninclude::{rig}/one.adoc[]\n\ninclude::rig/two.adoc[]\n",
        "rig/one.adoc": "= One\n\nSee <<sail>>.\n",
        "rig/two.adoc": "= Two\n\n[[sail]]\n== Sail\n\nCanvas.\n",
    }
    notes, book = (read_from(files, path) for path in ("notes.adoc", "book.adoc"))
    assert notes.root.text == "One\n\n= One\n\nSee <<sail>>."
    assert [link.target for link in notes.links()] == ["rig/one.adoc"]
    assert [section.title for section in book.sections()][-3:] == ["One", "Two", "Sail"]
    assert AsciiDocFormat().parts(Folder(files).source("book.adoc")) == {"rig/one.adoc", "rig/two.adoc"}
    assert AsciiDocFormat().parts(Folder(files).source("notes.adoc")) == set()


def test_an_id_that_is_written_comes_before_one_that_a_title_gives():
    written, made = read("[[_sail]]\n== Canvas\n"), read("== Sail\n")
    assert "id:_sail" in written.names
    assert "id:_sail" not in made.names
    assert "auto-id:_sail" in made.names


def test_a_note_may_hold_brackets_of_which_one_is_escaped():
    assert read("Old.footnote:[See xref:b.adoc#x[B] and [sic\\].] New.\n").root.text == "Old. (See B and [sic].) New."


def test_what_an_include_changes_is_no_row():
    files = {"a.adoc": "|===\n|A |B\n\ninclude::row.adoc[leveloffset=+2]\n|===\n", "row.adoc": "|1 |2\n"}
    assert read_from(files, "a.adoc").root.text == "A | B\n1 | 2"


@pytest.mark.parametrize(
    "opened",
    [
        "----\nkept\n# a comment\n",
        "....\nkept\n",
        "```sh\nkept\n",
        "++++\nkept\n",
        "====\nkept\n",
        "****\nkept\n",
        "____\nkept\n",
        "--\nkept\n",
        "|===\n|kept\n",
        "////\nleft out\n",
        "[source]\n----\nkept\n\n====\n",
    ],
)
@pytest.mark.parametrize("second", ["== Bow", "Bow\n---"])
def test_a_block_without_an_end_ends_before_a_heading_as_high_as_its_section_s(opened, second):
    source = SourceFile(
        "a.adoc", f"= T\n\n== A\n\nOne.\n\n{opened}\n=== Deeper\n\n{second}\n\nTwo.\n\n== C\n\n".encode()
    )
    [document] = AsciiDocFormat().read(source, {})
    assert [title for level, title in outline(document) if level < 2] == ["T", "A", "Bow", "C"]
    assert [section.text for section in document.sections() if section.title == "Bow"] == ["Two."]
    assert ("kept" in document.root.children[0].text) == ("kept" in opened)
    assert source.warnings[0].endswith(" without an end: it ends before the next heading")


def test_a_table_of_blank_lines_is_no_table():
    assert read("= T\n\n|===\n\n\n|===\n\nText.\n").root.text == "Text."


def test_a_block_without_an_end_below_the_title_ends_before_the_first_section():
    document = read("= T\n\n----\nkept\n\n== A\n\nOne.\n")
    assert [section.text for section in document.sections()] == ["kept", "One."]
