"""reStructuredText: docutils' grammar, Sphinx's roles and directives, included files."""

from __future__ import annotations

from pathlib import Path

from structformer.document import Document
from structformer.formats.source import SourceFile

from reading import Folder, links, one
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
