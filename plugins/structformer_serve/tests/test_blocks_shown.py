"""What people and assistants see of a text's blocks: Markdown, the reader's page, the API's and MCP's answers."""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from structformer import read
from structformer.document import Link, LinkKind, MarkKind, Section, Source
from structformer.formats.builder import TreeBuilder
from structformer.text.passages import section_passages

from structformer_serve.as_markdown import as_markdown, open_fence
from structformer_serve.blocks_html import section_html
from structformer_serve.mcp_server import Answers, cut_markdown
from structformer_serve.service import SearchService
from test_serving import client, workspace

K = MarkKind


def built(fill: Callable[[TreeBuilder], None]) -> Section:
    builder = TreeBuilder()
    fill(builder)
    return builder.finish(Source("page.x", "x")).root


def section_of(markdown: str) -> Section:
    [document] = read(markdown.encode(), format="markdown")
    return document.root


def outline(section: Section) -> list[tuple[str, str]]:
    return [(block.kind.value, block.detail) for top in section.blocks for block in top.walk()]


def letters(text: str) -> list[str]:
    """All of them: parts that stand side by side in a text may be apart where they are shown, captions elsewhere."""
    return sorted(re.findall(r"[^\W_]", text))


def test_a_description_that_the_first_paragraph_repeats_is_shown_once():
    said = "The newsletter is sent to all members."
    page = f"---\ndescription: {said}\n---\n# Newsletter\n\n{said} It needs an address.\n"
    assert section_html(section_of(page)) == f"<p>{said} It needs an address.</p>"
    other = section_html(section_of(page.replace("sent to all", "read by all", 1)))
    assert other.count("<p>") == 2


def table(builder: TreeBuilder, *rows: list[str], header: bool = False) -> None:
    builder.open_mark(K.TABLE)
    for number, row in enumerate(rows):
        builder.line()
        builder.open_mark(K.ROW, "header" if header and not number else "")
        for place, cell in enumerate(row):
            if place:
                builder.text(" | ")
            builder.open_mark(K.CELL)
            builder.text(cell)
            builder.close_mark(K.CELL)
        builder.close_mark(K.ROW)
    builder.close_mark(K.TABLE)


def note(builder: TreeBuilder, kind: str, title: str, text: str) -> None:
    builder.open_mark(K.NOTE, kind)
    if title:
        builder.open_mark(K.TITLE)
        builder.text(title)
        builder.close_mark(K.TITLE)
        builder.paragraph()
    builder.text(text)
    builder.close_mark(K.NOTE)


EXAMPLES = [
    "Plain *words* with **weight**, `code`, a [link](a.md) and a_snake_case_name.",
    "One  \ntwo",
    "```sh\nmake\n\n  all\n```",
    "````\n```\ninner\n```\n````",
    "- one\n- two\n  - inner\n    - deepest\n- three",
    "3. three\n4. four\n\n   ```json\n   {}\n   ```\n5. five",
    "- first\n\n  second paragraph\n\n  > quoted\n- last",
    "- a\n\n* b",
    "| a | b |\n|---|---|\n| `x\\|y` | |\n| 1<br>2 | *z* |",
    "Boat\n: floats\n\n  for long\n\nCar\n: drives\n: rolls",
    "> Quoted\n>\n> > twice",
    "> [!WARNING]\n> Hot *surface*.",
    "> [!TIP]\n> Look:\n>\n> ```sh\n> ls\n> ```",
    "2 * 3 is \\*not emphasis\\* and \\_nor this\\_, 1\\. is no list\n\n\\# no heading\n\n\\- no item\n\n\\> no quote",
    "\\<b> &amp;lt; \\`tick\\` a \\`second\\` \\[x](y) C:\\Users\\me \\\\* *.md",
    "`` a`b `` and ``` `` ```",
    "***both* strong** *and **inner** text*",
    "Say **\\*** for all, 2 * 3 stays",
]  # fmt: skip


@pytest.mark.parametrize("example", EXAMPLES)
def test_markdown_read_and_written_and_read_is_the_same(example):
    section = section_of(example)
    again = section_of(as_markdown(section, lambda link: link.target))
    assert again.text == section.text
    assert outline(again) == outline(section)
    assert [(mark.kind, mark.start, mark.end) for mark in again.marks] == [
        (mark.kind, mark.start, mark.end) for mark in section.marks
    ]
    assert [link.target for link in again.links] == [link.target for link in section.links]


@given(st.text(alphabet="ab1 *_`[]()<>#-+.!\\&;~:|=\n", min_size=1, max_size=30).filter(str.strip))
@example(r"\[1\]")
@example(r"a \(b\) \[")
def test_signs_in_plain_text_stay_signs(text):
    section = built(lambda builder: builder.verbatim(re.sub(r"\n\s*", "\n", text.strip())))
    paragraphs = [section.text[block.start : block.end] for block in section.blocks]
    again = section_of(as_markdown(section))
    assert again.text.split() == "\n\n".join(paragraphs).split()
    assert {kind for kind, _ in outline(again)} <= {"paragraph"}


