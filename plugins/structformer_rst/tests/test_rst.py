"""reStructuredText: docutils' grammar, Sphinx's roles and directives, included files."""

from __future__ import annotations

from pathlib import Path

import pytest
from structformer import Corpus, ingest
from structformer.document import Document, LinkKind
from structformer.formats.source import SourceFile

from conftest import write_pages
from reading import Folder, links, one, text
from structformer_devkit.formats import Sample, check_format
from structformer_rst.format import RstFormat

SAMPLES = [
    Sample(path.name, path.read_bytes())
    for path in sorted((Path(__file__).parents[3] / "tests" / "samples").glob("*.rst"))
]


def test_conformance():
    assert SAMPLES
    assert check_format(RstFormat(), SAMPLES) == []


def test_the_tree_of_the_sample():
    [document] = RstFormat().read(SourceFile("knots.rst", SAMPLES[0].data), {})
    assert document.title == "Knots"
    assert [(section.level, section.title) for section in document.sections()] == [
        (0, "Knots"),
        (2, "Bowline"),
        (3, "Clove hitch"),
    ]
    links = [(link.kind.value, link.target, link.text) for link in document.links()]
    assert ("hyperlink", "https://boats.example/guide", "guide to boats") in links
    assert ("hyperlink", "rig/index", "Rigging") in links
    assert ("xref", "#clove-hitch", "the hitch") in links
    assert ("see_also", "/index", "boats") in links


def test_targets_before_a_heading_name_it():
    [document] = RstFormat().read(SourceFile("knots.rst", SAMPLES[0].data), {})
    assert "the-bowline" in list(document.sections())[1].anchors


def read(text: str) -> Document:
    return one(text, "rst")


def test_what_sphinx_and_its_extensions_add_is_text():
    document = read(
        """Knots
=====

See :py:func:`tie <knots.tie>`, :c:macro:`KNOT` and :ref:`the bowline <bowline>`.

.. code-block:: python
   :linenos:

   def f():
       return 1

.. py:function:: tie(rope)
   :noindex:

   Ties the *rope*.

.. some:unknown:: Its argument
   :option: x

   Its content.

.. _bowline:

Bowline
-------

.. toctree::
   :maxdepth: 2

   a/index
   Title <b>
"""
    )
    assert document.root.text == (
        "See tie, KNOT and the bowline.\n\ndef f():\n    return 1\n\ntie(rope)\n\nTies the rope.\n\nIts argument\n\nIts content."
    )
    assert links(document) == [
        ("xref", ":func::knots.tie", "tie"),
        ("xref", ":macro::KNOT", "KNOT"),
        ("xref", "#bowline", "the bowline"),
        ("hyperlink", "a/index", "a"),
        ("hyperlink", "b", "Title"),
    ]


def test_included_files_are_parts():
    folder = Folder({"a.rst": "A\n=\n\n.. include:: b.txt\n\n.. include:: ../out\n", "b.txt": "From *b*.\n"})
    source = folder.source("a.rst")
    [document] = RstFormat().read(source, {})
    assert document.root.text == "From b."
    assert source.warnings == ["line 6: ../out is not included: it is not in the ingested folder, or includes itself"]
    assert RstFormat().parts(folder.source("a.rst")) == {"b.txt"}


@pytest.mark.parametrize(
    ("taker", "listing", "target"),
    [
        ("docs/all.rst", "docs/index.rst", "b.rst"),
        ("docs/deep/all.rst", "index.rst", "../b.rst"),
        ("docs/all.rst", "docs/all.rst", "b.rst"),
        ("README.rst", "docs/contents.txt", "docs/b.rst"),
    ],
)
def test_a_page_that_a_toctree_lists_is_linked_where_it_is_included(taker, listing, target, tmp_path):
    pages = {
        taker: f"A\n=\n\nBefore.\n\n.. include:: {target}\n\nAfter.\n",
        "docs/b.rst": "*B* here\n========\n\nOf b.\n",
    }
    entry = "/docs/b" if listing == "index.rst" else "b"
    pages[listing] = pages.get(listing, "I\n=\n") + f"\n.. toctree::\n\n   B <{entry}>\n"
    write_pages(tmp_path / "in", pages)
    ingest(tmp_path / "in", tmp_path / "w", workers=1)
    documents = {document.id: document for document in Corpus.open(tmp_path / "w").documents()}
    assert documents["docs/b.rst"].root.text == "Of b."
    assert documents[taker].root.text.startswith("Before.\n\nB here\n\nAfter.")
    assert ("hyperlink", target, "B here") in links(documents[taker])


