"""A table's row is one line of text in every format, whatever its cells hold."""

from __future__ import annotations

import pytest
from structformer.document import MarkKind
from structformer.formats.source import SourceFile
from structformer.plugins import load_plugins

CODE = "for x:\n  y(x)"
PAGES = {
    "asciidoc": f"= T\n\n|===\n|a |b\n\na|\n----\n{CODE}\n----\n|z\n|===\n",
    "html": f"<h1>T</h1><table><tr><th>a<th>b<tr><td><pre>{CODE}</pre><td>z</table>",
    "latex": f"\\section{{T}}\n\\begin{{tabular}}{{ll}}a&b\\\\\n\\begin{{lstlisting}}\n{CODE}\n\\end{{lstlisting}}&z\\end{{tabular}}",
    "markdown": f"# T\n\n<table><tr><th>a<th>b<tr><td>\n\n```\n{CODE}\n```\n\n</td><td>z</td></tr></table>\n",
    "rst": "T\n=\n\n.. list-table::\n   :header-rows: 1\n\n   * - a\n     - b\n   * - ::\n\n         for x:\n           y(x)\n\n     - z\n",
    "wikitext": f"= T =\n{{|\n! a !! b\n|-\n|\n<pre>\n{CODE}\n</pre>\n| z\n|}}\n",
    "xml": f"<article><title>T</title><table><tgroup><tbody><row><entry>a</entry><entry>b</entry></row><row><entry>"
    f"<programlisting>{CODE}</programlisting></entry><entry>z</entry></row></tbody></tgroup></table></article>",
}


@pytest.mark.parametrize("name", PAGES)
def test_code_in_a_cell_is_in_the_line_of_its_row(name):
    format = load_plugins().format(name)
    [document] = format.read(SourceFile(f"a{format.suffixes[0]}", PAGES[name].encode()), {})
    section = list(document.sections())[-1]
    rows = [section.text[mark.start : mark.end] for mark in section.marks if mark.kind is MarkKind.ROW]
    assert rows == ["a | b", "for x: y(x) | z"]
    assert [line for line in section.text.split("\n") if line] == rows
