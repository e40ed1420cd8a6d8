"""HTML and reStructuredText: what the parts of a text are."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from structformer.document import Block, MarkKind, Section, inline_marks

from reading import one
from structformer_devkit.formats import mark_problems

K = MarkKind


def tree(section: Section) -> list[object]:
    """The section's blocks as nested lists: kinds with their details, and the texts of the leaves."""
    return _nested(section.text, section.blocks)


def _nested(text: str, blocks: list[Block]) -> list[object]:
    found: list[object] = []
    for block in blocks:
        name = f"{block.kind.value} {block.detail}".strip()
        own = text[block.start : block.end]
        if block.kind is K.PARAGRAPH:
            found.append(own)
        else:
            found.append((name, own) if block.is_leaf else [name, *_nested(text, block.children)])
    return found


def page(html: str) -> list[object]:
    """The blocks of a piece of HTML."""
    root = one(html, "html").root
    assert not list(mark_problems(root.text, root.marks))
    return tree(root)


def rst(text: str) -> list[object]:
    root = one(text, "rst").root
    assert not list(mark_problems(root.text, root.marks))
    return tree(root)


def spans(html: str, format: str = "html") -> list[tuple[str, str]]:
    root = one(html, format).root
    return [(mark.kind.value, root.text[mark.start : mark.end]) for mark in inline_marks(root.marks)]


def test_html_lists():
    assert page("<ul><li>oak<li><p>pine</p><ol start=3><li>a</li><li>b</li></ol></li></ul>".replace("oak<", "oak</li><")) == [
        ["list", ["item", "oak"], ["item", "pine", ["list 3", ["item", "a"], ["item", "b"]]]]
    ]  # fmt: skip
    assert page("<p>Steps:</p><ol><li>one</li></ol><menu><li>two</li></menu>") == [
        "Steps:",
        ["list 1", ["item", "one"]],
        ["list", ["item", "two"]],
    ]
    assert page("<ol start='third'><li>x</li></ol>") == [["list 1", ["item", "x"]]]


def test_html_definitions():
    assert page("<dl><dt>-a</dt><dt>--all</dt><dd>All <b>files</b>.<pre>ls -a</pre></dd></dl>") == [
        ["definitions", ["term", "-a"], ["term", "--all"], ["definition", "All files.", ("code", "ls -a")]]
    ]


def test_html_tables():
    whole = """<table><caption>Sizes</caption><thead><tr><td>a</td><th>b</th></tr></thead><tbody>
    <tr><td>1</td><td></td><td>2</td></tr></tbody></table>"""
    assert page(whole) == [
        ["table", ["caption", "Sizes"], ["row header", ["cell", "a"], ["cell", "b"]], ["row", ["cell", "1"], ["cell"], ["cell", "2"]]]
    ]  # fmt: skip
    titles = "<table><tr><th>a</th><th>b</th></tr><tr><th>1</th><td>2</td></tr></table>"
    assert page(titles) == [
        ["table", ["row header", ["cell", "a"], ["cell", "b"]], ["row", ["cell", "1"], ["cell", "2"]]]
    ]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (
            "<tr><td><p>1</p></td><td><p>2</p></td></tr><tr><td><div><p>3</p></div></td><td>4<br></td></tr>",
            "1 | 2\n3 | 4",
        ),
        ("<tr><td><ul><li>1</li></ul></td><td><pre>2\n</pre></td><td></td><td><p>4</p></td></tr>", "1 | 2 | | 4"),
        ("<tr><th>A</th></tr><tr><td><p>1</p><p>1b</p></td><td><p>2</p></td></tr>", "A\n1 1b | 2"),
        ("<tr><td><p>1</p><p>1b</p></td><td><p>2</p></td></tr>", "1\n\n1b\n2"),  # may be a layout
        ("<tr><td><pre>a\n b</pre></td><td>2</td></tr>", "a\n b\n2"),
        ("<tr><td>0</td><td><table><tr><td><p>1</p></td><td><p>2</p></td></tr></table></td></tr>", "0 | 1 | 2"),
        ("<tr><td><p>1</p></td><td><b><p>2</p></b><img src=i alt=I></td></tr>", "1 | 2\n\nI"),
    ],
)
def test_a_row_is_a_line_whatever_blocks_its_cells_hold(rows, text):
    root = one(f"<h1>T</h1><p>before</p><table>{rows}</table><p>after</p>", "html").root
    assert not list(mark_problems(root.text, root.marks))
    assert root.text == f"before\n\n{text}\n\nafter"


def test_a_table_for_layout_is_none_if_it_says_so():
    assert page("<table role=presentation><tr><td>all</td></tr></table>") == ["all"]
    assert page("<table><tr><td>x<table role=none><tr><td>in</td></tr></table></td></tr></table>") == [
        ["table", ["row", ["cell", "x", "in"]]]
    ]


