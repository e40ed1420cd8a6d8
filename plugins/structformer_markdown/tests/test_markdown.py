"""What the Markdown plugin reads, by example."""

from __future__ import annotations

import pytest
from structformer import Document, LinkKind, read
from structformer.errors import ReadError, UsageError

from reading import Folder
from structformer_markdown.format import MarkdownFormat


def document(text: str | bytes) -> Document:
    [found] = read(text.encode() if isinstance(text, str) else text, format="markdown")
    return found


def outline(text: str) -> list[tuple[int, int, str]]:
    """(depth in the tree, level, title) of every section."""
    return [(len(path) - 1, section.level, section.title) for section, path in document(text).root.walk_with_path()]


def links(text: str) -> list[tuple[str, str, str]]:
    return [(link.kind.value, link.target, link.text) for link in document(text).links()]


def test_the_only_level_one_heading_is_the_root():
    assert outline("# Copy\n\n## Usage\n\n### Flags\n\n## See also\n") == [
        (0, 0, "Copy"),
        (1, 2, "Usage"),
        (2, 3, "Flags"),
        (1, 2, "See also"),
    ]


def test_level_jumps_nest_under_the_nearest_shallower_heading_and_keep_their_level():
    assert outline("# A\n\n#### Deep\n\n## B\n") == [(0, 0, "A"), (1, 4, "Deep"), (1, 2, "B")]


def test_several_level_one_headings_stay_sections_and_the_first_is_the_title():
    assert outline("# A\n\n# B\n") == [(0, 0, "A"), (1, 1, "A"), (1, 1, "B")]


def test_setext_and_raw_html_headings_are_headings():
    text = "Title\n=====\n\nSub\n---\n\n<h3 id='raw'>Raw <em>HTML</em></h3>\n\n<h2 align=\"center\">\n\nCentred\n\n</h2>\n\nbody\n"
    assert outline(text) == [(0, 0, "Title"), (1, 2, "Sub"), (2, 3, "Raw HTML"), (1, 2, "Centred")]
    assert document(text).root.children[0].children[0].anchors == ("raw", "raw-html")


def test_text_before_any_heading_belongs_to_the_root():
    assert document("Lead.\n\n# A\n\nBody.\n").root.text == "Lead.\n\nBody."


def test_own_text_is_plain_with_lists_and_tables_by_line_and_code_kept():
    text = "# A\n\nOne *two*\nthree.\n\n- x\n- y\n\n| a | b |\n|---|---|\n| 1 | `2` |\n\n```sh\nrun  --it\n```\n"
    assert document(text).root.text == "One two three.\n\nx\ny\n\na | b\n1 | 2\n\nrun  --it"


def test_link_spans_are_the_anchor_text_in_the_section_text():
    found = document("# A\n\nRead **the [first *part*](a.md)** and <b><a href='b.html'>the second</a></b>.\n")
    [first, second] = found.root.links
    assert found.root.text[first.start : first.end] == first.text == "first part"
    assert found.root.text[second.start : second.end] == second.text == "the second"


def test_reference_links_autolinks_and_wiki_links():
    text = "# A\n\n[x][r], <https://a.b>, www.c.de, me@d.ef, [[Page|shown]], [[Other page]]\n\n[r]: r.md\n"
    assert links(text) == [
        ("hyperlink", "r.md", "x"),
        ("hyperlink", "https://a.b", "https://a.b"),
        ("hyperlink", "http://www.c.de", "www.c.de"),
        ("hyperlink", "mailto:me@d.ef", "me@d.ef"),
        ("hyperlink", "Page", "shown"),
        ("hyperlink", "Other page", "Other page"),
    ]


def test_strict_commonmark_knows_no_bare_links():
    [found] = read(b"http://a.b [[x]]\n", format="markdown", flavor="commonmark")
    assert list(found.links()) == []


@pytest.mark.parametrize(
    "heading",
    [
        "## See also",
        "### See Also",
        "## SEE ALSO",
        "See also\n---",
        "## Related",
        "## Related commands",
        "## What's next",
        "## What’s next?",
        "## Next steps",
        "<h2>See also:</h2>\n",
        "## Siehe auch",
        "# See also",
    ],
)
def test_links_below_a_see_also_heading_are_see_also_links(heading):
    assert links(f"# T\n\n[other](o.md)\n\n{heading}\n\n- [Move](move.md)\n") == [
        ("hyperlink", "o.md", "other"),
        ("see_also", "move.md", "Move"),
    ]


@pytest.mark.parametrize(
    "heading",
    """Див. також|Viz též|Vidi još|См. также|انظر أيضًا|ראו גם|جستارهای وابسته|مزید دیکھیے|इन्हें भी देखें|আরও দেখুন|
    இவற்றையும் பார்க்கவும்|ఇవి కూడా చూడండి|ดูเพิ่ม|Xem thêm|Lihat pula|Ayrıca bakınız|Həmçinin bax|Тағы қараңыз|Katso myös|
    Vaata ka|Lásd még|Vezi și|Δείτε επίσης|Вижте също|Veure també|Véxase tamén|Se också|Sjå òg|Gweler hefyd|
    იხილეთ აგრეთვე|Տես նաև|Nächste Schritte|Étapes suivantes|Próximos pasos|Passaggi successivi|Что дальше?|Co dalej|
    次のステップ|다음 단계|接下来|後續步驟""".replace("\n    ", "").split("|"),
)
def test_related_pages_have_a_heading_in_every_language(heading):
    assert links(f"# T\n\n## {heading}\n\n- [x](y.md)\n") == [("see_also", "y.md", "x")]


