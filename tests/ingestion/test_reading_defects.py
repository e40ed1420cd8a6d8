"""Pages as generators really write them: Texinfo's manuals, templates, icons, signs, and Sphinx's references."""

from __future__ import annotations

import pytest
from structformer import Document, read
from structformer.formats.source import SourceFile

from reading import Folder, links, one, outline, text
from structformer_html.format import HtmlFormat
from structformer_rst.format import RstFormat


def page(html: str) -> Document:
    return one(html, "html")


def said_of(path: str, html: str) -> list[str]:
    """What is said of a file that is no document."""
    source = SourceFile(path, html.encode())
    assert list(HtmlFormat().read(source, {})) == []
    return source.warnings


def is_document(path: str, html: str) -> bool:
    return bool(list(HtmlFormat().read(SourceFile(path, html.encode()), {})))


def texinfo(title: str, body: str) -> Document:
    return page(f"<html><head><meta name=Generator content=makeinfo><title>{title}</title></head><body>{body}</body>")


NAVIGATION = "Next: <a href=b.html>B</a>, Up: <a href=index.html>Top</a>"


@pytest.mark.parametrize(
    ("navigation", "heading"),
    [
        (f"<div class=header><p>{NAVIGATION}</p></div><hr>", "<span id=Knots-1></span><h4>4.4.1 Reef Knots</h4>"),
        (
            f"<div class=nav-panel><p>{NAVIGATION}</p></div><hr>",
            "<h4 id=Knots-1><span>4.4.1 Reef Knots<a class=copiable-link href='#Knots-1'> &para;</a></span></h4>",
        ),
    ],
)
def test_a_page_of_a_texinfo_manual(navigation, heading):
    document = texinfo(
        "Knots (Ropes (version 7.3))",
        f"<div class=subsection id=Knots>{navigation}{heading}<p>They hold.</p><dl><dt id=i>reef"
        f"<a href='#i' class=copiable-anchor> &para;</a></dt></dl><h5>Uses</h5><p>On boats.</p></div>",
    )
    assert document.title == "Reef Knots"
    assert outline(document) == [(0, "4.4.1 Reef Knots"), (1, "Uses")]
    assert document.root.text == "They hold.\n\nreef"
    assert {"Knots", "Knots-1"} <= set(document.root.anchors)
    assert links(document) == []


def test_the_other_pages_of_a_texinfo_manual():
    top = "<h1>Ropes: a guide</h1><div id=Top><h1>Ropes</h1><p>A guide.</p></div>"
    assert outline(texinfo("Top (Ropes: a guide)", top)) == [(0, "Ropes: a guide"), (1, "Ropes")]
    twice = texinfo("Top (Ropes)", "<h1>Ropes</h1><h1>Ropes</h1><p>A guide.</p><h2>1 Kinds</h2>")
    assert (outline(twice), twice.root.text) == ([(0, "Ropes"), (1, "1 Kinds")], "A guide.")
    assert texinfo("3 Ways (Ropes)", "<h2>3 Ways to Tie</h2><p>One.</p>").title == "3 Ways to Tie"
    without_heading = texinfo("A node (Ropes (7))", "<p>Text.</p>")
    assert (without_heading.title, without_heading.root.title) == ("A node", "A node")


def test_other_generators_keep_what_texinfo_calls_navigation():
    document = page(
        "<head><title>T (x)</title></head><div class=header><p>Title of a class</p></div><h4>1.2 A</h4><p>b</p>"
    )
    assert outline(document) == [(0, "T (x)"), (1, "1.2 A")]
    assert document.root.text == "Title of a class"


@pytest.mark.parametrize(
    ("path", "html"),
    [
        ("_layouts/a.html", "<title>{% if page.title %}{{ page.title }} | {% endif %}{{ site.title }}</title><p>text"),
        ("layouts/a.html", "<title>{{ .Title | safe }} - My long, very long site</title><p>Some words"),
        ("theme/templates/a.html", "{% extends 'base.html' %}{% block title %}Archives{% endblock %}<p>All of them"),
        ("_includes/foot.html", "<footer>Made with love and many words by {{ site.author }}</footer>"),
        (
            "a.html",
            "<ul>{% for post in posts %}<li><a href='{{ post.url }}'>{{ post.title }}</a></li>{% endfor %}</ul>",
        ),
        ("a.html", "<p><%= render 'list', of: things %></p>"),
        ("a.html", '<?php include "head.inc"; foreach ($all as $one) { echo $one; } ?><p>Hello</p>'),
        ("a.html", "<p>Hello</p><?php the_page_that_is_never_closed($with, $much);"),
    ],
)
def test_templates_are_no_documents_and_it_is_said(path, html):
    assert said_of(path, html) == ["a template that generators fill in: not a document"]