def test_a_page_that_no_index_lists_is_part_of_the_one_that_includes_it():
    pages = {
        "index.rst": "I\n=\n\n.. toctree::\n\n   a\n",
        "a.rst": "A\n=\n\n.. include:: b.rst\n",
        "b.rst": "B\n=\n\nOf b.\n",
        "c.rst": "C\n=\n\n.. toctree::\n\n   b\n",
    }
    source = Folder(pages).source("a.rst")
    [document] = RstFormat().read(source, {})
    assert "Of b." in text(document)
    assert RstFormat().parts(source) == {"b.rst"}


def test_an_included_path_from_the_root_is_one_from_the_folder_of_the_pages():
    folder = Folder({"docs/use/a.rst": "A\n=\n\n.. include:: /parts/b.txt\n", "docs/parts/b.txt": "From *b*.\n"})
    source = folder.source("docs/use/a.rst")
    [document] = RstFormat().read(source, {})
    assert (document.root.text, source.warnings) == ("From b.", [])
    assert RstFormat().parts(source) == {"docs/parts/b.txt"}


def test_what_a_part_includes_may_be_named_from_the_folder_of_the_page():
    files = {
        "docs/types.rst": "T\n=\n\n.. include:: types/operators.rst\n",
        "docs/types/operators.rst": "From *b*.\n\n.. include:: types/table.rst\n",
        "docs/types/table.rst": "And *c*.\n",
    }
    source = Folder(files).source("docs/types.rst")
    [document] = RstFormat().read(source, {})
    assert (document.root.text, source.warnings) == ("From b.\n\nAnd c.", [])


CONF = '''
version = "2." + "1"
release = made()
rst_prolog = """
.. |boat| replace:: Gig |br| of |version|
.. |other| image:: x.png
.. _yard: https://yard.example
"""
rst_epilog = f".. |br| raw:: html\\n\\n   <br>\\n"
rst_epilog += "Not a definition.\\n"
'''


def test_what_sphinx_puts_around_every_page_is_known():
    page = "A |release|\n===========\n\nThe |boat| |br| (|version|, |other|) at the yard_, |mine| and |Two  Words|.\n\n.. |mine| replace:: own\n.. |two words| replace:: |unknown| ones\n"
    source = Folder({"docs/use/a.rst": page, "docs/conf.py": CONF}).source("docs/use/a.rst")
    [document] = RstFormat().read(source, {})
    assert (document.title, document.root.text) == (
        "A",
        "The Gig of 2.1 (2.1, other) at the yard, own and unknown ones.",
    )
    assert [link.target for link in document.root.links if link.kind is LinkKind.HYPERLINK] == ["https://yard.example"]


@pytest.mark.parametrize(
    ("role", "kind", "targets"),
    [
        ("obj", "code_span", [":obj::boat.sail"]),
        ("any", "code_span", [":obj::boat.sail"]),
        ("math", "formula_span", []),
        ("", "emphasis", []),
    ],
)
def test_text_between_backticks_is_what_conf_py_says(role, kind, targets):
    page = "A\n=\n\nA `boat.sail`.\n"
    for conf in (f"default_role = {role!r}", ""):
        source = Folder({"docs/a.rst": page, "docs/conf.py": conf}).source("docs/a.rst")
        [document] = RstFormat().read(source, {})
        found = [mark.kind for mark in document.root.marks], [link.target for link in document.links()]
        assert found == (([kind], targets) if conf else (["emphasis"], []))


def test_what_sphinx_fills_in_is_no_document():
    source = Folder({"_templates/class.rst": "{{ name }}\n\n.. autoclass:: {{ name }}\n"}).source(
        "_templates/class.rst"
    )
    assert list(RstFormat().read(source, {})) == []
    assert source.warnings == ["a template that its site fills in: not a document"]


@pytest.mark.parametrize("conf", ["rst_prolog = (", "rst_prolog = 1\nrst_prolog += '.. |x'", "\0", "x = " + "(" * 5000])
def test_a_damaged_conf_py_does_no_harm(conf):
    source = Folder({"a.rst": "A\n=\n\nText |x|.\n", "conf.py": conf}).source("a.rst")
    [document] = RstFormat().read(source, {})
    assert document.root.text.startswith("Text ")