def test_images_are_embeds_whose_alternative_text_is_text_except_in_links():
    text = "# T\n\n![a plan](plan.png) [![badge](badge.svg)](https://ci)\n"
    assert document(text).root.text == "a plan"
    assert links(text) == [
        ("embed", "plan.png", "a plan"),
        ("embed", "badge.svg", "badge"),
        ("hyperlink", "https://ci", ""),
    ]


def test_front_matter_gives_title_metadata_and_a_first_sentence():
    found = document(
        "---\ntitle: npm-ls\ndescription: List packages\ntags: [a, b]\ndate: 2024-01-02\n---\n\n### Synopsis\n\nx\n"
    )
    assert (found.title, found.root.title, found.root.text) == ("npm-ls", "npm-ls", "List packages")
    assert found.metadata["tags"] == ["a", "b"]
    assert found.metadata["date"] == "2024-01-02"


@pytest.mark.parametrize(
    ("text", "title", "sections"),
    [
        ("## Borrowing\n\nText.\n\n### Rules\n\nx\n", "Borrowing", ["Borrowing", "Rules"]),
        ("### Borrowing\n\nText.\n", "Borrowing", ["Borrowing"]),
        ("## Borrowing\n\nx\n\n## Lending\n\nx\n", "a", ["a", "Borrowing", "Lending"]),
        ("Text.\n\n## Borrowing\n\nx\n", "a", ["a", "Borrowing"]),
        ("### Rules\n\nx\n\n## Borrowing\n\nx\n", "a", ["a", "Rules", "Borrowing"]),
        ("---\ntitle: Books\n---\n## Borrowing\n\nx\n", "Books", ["Books", "Borrowing"]),
    ],
)
def test_a_chapter_of_an_mdbook_is_called_by_the_heading_that_all_others_are_below(text, title, sections):
    files = {"book.toml": "[book]\n", "src/part/a.md": text, "other/a.md": text}
    [found] = MarkdownFormat().read(Folder(files).source("src/part/a.md"), {})
    assert (found.title, [section.title for section in found.sections()]) == (title, sections)
    [alone] = MarkdownFormat().read(Folder({"a.md": "## Borrowing\n\nText.\n"}).source("a.md"), {})
    assert (alone.title, alone.root.children[0].title) == ("a", "Borrowing")


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("'Prints by `fmt.Print`, *all* of [it](b.md).'", "Prints by fmt.Print, all of it."),
        ("'Opens `<a>`.'", "Opens `<a>`."),
        ("'- a `b`'", "- a `b`"),
        ("'Today: `b`'", "Today: b"),
        ("': a `b`'", ": a b"),
        ("'2 * 3 = 6 and a_b_c'", "2 * 3 = 6 and a_b_c"),
    ],
)
def test_what_front_matter_says_of_a_page_is_read_as_its_text(said, shown):
    assert document(f"---\ntitle: T\ndescription: {said}\n---\nText.\n").root.text == f"{shown}\n\nText."


@pytest.mark.parametrize(
    "said",
    [
        "hero:\n  name: Boats\n  tagline: All of *them*\nfeatures:\n- icon: x\n  title: Fast\n  details: With sails.",
        "home: true\nheroText: Boats\ntagline: All of them\nfeatures:\n- title: Fast\n  details: With sails.",
    ],
)
def test_a_home_page_says_what_its_hero_and_its_features_say(said):
    found = document(f"---\n{said}\n---\n\nText.\n")
    assert (found.title, found.root.text) == ("Boats", "All of them\n\nFast\n\nWith sails.\n\nText.")


def test_code_in_a_title_of_front_matter_has_no_marks():
    assert document("---\ntitle: The `__init__` *file*\n---\nText.\n").title == "The __init__ file"
    assert document("---\ntitle: The __init__ ` file\n---\nText.\n").title == "The __init__ ` file"


def test_toml_front_matter_and_what_merely_looks_like_it():
    assert document("+++\ntitle = 'T'\n+++\nx\n").title == "T"
    assert document("---\nFoo\n---\nBar\n").root.children[0].title == "Foo"


@pytest.mark.parametrize(
    ("page", "title", "text"),
    [
        ("Title: On: knots\nDate: 2020-01-01\nTags: a, b\n\nText.\n", "On: knots", "Text."),
        ("author: Ann\n\n# Knots\n\nText.\n", "Knots", "Text."),
        ("Title: is a word\nthat begins a paragraph.\n", "x", "Title: is a word that begins a paragraph."),
        ("Note: mind.\n\nText.\n", "x", "Note: mind.\n\nText."),
        (
            "---\ntitle: T\ndescription: Konfigurations&shy;referenz &amp; mehr\n---\n",
            "T",
            "Konfigurationsreferenz & mehr",
        ),
    ],
)
def test_lines_of_metadata_need_no_marks_around_them(tmp_path, page, title, text):
    (tmp_path / "x.md").write_text(page)
    [document] = read(tmp_path / "x.md")
    assert (document.title, document.root.text) == (title, text)


