"""Jupyter notebooks: Markdown and code cells of the versions 3 and 4, and what is none."""

from __future__ import annotations

import json

import pytest
from structformer.document import Document
from structformer.errors import ReadError
from structformer.formats.source import SourceFile

from reading import links, one
from structformer_notebook.format import NotebookFormat


def notebook(*cells: tuple[str, str], **metadata: object) -> str:
    return json.dumps(
        {
            "nbformat": 4,
            "metadata": {"language_info": {"name": "python"}, **metadata},
            "cells": [{"cell_type": kind, "source": source.splitlines(keepends=True)} for kind, source in cells],
        }
    )


def read(text: str) -> Document:
    return one(text, "notebook")


def test_cells_are_read_in_their_order():
    document = read(
        notebook(
            (
                "markdown",
                "# Tides\\n\\nSee [moorings](moorings.ipynb) and [below](#High-water).\\n".replace("\\n", "\n"),
            ),
            ("code", "# a comment, no heading\nprint('```')\n"),
            ("raw", "for a converter"),
            ("markdown", "## High water\n\nTwice a day."),
        )
    )
    assert [section.title for section in document.sections()] == ["Tides", "High water"]
    assert document.root.text == "See moorings and below.\n\n# a comment, no heading\nprint('```')"
    assert links(document)[0] == ("hyperlink", "moorings.ipynb", "moorings")
    assert (document.source.format, document.metadata["programming_language"]) == ("notebook", "python")


def test_version_3():
    cells = [
        {"cell_type": "heading", "level": 2, "source": "Old"},
        {"cell_type": "code", "input": "x = 1"},
        {"cell_type": "markdown", "source": "Text."},
    ]
    document = read(json.dumps({"nbformat": 3, "metadata": {}, "worksheets": [{"cells": cells}]}))
    assert [(section.title, section.text) for section in document.sections()][1:] == [("Old", "x = 1\n\nText.")]


@pytest.mark.parametrize(
    ("content", "message"), [("{", "not JSON"), ("[]", "not a notebook"), ('{"cells": 3}', "not a notebook")]
)
def test_what_is_no_notebook_is_said(content, message):
    with pytest.raises(ReadError, match=message):
        list(NotebookFormat().read(SourceFile("a.ipynb", content.encode()), {}))


@pytest.mark.parametrize("content", ["", notebook(), notebook(("code", "  "))])
def test_a_notebook_without_text_is_no_document(content):
    source = SourceFile("a.ipynb", content.encode())
    assert list(NotebookFormat().read(source, {})) == []
    assert source.warnings
