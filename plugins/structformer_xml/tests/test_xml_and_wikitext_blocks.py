"""What XML and wikitext say that the parts of their texts are: lists, tables, code, notes, and spans within lines."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from structformer.document import Block, Document, MarkKind, Section, inline_marks
from structformer.errors import UsageError

from reading import one
from structformer_devkit.formats import mark_problems
from structformer_xml.vocabulary import from_toml


def tree(section: Section) -> list[object]:
    """A section's blocks as nested lists: a paragraph is its text, code its language and text."""

    def shown(block: Block) -> object:
        text = section.text[block.start : block.end]
        name = f"{block.kind.value} {block.detail}".strip()
        if block.kind is MarkKind.PARAGRAPH:
            return text
        return (name, text) if block.is_leaf else [name, *map(shown, block.children)]

    return [shown(block) for block in section.blocks]


def spans(section: Section) -> list[tuple[str, str]]:
    return [(mark.kind.value, section.text[mark.start : mark.end]) for mark in inline_marks(section.marks)]


def problems(document: Document) -> list[str]:
    return [problem for section in document.sections() for problem in mark_problems(section.text, section.marks)]


def docbook(body: str) -> Section:
    page = f'<article xmlns="http://docbook.org/ns/docbook"><title>T</title>{body}</article>'
    return one(page, "xml").root


def test_docbook_lists_within_lists():
    body = """<para>Do:</para><orderedlist startingnumber="3"><listitem><para>one</para><itemizedlist><listitem>
    <para>in it</para></listitem></itemizedlist></listitem><listitem><para>two</para><para>more</para></listitem></orderedlist>
    <procedure><step><para>tie</para></step></procedure><simplelist><member>a</member><member>b</member></simplelist>"""
    assert tree(docbook(body)) == [
        "Do:",
        ["list 3", ["item", "one", ["list", ["item", "in it"]]], ["item", "two", "more"]],
        ["list 1", ["item", "tie"]],
        ["list", ["item", "a"], ["item", "b"]],
    ]


def test_docbook_terms_and_notes():
    body = """<variablelist><varlistentry><term><option>-a</option></term><term><option>--all</option></term><listitem>
    <para>All of them.</para></listitem></varlistentry></variablelist>
    <warning><title>Mind</title><para>Hot.</para></warning><tip><para>Wait.</para></tip>
    <example><title>Use</title><programlisting language="Bash">ls
  -a</programlisting></example><blockquote><para>So it is.</para></blockquote>"""
    root = docbook(body)
    assert tree(root) == [
        ["definitions", ["term", "-a"], ["term", "--all"], ["definition", "All of them."]],
        ["note warning", ["title", "Mind"], "Hot."],
        ["note tip", "Wait."],
        ["note example", ["title", "Use"], ("code bash", "ls\n  -a")],
        ["quote", "So it is."],
    ]
    assert spans(root) == [("code_span", "-a"), ("code_span", "--all")]


def test_docbook_tables_and_figures():
    body = """<table><title>Knots</title><tgroup cols="2"><thead><row><entry>Name</entry><entry>Use</entry></row></thead>
    <tbody><row><entry>bend</entry><entry></entry></row><row><entry/><entry><para>join</para></entry></row></tbody></tgroup></table>
    <figure><title>A bend</title><mediaobject><imageobject><imagedata fileref="b.png"/></imageobject>
    <textobject><phrase>two ropes</phrase></textobject></mediaobject></figure>"""
    root = docbook(body)
    assert tree(root) == [
        [
            "table",
            ["caption", "Knots"],
            ["row header", ["cell", "Name"], ["cell", "Use"]],
            ["row", ["cell", "bend"], ["cell"]],
            ["row", ["cell"], ["cell", "join"]],
        ],
        ["figure", ["caption", "A bend"], "two ropes"],
    ]


def test_a_row_is_a_line_whatever_blocks_its_cells_hold():
    body = """<para>before</para><informaltable><tgroup cols="3"><tbody>
    <row>
      <entry>
        <para>1</para>
      </entry>
      <entry><para>2</para><para>2b</para></entry>
      <entry><itemizedlist><listitem><para>3</para></listitem></itemizedlist></entry>
    </row>
    <row><entry/><entry><programlisting>a
 b
</programlisting></entry><entry>4</entry></row></tbody></tgroup></informaltable><para>after</para>"""
    root = docbook(body)
    assert root.text == "before\n\n1 | 2 2b | 3\n| a b | 4\n\nafter"
    assert tree(root)[1] == [
        "table",
        ["row", ["cell", "1"], ["cell", "2 2b"], ["cell", ["list", ["item", "3"]]]],
        ["row", ["cell"], ["cell", ("code", "a b")], ["cell", "4"]],
    ]