@pytest.mark.parametrize(
    ("path", "html"),
    [
        ("a.html", "<title>How to use {{ page.title }}</title><p>Write <code>{{ page.title }}</code> where it stands."),
        ("a.html", "<title>Tags</title><pre>{% for a in b %}{{ a }}{% endfor %}{% include head %}</pre><p>Loops."),
        ("a.html", "<title>T</title><p>A brace {{ opens and nothing closes it.</p>"),
        ("_includes/a.html", "<p>A note with words alone.</p>"),
        ("a.html", "<title>T</title><script>render('{{ a }}{{ b }}{{ c }}')</script><p>Text."),
    ],
)
def test_pages_about_templates_are_documents(path, html):
    assert is_document(path, html)


def test_front_matter_of_a_page():
    html = '---\nlayout: page\ntitle: "Reef & bend"\ntags: [a]\n---\n<h1>{{ page.title | escape }}</h1>\n<p>A knot.</p>'
    document = page(html)
    assert (document.title, outline(document), document.root.text) == ("Reef & bend", [(0, "Reef & bend")], "A knot.")
    assert document.metadata["layout"] == "page"
    assert document.metadata["tags"] == ["a"]
    untitled = page("---\ntitle: R\n---\n<p>A knot.</p>")
    assert (untitled.title, untitled.root.title, untitled.root.text) == ("R", "R", "A knot.")
    assert page("---\n<p>No front matter.</p>").root.text == "---\n\nNo front matter."


def test_what_an_icon_of_a_note_says_is_said_once_and_it_is_no_link():
    docbook = (
        "<div class=note><table><tr><td rowspan=2><img alt='[注記]' src='images/note.png'></td><th>注記</th></tr>"
        "<tr><td><p>Mind <img src='gap.png' alt='the gap'>.</p></td></tr></table></div>"
    )
    document = page(docbook)
    assert document.root.text == "注記\n\nMind the gap."
    assert [target for _, target, _ in links(document)] == ["gap.png"]
    by_icon_alone = (
        "<div class='admonitionblock tip'><table><tr><td><img src='i/tip.png' alt=Tip></td><td>Hot.</td></table>"
    )
    assert (page(by_icon_alone).root.text, links(page(by_icon_alone))) == ("Tip\nHot.", [])
    no_note = page("<p><img src='images/note.png' alt=Note> Note</p>")
    assert (no_note.root.text, len(links(no_note))) == ("Note Note", 1)


@pytest.mark.parametrize(
    "sign", ["#", "¶", "§", "\U0001f517", " ", "<svg><path d='M4'></svg>", "<span aria-hidden=true>#</span>"]
)
def test_a_heading_s_link_to_itself_is_no_part_of_it(sign):
    document = page(f"<h1>T</h1><h2>Foo <a class=anchor id=foo href='#foo'>{sign}</a></h2><p>bar</p>")
    assert outline(document) == [(0, "T"), (1, "Foo")]
    assert links(document) == []
    assert document.root.children[0].anchors == ("foo",)


def test_a_heading_s_other_links_stay():
    document = page("<h1>T</h1><h2><a href='#c'>C#</a> and <a href='#d'><img src=d.png alt=D></a> <a href=e>#</a></h2>")
    assert document.root.children[0].title == "C# and #"
    assert [target for _, target, _ in links(document)] == ["#c", "d.png", "#d", "e"]


def rst(body: str) -> Document:
    return one(body, "rst")


def test_a_reference_without_text_shows_the_title_of_its_target():
    document = rst("""Ropes
=====

See :ref:`the_knot`, :numref:`a-boat` and :ref:`here <the_knot>`.

.. _the_knot:

Reef *knot*
-----------

.. _a-boat:

.. figure:: boat.png

   A boat

After :ref:`the_knot` again
---------------------------
""")
    assert document.root.text == "See Reef knot, A boat and here."
    assert links(document)[:3] == [("xref", "#the_knot", ""), ("xref", "#a-boat", ""), ("xref", "#the_knot", "here")]
    assert outline(document)[2] == (1, "After Reef knot again")