def test_nothing_is_escaped_without_need():
    text = "snake_case, 2 * 3, a glob *.md, $HOME/bin, <3, R&D, [sic], ~/x, f(x), C:\\Users, #1, 50%, a | b, Note: -5"
    assert as_markdown(Section("", text=text)) == text


def test_a_table_without_titles_keeps_its_columns_and_one_with_too_few_gets_more():
    assert as_markdown(built(lambda builder: table(builder, ["a|b", ""], ["c", "d"]))) == (
        "|  |  |\n| --- | --- |\n| a\\|b |  |\n| c | d |"
    )
    assert as_markdown(built(lambda builder: table(builder, ["a"], ["c", "d"], header=True))) == (
        "| a |  |\n| --- | --- |\n| c | d |"
    )


def test_notes_say_what_they_are_once():
    def notes(builder: TreeBuilder) -> None:
        note(builder, "danger", "Shock", "Do not touch.")
        builder.paragraph()
        note(builder, "warning", "Warning", "Hot.")
        builder.paragraph()
        note(builder, "seealso", "", "The other page.")
        builder.paragraph()
        note(builder, "note", "", "Note: short.")

    section = built(notes)
    assert as_markdown(section) == (
        "> **Danger:** Shock\n>\n> Do not touch.\n\n> [!WARNING]\n> Hot.\n\n> **See also**\n>\n> The other page.\n\n"
        "> [!NOTE]\n> short."
    )
    html = str(section_html(section))
    assert '<aside role="note" class="note danger"><p class="note-title">Shock</p><p>Do not touch.</p></aside>' in html
    assert '<p class="note-title">See also</p>' in html
    assert '<p class="note-title">Note</p><p>short.</p>' in html


@pytest.mark.parametrize("title", ["Tip", "tip:"])
def test_a_title_that_is_the_kind_is_the_label(title):
    section = built(lambda builder: note(builder, "tip", title, "Look."))
    assert as_markdown(section) == "> [!TIP]\n> Look."
    assert '<p class="note-title">Tip</p><p>Look.</p>' in section_html(section)


def test_a_note_that_begins_with_its_kind_alone_says_it_once():
    section = section_of(":::warning\n\n- hot\n- wet\n\n:::")
    assert section.text == "Warning:\n\nhot\nwet"
    assert as_markdown(section) == "> [!WARNING]\n> - hot\n> - wet"
    assert str(section_html(section)).count("Warning") == 1


def test_a_note_drawn_as_a_table_is_a_note():
    """As AsciiDoc's pages have them: an icon or a title, and the text beside it."""

    def drawn(builder: TreeBuilder) -> None:
        builder.open_mark(K.NOTE, "tip")
        builder.open_mark(K.TABLE)
        builder.open_mark(K.ROW)
        builder.open_mark(K.CELL)
        builder.open_mark(K.TITLE)
        builder.text("Tip")
        builder.close_mark(K.CELL)
        builder.paragraph()
        builder.text("| ")
        builder.open_mark(K.CELL)
        builder.text("Run ")
        builder.code_span("make")
        builder.close_mark(K.NOTE)

    section = built(drawn)
    assert outline(section) == [("note", "tip"), ("title", ""), ("paragraph", ""), ("paragraph", "")]
    assert as_markdown(section) == "> [!TIP]\n> Run `make`"
    assert [passage.stretches for passage in section_passages(section)] == [()]


@pytest.mark.parametrize("kind", ["hidden", "code", "a** [x](javascript:y) **", "<b>", '" onclick="x'])
def test_the_kind_of_a_note_is_no_class_of_the_page_and_no_markup(kind):
    section = built(lambda builder: note(builder, kind, "", "Text."))
    html = str(section_html(section))
    assert '<aside role="note" class="note">' in html
    assert set(re.findall(r"<(\w+)", html)) == {"aside", "p"}
    assert "](javascript" not in as_markdown(section)


def test_a_return_in_a_text_begins_no_block():
    section = Section("", text="a\r# b\r- c")
    assert as_markdown(section) == "a  \n\\# b  \n\\- c"


def test_emphases_side_by_side_are_not_one():
    def beside(builder: TreeBuilder) -> None:
        for letter in "na":
            builder.open_mark(K.STRONG)
            builder.open_mark(K.EMPHASIS)
            builder.text(letter)
            builder.close_mark(K.STRONG)

    assert section_of(as_markdown(built(beside))).text == "na"


