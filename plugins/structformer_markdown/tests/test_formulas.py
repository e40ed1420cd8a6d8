"""Formulas in Markdown and notebooks stay as written; what only looks like one is text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer import read
from structformer.document import MarkKind
from structformer.plugins import load_plugins


def page(text, **options):
    [document] = read(text.encode(), format="markdown", **options)
    return document


def formulas(section, kind):
    return [section.text[mark.start : mark.end] for mark in section.marks if mark.kind is kind]


@pytest.mark.parametrize(
    "formula",
    [
        "$$\nx_{t}\n=\ny\n$$",
        "$$ a\n- b\n+ c $$",
        "\\begin{align}\na &= b\\\\\n- c\n\\end{align}",
        "\\\\[\nx\n---\ny\n\\\\]",
    ],
)
def test_no_line_of_a_formula_is_an_underline_or_a_list(formula):
    document = page(f"# T\n\nBefore:\n{formula}\n\nAfter.\n")
    assert [section.title for section in document.sections()] == ["T"]
    assert formulas(document.root, MarkKind.FORMULA) == [formula]
    assert document.root.text == f"Before:\n\n{formula}\n\nAfter."


@pytest.mark.parametrize("formula", ["$a_1*b*c_2$", "$\\{x\\}$", "$a\\\\b$", "\\\\(x_i*y*\\\\)", "$`a_b`$", "$$x_1$$"])
def test_a_formula_in_a_line_holds_no_markdown(formula):
    root = page(f"Let *all* {formula} hold.\n").root
    assert root.text == f"Let all {formula} hold."
    assert formulas(root, MarkKind.FORMULA_SPAN) == [formula]


@pytest.mark.parametrize(
    "text",
    [
        "It costs $5 and $6.",
        "In $HOME/bin or /$USER here.",
        "US$5, US$6 and ${a}${b}",
        "$$ or $$$",
        "(a) or [b] cost 6$",
    ],
)
def test_what_only_looks_like_a_formula_is_text(text):
    root = page(text).root
    assert root.text == text
    assert not root.marks


def test_labels_of_formulas_are_anchors():
    root = page("$$\nx\n$$ (eq-a)\n\n$$y$$ {#eq-b}\n").root
    assert {"eq-a", "eq-b"} <= set(root.anchors)
    assert root.text == "$$\nx\n$$\n\n$$y$$"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Let ${p_t}_{t=0}^T $ be, and $ x.", ["${p_t}_{t=0}^T $"]),
        ("It costs $5 and $ 6 or $7 here.", []),
        ("From <tt>\\\\S $app</tt> to <tt>\\\\S<D> $app</tt>.", []),
    ],
)
def test_a_formula_may_end_with_a_blank_where_it_cannot_be_an_amount(text, found):
    assert formulas(page(text).root, MarkKind.FORMULA_SPAN) == found


def test_a_notebook_keeps_its_formulas():
    cell = {"cell_type": "markdown", "source": "# Fit\n\n$$\nL\n= \\sum_i w_i \\\\\n- c_j\n$$\n"}
    [document] = read(json.dumps({"cells": [cell], "nbformat": 4}).encode(), format="notebook")
    assert document.root.text == "$$\nL\n= \\sum_i w_i \\\\\n- c_j\n$$"


@given(st.text("ab_*^{}\\ -+=>#|1", min_size=1).map(str.strip).filter(lambda text: text and text[-1] != "\\"))
def test_the_source_of_any_formula_is_in_the_text(source):
    assert f"$${source}$$" in page(f"Words.\n\n$${source}$$\n\nMore.\n").root.text


def test_raw_pre_keeps_its_lines():
    assert page("<pre>\none\n  two\n\n x\n</pre>\n").root.text == "one\n  two\n\n x"


def test_obsidian_hides_comments_and_names_blocks():
    root = page("A %%hidden%% word in [[Note]].\n\n%%\nlong\n\n## none\n%%\n\nNamed. ^b1\n\n[[#`x()`|go]]\n").root
    assert root.text == "A word in Note.\n\nNamed.\n\ngo"
    assert "^b1" in root.anchors
    assert page("Use %% for a sign, %% twice.\n").root.text == "Use %% for a sign, %% twice."


def test_of_pages_of_one_name_the_vault_of_the_link_has_its_own(tmp_path):
    names = {}
    for vault in ("de", "en"):
        (tmp_path / vault / "sub").mkdir(parents=True)
        (tmp_path / vault / "sub" / "Note.md").write_text("# Note\n")
        (tmp_path / vault / "Home.md").write_text("[[Note]]\n")
    for document in read(tmp_path):
        names[document.source.path] = document.names
        if document.source.path == "de/Home.md":
            home, [link] = document, document.links()
    first = next(
        path for name in load_plugins().format("markdown").resolve(link, home) for path in names if name in names[path]
    )
    assert first == "de/sub/Note.md"


def test_pandoc_names_and_raw_html(tmp_path):
    path = tmp_path / "a.qmd"
    path.write_text(
        "::: {#thm-a .theorem}\nA **b**.\n:::\n\n[w]{#s1} ![c](x.png){#fig-a} @fig-a [@key] x^2^ H~2~O.^[A note.]\n\n"
        "```{=html}\n<b>raw</b>\n```\n\n| one\n| two\n\n"
        "+---+---+\n| a | b |\n+===+===+\n| 1 | 2 |\n+---+---+\n\n: Caption {#tbl-a}\n\n"
        "Left   Right\n-----  -----\nx      y\n"
    )
    [document] = read(path)
    root = document.root
    assert {"thm-a", "s1", "fig-a", "tbl-a"} <= set(root.anchors)
    assert {("#fig-a", "hyperlink"), ("cite:key", "citation")} <= {
        (each.target, each.kind.value) for each in root.links
    }
    for shown in ("x² H2O. (A note.)", "raw", "one\ntwo", "a | b\n1 | 2\n\nCaption", "Left | Right\nx | y"):
        assert shown in root.text


def test_a_headings_own_sign_and_soft_hyphens_are_no_text():
    document = page('# T\n\n## Foo&shy;bar <a href="#foo">#</a>\n\nx\u00ady\n')
    assert [(section.title, section.text) for section in document.sections()] == [("T", ""), ("Foobar", "xy")]