def test_a_document_is_called_by_its_heading_with_the_references_in_it():
    document = rst("About :ref:`b`\n==============\n\nText.\n\n.. _b:\n\nBends\n-----\n\nMore.\n")
    assert (document.title, document.root.title) == ("About Bends", "About Bends")


@pytest.mark.parametrize(
    ("reference", "shown"),
    [
        (":doc:`/admin/availability-zones`", "availability zones"),
        (":doc:`../use/index`", "use"),
        (":doc:`../index`", "index"),
        (":doc:`big_ropes.rst`", "big ropes"),
        (":doc:`the zones </admin/availability-zones>`", "the zones"),
        (":ref:`far-label`", "far label"),
        (":ref:`guide/use:Reef knots`", "Reef knots"),
        (":download:`a/b-c.zip`", "a/b-c.zip"),
    ],
)
def test_a_reference_to_another_file_shows_the_words_of_its_name(reference, shown):
    [document] = RstFormat().read(SourceFile("guide/a.rst", f"T\n=\n\nSee {reference}.\n".encode()), {})
    assert document.root.text == f"See {shown}."
    assert len(links(document)) == 1


def test_pages_that_sphinx_makes_are_no_links():
    document = rst("""T
=

.. toctree::
   :glob:

   self
   big-ropes
   use/*
   genindex
   All modules <modindex>
   https://e.example/big-ropes

* :ref:`genindex`
* :ref:`Find <search>`
""")
    assert document.root.text == "big ropes\nhttps://e.example/big-ropes\n\nIndex\nFind"
    assert [target for _, target, _ in links(document)] == ["big-ropes", "https://e.example/big-ropes"]


GLOSSARY = """Words
=====

.. glossary::
   :sorted:

   Availability Zone
   AZ : places
      Where *machines* are.

      More than one :term:`host`.

   .. a comment
      of two lines

   host_machine
     One of them.

   可用区
     Another.
"""


def test_terms_of_a_glossary_are_places():
    document = rst(GLOSSARY)
    assert document.root.text == (
        "Availability Zone\nAZ\nWhere machines are.\nMore than one host.\n\nhost_machine\nOne of them.\n\n可用区\nAnother."
    )
    assert {"term-Availability-Zone", "term-AZ", "term-host_machine", "term-可用区"} <= set(document.root.anchors)
    assert links(document) == [("xref", "#term-host", "host")]


@pytest.mark.parametrize(
    "written", ["availability zone", "Availability Zone", "az", "host_machine", "Host_Machine", "可用区"]
)
def test_term_leads_to_the_glossary_of_any_file(written):
    format = RstFormat()
    folder = Folder({"words.rst": GLOSSARY, "a.rst": f"A\n=\n\nSee :term:`it <{written}>`.\n"})
    [words], [document] = (list(format.read(folder.source(path), {})) for path in ("words.rst", "a.rst"))
    [link] = document.links()
    candidates = [name.partition("#") for name in format.resolve(link, document)]
    assert any(name in words.names and place in words.root.anchors for name, _, place in candidates)


@pytest.mark.parametrize(
    "directive",
    [
        ".. seealso:: :doc:`sails`",
        ".. seealso::\n   :doc:`sails`",
        ".. seealso::\n\n   :doc:`sails`",
        ".. seealso:: :doc:`sails`\n   :class: wide",
    ],
)
def test_a_see_also_that_is_a_role_keeps_it(directive):
    document = rst(f"T\n=\n\n{directive}\n")
    assert document.root.text == "See also:\n\nsails"
    assert links(document) == [("see_also", "sails", "sails")]


def test_a_folder_of_templates_is_told_file_by_file(tmp_path):
    (tmp_path / "_layouts").mkdir()
    (tmp_path / "_layouts" / "page.html").write_text("<title>{{ page.title }}</title>{{ content }}")
    (tmp_path / "index.html").write_text("---\ntitle: Home\n---\n<p>Welcome.</p>")
    assert [document.title for document in read(tmp_path)] == ["Home"]


def test_a_title_repeated_by_a_page_makes_no_bomb_of_it():
    for length in (400, 4000):
        html = f"---\ntitle: {'x' * length}\n---\n<p>A knot, a bend, a hitch.</p>" + "{{ page.title }} " * 5000
        [*documents] = HtmlFormat().read(SourceFile("a.html", html.encode()), {})
        assert sum(len(text(document)) for document in documents) < 3 * len(html)
