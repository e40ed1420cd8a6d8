"""Raised and lowered text and fractions: a number stays that number, whatever marks it up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer.document import Source
from structformer.formats import Script, TreeBuilder

NAMES = {"^": Script.RAISED, "_": Script.LOWERED, "(": Script.OPERAND, "/": Script.DENOMINATOR}


def told(*parts):
    """A section whose text is given in parts; one in a tuple is raised ("^"), lowered ("_") or of a fraction."""
    builder = TreeBuilder()
    for part in parts:
        if isinstance(part, str):
            builder.flow(part)
        else:
            builder.open_script(NAMES[part[0]])
            for inner in part[1:]:
                builder.flow(inner)
            builder.close_script()
    return builder.finish(Source("a.x", "x")).root.text


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("10", ("^", "3"), " kg"), "10³ kg"),
        (("2", ("^", "-5"), " m"), "2⁻⁵ m"),
        (("10", ("^", "−", "12")), "10⁻¹²"),
        (("2", ("^", "n"), " is more than n", ("^", "2")), "2^n is more than n²"),
        (("e", ("^", "x"), " and 2", ("^", "n+1")), "e^x and 2^(n+1)"),
        (("10", ("^", "0.5")), "10^(0.5)"),
        (("(x+1)", ("^", "2")), "(x+1)²"),
        (("in 1990", ("^", "12")), "in 1990¹²"),
        (("as shown", ("^", "1,3–5"), "."), "as shown¹,³–⁵."),
        (("SO", ("_", "4"), ("^", "2-")), "SO4²⁻"),
        (("x", ("_", "1"), ("^", "2")), "x1²"),
        (("log", ("_", "2"), "8"), "log2 8"),
        (("101", ("_", "2"), " = 5"), "101₂ = 5"),
        (("x", ("_", "n-1")), "x_(n-1)"),
        (("3", ("^", "1"), "/", ("_", "2"), " cups"), "3¹/₂ cups"),
        (("3", ("(", "1"), ("/", "2"), " cups"), "3 1/2 cups"),
        ((("(", "1"), ("/", "2"), "5"), "1/2 5"),
        ((("(", "a + b"), ("/", "n-1")), "(a + b)/(n-1)"),
    ],
)
def test_a_number_stays_that_number(parts, text):
    assert told(*parts) == text


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("H", ("_", "2"), "O and CO", ("_", "2")), "H2O and CO2"),
        (("Ca(OH)", ("_", "2"), ", Cu", ("_", "1.5")), "Ca(OH)2, Cu1.5"),
        (
            ("the 1", ("^", "st"), ", 2", ("^", "e"), ", XIX", ("^", "e"), ", M", ("^", "lle")),
            "the 1st, 2e, XIXe, Mlle",
        ),
        (("pears", ("^", "*"), " and plums", ("^", "[2]"), ", Boskoop", ("^", "TM")), "pears* and plums[2], BoskoopTM"),
        ((("^", "1"), " University of Pears"), "1 University of Pears"),
        ((("^", "14"), "C dating"), "14C dating"),
        (("kg ", ("^", "3")), "kg 3"),
    ],
)
def test_what_changes_no_number_stays_as_it_is(parts, text):
    assert told(*parts) == text


def test_links_and_marks_in_raised_text_keep_their_places():
    builder = TreeBuilder()
    builder.flow("Pears")
    builder.open_script(Script.RAISED)
    builder.open_link("#n1")
    builder.flow("1a")
    builder.close_link()
    builder.close_script()
    builder.flow(" in 10")
    builder.open_link("#n2")
    builder.open_script(Script.RAISED)
    builder.flow("3")
    builder.close_script()
    builder.close_link()
    section = builder.finish(Source("a.x", "x")).root
    assert section.text == "Pears^(1a) in 10³"
    assert [(link.text, section.text[link.start : link.end]) for link in section.links] == [("1a", "1a"), ("³", "³")]


@given(
    st.text("0123456789", min_size=1), st.sampled_from("^_(/"), st.text("0123456789", min_size=1), st.text("0123456789")
)
def test_no_two_numbers_run_together(before, script, within, after):
    text = told(before, (script, within), after)
    runs = "".join(c if c in "0123456789" else " " for c in text).split()
    assert runs[0] == before
    assert "".join(runs).endswith(after)
    assert before + within not in runs


@pytest.mark.parametrize(("has_link", "text"), [(False, "5^n"), (True, "5n")])
def test_a_letter_that_leads_to_a_note_is_no_power(has_link, text):
    builder = TreeBuilder()
    builder.flow("5")
    builder.open_script(Script.RAISED)
    if has_link:
        builder.open_link("#note")
    builder.flow("n")
    builder.close_link()
    builder.close_script()
    assert builder.finish(Source("a.x", "x")).root.text == text