def test_tables_in_tables():
    inner = "<table><tr><td>1</td><td>2</td></tr></table>"
    assert page(f"<table><tr><td>a</td><td>{inner}</td></tr></table>") == [
        ["table", ["row", ["cell", "a"], ["cell", ["table", ["row", ["cell", "1"], ["cell", "2"]]]]]]
    ]


@pytest.mark.parametrize(
    ("code", "language"),
    [
        ("<pre>x</pre>", ""),
        ("<pre><code class='language-Python'>x</code></pre>", "python"),
        ("<pre><span></span><code class='hljs rust'>x</code></pre>", "rust"),
        ("<pre class='lang-c'>x</pre>", "c"),
        ("<pre class='brush: js; gutter: false'>x</pre>", "js"),
        ("<pre class='sourceCode haskell numberLines'><code class='sourceCode haskell'>x</code></pre>", "haskell"),
        ("<pre class='src src-sh'>x</pre>", "sh"),
        ("<div class='highlight-c++ notranslate'><div class=highlight><pre>x</pre></div></div>", "c++"),
        ("<div class='highlight highlight-source-shell'><pre>x</pre></div>", "shell"),
        ("<div class='highlight-default notranslate'><pre>x</pre></div>", ""),
        ("<pre><code class='language-text'>x</code></pre>", ""),
        ("<pre><code data-lang=toml>x</code></pre>", "toml"),
    ],
)
def test_html_code_and_its_language(code, language):
    assert page(f"<p>before</p>{code}<pre>plain</pre>") == [
        "before",
        (f"code {language}".strip(), "x"),
        ("code", "plain"),
    ]


def test_code_keeps_its_first_line_and_has_no_marks_in_it():
    html = "<p>See</p><pre>\n  <b>int</b> main\n    <i>(void)</i>\n</pre><p>there.</p>"
    assert page(html) == ["See", ("code", "  int main\n    (void)"), "there."]
    assert spans(html) == []


def test_html_spans():
    html = "<p>Press <kbd>q</kbd>, <tt>x</tt>, <samp>y</samp>, <code>a <var>n</var></code>, <em>now</em> or <b>never</b>, <i></i>.</p>"
    assert spans(html) == [
        ("code_span", "q"),
        ("code_span", "x"),
        ("code_span", "y"),
        ("code_span", "a n"),
        ("emphasis", "n"),
        ("emphasis", "now"),
        ("strong", "never"),
    ]
    assert spans("<h1>A <b>title</b></h1><p><strong id=x>Text <a href=y>and link</a></strong>.</p>") == [
        ("strong", "Text and link")
    ]


def test_html_quotes_and_figures():
    assert page("<blockquote><p>One.</p><p>Two.</p></blockquote>") == [["quote", "One.", "Two."]]
    assert page("<figure><img src=a.png alt='A boat'><figcaption>Out at sea</figcaption></figure>") == [
        ["figure", "A boat", ["caption", "Out at sea"]]
    ]
    assert page("<div class=figure><img src=a.png alt='A boat'><p class=caption>Out at sea</p></div>") == [
        ["figure", "A boat", ["caption", "Out at sea"]]
    ]


@pytest.mark.parametrize(
    ("html", "kind"),
    [
        ("<div class='admonition tip'><p class=admonition-title>Mind</p><p>the gap</p></div>", "tip"),
        ("<div class='theme-admonition theme-admonition-danger'><div class='admonitionHeading_x1'>Mind</div><p>the gap</p></div>", "danger"),
        ("<div class='markdown-alert markdown-alert-important'><p class=markdown-alert-title>Mind</p><p>the gap</p></div>", "important"),
        ("<div class='alert alert-warning'><p class=alert-title>Mind</p><p>the gap</p></div>", "warning"),
        ("<details><summary>Mind</summary><p>the gap</p></details>", "details"),
        ("<details class=warning><summary>Mind</summary><p>the gap</p></details>", "warning"),
        ("<div class='caution custom-block'><p class=custom-block-title>Mind</p><p>the gap</p></div>", "caution"),
        ("<div class='admonition admonition-a-word'><p class=admonition-title>Mind</p><p>the gap</p></div>", ""),
    ],
)  # fmt: skip
def test_html_notes(html, kind):
    assert page(f"<div><p>before</p>{html}<div><p>after</p></div></div>") == [
        "before",
        [f"note {kind}".strip(), ["title", "Mind"], "the gap"],
        "after",
    ]


def test_notes_by_role_and_by_their_first_word():
    assert page("<div role=note>Mind the gap.</div><p class=note>And this.</p><span class=note>Not this.</span>") == [
        ["note note", "Mind the gap."],
        ["note note", "And this."],
        "Not this.",
    ]
    by_table = "<div class=admonitionblock><table><tr><td class=icon>Warning</td><td>Hot.</td></tr></table></div>"
    assert page(by_table) == [["note warning", "Warning\nHot."]]