def test_an_emphasis_in_a_hundred_others_is_one():
    def nested(builder: TreeBuilder) -> None:
        for _ in range(90):
            builder.open_mark(K.EMPHASIS)
        for _ in range(2000):
            builder.paragraph()
            builder.text("word")

    section = built(nested)
    assert as_markdown(section).split() == ["*word*"] * 2000
    assert str(section_html(section)) == "<p><em>word</em></p>" * 2000


def test_formulas_are_tex_between_dollars():
    def formulas(builder: TreeBuilder) -> None:
        builder.text("With ")
        builder.open_mark(K.FORMULA_SPAN)
        builder.verbatim(r"\(a_1 * b_2\)")
        builder.close_mark(K.FORMULA_SPAN)
        builder.paragraph()
        builder.open_mark(K.FORMULA)
        builder.verbatim("\\[\nx^2\n\\]")
        builder.close_mark(K.FORMULA)

    section = built(formulas)
    assert as_markdown(section) == "With $a_1 * b_2$\n\n$$\nx^2\n$$"
    assert r'With <code class="formula">\(a_1 * b_2\)</code>' in section_html(section)


def test_a_link_across_an_emphasis_keeps_its_words_and_an_inner_one_its_place():
    text = "see the big page and more"

    def shown(start: int, end: int) -> tuple[str, str]:
        def fill(builder: TreeBuilder) -> None:
            builder.text("see the ")
            builder.open_mark(K.STRONG)
            builder.text("big page")
            builder.close_mark(K.STRONG)
            builder.text(" and more")

        section = built(fill)
        assert section.text == text
        section.links = [Link(LinkKind.HYPERLINK, "x", text[start:end], start, end)]
        return as_markdown(section, lambda link: "/x y"), section_html(section, lambda link: "/x?a=1&b=2")

    markdown, html = shown(12, 16)
    assert markdown == "see the **big [page](/x%20y)** and more"
    assert html == '<p>see the <strong>big <a href="/x?a=1&amp;b=2">page</a></strong> and more</p>'
    markdown, html = shown(4, 11)
    assert markdown == "see [the big](/x%20y) page and more"
    assert html == '<p>see <a href="/x?a=1&amp;b=2">the big</a> page and more</p>'


def test_the_page_has_lists_tables_and_code_as_such():
    section = section_of(
        "3. three\n4. four\n\n| a | |\n|---|---|\n| `x` | y |\n\n```Sh\nls <b>\n```\n\nTerm\n: what\n\n> said\n"
    )
    assert section_html(section) == (
        '<ol start="3"><li>three</li><li>four</li></ol><div class="wide"><table><thead><tr><th scope="col">a</th>'
        "<td></td></tr></thead><tbody><tr><td><code>x</code></td><td>y</td></tr></tbody></table></div>"
        '<div class="code" dir="ltr"><pre><code class="language-sh">ls &lt;b&gt;</code></pre><div class="tools"><span>sh</span>'
        "</div></div><dl><dt>Term</dt><dd>what</dd></dl><blockquote><p>said</p></blockquote>"
    )


def test_a_text_without_marks_is_its_paragraphs_with_their_indents():
    assert (
        section_html(Section("", text="One\ntwo\n\n    code\n      more"))
        == "<p>One\ntwo</p><p>    code\n      more</p>"
    )


def test_what_a_source_calls_its_parts_is_no_markup():
    def hostile(builder: TreeBuilder) -> None:
        builder.code("<script>\u202e", 'x" onload="alert(1)')
        builder.paragraph()
        note(builder, '"><script>', "<i>", "</aside><script>alert(1)</script>")
        builder.open_mark(K.LIST, '1" onload="x')
        builder.open_mark(K.ITEM)
        builder.text("i")

    html = section_html(built(hostile), lambda link: "javascript:alert(1)")
    assert "<script" not in html
    assert "onload" not in html
    assert "\\u202e" in html
    assert as_markdown(built(hostile)).startswith('```x"\n<script>')


ACTS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["open", "close"]), st.sampled_from(sorted(K))),
        st.tuples(
            st.sampled_from(["text", "verbatim", "link"]),
            st.sampled_from(
                ["a", " b ", "c\nd", "*e*", "# f", "``` g", "| h |", "[i](j)", "<k>", "1. l", "\\", "m_n_"]
            ),
        ),
        st.tuples(st.sampled_from(["line", "paragraph"]), st.just("")),
    ),
    max_size=40,
)


@given(ACTS)
def test_no_word_is_lost(acts):
    def fill(builder: TreeBuilder) -> None:
        for act, value in acts:
            if act == "open":
                builder.open_mark(value)
            elif act == "close":
                builder.close_mark(value)
            elif act == "link":
                builder.open_link("x")
                builder.text(value)
                builder.close_link()
            elif value:
                getattr(builder, act)(value)
            else:
                getattr(builder, act)()

    section = built(fill)
    assert letters(as_markdown(section).replace("<br>", "")) == letters(section.text)
    linked = as_markdown(section, lambda link: "https://0").replace("(https://0)", "").replace("<br>", "")
    assert letters(linked) == letters(section.text)
    html = section_html(section, lambda link: "x")
    assert letters(unescape(re.sub(r"<[^>]*>", "", html))) == letters(section.text)


