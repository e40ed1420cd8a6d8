"""Org: headings with their ids, lists, tables, blocks, links, footnotes, included files."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer.corpus import Corpus
from structformer.document import Document
from structformer.formats.source import SourceFile
from structformer.graph import ReferenceGraph
from structformer.graph.resolution import FOUND_BY
from structformer.ingestion import ingest

from conftest import write_pages
from reading import Folder, links, one, outline
from structformer_devkit.formats import Sample, check_format, mark_problems
from structformer_exports.graph_views import checked_links
from structformer_org.format import OrgFormat

BOATS = """#+TITLE: Boats
#+AUTHOR: Ann Bee
#+TODO: TODO LATER | DONE

All about *boats*, /sails/ and =ropes=.

* LATER [#A] Reefing a sail [1/2] :sails:deck:
SCHEDULED: <2026-01-01 Thu>
:PROPERTIES:
:CUSTOM_ID: reefing
:ID: 6f2c3c2e-0000-4000-8000-123456789abc
:END:

See [[#knots][the knots]], [[file:other.org::*The top][another page]] and [[*Knots]].
:LOGBOOK:
CLOCK: [2026-01-01 Thu 10:00]
:END:

#+begin_src sh -n
,* not a heading
  ls
#+end_src

** Knots
:PROPERTIES:
:CUSTOM_ID: knots
:END:
- Ropes :: Laid from strands.
- Knots ::

  Of ropes.

* COMMENT Plans
Never shown.
** Nor this
* Also not :noexport:
* See also
- [[./other.org][Other]]
"""


def read(text: str) -> Document:
    return one(text, "org")


def read_from(files: dict[str, str], path: str) -> Document:
    [document] = OrgFormat().read(Folder(files).source(path), {})
    return document


def blocks(document: Document) -> list[tuple[str, str, str]]:
    """(kind, detail, text) of every mark of the root's text."""
    return [(mark.kind.value, mark.detail, document.root.text[mark.start : mark.end]) for mark in document.root.marks]


def test_conformance():
    assert check_format(OrgFormat(), [Sample("boats.org", BOATS.encode())]) == []


def test_a_check_box_begins_an_item():
    assert read("* T\n- [X] done\n- press [X] to close\n").root.text == "done\npress [X] to close"


def test_a_page_with_all_that_is_common():
    document = read(BOATS)
    assert outline(document) == [(0, "Boats"), (1, "Reefing a sail"), (2, "Knots"), (1, "See also")]
    root, reefing, knots, _ = document.sections()
    assert root.text == "All about boats, sails and ropes."
    assert document.metadata == {"author": "Ann Bee"}
    assert reefing.text == "See the knots, another page and Knots.\n\n* not a heading\n  ls"
    assert reefing.anchors[:2] == ("reefing", "6f2c3c2e-0000-4000-8000-123456789abc")
    assert knots.text == "Ropes\nLaid from strands.\nKnots\nOf ropes."
    assert links(document) == [
        ("xref", "#knots", "the knots"),
        ("hyperlink", "other.org#the-top", "another page"),
        ("xref", "#knots", ""),
        ("see_also", "./other.org", "Other"),
    ]


def test_a_section_is_found_by_its_id_from_any_file(tmp_path):
    pages = {
        "boats.org": BOATS,
        "other.org": "* The top\nBack to [[id:6f2c3c2e-0000-4000-8000-123456789abc][reefing]].\n",
    }
    write_pages(tmp_path / "pages", pages)
    ingest(tmp_path / "pages", tmp_path / "w")
    graph = ReferenceGraph.open(tmp_path / "w", Corpus.open(tmp_path / "w"))
    assert not [link for link in checked_links(tmp_path / "w") if link.outcome not in FOUND_BY]
    between = [edge for edge in graph.edges() if edge["source_document"] != edge["target_document"]]
    assert [(edge["source_document"], edge["target_section"]) for edge in between] == [(0, 0), (0, 0), (1, 1)]


def test_a_drawer_of_properties_may_have_any_names_and_no_values():
    drawer = ":PROPERTIES:\n:URL:\n:AUTHOR: Ann\n:header-args:sh: :tangle x\n:ID: ab\n:END:\n"
    document = read(f"* Sails\n{drawer}Text.\n")
    assert (document.root.subtree_text(), document.names[-1]) == ("Text.", "id:ab")


def test_a_file_in_brackets_is_found_and_a_cited_work_is_outside(tmp_path):
    write_pages(
        tmp_path / "pages", {"a.org": "See [[b.org]], [[sub/c.org]] [cite:@bee]\n", "b.org": "B\n", "sub/c.org": "C\n"}
    )
    links = ingest(tmp_path / "pages", tmp_path / "w").links
    assert (links["xref"]["resolved"], links["xref"]["dead_anchor"], links["citation"]["external"]) == (2, 0, 1)


def test_blocks_say_what_they_are():
    document = read(
        """#+CAPTION: How to list
#+begin_src Shell :results output
ls
#+end_src
#+begin_quote
Said so.

- twice
#+end_quote
#+begin_note
Mind it.
#+end_note
: as it stands
:   here
\\begin{equation}
x^2
\\end{equation}
# a comment
#+begin_comment
Never shown.
#+end_comment
-----
1. [X] one
   more of it

   a second paragraph
   - inner
2. two
"""
    )
    assert document.root.text == (
        "How to list\nls\n\nSaid so.\n\ntwice\n\nMind it.\n\nas it stands\n  here\n\n"
        "\\begin{equation}\nx^2\n\\end{equation}\n\none more of it\na second paragraph\ninner\ntwo"
    )
    assert [(kind, detail) for kind, detail, _ in blocks(document)] == [
        ("caption", ""),
        ("code", "shell"),
        ("quote", ""),
        ("list", ""),
        ("item", ""),
        ("note", "note"),
        ("code", ""),
        ("formula", ""),
        ("list", "1"),
        ("item", ""),
        ("list", ""),
        ("item", ""),
        ("item", ""),
    ]


def test_the_rows_above_a_tables_first_rule_are_its_titles():
    document = read(
        "#+CAPTION: Ropes\n| Rope | Use |\n|------+-----|\n| Hemp | [[a.org][mooring]] |\n|  | more |\n#+TBLFM: $2=1\n"
    )
    assert document.root.text == "Ropes\nRope | Use\nHemp | mooring\n| more"
    assert [(detail, text) for kind, detail, text in blocks(document) if kind == "row"] == [
        ("header", "Rope | Use"),
        ("", "Hemp | mooring"),
        ("", "| more"),
    ]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("*b* /e/ _u_ +s+ ~c~ =v=, (*x*)", "b e u s c v, (x)"),
        ("2*3*4 and/or, snake_case, a =b", "2*3*4 and/or, snake_case, a =b"),
        ("=*as it is*= and x^{2}, H_{2}O", "*as it is* and x², H2O"),
        ("10^{3} kg, 2^{-5} m, 7_{8}, 1^{st}, 25^{\\circ}C", "10³ kg, 2⁻⁵ m, 7₈, 1st, 25∘C"),
        ("A word.[fn:1] More[fn:: a /note/].", "A word. More (a note)."),
        ("[fn:1] What the note says.", "What the note says."),
        (r"\alpha{} \to b\nbsp{}c \notone", "α → b c \\notone"),
        ("<<here>>Text {{{kbd(C-c)}}} @@html:<b>@@.", "Text C-c ."),
        ('@@html:<a href="mailto:me@boats.example">@@Me@@html:</a>@@', "Me"),
        ("one \\\\\ntwo", "one\ntwo"),
        (r"A formula $x+1$ or \(y\), for $5 or $6.", "A formula x+1 or y, for $5 or $6."),
        ("src_sh[:results x]{ls} [cite:@bee26]", "ls"),
        ("[[shell:ls][a command]] [[info:org]]", "a command info:org"),
    ],
)
def test_inline_marks(written, shown):
    assert read(f"{written}\n").root.text == shown


def test_links_with_and_without_a_text():
    document = read(
        "#+LINK: bug https://e.org/bug?%s\n"
        "[[bug:7][seven]] https://e.org/a. <https://e.org/b> [[file:sail.png]] [[https://e.org/\\[c\\]][c]] doi:10.1/x [cite:@bee26]\n"
    )
    assert links(document) == [
        ("hyperlink", "https://e.org/bug?7", "seven"),
        ("hyperlink", "https://e.org/a", "https://e.org/a"),
        ("hyperlink", "https://e.org/b", "https://e.org/b"),
        ("embed", "sail.png", ""),
        ("hyperlink", "https://e.org/[c]", "c"),
        ("hyperlink", "https://doi.org/10.1/x", "doi:10.1/x"),
        ("citation", "cite:bee26", "bee26"),
    ]


def test_macros_of_a_document_are_written_out():
    text = "#+MACRO: rope the $1 rope of $2\n#+MACRO: a {{{a}}}{{{a}}}\n{{{rope(long,hemp)}}} {{{a}}}\n"
    assert read(text).root.text.startswith("the long rope of hemp")


def test_what_is_included_is_a_level_deeper():
    files = {
        "a.org": '#+TITLE: A\n* One\n#+INCLUDE: "b.org"\n#+INCLUDE: "c.py" src python :lines "2-3"\n* Last\n'
        '#+INCLUDE: "../secret.org"\n#+INCLUDE: "a.org"\n',
        "b.org": "Of B.\n* Two\nText.\n",
        "c.py": "no\n* yes\nno\n",
    }
    source = Folder(files).source("a.org")
    [document] = OrgFormat().read(source, {})
    assert outline(document) == [(0, "A"), (1, "One"), (2, "Two"), (1, "Last")]
    assert document.root.children[0].text == "Of B."
    assert document.root.children[0].children[0].text == "Text.\n\n* yes"
    assert "#+INCLUDE: ../secret.org: not found: left out" in source.warnings
    assert OrgFormat().parts(source) == {"b.org"}


def test_titles_entities_and_rows_that_only_emacs_heeds():
    page = "#+TITLE: All /about/ =boats=\nAnd so on\\ldots{} in \\LaTeX{}\n\n| a | b |\n|---+---|\n| / | <> |\n| <l> | <r5> |\n| <1 | 2 |\n"
    document = one(page, "org")
    assert document.title == "All about boats"
    assert document.root.text == "And so on… in LaTeX\n\na | b\n<1 | 2"


MARKUP = st.lists(
    st.sampled_from(
        "a¦b c¦*¦/¦=¦~¦_{¦}¦[[¦][¦]]¦[fn:¦:¦]¦{{{¦}}}¦$¦\\(¦\\)¦<<¦>>¦* ¦** TODO ¦- ¦  1. ¦x :: y¦| ¦|-¦:a:\n¦:END:\n¦:PROPERTIES:\n"
        "¦#+begin_src\n¦#+end_src\n¦#+begin_quote\n¦#+end_quote\n¦#+CAPTION: c\n¦: ¦# ¦\\begin{a}\n¦\\end{a}\n¦\n¦\n\n¦  ".split(
            "¦"
        )
    ),
    max_size=60,
).map("".join)


@given(MARKUP)
def test_any_mixture_of_marks_gives_a_valid_tree(text):
    for document in OrgFormat().read(SourceFile("a.org", text.encode()), {}):
        for section in document.sections():
            assert not list(mark_problems(section.text, section.marks))
            for link in section.links:
                assert link.text == section.text[link.start : link.end] or link.start == link.end or not link.text


def test_what_is_a_document_is_a_link_where_it_is_included():
    files = {"in/a.org": '* One\n#+INCLUDE: "../b.org"\n', "b.org": "#+TITLE: Ropes\nHemp.\n"}
    [document] = OrgFormat().read(Folder(files).source("in/a.org"), {})
    assert [(link.target, link.text) for link in document.links()] == [("../b.org", "Ropes")]
    assert "Hemp." not in "".join(section.text for section in document.sections())


def test_an_id_leads_to_another_chapter_of_the_book(tmp_path):
    pages = {
        "book.org": '#+TITLE: Knots\n#+INCLUDE: "one.org"\n#+INCLUDE: "two.org"\n',
        "one.org": "#+TITLE: One\n\nSee [[#bends]].\n",
        "two.org": "#+TITLE: Two\n\n* Joining ropes\n:PROPERTIES:\n:CUSTOM_ID: bends\n:END:\nTie them.\n",
    }
    write_pages(tmp_path / "pages", pages)
    ingest(tmp_path / "pages", tmp_path / "w")
    assert not [link for link in checked_links(tmp_path / "w") if link.outcome not in FOUND_BY]


@pytest.mark.parametrize(
    "opened", ["#+begin_src sh", "#+begin_example", "#+begin_quote", "#+BEGIN_x", "\\begin{align}"]
)
def test_a_block_without_an_end_ends_before_the_next_heading_with_a_warning(opened):
    source = SourceFile("a.org", f"* A\n\nOne.\n\n{opened}\nkept\n\n* B\n\nTwo.\n".encode())
    [document] = OrgFormat().read(source, {})
    assert [section.title for section in document.root.children] == ["A", "B"]
    assert "kept" in document.root.children[0].text
    assert document.root.children[1].text == "Two."
    assert source.warnings == [f"{opened} without an end: it ends before the next heading"]


def test_a_name_between_colons_is_a_drawer_only_with_an_end():
    source = SourceFile("a.org", b"* A\n\n:note:\nText.\n\n* B\n")
    [document] = OrgFormat().read(source, {})
    assert "Text." in document.root.children[0].text
    assert source.warnings == []


@pytest.mark.parametrize(
    "lines",
    ["#+begin_export html\n<p>hot &amp; <b>we</b>t</p><!-- x -->\n#+end_export", "#+HTML: <p>hot &amp; wet</p>"],
)
def test_html_for_the_export_is_text(lines):
    assert one(f"* Pans\nOne.\n{lines}\nTwo.\n", "org").root.text == "One.\n\nhot & wet\n\nTwo."


def test_html_within_a_line_is_text_and_what_is_for_other_exports_is_not():
    text = one("* Pans\nA @@html:<i>hot &amp; wet</i>@@ pan@@latex:\\dots@@.\n", "org").root.text
    assert text == "A hot & wet pan."