def test_a_catalogue_of_translations_is_no_document():
    head = b'msgid ""\nmsgstr ""\n\n#: a.rst:3\nmsgid "See :ref:`there` and ``this``, `that`_"\nmsgstr ""\n'
    assert RstFormat().sniff(head, "a.po") == 0
    assert RstFormat().sniff(head.replace(b"msgid", b"text"), "a") > 0


def test_escapes_are_gone_from_texts_titles_targets_and_names():
    document = read(
        "CO\\ :sub:`2`\\ , *not* \\*this\n========================\n\n"
        "C:\\\\dir, un\\ **fasten**\\ ed, 結び\\ *目*\\ は, :ref:`a\\_b <knot\\_one>`, :kbd:`Ctrl\\ +C`, ``kept\\ so``.\n"
    )
    assert document.title == document.root.title == "CO2, not *this"
    assert document.root.text == "C:\\dir, unfastened, 結び目は, a_b, Ctrl+C, kept\\ so."
    assert links(document) == [("xref", "#knot_one", "a_b")]


def test_a_page_s_own_contents_are_no_text():
    document = read("Guide\n=====\n\nHello.\n\n.. contents:: Here\n   :local:\n\nOne\n---\n\nText.\n")
    assert [(section.title, section.text) for section in document.sections()] == [("Guide", "Hello."), ("One", "Text.")]
    assert links(document) == []


@pytest.mark.parametrize(
    ("directive", "expected"),
    [
        ("versionadded:: 3.2", "Added in version 3.2."),
        ("versionchanged:: 3.3 It *floats*.", "Changed in version 3.3: It floats."),
        ("versionchanged:: 3.4\n   It sinks.", "Changed in version 3.4: It sinks."),
        ("deprecated:: 4.0\n\n   Use `row`.\n\n   Or sail.", "Deprecated since version 4.0: Use row.\n\nOr sail."),
        ("versionremoved:: 5", "Removed in version 5."),
    ],
)
def test_versions_say_what_sphinx_prints(directive, expected):
    assert read(f".. {directive}\n").root.text == expected


def test_each_release_of_a_change_log_is_a_section():
    log = read(
        "2.0 Changelog\n=============\n\n.. changelog::\n    :version: 2.0.2\n    :released: May 2\n\n"
        "    .. change::\n        :tags: sails\n\n        The ship heels less.\n\n"
        ".. changelog::\n    :version: 2.0.1\n\n    .. change::\n\n        Added oars.\n\n"
        "- an item\n\n  .. toggle::\n      :version: 3\n\n      Within it.\n"
    )
    sections = {section.title: section.text for section in log.root.walk()}
    assert list(sections) == ["2.0 Changelog", "2.0.2", "2.0.1"]
    assert "The ship heels less." in sections["2.0.2"]
    assert "Added oars." in sections["2.0.1"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("10\\ :sup:`3` kg, 2\\ :superscript:`-5` m, 7\\ :sub:`8`, 1\\ :sup:`st`", "10³ kg, 2⁻⁵ m, 7₈, 1st"),
        (
            ":guilabel:`&Save` of :menuselection:`&File --> Save && &quit` or :guilabel:`R & D`",
            "Save of File --> Save & quit or R & D",
        ),
        (".. role:: raw-html(raw)\n   :format: html\n\na :raw-html:`<br />` b", "a b"),
        (
            "-f FILE, --file=FILE  Read a *file*.\n\n                      Or two.\n-q  Be quiet.",
            "-f FILE, --file=FILE\nRead a file.\nOr two.\n-q\nBe quiet.",
        ),
        (
            ".. grid:: 1 2 2 3\n\n   .. card:: Mast\n\n      Head\n      ^^^\n      Body\n      +++\n      Foot",
            "Mast\n\nHead\n\nBody\n\nFoot",
        ),
        (".. raw:: html\n\n   <b>x</b>\n\n.. raw:: html\n   :file: a.html\n\nText.", "Text."),
    ],
)
def test_what_is_shown(written, shown):
    assert read(f"{written}\n").root.text == shown