def test_docbook_code_keeps_out_what_stands_in_it_and_text_languages():
    body = """<para>Run <command>make <replaceable>goal</replaceable></command>, <emphasis role="bold">now</emphasis>.</para>
    <screen language="text">$ <command>make</command></screen><programlisting role="php"><![CDATA[
 f();
]]>
    </programlisting>"""
    root = docbook(body)
    assert tree(root) == ["Run make goal, now.", ("code", "$ make"), ("code php", " f();")]
    assert spans(root) == [("code_span", "make goal"), ("emphasis", "goal"), ("strong", "now")]


def test_jats():
    page = """<article><front/><body><sec><title>S</title>
    <list list-type="order"><list-item><p>a</p></list-item><list-item><p>b</p></list-item></list>
    <def-list><def-item><term>T</term><def><p>D</p></def></def-item></def-list>
    <table-wrap><label>Table 1</label><caption><p>Cap</p></caption><table><thead><tr><th>h</th></tr></thead>
    <tbody><tr><td>1</td></tr></tbody></table><table-wrap-foot><p>foot</p></table-wrap-foot></table-wrap>
    <fig><label>Fig. 1</label><caption><p>Shown</p></caption></fig><disp-quote><p>said</p></disp-quote>
    <boxed-text><caption><title>Box</title></caption><p>in it</p></boxed-text>
    <disp-formula><label>(1)</label><tex-math>x^2</tex-math></disp-formula>
    <p>As <inline-formula><tex-math>$y$</tex-math></inline-formula>, <bold>b</bold> and <monospace>m</monospace>.</p>
    <preformat>a
 b</preformat></sec></body></article>"""
    [section] = one(page, "xml").root.walk_with_path()
    root = section[0]
    assert tree(root) == [
        ["list 1", ["item", "a"], ["item", "b"]],
        ["definitions", ["term", "T"], ["definition", "D"]],
        ["table", ["caption", "Table 1"], ["caption", "Cap"], ["row header", ["cell", "h"]], ["row", ["cell", "1"]], "foot"],
        ["figure", ["caption", "Fig. 1"], ["caption", "Shown"]],
        ["quote", "said"],
        ["note sidebar", ["title", "Box"], "in it"],
        "(1)",
        ("formula", "x^2"),
        "As $y$, b and m.",
        ("code", "a\n b"),
    ]  # fmt: skip
    assert spans(root) == [("formula_span", "$y$"), ("strong", "b"), ("code_span", "m")]


def test_dita():
    page = """<task id="t"><title>Tie</title><taskbody><steps><step><cmd>Take <filepath>rope</filepath>.</cmd></step>
    <step><cmd>Pull.</cmd></step></steps><result><note type="caution">It slips.</note><codeblock outputclass="language-java">int x;
  y</codeblock><simpletable><sthead><stentry>a</stentry><stentry>b</stentry></sthead><strow><stentry>1</stentry><stentry/></strow>
    </simpletable><fig><title>F</title><image href="x.png"><alt>alt text</alt></image></fig></result></taskbody></task>"""
    root = one(page, "xml").root
    assert tree(root) == [
        ["list 1", ["item", "Take rope."], ["item", "Pull."]],
        ["note caution", "It slips."],
        ("code java", "int x;\n  y"),
        ["table", ["row header", ["cell", "a"], ["cell", "b"]], ["row", ["cell", "1"], ["cell"]]],
        ["figure", ["caption", "F"], "alt text"],
    ]
    assert spans(root) == [("code_span", "rope")]


def test_tei_footnotes_and_quotations_stay_in_their_lines():
    page = """<TEI xmlns="http://www.tei-c.org/ns/1.0"><teiHeader/><text><body><div><head>Day</head>
    <p>We <hi rend="bold">saw</hi> <emph>it</emph> <quote>there</quote><note place="foot">far off</note>.</p>
    <list type="ordered"><item>a</item><item>b</item></list><list type="gloss"><label>T</label><item>D</item></list>
    <quote>Long ago.</quote><table><head>Cap</head><row role="label"><cell>h</cell></row><row><cell>1</cell></row></table>
    </div></body></text></TEI>"""
    day = one(page, "xml").root
    assert tree(day) == [
        "We saw it there (far off).",
        ["list 1", ["item", "a"], ["item", "b"]],
        ["definitions", ["term", "T"], ["definition", "D"]],
        ["quote", "Long ago."],
        ["table", ["caption", "Cap"], ["row header", ["cell", "h"]], ["row", ["cell", "1"]]],
    ]
    assert spans(day) == [("strong", "saw"), ("emphasis", "it")]