def test_asciidoctors_notes_and_callouts_are_laid_out_in_tables():
    note = "<div class='admonitionblock tip'><table><tr><td class=icon><div class=title>Tip</div></td><td class=content>Hot.</td></tr></table></div>"
    code = "<pre><code data-lang=c>int x; <i class=conum data-value=1></i><b>(1)</b>\nint y; <b class=conum>(2)</b></code></pre>"
    callouts = "<div class='colist arabic'><table><tr><td><i class=conum data-value=1></i><b>1</b></td><td>A <b>number</b>.</td></tr></table></div>"
    assert page(note + code + callouts) == [
        ["note tip", ["title", "Tip"], "Hot."],
        ("code c", "int x; \nint y; "),
        ["list 1", ["item", "A number."]],
    ]


def test_doxygens_lines_of_code_are_one_block():
    lines = "<div class=line><span>int</span> f() {</div>\n<div class=line>  <a href=g.html>g</a>();</div><div class=line> </div><div class=line>}</div>"
    assert page(f"<p>So:</p><div class=fragment>{lines}</div><div class=fragment>No code.</div>") == [
        "So:",
        ("code", "int f() {\n  g();\n \n}"),
        "No code.",
    ]


def test_related_pages_are_a_note():
    html = "<div class='admonition seealso'><p class=admonition-title>See also</p><p><a href=b>B</a></p></div><p><a href=c>C</a></p>"
    document = one(html, "html")
    assert tree(document.root) == [["note seealso", ["title", "See also"], "B"], "C"]
    assert [link.kind.value for link in document.links()] == ["see_also", "hyperlink"]


@pytest.mark.parametrize(
    "title", ["<h4 class=alert-heading>Hot</h4>", "<div class=alert-heading role=heading>Hot</div>"]
)
def test_an_alerts_heading_is_its_title_and_no_section(title):
    document = one(
        f"<h1>T</h1><div class='alert alert-warning' role=alert>{title}<p>Very.</p></div><p>Cold.</p>", "html"
    )
    [section] = document.sections()
    assert section.text == "Hot\n\nVery.\n\nCold."
    assert [(mark.kind.value, mark.detail) for mark in section.marks] == [("note", "warning"), ("title", "")]


def test_a_note_with_a_heading_goes_on_below_it():
    html = "<h1>T</h1><div class=warning><h3 class=title>Warning</h3><p>Hot.</p></div><p>Cold.</p>"
    [_, section] = one(html, "html").sections()
    assert (section.title, tree(section)) == ("Warning", [["note warning", "Hot."], "Cold."])


@pytest.mark.parametrize("heading", ["<h3 id=x>One</h3>", "<div role=heading id=x>One</div>"])
def test_a_heading_in_a_cell_of_a_table_of_data_is_its_text(heading):
    table = f"<table><tr><th>a<th>b<tr><td>{heading}<p>Two.<td>z</table>"
    document = one(f"<h1>T</h1>{table}<p>After.<h2>Next</h2><p>Text.", "html")
    assert [(section.title, section.text) for section in document.sections()] == [
        ("T", "a | b\nOne Two. | z\n\nAfter."),
        ("Next", "Text."),
    ]
    assert "x" in document.root.anchors


def test_headings_in_cells_items_and_code_end_them():
    html = "<table><tr><td>a<h2>Two</h2>b</td><td>c</td></tr></table><ul><li>d<h2>Three</h2>e</li><li>f</li></ul>"
    html += "<pre>g<h2>Four</h2>  h\n  i</pre>j"
    found = {section.title: tree(section) for section in one(f"<h1>One</h1>{html}", "html").sections()}
    assert found == {
        "One": [["table", ["row", ["cell", "a"]]]],
        "Two": ["b", ["table", ["row", ["cell", "c"]]], ["list", ["item", "d"]]],
        "Three": ["e", ["list", ["item", "f"]], ("code", "g")],
        "Four": [("code", "  h\n  i"), "j"],
    }


def test_html_formulas_where_the_text_has_their_source():
    html = (
        "<p>As <span class='math notranslate'>\\(a^2\\)</span>, <script type='math/tex'>b</script> and "
        "<span class=math><em>c</em></span> are:</p><div class=math>\\[d\\]</div>"
        "<img class='mwe-math-fallback-image-inline' src=e.svg alt='{\\displaystyle e}'>"
    )
    assert spans(html) == [
        ("formula_span", "\\(a^2\\)"),
        ("formula_span", "b"),
        ("emphasis", "c"),
        ("formula_span", "{\\displaystyle e}"),
    ]
    assert page(html)[1] == ("formula", "\\[d\\]")
    numbered = "<div class=math id=e><span class=eqno>(1)<a class=headerlink href='#e'>¶</a></span>\\[a\\]</div>"
    assert page(numbered) == [("formula", "\\[a\\]")]
    of_mediawiki = (
        "<p>A <span class=mwe-math-element><span class=mwe-math-mathml-a11y style='display: none;'><math><mi>a</mi></math></span>"
        "<img class=mwe-math-fallback-image-inline src=a.svg alt='{a}'></span>.</p>"
    )
    assert (page(of_mediawiki), spans(of_mediawiki)) == (["A {a}."], [("formula_span", "{a}")])