NAMED = """Aa
==

:numref:`fig`, :numref:`Fig. %s <fig>`, :numref:`{name} <fig>`, :ref:`cb`, :ref:`tb`, :ref:`t <nt>`, :ref:`t <img>`, :eq:`e1`

.. figure:: a.png
   :name: fig

   A mast.

.. math:: a^2
   :label: e1
   :nowrap:

.. code-block:: c
   :name: cb
   :caption: Boil *it* well

   x

.. table:: Ropes
   :name: tb

   == ==
   a  b
   == ==

.. note:: Hm.
   :name: nt

.. image:: b.png
   :name: img

Bb
--
"""


def test_what_has_a_name_is_a_place(tmp_path, run):
    document = read(NAMED)
    assert document.root.anchors == ("aa", "fig", "equation-e1", "cb", "tb", "nt", "img")
    assert document.root.text == (
        "A mast., Fig., A mast., Boil it well, Ropes, t, t, e1\n\nA mast.\n\na^2\n\n"
        "Boil it well\n\nx\n\nRopes\n\na | b\n\nHm."
    )
    write_pages(tmp_path / "in", {"a.rst": NAMED, "b.rst": "B\n=\n\n:ref:`c <cb>` :eq:`e1`\n"})
    run("ingest", tmp_path / "in", "-w", tmp_path / "w", "-q")
    counts = run("graph", "stats", "-w", tmp_path / "w", "--json").json["links"]["xref"]
    assert (counts["resolved"], counts["unresolved"], counts["dead_anchor"]) == (10, 0, 0)


DESCRIBED = """Knots
=====

.. py:module:: knots

.. function:: tie(rope, *args, times=1) -> Knot
              tie(rope, **options)

   Ties; see :func:`untie`, :meth:`Rope.cut`, :class:`int` and :func:`!print`.

.. class:: Rope(length)

   See :meth:`cut`, :attr:`~knots.Rope.length`.

   .. method:: cut(where)

   .. attribute:: length

.. function:: untie(knot)

.. program:: knot

.. option:: -t <n>, --times=<n>

.. envvar:: KNOT

.. confval:: depth

.. setting:: STRICT

.. class:: wide

A paragraph.
"""
PAGES = {
    "docs/knots.rst": DESCRIBED,
    "docs/again.rst": ".. currentmodule:: knots\n\n.. function:: tie(rope)\n   :no-index:\n\n:func:`tie`, :meth:`.cut`\n",
    "docs/use.rst": """Use
===

:func:`knots.tie`, :py:meth:`knots.Rope.cut() <knots.Rope.cut>`, :class:`~knots.Rope`, :mod:`knots`,
:option:`knot --times`, :option:`--times=3`, :envvar:`KNOT`, :confval:`depth`, :setting:`STRICT`, :opt:`STRICT`.

:exc:`ValueError`, :envvar:`PATH`, :issue:`x12`, :pep:`8` and :c:func:`malloc` are described elsewhere,
:kbd:`C-x` and :file:`/etc/fstab` nowhere. :option:`--nothing` is an error.
""",
}


def test_what_directives_describe_has_places():
    document = read(DESCRIBED)
    assert document.root.anchors == (
        *("knots", "module-knots", "knots.tie", "knots.Rope", "knots.Rope.cut", "knots.Rope.length", "knots.untie"),
        *("cmdoption-knot-t", "cmdoption-knot-times", "envvar-KNOT", "confval-depth", "setting-STRICT"),
    )
    assert links(document) == [
        ("xref", "#knots.untie", "untie"),
        ("xref", "#knots.Rope.cut", "Rope.cut"),
        ("xref", ":class:knots:int", "int"),
        ("xref", "#knots.Rope.cut", "cut"),
        ("xref", "#knots.Rope.length", "length"),
    ]
    assert "tie(rope, *args, times=1) -> Knot\ntie(rope, **options)" in document.root.text
    assert "wide" not in document.root.text  # docutils' own directive of that name