def test_a_mapping_says_what_parts_its_elements_are():
    page = """<buch><satz>Ein <wort art="fett">Wort</wort> und <wort>noch</wort> eins.</satz><folge ab="2"><schritt>a</schritt></folge>
    <hinweis><kopf>Achtung</kopf><satz>Heiß.</satz></hinweis><li>wie sonst</li></buch>"""
    mapping = """
    paragraphs = ["satz", "hinweis", "kopf"]
    inline = ["wort"]
    lines = ["schritt"]
    [marks]
    "wort[art=fett]" = "strong"
    folge = "list @ab 1"
    schritt = "item"
    hinweis = "note warning"
    "note/kopf" = "title"
    """
    root = one(page, "xml", mapping=mapping).root
    assert tree(root) == [
        "Ein Wort und noch eins.",
        ["list 2", ["item", "a"]],
        ["note warning", ["title", "Achtung"], "Heiß."],
        ["list", ["item", "wie sonst"]],
    ]
    assert spans(root) == [("strong", "Wort")]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ('marks = ["a"]', "marks must be a table"),
        ('[marks]\nstep = "stpe"', "step = 'stpe'; choose from: caption, cell"),
        ('[marks]\nstep = "paragraph"', "choose from: caption, cell"),
        ('[marks]\n"a/b/c" = "item"', "'a/b/c': write element"),
        ("parts = 3", "parts must be a table"),
        ("[parts]\nitem = 3", "parts must be a table"),
        ('[parts]\nstpe = "step"', "step = 'stpe'; choose from: caption, cell"),
    ],
)
def test_a_wrong_entry_is_named(table: str, message: str):
    with pytest.raises(UsageError, match=message):
        from_toml(table, "own.toml")


def wiki(text: str) -> Section:
    return one(text, "wikitext").root


def test_wikitext_lists():
    page = "* a\n** b\n**# one\n**# two\n*: goes on\n* c\n# n\n\n; Term : meaning\n: more\n; Last\n: of it"
    assert tree(wiki(page)) == [
        [
            "list",
            ["item", "a", ["list", ["item", "b", ["list 1", ["item", "one"], ["item", "two"]]]], "goes on"],
            ["item", "c"],
        ],
        ["list 1", ["item", "n"]],
        [
            "definitions",
            ["term", "Term"],
            ["definition", "meaning"],
            ["definition", "more"],
            ["term", "Last"],
            ["definition", "of it"],
        ],
    ]


def test_wikitext_indents_are_quotes_and_formulas():
    page = "He said:\n: Sing, Goddess,\n:: of the rage.\nThen:\n:<math>y</math>\nand <math>x^2</math>.\n\n<math>z</math>\n\n<math display='block'>w</math>"
    root = wiki(page)
    assert tree(root) == [
        "He said:",
        ["quote", "Sing, Goddess,\nof the rage."],
        "Then:",
        ("formula", "y"),
        "and x^2.",
        ("formula", "z"),
        ("formula", "w"),
    ]
    assert spans(root) == [("formula_span", "x^2")]


def test_wikitext_tables():
    page = """{| class=x
|+ Cap
! a !! b
|-
! r
| style=y |
|-
|
{|
| in it
|}
| 2
* item
|}
after"""
    assert tree(wiki(page)) == [
        [
            "table",
            ["caption", "Cap"],
            ["row header", ["cell", "a"], ["cell", "b"]],
            ["row", ["cell", "r"], ["cell"]],
            ["row", ["cell", ["table", ["row", ["cell", "in it"]]]], ["cell", "2", ["list", ["item", "item"]]]],
        ],
        "after",
    ]


def test_wikitext_code():
    page = """<syntaxhighlight lang="Python" line>
def f():
    pass
</syntaxhighlight>
<pre>
a
  b
</pre>
Say:
 if x:
  ''y''
then <code>z</code>.
 {{IPA|x}} is the last letter of the old alphabet.
* <source lang="text">t</source>"""
    root = wiki(page)
    assert tree(root) == [
        ("code python", "def f():\n    pass"),
        ("code", "a\n  b"),
        "Say:",
        ("code", "if x:\ny"),
        "then z.\nis the last letter of the old alphabet.",
        ["list", ["item", ("code", "t")]],
    ]
    assert spans(root) == [("code_span", "z")]