TAGS = "p div ul li dl dt dd table tr td th pre code b em h2 blockquote details summary figure br span".split()
PIECES = st.one_of(
    st.sampled_from([f"<{tag}>" for tag in TAGS]),
    st.sampled_from([f"</{tag}>" for tag in TAGS]),
    st.sampled_from(
        ["<div class='admonition note'>", "<p class=title>", "<div class=math>", "<div role=heading>", "<ol start=2>"]
    ),
    st.sampled_from(["a", " b ", "c\n\nd", " ", "\n", "$x$", "<img src=i alt=I>"]),
)


@settings(max_examples=300)
@given(st.lists(PIECES, max_size=30))
def test_marks_nest_in_whatever_html(pieces):
    for section in one("<p>start</p>" + "".join(pieces), "html").sections():
        assert not list(mark_problems(section.text, section.marks))
        leaves = [block for top in section.blocks for block in top.walk() if block.is_leaf]
        kept = "".join(section.text[block.start : block.end] for block in leaves)
        assert "".join(kept.split()).replace("|", "") == "".join(section.text.split()).replace("|", "")


def test_rst_lists_definitions_and_fields():
    assert rst("* oak\n* pine\n\n  3. a\n  4. b\n\nBreak\n\nterm : kind\n   meaning\n\n:field: value\n\n-a FILE  all\n") == [
        ["list", ["item", "oak"], ["item", "pine", ["list 3", ["item", "a"], ["item", "b"]]]],
        "Break",
        ["definitions", ["term", "term"], ["definition", "kind"], ["definition", "meaning"]],
        ["definitions", ["term", "field"], ["definition", "value"]],
        ["definitions", ["term", "-a FILE"], ["definition", "all"]],
    ]  # fmt: skip


def test_rst_tables():
    text = """
.. table:: Sizes

   ===  ===
   a    b
   ===  ===
   1
   2    3
   ===  ===
"""
    assert rst(text) == [
        [
            "table",
            ["caption", "Sizes"],
            ["row header", ["cell", "a"], ["cell", "b"]],
            ["row", ["cell", "1"], ["cell"]],
            ["row", ["cell", "2"], ["cell", "3"]],
        ]
    ]


def test_rst_code_formulas_and_quotes():
    text = """
Said::

   as  it
   stands

.. code-block:: Python
   :linenos:

   x = 1

.. code:: c

   int x;

.. sourcecode:: text

   words

>>> 1 + 1
2

.. math:: e = mc^2

A paragraph.

   Quoted.

   -- Somebody
"""
    assert rst(text) == [
        "Said:",
        ("code", "as  it\nstands"),
        ("code python", "x = 1"),
        ("code c", "int x;"),
        ("code", "words"),
        ("code python", ">>> 1 + 1\n2"),
        ("formula", "e = mc^2"),
        "A paragraph.",
        ["quote", "Quoted.", "Somebody"],
    ]


def test_rst_notes():
    text = """
.. warning:: Hot.

   - Very.

.. admonition:: By the way

   It rains.

.. seealso:: The :doc:`boats`

.. versionadded:: 2.0
   The oars.

.. topic:: On knots

   Tie them.

.. sidebar:: Aside

   Of it.
"""
    assert rst(text) == [
        ["note warning", "Hot.", ["list", ["item", "Very."]]],
        ["note", ["title", "By the way"], "It rains."],
        ["note seealso", ["title", "See also:"], "The boats"],
        ["note versionadded", "Added in version 2.0: The oars."],
        ["note topic", ["title", "On knots"], "Tie them."],
        ["note sidebar", ["title", "Aside"], "Of it."],
    ]


def test_rst_figures_and_spans():
    assert rst(".. figure:: a.png\n   :alt: A boat\n\n   Out at sea\n") == [
        ["figure", "A boat", ["caption", "Out at sea"]]
    ]
    text = "Use ``ls``, :py:func:`tie`, *now* or **never**, `Title`, :math:`x^2` and :guilabel:`OK`."
    assert spans(text, "rst") == [
        ("code_span", "ls"),
        ("code_span", "tie"),
        ("emphasis", "now"),
        ("strong", "never"),
        ("emphasis", "Title"),
        ("formula_span", "x^2"),
        ("strong", "OK"),
    ]
