"""The plugin keeps structformer's rules for formats, and reads its sample as its author means it."""

from __future__ import annotations

from pathlib import Path

from structformer.checks.formats import Sample, check_format
from structformer.formats.source import SourceFile
from structformer_rst import RstFormat

SAMPLES = [Sample(path.name, path.read_bytes()) for path in sorted((Path(__file__).parent / "samples").iterdir())]


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