@pytest.mark.parametrize(
    ("directive", "name"),
    [
        ("c:function:: PyObject *PyKnot_Tie(PyObject *rope, \\\n                  int times)", "PyKnot_Tie"),
        ("c:macro:: KNOT_MAX", "KNOT_MAX"),
        ("cpp:class:: template<typename T, class A = B<T>> sea::Knot final : public Base", "sea.Knot"),
        ("cpp:function:: std::vector<int> sea::Knot::ends() const", "sea.Knot.ends"),
        ("js:function:: $.tie(rope[, times])", "$.tie"),
        ("py:data:: LENGTH: int = 3", "LENGTH"),
        ("autoclass:: Rope", "Rope"),
    ],
)
def test_signatures_of_other_languages(directive, name):
    assert name in read(f"A\n=\n\n.. {directive}\n\n   Text.\n").root.anchors


def test_options_of_another_project_are_described_elsewhere(tmp_path, run):
    described = "A\n=\n\n.. program:: knot\n\n.. option:: tie:now\n\n"
    pages = {
        "a.rst": f"{described}:option:`python:-m`, :option:`tie:now`, :option:`--gone`.\n",
        "b.md": "# B\n\n{option}`python:-m` and {ref}`a`\n",
    }
    write_pages(tmp_path / "in", pages)
    run("ingest", tmp_path / "in", "-w", tmp_path / "w", "-q")
    counts = run("graph", "stats", "-w", tmp_path / "w", "--json").json["links"]["xref"]
    assert (counts["resolved"], counts["external"], counts["unresolved"]) == (2, 2, 1)
    assert "knot --gone" in run("graph", "check", "-w", tmp_path / "w").out


def test_references_to_objects_lead_to_any_page(tmp_path, run):
    write_pages(tmp_path / "in", PAGES)
    run("ingest", tmp_path / "in", "-w", tmp_path / "w", "-q")
    assert (
        "docs/use.rst: Use: xref '--nothing' -> :option::--nothing: not found"
        in run("graph", "check", "-w", tmp_path / "w").out
    )
    counts = run("graph", "stats", "-w", tmp_path / "w", "--json").json["links"]["xref"]
    assert counts == {"resolved": 16, "external": 5, "file": 0, "unresolved": 1, "ambiguous": 0, "dead_anchor": 0}


@pytest.mark.parametrize(
    ("written", "shown", "targets"),
    [
        (":orphan:\n:tocdepth: 2\n\nT\n=\n\nText.\n", "Text.", []),
        (":html_theme.sidebar_secondary.remove:\n\nT\n=\n\nText.\n", "Text.", []),
        (".. |br| raw:: html\n\n   <br/>\n\nOne |br| two.\n", "One two.", []),
        (".. note::\n\n   .. |br| raw:: html\n\n      <br/>\n\n   One |br| two.\n", "One two.", []),
        ("Start :octicon:`rocket;1em` here :fas:`star`.\n", "Start here .", []),
        (
            ".. sectionauthor:: A <a@b>\n\n.. tabularcolumns:: |l|l|\n\n.. only:: latex\n\n   Print.\n\nText.\n",
            "Text.",
            [],
        ),
        (".. only:: html and not epub\n\n   Text.\n", "Text.", []),
        (".. code:: python\n   :number-lines:\n\n   x = 1\n", "x = 1", []),
        (
            ".. autosummary::\n   :toctree: made\n\n   sea.tie\n   ~sea.Rope\n",
            "sea.tie\nRope",
            [":obj::sea.tie", ":obj::sea.Rope"],
        ),
        (".. toctree::\n   :caption: Of *knots*\n\n   A <a>\n", "Of knots\n\nA", ["a"]),
        (".. toctree::\n   :caption: Knots\n   :hidden:\n\n   A <a>\n", "A", ["a"]),
        (".. button-ref:: sea\n   :color: primary\n\n   To *sea*\n", "To sea", ["#sea"]),
        (".. button-link:: https://a.example\n\n   Go\n", "Go", ["https://a.example"]),
        (".. grid-item-card:: Guide\n   :link: guide\n   :link-type: doc\n\n   Read.\n", "Guide\n\nRead.", ["guide"]),
    ],
)
def test_what_is_said_to_sphinx_is_no_text_and_what_it_makes_a_link_of_is_one(written, shown, targets):
    document = read(written)
    assert (document.root.text, [link.target for link in document.links()]) == (shown, targets)


def test_a_pep_and_an_rfc_have_words_and_places():
    document = read(":pep:`8`, :pep:`the *why* <20>`, :pep:`503 <503#names>` and :rfc:`this <3986#s-2>`\n")
    assert document.root.text == "PEP 8, the *why*, 503 and this"
    assert [link.target.rpartition("/")[2] for link in document.links()] == [
        "pep-0008", "pep-0020", "pep-0503#names", "rfc3986.html#s-2",
    ]  # fmt: skip