def test_deep_and_long_texts_take_linear_time():
    def deep(builder: TreeBuilder) -> None:
        for number in range(3000):
            builder.open_mark((K.LIST, K.ITEM, K.QUOTE, K.CELL, K.NOTE)[number % 5])
            builder.text("x")
            builder.line()

    section = built(deep)
    assert as_markdown(section).count("x") == section_html(section).count("x") == 3000
    long = "*a " * 30_000 + "- " * 30_000 + "[^" * 30_000 + " " * 100_000 + "`" * 30_000 + "|-" * 30_000 + "x"
    assert as_markdown(Section("", text=long)).count("a") == 30_000
    assert open_fence("- " * 50_000 + "```x`") is None


@pytest.mark.parametrize("most", range(1, 130))
def test_a_cut_text_has_no_open_code(most):
    text = (
        "Some words first.\n\n- item\n\n  ````sh\n  ls\n  ```\n  rm x\n  ````\n\n> > ```\n> > quoted\n> >\n> > code\n> > ```\n\n"
        "$$\nx^2\n$$\n\nEnd of it."
    )
    cut = cut_markdown(text, most)
    assert open_fence(cut) is None
    assert len(cut) <= most + len("\n\n… (cut: read it whole)")
    assert cut == text or cut.endswith("… (cut: read it whole)")


CODE = "\n".join(f"line_{number} = {number}" for number in range(400))
PAGES = {
    "mast.md": "# Mast\n\nHow to paint the mast, see [the keel](keel.md):\n\n```sh\npaint --colour red mast\n```\n\n"
    "> [!NOTE]\n> Dry it *first*.\n",
    "keel.md": f"# Keel\n\nThe keel's whole program:\n\n```python\n{CODE}\n```\n",
}


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace(tmp_path_factory.mktemp("shown"), PAGES)


def test_the_api_gives_markdown_and_blocks(harbour):
    with client(harbour) as found:
        answer = found.get("/api/section/mast.md").json()
        schema: Any = found.get("/openapi.json").json()["components"]["schemas"]["SectionAnswer"]
    assert answer["markdown"] == (
        "How to paint the mast, see [the keel](/read/keel.md):\n\n```sh\npaint --colour red mast\n```\n\n"
        "> [!NOTE]\n> Dry it *first*."
    )
    assert [(block["kind"], block["detail"], block["depth"]) for block in answer["blocks"]] == [
        ("paragraph", "", 0),
        ("code", "sh", 0),
        ("note", "note", 0),
        ("paragraph", "", 1),
    ]
    code = answer["blocks"][1]
    assert answer["text"][code["start"] : code["end"]] == "paint --colour red mast"
    assert {"text", "markdown", "blocks"} <= set(schema["properties"])


def test_the_page_shows_them(harbour):
    with client(harbour) as found:
        page = found.get("/read/mast.md").text
    assert '<p>How to paint the mast, see <a href="/read/keel.md">the keel</a>:</p>' in page
    assert '<pre><code class="language-sh">paint --colour red mast</code></pre>' in page
    assert '<aside role="note" class="note">' in page


def test_an_assistant_gets_code_in_fences_that_are_closed_where_it_is_cut(harbour):
    answers = Answers(SearchService(harbour))
    found = answers.found("paint the mast", 5, "", 4000)[0]
    assert "see the keel:\n\n```sh\npaint --colour red mast\n```\n\n> [!NOTE]\n> Dry it *first*." in found
    whole = answers.read("keel.md", children=True, max_tokens=20_000)
    assert f"```python\n{CODE}\n```\n" in whole
    cut = answers.read("keel.md", children=True, max_tokens=500)
    assert re.search(r"```python\nline_0 = 0\n(?:line_\d+ = \d+\n)+```\n\n… \(cut: read it whole\)\n$", cut)
    assert open_fence(cut) is None


def test_an_assistant_is_told_nothing_that_cannot_be_seen(tmp_path):
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    page = f"# Sails\n\nHoist the sail.{hidden} \u202egnihton\u202c \x1b[2J\n"
    found = Answers(SearchService(workspace(tmp_path, {"sail.md": page, "oar.md": "# Oar\n\nRow."})))
    for answer in (found.read("sail.md", children=True, max_tokens=1000), found.found("hoist sail", 5, "", 1000)[0]):
        assert "Hoist the sail." in answer
        assert "\\u202egnihton" in answer
        assert answer.replace("\n", "").isprintable()
