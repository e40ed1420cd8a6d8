"""What is opened and never ends costs the text up to the next heading, not the rest of the page."""

from __future__ import annotations

import pytest
from structformer.formats.source import SourceFile
from structformer.plugins import load_plugins

PAGES = {
    "markdown": "# A\n\nOne.\n\n## B\n\n{}\nTwo.\n\n## C\n\nThree.\n",
    "html": "<body><h1>A</h1><p>One.</p><h2>B</h2>{}<p>Two.</p><h2>C</h2><p>Three.</p></body>",
    "wikitext": "= A =\nOne.\n== B ==\n{}\nTwo.\n== C ==\nThree.\n",
    "asciidoc": "= A\n\nOne.\n\n== B\n\n{}\nTwo.\n\n== C\n\nThree.\n",
    "org": "* A\nOne.\n** B\n{}\nTwo.\n** C\nThree.\n",
}
UNENDED = [
    *(
        ("markdown", opening)
        for opening in ("```", "~~~ {.c}", "```{code-cell}", "<!--", "<pre>", "<script>", "<style>")
    ),
    *(
        ("markdown", opening)
        for opening in (
            ":::{note}",
            ":::note",
            "::: {.panel-tabset}",
            "::::{grid}\n\n:::{card}",
            "/// tip | T",
            "```{tip}",
        )
    ),
    *(("html", f"<{name}>") for name in ("noscript", "aside", "nav", "footer", "object", "noframes", "pre", "script")),
    ("html", "<!--"),
    ("wikitext", "<!--"),
    *(("asciidoc", opening) for opening in ("----", "////", "ifdef::x[]", "ifeval::[1 > 2]")),
    *(("org", f"#+begin_{name}") for name in ("src", "comment", "export html")),
]


@pytest.mark.parametrize(("name", "opening"), UNENDED)
def test_what_never_ends_ends_before_the_next_heading(name, opening):
    format = load_plugins().format(name)
    source = SourceFile(f"a{format.suffixes[0]}", PAGES[name].format(opening).encode())
    [document] = format.read(source, {})
    assert [section.title for section in document.sections() if section.title != "a"] == ["A", "B", "C"]
    assert list(document.sections())[-1].text == "Three."
    assert any("without an end" in warning for warning in source.warnings)


def test_a_wikis_comment_without_an_end_is_named_by_its_line_and_page():
    format = load_plugins().format("wikitext")
    source = SourceFile("a.wiki", b"One.\n<!-- hidden\nTwo.\n")
    [document] = format.read(source, {})
    assert document.root.text == "One."
    assert source.warnings == ["line 2: <!-- without an end: it ends with the page"]
    page = "<page><title>A</title><ns>0</ns><revision><text>One.\n&lt;!-- x\n== B ==\n</text></revision></page>"
    dump = SourceFile("a.xml", f"<mediawiki>\n{page}\n</mediawiki>".encode())
    [*_] = format.read(dump, {})
    assert dump.warnings == ["page A: line 2: <!-- without an end: it ends before the next heading"]


@pytest.mark.parametrize("opening", ["\\iffalse", "\\newif\\ifdraft \\ifdraft"])
def test_a_false_conditional_without_an_end_hides_nothing_and_is_named(opening):
    page = f"\\begin{{document}}\n\\section{{A}}\n{opening}\n  One.\n\\section{{B}}\nTwo.\n\\end{{document}}\n"
    source = SourceFile("a.tex", page.encode())
    [document] = load_plugins().format("latex").read(source, {})
    assert [section.text for section in document.root.children] == ["One.", "Two."]
    assert source.warnings == [f"line 3: {opening.rpartition(' ')[2]} has no end: what follows is read"]


@pytest.mark.parametrize("opening", ["<!-- hidden", "```python", "<script>", "<textarea>"])
def test_below_a_page_title_any_section_ends_what_has_no_end(opening):
    format = load_plugins().format("markdown")
    source = SourceFile("a.md", f"# A\n\nOne.\n\n{opening}\n\n## B\n\nTwo.\n\n## C\n\nThree.\n".encode())
    [document] = format.read(source, {})
    assert [(section.title, section.text) for section in document.root.children] == [("B", "Two."), ("C", "Three.")]
    assert source.warnings == [f"{opening} without an end: it ends before the next heading"]


@pytest.mark.parametrize("opening", [":::{note}", "```{note}", ":::{note}\n\n```\n# no heading\n```\n"])
def test_prose_without_an_end_ends_before_a_heading_that_no_blank_lines_are_around(opening):
    source = SourceFile("a.md", f"# A\n\n## B\n{opening}\nTwo.\n## C\n:::{{tip}}\nThree.\n:::\n".encode())
    [document] = load_plugins().format("markdown").read(source, {})
    assert [section.title for section in document.sections()] == ["A", "B", "C"]
    assert [section.text for section in document.root.children][1] == "Three."
    assert source.warnings == [f"{opening[:9].strip()} without an end: it ends before the next heading"]


def test_a_directive_with_an_end_keeps_its_headings_as_lines():
    page = "# A\n\n:::{note}\nOne.\n\n## B\n\nTwo.\n:::\n\nThree.\n"
    source = SourceFile("a.md", page.encode())
    [document] = load_plugins().format("markdown").read(source, {})
    assert document.root.text == "One.\n\nB\n\nTwo.\n\nThree."
    assert not source.warnings


def test_code_with_an_end_keeps_lines_that_look_like_headings():
    format = load_plugins().format("markdown")
    page = "# A\n\n```\nx\n\n# no heading\n\ny\n```\n"
    [document] = format.read(SourceFile("a.md", page.encode()), {})
    assert document.root.text == "x\n\n# no heading\n\ny"