def test_a_footnote_is_no_label(tmp_path, run):
    write_pages(
        tmp_path / "in",
        {
            "a.rst": "A\n=\n\n.. _pip:\n\npip\n---\n\nText.\n",
            "b.rst": "B\n=\n\nSee [#pip]_.\n\n.. [#pip] Note.\n",
            "c.rst": ":ref:`pip`\n",
        },
    )
    run("ingest", tmp_path / "in", "-w", tmp_path / "w", "-q")
    counts = run("graph", "stats", "-w", tmp_path / "w", "--json").json["links"]["xref"]
    assert counts["dead_anchor"] == 0


def test_a_page_of_another_project_is_elsewhere():
    document = read("See :doc:`the test client <werkzeug:test>`, :doc:`deploying/index` and :download:`a <a:b.zip>`.\n")
    assert [link.target for link in document.links()] == ["//werkzeug:test", "deploying/index", "a:b.zip"]


def test_a_title_with_a_power_is_shown_with_it():
    document = read("Sea\n===\n\nSee :ref:`x`.\n\n.. _x:\n\nOver 10\\ :sup:`3` **kg**\n----------------------\n")
    assert document.root.text == "See Over 10³ kg."


def test_a_page_without_words_of_its_own_is_called_by_its_title():
    folder = Folder(
        {
            "docs/a.rst": "A\n=\n\nSee :doc:`sub/zones`, :doc:`/sub/zones` and :doc:`gone/away`.\n\n.. toctree::\n\n   sub/zones\n   sub/depths.md\n",
            "docs/sub/depths.md": "(depths)=\n# *Depths*\n\n```\npython -m depths\n---------\n```\n",
            "docs/sub/zones.rst": ".. _zones:\n\n===========================\n:mod:`knots` --- *All* zones\n===========================\n",
        }
    )
    [document] = RstFormat().read(folder.source("docs/a.rst"), {})
    title = "knots --- All zones"
    assert document.root.text == f"See {title}, {title} and away.\n\n{title}\nDepths"


def test_labels_of_any_script_are_places(tmp_path, run):
    write_pages(
        tmp_path / "in",
        {
            "a.rst": "甲\n==\n\n.. _Two Words:\n\n乙\n--\n\n.. _结:\n\n丙\n--\n\n:ref:`结`\n",
            "b.rst": "B\n=\n\n:ref:`结`, :ref:`two words`\n",
        },
    )
    run("ingest", tmp_path / "in", "-w", tmp_path / "w", "-q")
    counts = run("graph", "stats", "-w", tmp_path / "w", "--json").json["links"]["xref"]
    assert (counts["resolved"], counts["dead_anchor"]) == (3, 0)


def test_includes_are_known_in_any_case():
    folder = Folder(
        {"a.rst": "A\n=\n\n.. Include:: b.txt\n\n.. INCLUDE:: c.txt\n", "b.txt": "Of rope.\n", "c.txt": "Or jute.\n"}
    )
    source = folder.source("a.rst")
    [document] = RstFormat().read(source, {})
    assert document.root.text == "Of rope.\n\nOr jute."
    assert RstFormat().parts(source) == {"b.txt", "c.txt"}


def test_roles_and_directives_are_known_in_any_case():
    document = one(
        "A\n=\n\nSee :PEP:`384`, :Ref:`b`, :Func:`tie`.\n\n.. Note:: Wet.\n\n.. VersionAdded:: 3\n\n.. _b:\n\nB\n-\n",
        "rst",
    )
    assert document.root.text == "See PEP 384, B, tie.\n\nWet.\n\nAdded in version 3."
    assert ("xref", "#b", "") in links(document)


def test_an_error_in_a_role_or_a_directive_costs_that_one(monkeypatch):
    def broken(*_: object) -> None:
        raise ValueError("no such rope")

    monkeypatch.setattr("structformer_rst.directives.objects.target_of", broken)
    monkeypatch.setattr("structformer_rst.directives._Summary.run", broken)
    source = SourceFile("a.rst", b"A\n=\n\nTie :func:`rope`.\n\n.. autosummary::\n\n   knots\n\nEnd.\n")
    [document] = RstFormat().read(source, {})
    assert document.root.text == "Tie rope.\n\nknots\n\nEnd."
    assert [warning.partition(" cannot")[0] for warning in source.warnings] == [
        "line 4: :func:",
        "line 6: autosummary::",
    ]


