"""Reading takes steps in proportion to a text's length, whatever it opens, nests or leaves without an end.

Steps are calls of functions. Work within one call, as of a pattern that searches a text to its end, is not counted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from structformer.errors import ReadError
from structformer.formats.source import SourceFile
from structformer.plugins import load_plugins

# What is repeated, between spaces; "~" is a space and "¶" a line end.
UNITS = {
    "markdown": "> -~ ![ [x]( [[ ``` ```¶ **a <b> <!-- $x $$¶ {% {{< :::a¶ #~a¶ #~`a¶ |a|¶ [^a]:¶ ^[a <div>¶ a¶===¶ ~~~¶ {a word~",
    "html": '<a <a~href="# <div> <table> <ul><li> <pre> <code> <!-- <h2> <math><msup> <script> <aside> <p~class=x> &lt word~',
    "rst": "..~a::¶¶ a¶=¶¶ |a -~a¶¶ ::¶¶ :a:`b`~ ..~[1]¶ ..~_a:¶ +-+¶ `a`_~ word~",
    "asciidoc": (
        "----¶ ====¶ |===¶ ==~a¶ *~a¶ image::a[ link:a[ <<a, [[a [a]¶ ++++¶ a::¶ footnote:[ +++ `a *a {a} ifdef::a[]¶ word~"
    ),
    "org": "*~a¶ #+begin_src¶ #+begin_quote¶ -~a¶ |a¶ [[a [[a][ [fn:a $a \\( :a:¶ \\begin{a}¶ {{{a *a =a <<a word~",
    "wikitext": "{{ {{a| {| [[ [http://a~ <ref> <nowiki> ''' ==a==¶ *a¶ <!-- {{{ <math> <div> |-¶ __ word~",
    "latex": "{ \\begin{a} \\begin{verbatim} $ \\[ \\section{ \\footnote{ \\item \\frac{ \\verb| \\newcommand\\a{ \\if~ % word~",
    "xml": "<section> <title> <para> <table><row> <list><item> <!-- <![CDATA[ &amp; <a~b=' <code> word~",
}


def cases() -> Iterator[tuple[str, str]]:
    for name, units in UNITS.items():
        for unit in units.split():
            yield name, unit.replace("~", " ").replace("¶", "\n")


def steps(name: str, text: str) -> int:
    """How many functions reading a text calls, Python's and C's."""
    format, count = load_plugins().format(name), 0
    head = "<article><title>A</title>" if name == "xml" else ""

    def seen(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        list(format.read(SourceFile(f"a{format.suffixes[0]}", f"{head}{text}".encode()), {}))
    except ReadError:  # a refusal in words, which takes steps too
        pass
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(("name", "unit"), list(cases()))
def test_four_times_the_text_takes_four_times_the_steps(name, unit):
    steps(name, unit)  # what is made once
    assert steps(name, unit * 400) < 5 * steps(name, unit * 100) + 3000


def test_brackets_that_nothing_closes_are_looked_through_up_to_a_limit():
    assert steps("latex", "\\cite[" * 8000) < 5 * steps("latex", "\\cite[" * 2000)


def lines(name: str, text: str) -> int:
    """How many lines of Python reading a text runs, each round of a loop on one line as well."""
    count = 0

    def seen(frame: object, event: str, argument: object) -> object:
        nonlocal count
        count += event == "line"
        return seen

    before = sys.gettrace()
    sys.settrace(seen)
    try:
        list(load_plugins().format(name).read(SourceFile("a.md", text.encode()), {}))
    finally:
        sys.settrace(before)
    return count


def test_containers_within_items_that_nothing_closes_take_lines_in_proportion():
    item = "- :::a\n"
    lines("markdown", item)  # what is made once
    assert lines("markdown", item * 1600) < 5 * lines("markdown", item * 400)


def test_a_long_line_takes_steps_in_proportion():
    for name in UNITS:
        line = "a *b* [c] {d} <e> `f` $g$ _h_ "
        steps(name, line)
        assert steps(name, line * 400) < 5 * steps(name, line * 100) + 3000, name
