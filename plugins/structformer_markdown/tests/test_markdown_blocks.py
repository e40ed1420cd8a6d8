"""What the parts of a Markdown file's text are, and of a notebook's."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structformer import read
from structformer.document import Block, Section, block_tree, inline_marks

from structformer_devkit.formats import mark_problems


def section(text: str, format: str = "markdown", **options: str) -> Section:
    [document] = read(text.encode(), format=format, **options)
    return document.root


def outline(blocks: list[Block], text: str) -> list[object]:
    """The tree in short: a paragraph is its text, any other block its kind and detail and what is in it."""
    return [
        text[block.start : block.end] if block.kind == "paragraph"
        else (_name(block), text[block.start : block.end]) if block.is_leaf
        else [_name(block), *outline(block.children, text)]
        for block in blocks
    ]  # fmt: skip


def _name(block: Block) -> str:
    return f"{block.kind.value} {block.detail}".strip()


def blocks(text: str, **options: str) -> list[object]:
    root = section(text, **options)
    return outline(root.blocks, root.text)


def spans(text: str) -> list[tuple[str, str]]:
    root = section(text)
    return [(mark.kind.value, root.text[mark.start : mark.end]) for mark in inline_marks(root.marks)]


def test_lists_hold_items_and_items_hold_what_is_in_them():
    text = (
        "Before.\n\n3. three\n\n   ```sh\n   ls  -l\n   ```\n\n   after\n4. four\n   - inner\n\n     > quoted\n\nEnd.\n"
    )
    assert blocks(text) == [
        "Before.",
        [
            "list 3",
            ["item", "three", ("code sh", "ls  -l"), "after"],
            ["item", "four", ["list", ["item", "inner", ["quote", "quoted"]]]],
        ],
        "End.",
    ]


def test_a_table_has_a_header_and_keeps_empty_cells():
    assert blocks("| a | b |\n|---|---|\n|   | **c** d |\n| `e` |\n") == [
        ["table", ["row header", ["cell", "a"], ["cell", "b"]], ["row", ["cell"], ["cell", "c d"]],
         ["row", ["cell", "e"]]]
    ]  # fmt: skip


def test_definition_lists():
    assert blocks("Tide\n: Twice a day.\n\n  Mind it.\n: Also a verb.\n") == [
        ["definitions", ["term", "Tide"], ["definition", "Twice a day.", "Mind it."], ["definition", "Also a verb."]]
    ]


@pytest.mark.parametrize(
    ("info", "language"),
    [
        ("", ""),
        ("Python", "python"),
        ("js {1,3}", "js"),
        ("ts{1}", "ts"),
        ('yaml title="a.yml" hl_lines="2"', "yaml"),
        ('title="a.yml"', ""),
        ("rust,ignore", "rust"),
        ("C++", "c++"),
        ("text", ""),
        ("{1,3}", ""),
        ("{.haskell .numberLines}", "haskell"),
        ("{#one .haskell}", "haskell"),
        (" {#one .haskell}", "haskell"),
        ("{python}", "python"),
        ("{r, echo=FALSE}", "r"),
        ("{code-block} Ruby", "ruby"),
        ("{code-cell} ipython3", "python"),
    ],
)
def test_the_language_of_code_is_its_fences_first_word(info, language):
    assert blocks(f"```{info}\nx\n```\n") == [(f"code {language}".strip(), "x")]


def test_indented_code_has_no_language():
    assert blocks("Run:\n\n    make\n      all\n") == ["Run:", ("code", "make\n  all")]


def test_fences_that_hold_no_code():
    assert blocks("```math\nx^2\n```\n\n```{math}\n:label: eq\ny^2\n```\n\n```{=latex}\n\\em\n```\n") == [
        ("formula", "x^2"),
        ("formula", "y^2"),
        ("raw latex", "\\em"),
    ]
    assert blocks("```math\nx^2\n```\n", flavor="commonmark") == [("code math", "x^2")]


def test_quotes_and_the_notes_that_quotes_are():
    assert blocks("> A *word*.\n>\n> > Deeper.\n") == [["quote", "A word.", ["quote", "Deeper."]]]
    assert blocks("> [!NOTE]\n> Mind\n> the gap.\n") == [["note note", "Note: Mind the gap."]]
    assert blocks("> [!tip] By the way\n>\n> Mind the gap.\n") == [
        ["note tip", ["title", "Tip: By the way"], "Mind the gap."]
    ]
    assert blocks("> [!tip] By the way\n> Mind\n> the gap.\n") == [
        ["note tip", ["title", "Tip: By the way"], "Mind the gap."]
    ]


def test_directives_are_notes_with_titles():
    assert blocks("```{warning}\nThe **gap**.\n\n- a\n```\n") == [["note warning", "The gap.", ["list", ["item", "a"]]]]
    assert blocks("```{admonition} Mind this\n:class: tip\nThe gap.\n```\n") == [
        ["note tip", ["title", "Mind this"], "The gap."]
    ]
    assert blocks("````{prf:theorem} Pythagoras\nText.\n```{note} In it.\n```\n````\n") == [
        ["note theorem", ["title", "Pythagoras"], "Text.", ["note note", "In it."]]
    ]


def test_directives_that_say_since_when_and_what_is_below():
    assert blocks("```{versionadded} 2.1\nThe gap.\n```\n") == [["note versionadded", "Added in version 2.1: The gap."]]
    assert blocks("```{toctree}\n:hidden:\n\nstart\nThe API <api>\n```\n") == [
        ["list", ["item", "start"], ["item", "The API"]]
    ]


def test_an_image_alone_is_a_figure():
    assert blocks("![A plan](a.png)\n\n![B](b.png){width=50%}\n\nSee ![C](c.png)\n") == [
        ["figure", "A plan"],
        ["figure", "B"],
        "See C",
    ]
    assert blocks("```{figure} a.png\n:alt: x\nThe *caption*.\n```\n") == [["figure", ["caption", "The caption."]]]


def test_a_paragraph_between_dollars_is_a_formula():
    assert blocks("$$\nx^2\n$$\n\nIt costs $$ or $$$.\n") == [("formula", "$$\nx^2\n$$"), "It costs $$ or $$$."]


def test_spans_within_lines():
    text = "*a **b*** and `c`, <b>d</b> <kbd>E</kbd>; {math}`x^2`, {kbd}`F`\n\n| `g` |\n|---|\n| _h_ |\n"
    assert spans(text) == [
        ("emphasis", "a b"),
        ("strong", "b"),
        ("code_span", "c"),
        ("strong", "d"),
        ("code_span", "E"),
        ("formula_span", "x^2"),
        ("code_span", "F"),
        ("code_span", "g"),
        ("emphasis", "h"),
    ]


def test_raw_html_has_the_same_parts():
    assert blocks('<ol start="4"><li>four<li>five\n<ul><li>in it</ul></ol>\n') == [
        ["list 4", ["item", "four"], ["item", "five", ["list", ["item", "in it"]]]]
    ]
    assert blocks("<table><caption>C</caption><tr><th>a<th>b<tr><th>c<td></table>\n") == [
        ["table", ["caption", "C"], ["row header", ["cell", "a"], ["cell", "b"]], ["row", ["cell", "c"], ["cell"]]]
    ]
    assert blocks("<dl><dt>t</dt>\n<dd><p>One.</p>\n\nTwo *words*.\n</dd><dt>u</dl>\n\nEnd.\n") == [
        ["definitions", ["term", "t"], ["definition", "One.", "Two words."], ["term", "u"]],
        "End.",
    ]
    assert blocks('<pre><code class="hljs language-sh">ls</code></pre>\n\n<pre lang="c">x</pre>\n') == [
        ("code sh", "ls"),
        ("code c", "x"),
    ]
    assert blocks("<figure><img src=a alt=Plan><figcaption>Cap</figcaption></figure>\n") == [
        ["figure", "Plan", ["caption", "Cap"]]
    ]


@pytest.mark.parametrize(
    ("cells", "row"),
    [
        ("<td>a</td><td>b</td>", "a | b"),
        ("<th><p>a</p><p>b</p></th>\n<td><div>c</div></td>", "a b | c"),
        ("<td></td><td>b", "| b"),
        ("<td>\n\n`a`\n\n**b**\n\n</td>\n<td>\n\nc\n\n</td>", "a b | c"),
        ("<td>a</td>\n<td><pre>b\n c</pre></td>", "a | b c"),
        ("<th>a<th>b<tr><td>c<td>d", "a | b\nc | d"),
        ("<td>a</td>\n<td>\n\n```\nb\n```\n\n- c\n- d\n\n</td>", "a | b c d"),
        ("<td>a<ul><li>b</li><li>c</li></ul></td>", "a b c"),
        ("<td>a</td><td><center>b<br>c</center></td>", "a | b c"),
        ("<td><table><tr><td>a</td><td>b</td></tr></table></td><td>c</td>", "a | b | c"),
        ("<thead><tr><th>a</th><th>b</th></tr></thead>\n<tbody><tr><td>c</td></tr></tbody>", "a | b\nc"),
    ],
)
def test_the_cells_of_a_row_in_html_are_on_a_line(cells, row):
    text = section(f"Before.\n\n<table>\n<tr>{cells}</tr>\n<tr><td>x</td><td>y</td></tr>\n</table>\n\nAfter.\n").text
    assert text == f"Before.\n\n{row}\nx | y\n\nAfter."


def test_a_block_in_a_cell_of_a_pipe_table_leaves_its_row_one_line():
    table = "| Knot | Use |\n|---|---|\n| Bowline | <ul><li>tow</li><li>moor</li></ul> |\n| Hitch | <p>tie</p>up<br>well |\n"
    assert section(table).text == "Knot | Use\nBowline | tow moor\nHitch | tie up well"


def test_a_bar_in_a_formula_ends_no_cell():
    assert section("| a | b |\n|---|---|\n| $|x|$ | y |\n| $5 | $6 |\n").text == "a | b\n$|x|$ | y\n$5 | $6"


def test_raw_html_around_markdown():
    assert blocks("<details><summary>More</summary>\n\n- a\n\n```py\nb\n```\n\n</details>\n\nEnd.\n") == [
        ["note details", ["title", "More"], ["list", ["item", "a"]], ("code py", "b")],
        "End.",
    ]


def test_tags_that_are_not_closed_open_nothing_behind_their_paragraph():
    assert blocks("Use the <pre> tag\n\n- a <b> here,\n\n  or </li></ul>\n- this\n\nEnd.\n") == [
        "Use the",
        ("code", "tag"),
        ["list", ["item", "a here,", "or"], ["item", "this"]],
        "End.",
    ]
    assert spans("a <b> here\n\nthere\n") == [("strong", "here")]


def test_deep_nesting_is_bounded():
    root = section("".join(f"{'  ' * depth}- x{depth}\n" for depth in range(300)))
    assert max(mark.depth for mark in root.marks) <= 100
    assert "x299" in root.text
    root = section("<ul><li>x " * 3000)
    assert max(mark.depth for mark in root.marks) <= 100
    assert list(block_tree(root.text, root.marks)[0].walk())


def test_code_cells_of_notebooks_have_their_language():
    cells = [("markdown", "Run:\n\n- it"), ("code", "x = 1\n"), ("code", "%%bash\nls\n")]
    notebook = json.dumps(
        {
            "nbformat": 4,
            "metadata": {"language_info": {"name": "Python"}},
            "cells": [{"cell_type": kind, "source": source} for kind, source in cells],
        }
    )
    root = section(notebook, "notebook")
    assert outline(root.blocks, root.text) == [
        "Run:",
        ["list", ["item", "it"]],
        ("code python", "x = 1"),
        ("code bash", "%%bash\nls"),
    ]


def test_a_raw_first_cell_may_be_front_matter_and_no_other():
    kinds = [("raw", "---\ntitle: Sails\n---"), ("markdown", "Text."), ("raw", "---\nfor: latex\n---")]
    cells = [{"cell_type": kind, "source": source} for kind, source in kinds]
    [document] = read(json.dumps({"nbformat": 4, "cells": cells}).encode(), format="notebook")
    assert (document.title, document.root.text) == ("Sails", "Text.")


PIECES = st.sampled_from(
    "- ;1. ;> ;> [!NOTE] ;\n;\n\n;  ;    ;# H\n;word ;*;**;`;```py\n;```\n;```{note} t\n;| a | b |\n|---|---|\n| |x|\n;: d\n;"
    "<ul>;</ul>;<li>;</li>;<table>;<tr>;<th>;<td>;</table>;<pre>;</pre>;<dl>;<dt>;<dd>;</dl>;<b>;</b>;<code>;</code>;"
    "<details>;<summary>;</details>;<h2>;</h2>;![i](j);$$".split(";")
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=40).map("".join))
def test_whatever_is_written_marks_nest_and_lose_no_text(text):
    for document in read(text.encode(), format="markdown"):
        for part in document.sections():
            assert not list(mark_problems(part.text, part.marks))
            leaves = [block for top in part.blocks for block in top.walk() if block.is_leaf]
            kept = "".join(part.text[block.start : block.end] for block in leaves)
            assert "".join(kept.split()).replace("|", "") == "".join(part.text.split()).replace("|", "")