def test_a_page_leaves_nothing_in_docutils():
    from docutils.parsers.rst import directives, roles

    one(".. role:: other(emphasis)\n\nText.\n", "rst")  # docutils keeps the class of its own directive
    before = dict(roles._roles), dict(directives._directives)
    one(
        ".. role:: own(emphasis)\n\n.. default-role:: own\n\nA `b` :own:`c` :x:`d`.\n\n.. unheard-of::\n\n   e\n",
        "rst",
    )
    assert (roles._roles, directives._directives) == before


@pytest.mark.parametrize(
    ("directive", "text"),
    [
        (".. csv-table:: Ropes\n   :file: t/r.csv\n   :header-rows: 1", "Ropes\n\nRope | Size\n\nHemp | 3"),
        (".. literalinclude:: t/tie.py\n   :pyobject: tie", "def tie():\n    pass"),
        (".. literalinclude:: t/tie.py\n   :lines: 1, 6-\n   :language: python3", "import rope\nend = 1"),
        (".. literalinclude:: t/tie.py\n   :start-after: import\n   :end-before: end", "def tie():\n    pass"),
        (".. include:: t/tie.py\n   :code: python\n   :end-line: 1", "import rope"),
    ],
)
def test_files_that_directives_name_are_read_through_the_folder(directive: str, text: str):
    files = {"t/r.csv": "Rope,Size\nHemp,3\n", "t/tie.py": "import rope\n\ndef tie():\n    pass\n\nend = 1\n"}
    [document] = RstFormat().read(Folder({"a.rst": f"A\n=\n\n{directive}\n", **files}).source("a.rst"), {})
    assert document.root.text == text


def test_a_file_that_a_directive_names_and_that_is_missing_is_said():
    source = SourceFile("a.rst", b"A\n=\n\n.. csv-table::\n   :file: b.csv\n\n.. literalinclude:: c.py\n")
    [document] = RstFormat().read(source, {})
    assert [link.target for link in document.links()] == ["c.py"]
    assert [warning.partition(" is not")[0] for warning in source.warnings] == ["line 4: b.csv", "line 7: c.py"]


def test_titles_below_only_are_sections_and_elsewhere_lines():
    text = "A\n=\n\nB\n-\n\n.. only:: html\n\n   C\n   -\n\n   Hemp.\n\n.. note::\n\n   D\n   -\n\n   Jute.\n"
    document = one(text, "rst")
    assert [(section.level, section.title) for section in document.sections()] == [(0, "A"), (2, "B"), (2, "C")]
    assert "D\n\nJute." in "".join(section.text for section in document.sections())


def test_paragraphs_of_a_cell_are_on_its_line():
    text = "==== ====\nRope Size\n==== ====\nHemp 3\n\nJute 4\n     \n     m\n==== ====\n"
    assert one(text, "rst").root.text.endswith("Jute | 4 m")


@pytest.mark.parametrize(
    "block",
    [
        ".. note::\n   :bad: x\n\n   kept",
        ".. csv-table:: T\n   :widths: 1,2\n\n   kept, b, c",
        "+---+---+\n| kept | b\n+---+---+",
        "Kept\n^^^^",
    ],
)
def test_the_words_of_what_cannot_be_read_are_text(block):
    assert "kept" in text(one(f"A\n=\n\nOne.\n\n{block}\n\nTwo.\n", "rst")).lower()


def test_a_term_of_another_project_leads_there_and_one_of_ones_own_may_have_colons(tmp_path):
    (tmp_path / "conf.py").write_text("intersphinx_mapping = {'python': ('https://docs.python.org/3', None)}\n")
    text = "Oars\n====\n\nSee :term:`python:iterable` and :term:`oar::blade`.\n\n.. glossary::\n\n   oar::blade\n      Flat.\n"
    (tmp_path / "oars.rst").write_text(text)
    ingest(tmp_path, tmp_path / "w")
    [document] = Corpus.open(tmp_path / "w").documents()
    assert [link.target for link in document.links()] == ["#python:iterable", "#term-oar-blade"]