def test_front_matter_with_templating_still_gives_its_plain_lines():
    assert document("---\ntitle: Good\nbad: {{ x }} : [\n---\nbody\n").title == "Good"


def test_attribute_lists_name_anchors_and_are_no_text():
    found = document("# T\n\n## Install {#setup .wide}\n\n[x](y){target=_blank} z\n")
    assert found.root.children[0].title == "Install"
    assert found.root.children[0].anchors == ("setup", "install")
    assert found.root.children[0].text == "x z"


def test_marks_of_fumadocs_behind_a_heading_are_no_text():
    found = document("# T\n\n## Static mode [#static-export]\n\n## Last [!toc]\n\n## Crash fixed [#1234]\n")
    assert [each.title for each in found.root.children] == ["Static mode", "Last", "Crash fixed [#1234]"]
    assert found.root.children[0].anchors == ("static-export", "static-mode")


def test_anchors_are_slugs_of_github_and_mkdocs_and_repeats_are_numbered():
    found = document("# T\n\n## What's new?\n\n## What's new?\n\n## Über uns\n")
    assert [section.anchors for section in found.root.children] == [
        ("whats-new",),
        ("whats-new-1", "whats-new_1"),
        ("über-uns", "uber-uns"),
    ]


def test_comments_scripts_and_styles_are_no_text():
    assert (
        document("# T\n\na <!-- hidden --> b <script>x()</script>\n\n<style>\np {}\n</style>\n\nc\n").root.text
        == "a b\n\nc"
    )


def test_what_hides_text_and_is_never_closed_hides_none_behind_the_next_heading():
    found = document("# T\n\n<template>\n<p>\n\n    </template>\n\nhidden\n\n## Two\n\nText.\n")
    assert [section.text for section in found.sections()] == ["</template>", "Text."]


def test_a_byte_order_mark_and_crlf_change_nothing():
    plain = "# T\n\n- [a](b)\n\ntext\n"
    expected = document(plain)
    for variant in ("\ufeff" + plain, plain.replace("\n", "\r\n")):
        assert document(variant).root == expected.root


def test_footnotes_stay_where_they_are_written():
    assert document("# T\n\nA[^1] b.\n\n[^1]: The note.\n\n## U\n\nx\n").root.text == "A b.\n\nThe note."


def test_nesting_beyond_any_sense_is_kept_as_text_and_reported():
    from structformer.formats.source import SourceFile

    from structformer_markdown.format import MarkdownFormat

    source = SourceFile("deep.md", b">" * 100_000 + b" bottom\n")
    [found] = MarkdownFormat().read(source, {})
    assert found.root.text == "bottom"
    assert source.warnings == ["line 1: nested over 100 levels deep; 1 line from there kept as plain paragraphs"]


def test_binary_content_is_refused():
    with pytest.raises(ReadError, match="binary content"):
        document(bytes(range(256)) * 40)


def test_bytes_need_a_known_format():
    with pytest.raises(UsageError, match="bytes need a format"):
        list(read(b"x"))
    with pytest.raises(
        UsageError,
        match=r"no format 'odt'; installed: asciidoc, html, latex, markdown, notebook, (office, )?org, (pdf, )?records, rst",
    ):
        list(read(b"x", format="odt"))


def test_kinds_are_plain_strings_for_storage():
    assert LinkKind("see_also") is LinkKind.SEE_ALSO


def one(page: str, **options: str) -> Document:
    [document] = read(page.encode(), format="markdown", **options)
    return document


def test_man_pages_in_markdown_have_their_title_in_a_block():
    page = "% podman-run 1\n% A. Person\n\n## NAME\npodman-run - Run it\n\n## Not counted {-}\n\nx\n"
    document = one(page)
    assert document.title == "podman-run(1)"
    assert document.metadata["author"] == "A. Person"
    assert [section.title for section in document.sections()] == ["podman-run(1)", "NAME", "Not counted"]
    assert document.root.text == ""


def test_a_bare_address_is_whole_whatever_marks_it_holds():
    document = one("https://e.org/a*b*c and **https://e.org/x_y_** (see https://e.org/(p)_q_r).")
    assert [link.target for link in document.links()] == [
        "https://e.org/a*b*c",
        "https://e.org/x_y",
        "https://e.org/(p)_q_r",
    ]
    assert one("https://e.org/a*b*c", flavor="commonmark").root.text == "https://e.org/abc"


def test_blocks_of_pymdown_keep_their_titles_and_text():
    page = "/// note | Mind\n\nthe gap\n\n///\n\n{* ../../docs_src/x.py hl[1:3] *}\n\n/// tip\n\nmore\n\n///\n"
    assert one(page).root.text == "Mind\n\nthe gap\n\nTip:\n\nmore"
