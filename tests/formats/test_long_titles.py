"""What is too long for a heading is text."""

from __future__ import annotations

import pytest

from reading import links, one, outline


@pytest.mark.parametrize(
    ("format", "page"),
    [
        ("markdown", "# Pans\n\n## {}\n\nIron.\n\n## Lids\n"),
        ("html", "<h1>Pans</h1><h2>{}</h2><p>Iron.</p><h2>Lids</h2>"),
        (
            "xml",
            "<doc><title>Pans</title><section><title>{}</title><p>Iron.</p></section><section><title>Lids</title></section></doc>",
        ),
        ("latex", "\\section{{Pans}}\\subsection{{{}}}\n\nIron.\\subsection{{Lids}}"),
        ("wikitext", "= Pans =\n== {} ==\nIron.\n== Lids ==\n"),
        ("rst", "Pans\n====\n\n{}\n" + "-" * 4000 + "\n\nIron.\n\nLids\n----\n"),
    ],
)
def test_a_heading_of_over_300_words_is_a_paragraph(format, page):
    long = " ".join(f"word{number}" for number in range(301))
    document = one(page.format(long), format)
    assert [title for _, title in outline(document)][-2:] == ["Pans", "Lids"]
    whole = "\n\n".join(section.text for section in document.sections())
    assert f"{long}\n\nIron." in whole
    short = one(page.format(long.partition(" word200")[0]), format)
    assert len(outline(short)) == len(outline(document)) + 1


def test_its_links_and_anchors_stay():
    page = f'<h1>Pans</h1><h2 id="lids">{"word " * 300}<a href="a.html">iron</a></h2><p>Text.</p>'
    document = one(page, "html")
    assert links(document) == [("hyperlink", "a.html", "iron")]
    assert any("lids" in section.anchors for section in document.sections())


@pytest.mark.parametrize(
    ("name", "page"), [("markdown", "## [![Logo](x)](y)"), ("html", "<h2><a href=y><img alt=Logo src=x></a></h2>")]
)
def test_a_heading_that_is_a_linked_image_has_its_alternative_text(name, page):
    assert [section.title for section in one(page, name).sections()][-1] == "Logo"