def test_wikitext_apostrophes():
    root = wiki("'''bold''' ''it'' '''''both'' on''' ''a '''b'' c''' [[x|''y'']] l''''art''' ''open\nplain")
    assert spans(root) == [
        ("strong", "bold"),
        ("emphasis", "it"),
        ("strong", "both on"),
        ("emphasis", "both"),
        ("emphasis", "a b"),
        ("strong", "b"),
        ("strong", "c"),
        ("emphasis", "y"),
        ("strong", "art"),
        ("emphasis", "open"),
    ]


def test_wikitext_files_and_html():
    page = """[[File:F.jpg|thumb|200px|A '''bend''']]
<blockquote>
Said
* so
</blockquote>
<ol start="4"><li>one<li>two<ul><li>in</li></ul></ol>
<table><tr><th>h</th><td>d</td></tr></table>"""
    root = wiki(page)
    assert tree(root) == [
        ["figure", ["caption", "A bend"]],
        ["quote", "Said", ["list", ["item", "so"]]],
        ["list 4", ["item", "one"], ["item", "two", ["list", ["item", "in"]]]],
        ["table", ["row", ["cell", "h"], ["cell", "d"]]],
    ]
    assert spans(root) == [("strong", "bend")]


def test_wikitext_a_heading_ends_lists_and_tables():
    first, second = one("* a\n== One ==\n: b\n{|\n| c\n== Two ==\nd\n* e", "wikitext").root.children
    assert tree(first) == [["quote", "b"], ["table", ["row", ["cell", "c"]]]]
    assert tree(second) == ["d", ["list", ["item", "e"]]]


def test_extracted_lists():
    page = '<doc id="1" url="u" title="Knot">\nKnot\n\nKinds:\nBULLET::::- bend\nBULLET::::- hitch\nNUMBER::::1. one\n\nEnd.\n</doc>'
    assert tree(one(page, "wikitext").root) == [
        "Kinds:",
        ["list", ["item", "bend"], ["item", "hitch"]],
        ["list 1", ["item", "1. one"]],
        "End.",
    ]


PIECES = [
    "* a",
    "** b",
    "# c",
    ";t : d",
    ":e",
    ":: f",
    "{|",
    "|+ g",
    "! h",
    "|-",
    "| i || j",
    "|}",
    " k",
    "== l ==",
    "",
]
INLINES = ["'''", "''", "'''''", "<b>", "</b>", "<ul>", "<li>", "</ul>", "<td>", "<table>", "</table>", "<blockquote>"]
OTHERS = ["</blockquote>", "<math>x</math>", "[[File:a|b '''c]]", "<pre>\n m\n</pre>", "word", "<h2>n</h2>"]


@given(st.lists(st.lists(st.sampled_from([*PIECES, *INLINES, *OTHERS]), min_size=1, max_size=4), max_size=20))
def test_whatever_stands_in_wikitext_marks_nest(lines: list[list[str]]):
    page = "\n".join(" ".join(line) if line[0] else "" for line in lines) or "x"
    assert problems(one(page + "\nend", "wikitext")) == []


ELEMENTS = "list item para note title table row cell emphasis code programlisting section figure caption".split()


@given(
    st.recursive(
        st.just("w "), lambda inner: st.tuples(st.sampled_from(ELEMENTS), st.lists(inner, max_size=4)), max_leaves=30
    )
)
def test_whatever_stands_in_xml_marks_nest(content: object):
    def written(part: object) -> str:
        if isinstance(part, tuple):
            return f"<{part[0]}>{''.join(map(written, part[1]))}</{part[0]}>"
        return str(part)

    assert problems(one(f"<book><p>x</p>{written(content)}</book>", "xml")) == []


@pytest.mark.parametrize(
    "line",
    [
        "*" * 300 + " a\n#\n",
        ":{|\n! a\n",
        "<li><dt>",
        "<blockquote><li><dt>",
        "<ul>\n</blockquote>\n",
        "'''''a'' ",
        " <b>\n",
        " " + "a" * 60 + "\nb\n",
    ],
)
def test_wikitext_marks_take_linear_time(line: str):
    def seconds(times: int) -> float:
        start = time.process_time()
        one("x\n" + line * times, "wikitext")
        return time.process_time() - start

    seconds(10)
    assert seconds(8000) < 30 * seconds(800) + 0.5
