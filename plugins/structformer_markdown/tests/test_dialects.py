"""The Markdown of site generators: what their readers see, from the smallest pages."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from structformer import Document, read
from structformer.corpus import Corpus
from structformer.document import MarkKind
from structformer.errors import UsageError
from structformer.formats.source import SourceFile
from structformer.ingestion import ingest

from reading import Folder, links, outline
from structformer_markdown.dialects import DIALECTS, plain_markdown
from structformer_markdown.format import MarkdownFormat


def page(text: str, path: str = "page.md", others: dict[str, str] | None = None, **options: str) -> Document:
    """A page among its neighbours."""
    [document] = MarkdownFormat().read(Folder({path: text, **(others or {})}).source(path), options)
    return document


def mdx(text: str) -> Document:
    return page(text, "page.mdx")


def text(markdown: str, path: str = "page.md", others: dict[str, str] | None = None) -> str:
    return page(markdown, path, others).root.text


def targets(document: Document) -> list[tuple[str, str]]:
    """(target, anchor text) of every link."""
    return [(target, shown) for _, target, shown in links(document)]


CODE = "{: .x} {{< x >}} {{ x }} {% x %} {props.x} {/* x */} <Note> :::note ![[x]] {{Compat}} [!INCLUDE x]"


@pytest.mark.parametrize("path", ["page.md", "page.mdx"])
def test_code_is_never_changed(path):
    block = f"```\n{CODE}\nimport a from 'b';\n!!! note\n```\n"
    assert text(f"# T\n\n{block}", path) == f"{CODE}\nimport a from 'b';\n!!! note"
    assert text(f"# T\n\nA `{CODE}` b.\n", path) == f"A {CODE} b."
    assert text(f"# T\n\n- item\n\n  ```\n  {CODE}\n  ```\n", path) == f"item\n{CODE}"


def test_indented_code_is_code_but_in_mdx():
    assert text("# T\n\nText.\n\n    {% if x %} {: .y}\n") == "Text.\n\n{% if x %} {: .y}"


# kramdown


def test_attribute_lists_of_kramdown_are_no_text():
    assert text("A para.\n{: .note .info}\n") == "A para."
    assert text("{: .note}\n**Stop**{:.title} it, *now*{: #now}.\n") == "Stop it, now."


def test_names_that_kramdown_gives_are_anchors():
    found = page("# T\n\n### H\n{: #own}\n\nText.\n{: #para}\n\n{: #before}\n## Next\n\nUnder\n---\n{: #line .x}\n")
    assert [section.anchors for section in found.sections()][1:] == [
        ("own", "h", "para"),
        ("before", "next"),
        ("line", "under"),
    ]
    terms = page("# T\n\nrope\n: {: #rope} of hemp\n\nsail\n: of linen\n{: #sail}\n")
    assert terms.root.anchors[-2:] == ("rope", "sail")
    assert terms.root.text == "rope\nof hemp\nsail\nof linen"


def test_html_with_markdown_in_it_ends_with_its_tag():
    source = '<div class="x" markdown="1">\n| a | b |\n|---|---|\n| 1 | `2` |\n</div>\n```sh\nrun *x*\n```\n\n</section>\n*After*.\n'
    found = page(source)
    assert found.root.text == "a | b\n1 | 2\n\nrun *x*\n\nAfter."
    assert [block.kind for block in found.root.blocks][:2] == [MarkKind.TABLE, MarkKind.CODE]
    assert text("<div>\n<b>x</b>\n</div>\n*not* read\n") == "x\n\n*not* read"


def test_places_of_contents_are_no_text():
    assert text("* TOC\n{:toc}\n\nText.\n\n1. Contents\n{:toc .x}\n") == "Text."
    assert text("[TOC]\n\nText.\n\n[[_TOC_]]\n") == "Text."


def test_comments_of_kramdown_are_no_text():
    assert text("A {::comment}gone{:/comment}b{::nomarkdown} c{:/}\n") == "A b c"


# MDX


def test_what_stands_between_components_is_markdown():
    found = mdx(
        "<Note>\nUse **x** and [y](z).\n</Note>\n\n<Steps>\n1. Install the [CLI](https://v) **now**.\n</Steps>\n"
    )
    assert found.root.text == "Use x and y.\n\nInstall the CLI now."
    assert targets(found) == [("z", "y"), ("https://v", "CLI")]
    assert targets(mdx('- <Link id="x"/> Only [v](./x.md)\n')) == [("./x.md", "v")]


def test_components_in_markdown_hold_markdown_too_but_html_does_not():
    assert targets(page("<Note>\nUse [y](z).\n</Note>\n")) == [("z", "y")]
    assert text("<DIV>\nUse **x**.\n</DIV>\n") == "Use **x**."


def test_code_links_and_headings_in_markdown_between_html_tags_are_read():
    found = page(
        "<dl>\n<dt>\n### <code>-n</code> <var>node</var> {#n}\n</dt>\n<dd>\nSet `a_b` or [the [x]](y) as in [`c`](z).\n"
        "![chart](p.png) # of masts\n</dd>\n</dl>\n"
    )
    [section] = found.root.children
    assert (section.title, section.anchors[0]) == ("-n node", "n")
    assert section.text == "Set a_b or [the [x]](y) as in c. chart # of masts"
    assert targets(found) == [("z", "c"), ("p.png", "chart")]
    assert [section.text[m.start : m.end] for m in section.marks if m.kind is MarkKind.CODE_SPAN] == ["a_b", "c"]
    assert text("<pre>\n## a `b` [c](d)\n</pre>\n") == "## a `b` [c](d)"
    assert text("<p><code>`x`</code></p>\n") == "`x`"
    [strict] = read(b"<div>\n## a `b`\n</div>\n", format="markdown", flavor="commonmark")
    assert strict.root.text == "## a `b`"


def test_a_tag_in_code_begins_no_script():
    assert text("A `<style>` or `<script>` here.\n\n:::note\nTake `</script>`.\n:::\n") == (
        "A <style> or <script> here.\n\nNote: Take </script>."
    )


def test_attributes_on_an_item_s_last_line_name_it():
    found = page("# T\n\n* A mast, which is\n  tall.\n  {#mast}\n\n* See [it](#mast).\n")
    assert found.root.text == "A mast, which is tall.\nSee it."
    assert "mast" in found.root.anchors


def test_attribute_lists_with_blanks_within_are_no_text():
    source = (
        "Para.\n{ .annotate }\n\n1.  Step\n    { #step }\n\n- item { .x }\n\nSome **bold**{ #b }, *em*{ .c } text.\n"
    )
    found = page(f"# T\n\n{source}")
    assert found.root.text == "Para.\n\nStep\n\nitem\n\nSome bold, em text."
    assert found.root.anchors == ("t", "step", "b")
    figure = '<figure markdown="span">\n  ![Plan](a.png){ width="300" #plan }\n  <figcaption>Of `it`{ .c }</figcaption>\n</figure>\n'
    assert text(figure) == "Plan\n\nOf it"
    assert "plan" in page(figure).root.anchors
    assert text("Use { .no } and {{ .Values.x }} in a line.\n") == "Use { .no } and {{ .Values.x }} in a line."


def test_indented_lines_are_no_code_in_mdx():
    found = mdx("<table>\n<tr>\n<td>\n\n      Default: `5`.\n\n</td>\n</tr>\n</table>\n")
    assert found.root.text == "Default: 5."


def test_labels_and_titles_of_components_are_text_and_their_addresses_links():
    found = mdx(
        '<Tabs>\n<TabItem label="Apple">\n\nRed.\n\n</TabItem>\n</Tabs>\n\n'
        '<LinkCard title="Go" href="/z/" description="Far away" />\n\n<Card title="Stay" href={`/here`}>\nNear.\n</Card>\n'
    )
    assert found.root.text == "Apple\n\nRed.\n\nGo Far away\n\nStay\n\nNear."
    assert targets(found) == [("/z/", "Go"), ("/here", "Stay")]
    assert (
        mdx("<Note title={<>The <b>only</b> way</>} icon={<Star />}>\nA.\n</Note>\n").root.text == "The only way\n\nA."
    )


def test_tabs_have_the_labels_that_their_parent_lists():
    tabs = '<Tabs values={[{label: "Linux and macOS", value: \'unix\'}]}>\n<TabItem value="unix">\nRun it.\n</TabItem>\n</Tabs>\n'
    assert mdx(tabs).root.text == "Linux and macOS\n\nRun it."


def test_content_of_components_is_no_code_for_being_indented():
    found = mdx(
        '<Accordions>\n  <Accordion title="A">\n    See [b](c).\n\n    - one\n      - two\n\n    ```js\n      let x\n    ```\n'
        "  </Accordion>\n</Accordions>\n"
    )
    assert found.root.text == "A\n\nSee b.\n\none\ntwo\n\n  let x"
    assert targets(found) == [("c", "b")]


def test_components_in_a_line_leave_their_text():
    found = mdx(
        'Press <Kbd>x</Kbd> and see <Link to="/q">the *q* page</Link>.\n\n<Note>One.</Note>\n<Note>Two.</Note>\n'
    )
    assert found.root.text == "Press x and see the q page.\n\nOne.\n\nTwo."
    assert targets(found) == [("/q", "the q page")]


def test_targets_in_angle_brackets_and_badges_in_headings_are_no_components():
    found = page('# T\n\n<Note>x</Note> [a](<Path To File.md>) [b]\n\n[b]: <Other.md>\n\n## H <Badge text="New" />\n')
    assert targets(found) == [("Path To File.md", "a"), ("Other.md", "b")]
    assert found.root.children[0].anchors == ("h",)


def test_imports_exports_and_expressions_are_no_text():
    found = mdx(
        'import {\n A\n} from "x"\nexport const C = () => {\n  return <b>no</b>;\n};\n\n# T\n\nYes {props.value} and '
        "{list.map((x) => <li>{x}</li>)}{'this'}.\n\nexport const D = [\n  {a: 1},\n];\n\nEnd.\n"
    )
    assert (found.title, found.root.text) == ("T", "Yes and this.\n\nEnd.")


def test_what_docusaurus_imports_among_the_words_of_a_page_in_markdown_is_no_text():
    source = (
        "# T\n\nText.\n\nimport Tabs from '@theme/Tabs'\nimport A from \"@site/src/A\"\n\n<Tabs>\n\nIn.\n\n</Tabs>\n"
    )
    assert text(source) == "Text.\n\nIn."


def test_words_that_look_like_imports_stay():
    assert text("# T\n\nYou may\nimport your 'things'\nexport them.\n") == "You may import your 'things' export them."


def test_comments_of_mdx_are_anchors_behind_headings_and_nothing_elsewhere():
    found = page("# T\n\n## 使用法 {/*usage*/}\n\nA {/* not\n\nthis */}b.\n")
    assert (found.root.children[0].anchors, found.root.children[0].title) == (("usage", "使用法"), "使用法")
    assert "not" not in found.root.children[0].text


def test_html_in_mdx_holds_markdown_and_its_expressions_are_no_text():
    found = mdx(
        '<div style={{a: 1}} className="x">\n**bold** [k](l)\n</div>\n\n<img src={require(\'./a.png\')} alt="A" />\n'
    )
    assert found.root.text == "bold k\n\nA"
    assert targets(found) == [("l", "k"), ("./a.png", "A")]


def test_html_with_attributes_of_jsx_is_html_on_any_page():
    source = 'A <video src="c.mp4" controls style={{width: "1%"}}/> and <img src={require("./i.png").default} alt="I"/> {x}.\n'
    found = page(source)
    assert (found.root.text, targets(found)) == ("A and I {x}.", [("c.mp4", ""), ("./i.png", "I")])


def test_formulas_in_mdx_keep_their_braces():
    assert mdx("So $\\frac{a}{b}$ is {x} small.\n").root.text == "So $\\frac{a}{b}$ is small."


# MyST


def test_targets_and_the_names_of_directives_are_anchors():
    source = (
        "(top)=\n# T\n\n```{math}\n:label: eq_two\ny\n```\n\n(para)=\nText.\n\n## Two\n\n```{figure} a.png\n---\nname: fig\n"
        "---\nA *sail*.\n```\n\n:::{note}\n:name: hint\n:class: dropdown\nMind.\n:::\n\n```{code-block} python\n:name: code\nx = 1\n```\n"
    )
    found = page(source)
    assert [section.anchors for section in found.sections()] == [
        ("top", "t", "eq_two", "para"),
        ("two", "fig", "hint", "code"),
    ]
    assert [section.text for section in found.sections()] == ["y\n\nText.", "A sail.\n\nMind.\n\nx = 1"]


def test_the_name_of_a_target_may_be_words(tmp_path):
    found = page("(all the sails)=\n# T\n\nSee {ref}`all the sails`.\n\n(see above)=\nText (so) = it.\n")
    assert found.root.anchors == ("all the sails", "t", "see above")
    assert found.root.text == "See T.\n\nText (so) = it."
    pages = {"a.md": "(all the sails)=\n# T\n", "b.md": "# B\n\n{ref}`x <all the sails>`\n"}
    assert resolved(tmp_path, pages, "xref")["dead_anchor"] == 0


def test_restructuredtext_in_a_page_is_read_as_such(tmp_path):
    source = (
        "# T\n\n```{eval-rst}\n.. note:: Mind *it*.\n\n.. py:function:: tie(knot)\n\n   Ties.\n\n"
        ".. click:example::\n\n   import click\n   click.echo()\n```\n\n:::{eval-rst}\nSee :func:`tie` and :doc:`b`.\n:::\n"
    )
    found = page(source, others={"b.md": "# Bee\n"})
    assert found.root.text == "Mind it.\n\ntie(knot)\n\nTies.\n\nimport click\nclick.echo()\n\nSee tie and Bee."
    assert [mark.kind for mark in found.root.marks if mark.kind in (MarkKind.NOTE, MarkKind.CODE)] == ["note", "code"]
    assert links(found) == [("xref", "#tie", "tie"), ("hyperlink", "b", "Bee")]
    pages = {"a.md": "# A\n\n```{eval-rst}\n.. _reef:\n\nText.\n```\n", "b.md": "# B\n\n{ref}`x <reef>`\n"}
    counts = resolved(tmp_path, pages, "xref")
    assert (counts["resolved"], counts["dead_anchor"]) == (1, 0)


def test_entries_of_a_table_of_contents_show_the_titles_of_their_pages():
    found = page("# T\n\n```{toctree}\nb\nC <c>\nd\n```\n", others={"b.md": "# The `b`\n", "c.md": "# X\n"})
    assert targets(found) == [("b", "The b"), ("c", "C"), ("d", "d")]


def test_what_myst_does_not_show_is_no_text():
    source = (
        "```{raw} html\n<div>\n```\n\n```{index} single: Sails; reefed\n```\n\n```{contents} Contents\n:depth: 2\n```\n\n"
        "% a comment\nText.\n\n+++ {'slideshow': 1}\n\n:::{bibliography}\n:::\n\nLast.\n"
    )
    assert text(f"# T\n\n{source}") == "Text.\n\nLast."
    assert text("# T\n\n% of all sails\n\n```{r}\nx\n```\n") == "% of all sails\n\nx"  # R Markdown has no such comments


def test_roles_refer_to_places_files_and_works():
    source = "By {eq}`one`, {numref}`Fig. %s <two>`, {doc}`b`, {doc}`c <werkzeug:c>`, {download}`data <a.csv>` and {cite:p}`Pear2020,Fig1999`.\n"
    assert links(page(f"# T\n\n{source}")) == [
        ("xref", "#one", "one"),
        ("xref", "#two", "Fig."),
        ("hyperlink", "b", "b"),
        ("hyperlink", "//werkzeug:c", "c"),
        ("hyperlink", "a.csv", "data"),
        ("citation", "Pear2020", "Pear2020"),
        ("citation", "Fig1999", "Fig1999"),
    ]
    assert links(page("# T\n\nSee {PEP}`8`, {rfc}`2119` and {Doc}`b`.\n")) == [  # as in docutils, case says nothing
        ("hyperlink", "https://peps.python.org/pep-0008", "PEP 8"),
        ("hyperlink", "https://tools.ietf.org/html/rfc2119.html", "RFC 2119"),
        ("hyperlink", "b", "b"),
    ]


@pytest.mark.parametrize("name", ["note", "hint", "admonition", "dropdown", "card"])
def test_the_title_of_a_directive_has_marks(name):
    found = page(f"# T\n\n:::{{{name}}} Use `a_b` or [this](b.md)\nText.\n:::\n")
    assert found.root.text == "Use a_b or this\n\nText."
    assert links(found) == [("hyperlink", "b.md", "this")]
    assert page(f"# T\n\n:::{{{name}}} - a_b * c\nText.\n:::\n").root.text == "- a_b * c\n\nText."


def test_the_terms_of_a_glossary_are_places_on_any_page(tmp_path):
    (tmp_path / "a.md").write_text("# A\n\n{term}`Main Sail`, {term}`the sheet <sheet>`, {term}`Oar`\n")
    (tmp_path / "b.md").write_text(
        "# B\n\n:::{glossary}\nMain sail\n: The large one.\n\nsheet\n: A rope.\n:::\n\nOar\n: None.\n"
    )
    report = ingest(tmp_path, tmp_path / "w", workers=1)
    assert (report.links["xref"]["resolved"], report.links["xref"]["dead_anchor"]) == (3, 1)


def test_a_reference_without_words_shows_the_title_of_its_target():
    found = page("# T\n\nSee {ref}`sails`, {ref}`here <sails>` and {ref}`far.away`.\n\n(sails)=\n## The sails\n")
    assert found.root.text == "See The sails, here and far away."


def test_labels_are_found_on_any_page_and_works_where_they_are_listed(tmp_path):
    (tmp_path / "a.md").write_text("# A\n\n{ref}`sail_lbl`, {eq}`eq_b`, {cite}`Pear2020`\n")
    (tmp_path / "b.md").write_text("# B\n\n(sail_lbl)=\n## Sails\n\n```{math}\n:label: eq_b\nx\n```\n")
    report = ingest(tmp_path, tmp_path / "w", workers=1)
    assert (report.links["xref"]["resolved"], report.links["xref"]["dead_anchor"]) == (2, 0)
    assert report.links["citation"]["external"] == 1
    (tmp_path / "c.md").write_text("# C\n\n```{bibliography}\n```\n")
    assert ingest(tmp_path, tmp_path / "w", workers=1).links["citation"]["resolved"] == 1


def test_labels_and_terms_are_found_in_restructuredtext_and_from_there(tmp_path):
    (tmp_path / "a.md").write_text("# A\n\n{ref}`all.sail_x`, {term}`duck boat`\n\n(md.lbl_x)=\n## X\n")
    (tmp_path / "b.rst").write_text(
        ".. _all.sail_x:\n\nB\n=\n\n:ref:`md.lbl_x`\n\n.. glossary::\n\n   Duck boat\n      It floats.\n"
    )
    links_of = ingest(tmp_path, tmp_path / "w", workers=1).links["xref"]
    assert (links_of["resolved"], links_of["dead_anchor"]) == (3, 0)


def test_a_link_without_words_shows_the_title_of_what_it_leads_to():
    others = {
        "d/b.md": "---\n# no heading\n---\n# The `b` {#bee}\n\n(lbl)=\n## Bee two ##\n\n## Bee three\n",
        "c.md": "---\ntitle: Cee\n---\n# Other\n",
    }
    source = (
        "See [](#sails), [](d/b.md), [](/d/b.md#bee-three), [](d/b.md#lbl), <project:c.md>, {doc}`d/b`, <path:x.zip>, "
        "[y](project:c.md#s) and [](https://e.org)this.\n\n## Sails [](#sails)\n"
    )
    found = page(f"# T\n\n{source}", others=others)
    assert found.root.text == "See Sails, The b, Bee three, Bee two, Cee, The b, x.zip, y and this."
    assert found.root.children[0].title == "Sails"
    assert [link.target for link in found.root.links][4:8] == ["c.md", "d/b", "x.zip", "c.md#s"]


def test_an_address_in_another_project_is_outside(tmp_path):
    assert resolved(tmp_path, {"a.md": "# A\n\n[x](inv:sphinx#y), <inv:#z>\n"})["external"] == 2


def test_objects_in_domains_are_places_on_any_page_of_the_project(tmp_path):
    described = "```{py:class} knots.Rope(length, *, ends)\nA rope.\n\n```{py:method} tie()\n```\n```\n"
    found = page(
        f"# T\n\n{described.replace('```', '`````', 1)[:-4]}`````\n\n{{py:meth}}`~knots.Rope.tie`, {{func}}`!no`\n"
    )
    assert found.root.text == "knots.Rope(length, *, ends)\n\nA rope.\n\ntie()\n\ntie, no"
    assert found.root.anchors == ("t", "knots.Rope", "knots.Rope.tie")
    assert links(found) == [("xref", "#knots.Rope.tie", "tie")]
    (tmp_path / "a.md").write_text(
        "# A\n\n{py:func}`pear.boil`, {py:func}`pear.peel`\n\n```{py:function} plum.dry()\n```\n"
    )
    (tmp_path / "b.md").write_text("# B\n\n```{py:function} pear.boil(x)\n```\n\n{py:func}`plum.dry`\n")
    (tmp_path / "c.rst").write_text("C\n=\n\n.. py:function:: pear.peel(x)\n\n:py:func:`plum.dry`\n")
    assert ingest(tmp_path, tmp_path / "w", workers=1).links["xref"]["resolved"] == 4


def test_a_glossary_may_have_its_definitions_indented():
    found = page(
        "# T\n\n```{glossary}\nplum\n  A *stone* fruit.\n\npear\nquince : q\n  A pome.\n\nfig\n```\n\n{term}`quince`\n"
    )
    assert found.root.text == "plum\nA stone fruit.\npear\nquince\nA pome.\nfig\n\nquince"
    kinds = [mark.kind for mark in found.root.marks]
    assert (kinds.count(MarkKind.TERM), kinds.count(MarkKind.DEFINITION)) == (4, 2)
    assert found.root.anchors == ("t", "plum", "pear", "quince", "fig")


@pytest.mark.parametrize(
    ("directive", "said"),
    [
        ("{versionadded} 1.2\nNew.", "Added in version 1.2: New."),
        ("{versionchanged} 1.3 It *floats*.", "Changed in version 1.3: It floats."),
        ("{deprecated} 2", "Deprecated since version 2."),
        ("{versionremoved} 3\n- a\n- b", "Removed in version 3:\n\na\nb"),
        ("{grid} 1 2 2 3\n:gutter: 2\n\nText.", "Text."),
        ("{card} Title\nHead\n^^^\nBody\n+++\nFoot", "Title\n\nHead\n\nBody\n\nFoot"),
    ],
)
def test_directives_say_what_sphinx_prints(directive, said):
    assert text(f"# T\n\n```{directive}\n```\n") == said
    assert text(f"# T\n\n:::{directive}\n:::\n") == said


def test_numbers_with_a_raised_or_lowered_role_stay_true():
    assert text("10{sup}`3` kg, 10{superscript}`-5` m, log2{sub}`8`, 1{sup}`st` H{sub}`2`O\n") == (
        "10³ kg, 10⁻⁵ m, log2₈, 1st H2O"
    )


@pytest.mark.parametrize("fences", [("```{note}", "```"), (":::{note}", ":::"), ("::::{note}\n:::{tip}", ":::\n::::")])
def test_a_heading_in_a_directive_is_outside_the_tree(fences):
    found = page(f"# T\n\n{fences[0]}\n# Inside\n\nMind.\n{fences[1]}\n\n## After\n\nText.\n")
    assert outline(found) == [(0, "T"), (1, "After")]
    assert found.root.text == "Inside\n\nMind."


def test_a_directive_between_colons_may_stand_in_one_between_backticks():
    assert text("```{margin}\n:::{note}\nMind.\n:::\nText.\n```\n") == "Mind.\n\nText."


def test_a_link_may_name_a_label_and_a_term_may_have_marks(tmp_path):
    pages = {
        "a.md": "# A\n\n[x](sails:all) [y](two/b_c) [](two/b_c) [z](ind) [p](d/b.md)\n",
        "d/b.md": "(sails:all)=\n# B\n\n(two/b_c)=\n## C\n\n```{index} x\n:name: ind\n```\n",
    }
    counts = resolved(tmp_path, pages)
    assert (counts["resolved"], counts["unresolved"]) == (5, 0)
    assert page(pages["a.md"]).root.text == "x y two b c z p"
    for terms in ("[Main *sail*](https://s.ex)\n: Large.\n", "[Main *sail*](https://s.ex)\n   Large.\n"):
        assert page(f"# T\n\n```{{glossary}}\n{terms}```\n").root.anchors == ("t", "Main sail")


# MkDocs


@pytest.mark.parametrize("opening", ['=== "A"', '!!! note "A"', '??? note "B"\n\n    === "A"'])
def test_code_with_blank_lines_in_a_tab_or_an_admonition_is_whole(opening):
    indent = "    " * opening.count("\n\n")
    inner = "".join(
        f"{indent}{line}\n" if line else "\n" for line in ["", "    ```py", "    a", "", "    b", "    ```"]
    )
    found = page(f"# T\n\n{opening}\n{inner}\nAfter.\n\n## Two\n\nText.\n")
    assert found.root.text.endswith("A\n\na\n\nb\n\nAfter.")
    assert outline(found) == [(0, "T"), (1, "Two")]


def test_spots_of_autorefs_name_what_comes_next_or_the_place_they_are_in():
    found = page("# T\n\n[](){#spot}\n## Two\n\nA [](){#in-text}line.\n")
    assert [section.anchors for section in found.sections()] == [("t",), ("spot", "two", "in-text")]
    assert [section.text for section in found.sections()] == ["", "A line."]


def test_objects_of_mkdocstrings_are_places_and_their_options_no_text():
    found = page("# T\n\n::: boat.hull\n    options:\n      show_root_heading: true\n\nText.\n\n::: tip\nMind.\n:::\n")
    assert (found.root.text, found.root.anchors) == ("boat.hull\n\nText.\n\nTip: Mind.", ("t", "boat.hull"))


def test_references_of_autorefs_lead_to_any_page_and_unknown_ones_outside(tmp_path):
    (tmp_path / "mkdocs.yml").write_text("site_name: Boats\n")
    (tmp_path / "a.md").write_text(
        "# A\n\n[boat.Hull][], [`boat.Hull.paint`][boat.Hull.paint], [the spot][spot], [os.path][] and [ours][b].\n\n[b]: b.md\n"
    )
    (tmp_path / "b.md").write_text("# B\n\n::: boat.Hull\n\n## Two\n\n[](){#spot}\n\n### Three\n")
    counts = ingest(tmp_path, tmp_path / "w", workers=1).links["hyperlink"]
    assert (counts["resolved"], counts["external"], counts["unresolved"], counts["dead_anchor"]) == (4, 1, 0, 0)
    [first, _] = Corpus.open(tmp_path / "w").documents()
    assert first.root.text == "boat.Hull, boat.Hull.paint, the spot, os.path and ours."


def test_names_in_references_of_mkdocs_may_be_words_and_titles_have_quotation_marks():
    source = '# T\n\nA [type][type hint] and [`-O`][].\n\n!!! note "On the "true" name"\n    Words.\n\n=== "A "b" c"\n    One.\n'
    found = page(source, others={"mkdocs.yml": ""})
    assert found.root.text == 'A type and -O.\n\nOn the "true" name\n\nWords.\n\nA "b" c\n\nOne.'
    assert targets(found) == [("xref:type hint", "type"), ("xref:-O", "-O")]


def test_brackets_that_are_no_reference_stay():
    assert (
        text("# T\n\nAn `x`, int[][], a[i][j.k] and [some][thing].\n") == "An x, int[][], a[i][j.k] and [some][thing]."
    )


def test_icons_keys_and_abbreviations_show_what_a_reader_sees():
    source = "Press ++ctrl+shift+c++ :material-check:{ .ok } in C++ or i++.\n\nHTML.\n\n*[HTML]: Hyper Text\n"
    assert text(f"# T\n\n{source}") == "Press Ctrl+Shift+C in C++ or i++.\n\nHTML."


def test_what_follows_an_icon_is_as_far_in_as_the_icon_was():
    grid = (
        '<div class="grid cards" markdown>\n\n-   :material-clock:{ .lg .middle } __Set up__\n\n    ---\n\n    Install `x`.\n\n'
        "    [:octicons-arrow-right-24: Go](start.md)\n\n- :simple-go: two\n\n</div>\n"
    )
    found = page(f"# T\n\n{grid}")
    assert found.root.text == "Set up\nInstall x.\nGo\ntwo"
    assert targets(found) == [("start.md", "Go")]


def test_changes_show_what_is_new_and_marked_text_has_no_marks():
    source = "A {++new++}{--, old--} {~~boat~>ship~~} {==is *here*==}{>>why?<<}, ==marked==; if x==y and y ==z: `#!python f(x)`.\n"
    assert text(source) == "A new ship is here, marked; if x==y and y ==z: f(x)."
    assert text("Run `#!/bin/sh -e` or `#!sh`.\n") == "Run #!/bin/sh -e or #!sh."


def test_options_of_a_block_are_no_text():
    source = "/// details | More\n    type: warning\n    open: True\n\nWords.\n///\n"
    assert text(f"# T\n\n{source}") == "More\n\nWords."


# containers


@pytest.mark.parametrize(
    ("opening", "first"),
    [
        (":::note[Your *title*]{.cls}", "Your title"),
        (":::note[A [link](x) in it]", "A link in it"),
        ("::: tip Mind the gap {open}", "Mind the gap"),
        (':::note{title="Given"}', "Given"),
        (":::warning", "Warning:"),
        ("::: details", ""),
    ],
)
def test_a_container_begins_with_its_title_or_what_it_is(opening, first):
    assert text(f"{opening}\n\nText.\n\n:::\n") == f"{first}\n\nText.".strip()


def test_headings_of_tabs_are_labels_and_no_sections():
    source = "## Install\n\n:::: {.panel-tabset}\n## R {.active}\n\n::: {.callout-tip}\nMind.\n:::\n\n### C#\nText.\n::::\n\nAfter.\n\n## Use\n"
    found = page(source, "page.qmd")
    assert [title for _, title in outline(found)] == ["page", "Install", "Use"]
    assert found.root.children[0].text == "R\n\nTip: Mind.\n\nC#\n\nText.\n\nAfter."


def test_a_name_with_classes_is_a_link_if_it_is_defined():
    document = page("See [knots]{#ident .big}, [sails]{.big}.\n\n[knots]: knots.md\n")
    assert targets(document) == [("knots.md", "knots")]


def test_classes_in_braces_are_no_text():
    assert text("A lead. {.lead}\n\nA [span]{.mark} here.\n") == "A lead.\n\nA span here."


# templates


@pytest.mark.parametrize(
    "template",
    [
        '---\ntitle: \'{{ replace .Name "-" " " | title }}\'\n---\n\nText.\n',
        "---\nlayout: x\n---\n{% for post in site.posts %}{{ post.title }}: {{ post.excerpt }}{% endfor %} all\n",
    ],
)
def test_a_template_is_no_document(template):
    source = Folder({"archetypes/x.md": template}).source("archetypes/x.md")
    assert list(MarkdownFormat().read(source, {})) == []
    assert source.warnings == ["a template that its site fills in: not a document"]


def test_a_page_with_variables_and_shortcodes_is_no_template():
    assert page("---\ntitle: T\n---\n{{ site.x }}\n").title == "T"
    assert page("{{< hero >}}\n{{< cards >}}\n", "content/_index.md").root.text == ""
    assert targets(page("- [a]({{ '/docs/a/' | relative_url }})\n- [b]({{ '/docs/b/' | relative_url }})\n"))


# Liquid


def test_targets_in_liquid_are_links():
    found = page('# T\n\n[a]({{ "/docs/x/" | relative_url }}) [b]({{ site.baseurl }}/b/) [c]({% link d/x.md %})\n')
    assert targets(found) == [("/docs/x/", "a"), ("/b/", "b"), ("/d/x.md", "c")]


def test_a_variable_that_begins_a_target_is_the_configurations_or_leads_outside(tmp_path):
    files = {"docs/_docs/h.md": "# T\n\nSee [#1] {{ x }}.\n\n[#1]: {{ site.repository }}/issues/1\n"}
    known = page(files["docs/_docs/h.md"], "docs/_docs/h.md", {"docs/_config.yml": "repository: https://h.ub/j\n"})
    assert (known.root.text, targets(known)) == ("See #1 .", [("https://h.ub/j/issues/1", "#1")])
    counts = resolved(tmp_path, files)
    assert (counts["external"], counts["unresolved"]) == (1, 0)


def test_a_configuration_that_is_no_yaml_or_nested_without_end_is_none():
    for configuration in ("[" * 50_000, "a: [", "- x", "\x00"):
        found = page("# T\n\n[a]({{ site.x }}/1) {{ y }}\n", others={"_config.yml": configuration})
        assert targets(found) == [("//{{site.x}}/1", "a")]


def resolved(folder: Path, files: dict[str, str], kind: str = "hyperlink") -> dict[str, int]:
    """How many links of a folder lead where."""
    for path, content in files.items():
        (folder / "in" / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / "in" / path).write_text(content)
    return ingest(folder / "in", folder / "w").links[kind]


def test_of_a_condition_the_first_branch_stays():
    assert text("# T\n\n{% if a %}yes{% elsif b %}or{% else %}no{% endif %}.\n") == "yes."
    assert text("# T\n\n{% unless a %}A{% if b %}B{% else %}C{% endif %}{% else %}D{% endunless %}\n") == "AB"
    assert text("# T\n\n{% case x %}{% when 1 %}one{% when 2 %}two{% endcase %} {% else %}end\n") == "one end"


def test_variables_of_a_loop_and_of_the_site_go_and_others_stay():
    loop = "{% for d in site.docs %}- {{ d.title }} is here\n{% endfor %}"
    assert text(f"# T\n\nWords that stand here.\n\n{loop}\nVersion {{{{ site.version }}}} of {{{{ name }}}}.\n") == (
        "Words that stand here.\n\nis here\n\nVersion  of {{ name }}."
    )


def test_a_variable_that_the_page_assigns_is_shown():
    assigned = '{% assign y = \'<b title="Yes">yes</b>\' %}{%- assign v = "1.2" | append: ".3" -%}\n\n'
    assert text(f"# T\n\n{assigned}| A | B |\n|---|---|\n| {{{{y}}}} | {{{{ v }}}} |\n") == "A | B\nyes | 1.2.3"
    assert text("# T\n\n{% assign a = b %}{% assign c = a %}Now {{ a }} and {{ c }}.\n") == "Now {{ a }} and {{ c }}."


def test_variables_in_a_loop_of_vue_go():
    assert text('# T\n\nAll.\n\n<ul>\n<li v-for="d in docs">{{ d.title }}</li>\n</ul>\n') == "All."


def test_code_between_tags_of_liquid_is_code_and_raw_text_stays():
    assert text("# T\n\n{% highlight ruby %}\ndef x\n  {{ y }}\n{% endhighlight %}\n") == "def x\n  {{ y }}"
    assert text("# T\n\n{% raw %}A {{ y }} b.{% endraw %} {% comment %}no{% endcomment %}\n") == "A {{ y }} b."


def test_what_is_captured_for_an_include_of_code_is_code():
    captured = "{% capture one %}\nGET /<name>\n{\n  {% raw %}{{x}}{% endraw %}\n}\n{% endcapture %}\n\n"
    found = page(f"# T\n\n{captured}{{% include code-block.html rest=one %}}\n\nText.\n")
    assert found.root.text == "GET /<name>\n{\n  {{x}}\n}\n\nText."
    assert [mark.kind for mark in found.root.marks] == [MarkKind.CODE]
    noted = "# T\n\n{% capture one %}\nA *b*.\n{% endcapture %}\n{% include note.html with=one %}\n\nText.\n"
    assert text(noted) == "A b.\n\nText."


def test_code_that_a_variable_is_set_to_is_code_and_comments_of_templates_are_no_text():
    code = "{% set n = 1 %}{% set codeBlock %}{% raw %}\nexport default function (c) {\n\tc.x();\n};\n{% endraw %}{% endset %}\n"
    found = page(f"# T\n\nA {{# gone\n\nover lines #}}b.\n\n{code}\n{{#- gone -#}}\n## Two {{#two}}\n")
    assert found.root.text == "A b.\n\nexport default function (c) {\n\tc.x();\n};"
    assert [mark.kind for mark in found.root.marks] == [MarkKind.CODE]
    assert outline(found) == [(0, "T"), (1, "Two")]


def test_jekyll_shows_no_raw_tag_in_code_and_others_do():
    source = "A `{% raw %}{{ x }}{% endraw %}`.\n\n```\n{%- raw -%}{{ y }}{% endraw %}\n```\n"
    assert text(source, others={"_config.yml": ""}) == "A {{ x }}.\n\n{{ y }}"
    assert "{% raw %}" in text(source)


@pytest.mark.parametrize("configuration", ["_config.yml", "mkdocs.yml", "docfx.json"])
def test_tables_of_some_sites_need_no_delimiter_of_each_column_and_have_no_bar_in_code(configuration):
    source = "| A | B | C |\n|:---|\n| `x|y` | `a\\|b` | 3 |\n"
    found = page(source, others={configuration: ""})
    assert found.root.text == "A | B | C\nx|y | a|b | 3"
    assert page(source).root.blocks[0].kind is not MarkKind.TABLE


# Hugo and GitBook


def test_words_of_shortcodes_stay():
    assert text('use {{< glossary_tooltip text="pods" term_id="pod" >}} now\n') == "use pods now"
    assert [title for _, title in outline(page('# T\n\n## {{% heading "prerequisites" %}}\n'))] == [
        "T",
        "prerequisites",
    ]
    assert text('{{< tab "Linux" >}}\n\nText.\n\n{{< /tab >}}\n') == "Linux\n\nText."


def test_the_related_pages_of_kubernetes_have_the_heading_that_its_pages_show():
    found = page('# T\n\n## {{% heading "whatsnext" %}}\n\n- [x](y.md)\n')
    assert [title for _, title in outline(found)] == ["T", "What's next"]
    assert [kind for kind, _, _ in links(found)] == ["see_also"]


def test_addresses_of_shortcodes_are_links():
    found = page(
        '# T\n\n{{< card title="T" link="/l" >}}\n\n{{< button href="/x" >}}Get *it*{{< /button >}} '
        '[r]({{< relref "a/b.md#c" >}})\n\n{{< figure src="a.png" alt="A plan" >}}\n'
    )
    assert targets(found) == [("/l", "T"), ("/x", "Get it"), ("a/b.md#c", "r"), ("a.png", "A plan")]
    in_html = page('<div>\n{{< button text="Go" link="docs" >}}\n{{< figure src="a.png" alt="Plan" >}}\n</div>\n')
    assert (in_html.root.text, targets(in_html)) == ("Go Plan", [("docs", "Go"), ("a.png", "Plan")])


def test_escaped_shortcodes_show_the_shortcode():
    source = 'Write `{{</* ref "a.md" */>}}`, {{%/* notice */%}} or {{< ref "b" >}}.\n\n```md\n{{</* tab */>}}\n{{</* /tab */>}}\n```\n'
    assert text(source) == 'Write {{< ref "a.md" >}}, {{% notice %}} or b.\n\n{{< tab >}}\n{{< /tab >}}'


@pytest.mark.parametrize("name", ["mermaid", "plantuml", "kroki"])
def test_a_diagram_in_a_shortcode_of_hugo_is_code(name):
    source = (
        f'# T\n\n{{{{< {name} class="wide" >}}}}\nsequenceDiagram\nparticipant Client\n{{{{< /{name} >}}}}\n\nText.\n'
    )
    assert text(source) == "sequenceDiagram\nparticipant Client\n\nText."


def test_comments_that_highlight_lines_are_no_code():
    source = "let a // [!code ++]\n// [!code focus]\n// highlight-next-line\nlet b\n  # highlight-start\nlet c <!-- [!code --] -->\n{/* highlight-end */}\n"
    assert text(f"```js\n{source}```\n\nAnd `// highlight-start`.\n") == (
        "let a\nlet b\nlet c\n\nAnd // highlight-start."
    )


def test_code_in_a_shortcode_is_code():
    assert text('{{< highlight go "linenos=1" >}}\nx := {{ .a }}\n*y*\n{{< /highlight >}}\n') == "x := {{ .a }}\n*y*"
    own = page('{{< codeFromInline lang="sh" >}}\n# a_b_c\n[ $x ] && get {{< version >}}\n{{< /codeFromInline >}}\n')
    assert own.root.text == "# a_b_c\n[ $x ] && get {{< version >}}"
    assert [(mark.kind, mark.detail) for mark in own.root.marks] == [("code", "sh")]
    assert (
        text('{{< code-group >}}\n*a*\n{{< /code-group >}}\n\n{{< codes >}}{{< tab "A" >}}b{{< /tab >}}{{< /codes >}}')
        == "a\n\nA b"
    )


@pytest.mark.parametrize(
    "code",
    [
        '{{< tabpane >}}\n{{< tab header="Say:" disabled=true />}}\n{{< tab header="toml" lang="toml" >}}\n%s\n{{< /tab >}}\n{{< /tabpane >}}',
        '{{< card code=true header="toml" lang="toml" >}}\n%s\n{{< /card >}}',
        '{{< tab name="toml" codelang="toml" >}}\n%s\n{{< /tab >}}',
    ],
)
def test_code_in_tabs_and_cards_is_code_and_what_closes_itself_holds_nothing(code):
    found = page(f"# T\n\n{{{{< code-toggle config=a />}}}}\n\nText.\n\n{code % '---'}\n\n## Two\n")
    assert found.root.text.startswith("Text.")
    assert found.root.text.endswith("toml\n\n---")
    assert [mark.detail for mark in found.root.marks] == ["toml"]
    assert outline(found) == [(0, "T"), (1, "Two")]


def test_tabs_that_are_said_to_be_text_are_read():
    tabs = '{{< tabpane text=true >}}\n{{% tab header="One" %}}\n**a**\n{{% /tab %}}\n{{< tab "Two" >}}\n`b`\n{{< /tab >}}\n{{< /tabpane >}}'
    assert text(tabs) == "One a\n\nTwo b"


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("hugo.toml", '[params]\nversion = "2.1"\n[params.at]\nrepo = "https://h.ub/r"\n'),
        ("config/_default/params.yaml", "version: 2.1\nat:\n  repo: https://h.ub/r\n"),
    ],
)
def test_a_parameter_of_the_site_is_shown(file, said):
    source = '# T\n\nTake {{< param "version" >}} [there]({{% param at.repo %}}/x){{< param y >}}.\n'
    found = page(source, "content/en/a/b/c.md", {file: said})
    assert (found.root.text, targets(found)) == ("Take 2.1 there.", [("https://h.ub/r/x", "there")])


def test_values_of_the_page_and_of_the_site_are_shown():
    source = (
        "---\nbook:\n  name: tie\nversion: 2.1\n---\n# T\n\n{{< meta book.name >}} {{< meta site >}} {{< var knot.x >}}"
    )
    files = {"_quarto.yml": "site: Sea\n", "_variables.yml": "knot:\n  x: reef\n"}
    found = page(f"{source} [a](../{{{{< meta book.name >}}}}.qmd) {{{{< meta none >}}}}.\n", "page.qmd", files)
    assert (found.root.text, targets(found)) == ("tie Sea reef a .", [("../tie.qmd", "a")])
    assert text(f"{source} {{{{< param version >}}}}\n") == "tie   2.1"
    assert [
        title
        for _, title in outline(
            page(
                "---\nv: 2\n---\n# In {{ page.v }}{{ page.w }}\n\nA text that says more of it than two variables do.\n"
            )
        )
    ] == ["In 2"]


def test_addresses_in_lower_case_are_found_unless_two_pages_differ_by_case_alone(tmp_path):
    files = {
        "functions/GetRemote.md": "# Get\n\nText.\n",
        "functions/one.md": "# One\n\n[a](/functions/getremote/) [b](/Functions/One/)\n",
    }
    assert resolved(tmp_path / "1", files)["resolved"] == 2
    counts = resolved(tmp_path / "2", files | {"functions/GETRemote.md": "# Other\n\nText.\n"})
    assert (counts["resolved"], counts["ambiguous"]) == (1, 1)


def test_blocks_of_gitbook_keep_their_titles():
    found = page(
        '{% tabs %}\n{% tab title="npm" %}\nRun it.\n{% endtab %}\n{% endtabs %}\n\n{% hint style="info" %}\nMind.\n'
        '{% endhint %}\n\n{% embed url="https://x.y" %}\n'
    )
    assert found.root.text == "npm\n\nRun it.\n\nInfo: Mind.\n\nhttps://x.y"
    assert targets(found) == [("https://x.y", "https://x.y")]


# Pandoc


def test_numbered_examples_are_items_and_no_citations():
    found = page("(@)  One.\n(@good) Two.\n\nAs (@good) says.\n\n(@)  Three.\n", "page.qmd")
    assert found.root.text == "One.\nTwo.\n\nAs (2) says.\n\nThree."
    assert [mark.detail for mark in found.root.marks if mark.kind is MarkKind.LIST] == ["1", "3"]
    assert links(found) == []


# mdBook, Obsidian, DocFX, VitePress, MDN


def test_captions_of_listings_are_text():
    listing = (
        '<Listing number="1-1" file-name="a.rs" caption="A program with `x`">\n\n```rust\nfn x\n```\n\n</Listing>\n'
    )
    assert text(listing) == "Listing 1-1: A program with x\n\nfn x"


def test_what_obsidian_embeds_is_an_image_or_a_link():
    found = page("A ![[plan.png|300]] b ![[Note#Part|shown]].\n\n> [!info]- Folded\n> Text.\n")
    assert found.root.text == "A b shown.\n\nInfo: Folded\n\nText."
    assert links(found) == [("embed", "plan.png", ""), ("hyperlink", "Note#Part", "shown")]
    table = page("# T\n\n| a |\n|---|\n| ![[plan.png\\|300]] [[Note\\|shown]] |\n")
    assert links(table) == [("embed", "plan.png", ""), ("hyperlink", "Note", "shown")]


def test_marks_of_docfx_are_no_text():
    found = page(
        ':::image type="content" source="a/b.png" alt-text="A plan":::\n\n::: zone pivot="x"\n\nText [!INCLUDE x].\n\n'
        '::: zone-end\n\n> [!div class="next"]\n> [Next](n.md)\n\n> [!VIDEO https://v.w/x]\n'
    )
    assert found.root.text == "A plan\n\nText .\n\nNext\n\nhttps://v.w/x"
    assert targets(found)[:2] == [("a/b.png", "A plan"), ("n.md", "Next")]


def test_tabs_of_docfx_are_labels_and_no_sections():
    source = "# T\n\n## How\n\n# [**Windows** [x]](#tab/windows)\n\nOne.\n\n### [macOS](#tab/macos)\n\nTwo.\n\n---\n\n## End\n"
    found = page(source)
    assert outline(found) == [(0, "T"), (1, "How"), (1, "End")]
    assert found.root.children[0].text == "Windows [x]\n\nOne.\n\nmacOS\n\nTwo."
    assert targets(found) == []


def test_references_of_docfx_show_the_name_that_they_hold():
    assert targets(page("# T\n\nSee <xref:Boat.Hull.Paint%2A?displayProperty=nameWithType>.\n")) == [
        ("xref:Boat.Hull.Paint%2A", "Boat.Hull.Paint")
    ]


def test_an_include_of_docfx_may_stand_in_a_line():
    assert text("Use [!INCLUDE [p](includes/p.md)] now.\n", others={"includes/p.md": "The *Product*\n"}) == (
        "Use The Product now."
    )


def test_snippets_of_vitepress_are_code():
    snippet = {"docs/snippets/a.js": "let a = {x};\n"}
    assert text("# T\n\n<<< @/snippets/a.js{1 js:line-numbers} [name]\n", "docs/g/page.md", snippet) == "let a = {x};"


def test_macros_of_mdn_are_links_with_their_words():
    found = page(
        'Read {{domxref("Document.cookie", "cookies")}} of {{HTMLElement("abbr")}}, {{Glossary("x","y")}} and '
        '{{jsxref("Array.prototype.map()")}}.\n\n{{Compat}} {{EmbedLiveSample("a", 1)}}\n',
        "files/ja/web/page/index.md",
    )
    assert found.root.text == "Read cookies of <abbr>, y and Array.prototype.map()."
    assert targets(found) == [
        ("/ja/docs/Web/API/Document/cookie", "cookies"),
        ("/ja/docs/Web/HTML/Reference/Elements/abbr", "<abbr>"),
        ("/ja/docs/Glossary/x", "y"),
        ("/ja/docs/Web/JavaScript/Reference/Global_Objects/Array/map", "Array.prototype.map()"),
    ]


# the choice of dialects


def test_dialects_may_be_chosen():
    both = "A para.\n{: .x}\n\n{{< x >}}\n"
    assert page(both).root.text == "A para."
    assert page(both, dialect="kramdown").root.text == "A para.\n\n{{< x >}}"
    assert page(both, dialect="kramdown, shortcodes").root.text == "A para."
    assert page(both, dialect="none").root.text == "A para. {: .x}\n\n{{< x >}}"


def test_a_site_generator_stands_for_its_dialects():
    both = "A para.\n{: .x}\n\n{{< x >}}\n"
    assert page(both, dialect="jekyll").root.text == "A para.\n\n{{< x >}}"
    assert page(both, dialect="jekyll, hugo").root.text == "A para."


def test_an_unknown_dialect_is_refused_in_words():
    with pytest.raises(UsageError, match=r"no Markdown dialect 'jekil'; choose from: attributes, .*, none"):
        list(read(b"x", format="markdown", dialect="jekil"))


@pytest.mark.parametrize(
    "unit",
    [
        "{% if a %}",
        "{% raw %}",
        "{{",
        '<A b="',
        "<A b={",
        "\n<Tab>\n",
        "{/*",
        "\nexport const a = (",
        "\nimport {",
        "{{< a >}}",
        '{{< a b="',
        '{{domxref("',
        '<Listing a="',
        "\n{: #a}",
        "` `` ",
        "\\",
        "![[",
        ":::image ",
        " ",
        "$",
        "\n:::::{a}",
        "\n::: a.b\n  ",
        "[a.b][]",
        "[](){#",
        "\n/// a\n    b: c",
        "<xref:a",
        "{~~a~",
        "{++a",
        " ==a",
        "\n> [!a] b",
        "![[a\\",
        "{%/* ",
        "\n::: {.panel-tabset}\n# a",
        "{% include code a=b %}",
        "{% capture a %}",
        "{{< tabpane >}}{{< tab >}}",
        "{{< param a >}}",
        "{data-",
        "\n!!! ",
        "{# a",
        "{% assign a = a %}{{ a }}",
        "{{< codes >}}",
        "<Aa b={<",
        "\n(a b",
        "{% set code %}",
        "<a b={",
        "<b x={y} ",
        "\n<a markdown",
        "\n# [a](#tab/",
        "\n+---+\n| a |\n",
        "| - a\n\n",
    ],
)
def test_hostile_pages_take_linear_time(unit):
    text = f"<Aa> {{% {{{{ ::: {unit * 20_000} end"
    start = time.process_time()
    plain_markdown(text, SourceFile("a.mdx", b""), frozenset(dialect.name for dialect in DIALECTS))
    assert time.process_time() - start < 4


@pytest.mark.parametrize(
    ("source", "kind", "said"),
    [
        (":::warning[Mind *it*]\nText.\n:::", "warning", "Mind it\n\nText."),
        ("::: {.callout-tip}\nText.\n:::", "tip", "Tip: Text."),
        ('!!! note inline end "Mind"\n    Text.', "note", "Mind\n\nText."),
        ('!!!tip "Mind"\n    Text.', "tip", "Mind\n\nText."),
        ("/// danger\nText.\n///", "danger", "Danger: Text."),
        ('{% hint style="info" %}\nText.\n{% endhint %}', "info", "Info: Text."),
    ],
)
def test_an_admonition_is_a_note_and_what_follows_it_is_not(source, kind, said):
    document = page(f"Before.\n\n{source}\n\nAfter.\n")
    root = document.root
    assert root.text == f"Before.\n\n{said}\n\nAfter."
    [note] = [block for block in root.blocks if block.kind is MarkKind.NOTE]
    assert (note.detail, root.text[note.start : note.end]) == (kind, said)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("- :::note\n  x\n  :::\n- y", "Note: x"),
        ("> :::tip[Title]\n> x\n>\n> y\n> :::\n> z", "Title\n\nx\n\ny"),
        (":::note\n- :::tabs\n  x\n  :::\n- y\n\n:::\nz", "Note:\n\nx\ny"),
        ("- a\n\n    /// note | T\n    x\n    ///\n- b", "T\nx"),
        (":::info # Title\nx\n:::\ny", "Title\n\nx"),
        (":::note\nx\n    :::\ny", "Note: x"),  # where an end is not, it is code
    ],
)
def test_an_admonition_may_stand_in_what_is_around_it(source, said):
    root = page(source).root
    [note] = [block for top in root.blocks for block in top.walk() if block.kind is MarkKind.NOTE]
    assert root.text[note.start : note.end] == said
    assert "<!--" not in root.text


@pytest.mark.parametrize("note", ["!!! tip\n    Mind.", "/// tip\nMind.\n///", ":::tip\nMind.\n:::"])
def test_an_admonition_after_a_fence_that_its_quote_ends_is_one(note):
    root = page(f"> ```\n> code\n\n{note}\n").root
    assert root.text == "code\n\nTip: Mind."
    assert [block.kind for block in root.blocks] == [MarkKind.QUOTE, MarkKind.NOTE]


def test_an_admonition_that_code_shows_is_code():
    assert text("# T\n\nWrite:\n\n    !!! note\n        x\n") == "Write:\n\n!!! note\n    x"
    assert (
        text('# T\n\n``` title="a"\n=== "A"\n\n    ``` c\n    x\n    ```\n```\n')
        == '=== "A"\n\n    ``` c\n    x\n    ```'
    )


def test_a_comment_that_looks_like_a_note_does_no_harm():
    root = page("a\n\n<!--note-->\n\nb\n\n<!--/note-->\n\n<!--note x title-->\n").root
    assert (root.text, root.marks) == ("a\n\nb", [])
    assert text("a\n\n<!--/structformer-note-->\n\n<!--structformer-note x title-->") == "a"


def test_pages_of_collections_and_posts_are_found_where_their_sites_publish_them(tmp_path):
    pages = {
        "_docs/ci/actions.md": "# Actions\n\n[post](/news/2016/04/19/released/) [usage](/docs/usage/)\n",
        "_docs/usage.md": "# Usage\n\n[post](/2016/04/19/released.html)\n",
        "_posts/2016-04-19-released.md": "# Released\n\n[actions](/docs/ci/actions/)\n",
        "blog/2020-01-02-new.md": "# New\n\n[old](/blog/2019/12/31/old)\n",
        "blog/2019-12-31-old.md": "# Old\n\nOld.\n",
        "guide/a.md": "---\nid: first\n---\n# First\n\nOne.\n",
        "v1/guide/a.md": "---\nid: first\n---\n# First\n\nAnother.\n",
        "guide/b.md": "# Second\n\n[first](first) [the same](./first)\n",
        "docs/x.md": "# X\n\n[post](/2016/04/19/released) [as in Eleventy](/blog/old/)\n",
        "app/docs/(more)/sail/page.mdx": "# Sail\n\n[of Next.js](/docs/oar#two)\n",
        "app/docs/oar/page.mdx": "# Oar\n\n## Two\n",
        "book/book.toml": "",
        "book/src/a/README.md": "# Chapter\n",
        "book/src/b.md": "# B\n\n[chapter](a/index.html)\n",
    }
    counts = resolved(tmp_path, pages)
    assert (counts["resolved"], counts["unresolved"], counts["ambiguous"]) == (11, 0, 0)


def test_rust_in_a_book_is_read_whole():
    code = "```rust,ignore\n# fn main() {\n#[test]\n    # let x = 1;\n## Head\n#\n# }\n```\n"
    assert text(code, "src/a.md", {"book.toml": ""}) == "fn main() {\n#[test]\n    let x = 1;\n# Head\n\n}"
    assert text(code).startswith("# fn main")


def test_icons_of_sphinx_design_and_styles_of_pandoc_are_no_text():
    assert text("{octicon}`rocket;1em` Start {fas}`star`") == "Start"
    assert text('[red]{style="color:red"} and f[0]{x=1}') == "red and f[0]{x=1}"


def test_a_variable_of_liquid_may_go_over_two_lines():
    document = page("[#1338]({{ site.repository\n}}/issues/1338) is mended.\n\nUse {{ site.name\n}} here.")
    assert document.root.text == "#1338 is mended.\n\nUse  here."


def test_commands_of_latex_in_r_markdown_show_what_pandoc_shows():
    source = r"""Pandoc\index{Pandoc} is \textbf{good}, \href{https://a.example}{here}. Keep `\index{x}` and $\mathrm{x}$.

\newpage

\begin{center}
Centred.
\end{center}"""
    assert text(source, "book.Rmd") == "Pandoc is good, here. Keep \\index{x} and $\\mathrm{x}$.\n\nCentred."


def test_rules_of_a_specification_are_places_that_links_find_in_other_chapters(tmp_path):
    pages = {
        "fn.md": "r[items.fn]\n# Functions\n\nr[items.fn.body]\nA function has a body.\n",
        "attributes.md": "# Attributes\n\nOf [bodies] and [functions][items.fn]; see [it](fn.md#r-items.fn.body).\n\n"
        "[bodies]: items.fn.body\n[items.fn]: items.fn\n",
    }
    assert text(pages["fn.md"], "fn.md") == "A function has a body."
    counts = resolved(tmp_path, pages)
    assert (counts["resolved"], counts["unresolved"], counts["dead_anchor"]) == (3, 0, 0)


def test_links_of_docc_find_a_page_by_its_name_and_show_words(tmp_path):
    pages = {
        "Knots/ReefKnot.md": "# 平结\n\n## How To Tie\n\nText.\n",
        "a.md": "# A\n\nSee <doc:ReefKnot#How-To-Tie>, <doc:ReefKnot> and [it](doc:documentation/Knots/ReefKnot).\n",
    }
    assert text(pages["a.md"], "a.md", pages) == "See How To Tie, ReefKnot and it."
    counts = resolved(tmp_path, pages)
    assert (counts["resolved"], counts["unresolved"], counts["dead_anchor"]) == (3, 0, 0)


def test_a_page_at_the_top_of_the_site_comes_before_others_of_its_name(tmp_path):
    pages = {
        "_sails/index.md": "---\npermalink: /sails/\n---\n# All\n\nText.\n",
        "sql/sails.md": "---\nredirect_from:\n  - /old/sails/\n---\n# Sails\n\n[all](/sails/) [all](/sails/#all)\n",
        "oars.md": "# Oars\n\nText.\n",
        "a/oars.md": "# Others\n\n[oars](/oars)\n",
    }
    counts = resolved(tmp_path, pages)
    assert (counts["resolved"], counts["ambiguous"]) == (3, 0)


def test_a_path_may_begin_at_the_root_of_the_pages(tmp_path):
    pages = {
        "docs/api/sail.md": "# Sail\n\n## Reef\n\nText.\n",
        "docs/use/all/a.md": "# A\n\n[x](api/sail.md#reef) [y](./api/sail.md)\n",
    }
    counts = resolved(tmp_path, pages)
    assert (counts["resolved"], counts["unresolved"]) == (1, 1)
    top = {"docs/login.md": "# Login\n\n## Keys\n", "docs/use/app/a.md": "# A\n\n[x](login.md#keys) [y](./login.md)\n"}
    counts = resolved(tmp_path / "top", top)
    assert (counts["resolved"], counts["unresolved"]) == (1, 1)


def test_a_language_behind_code_in_a_line_is_no_code():
    assert outline(mdx("# The `<Tie />{:jsx}`\n")) == [(0, "The <Tie />")]
    assert text("`let a{:js}`, `{:toc}`, `a{:.b}`.\n") == "let a, {:toc}, a{:.b}."


@pytest.mark.parametrize("front", ["", "---\ntitle: T\n---\n"])
def test_lines_of_restructured_text_are_counted_from_the_page(front):
    text = f"{front}# A\n\nText.\n\n```{{eval-rst}}\nMore.\n\n.. include:: gone.rst\n```\n\n```{{csv-table}} T\n:file: gone.csv\n```\n"
    source = Folder({"a.md": text}).source("a.md")
    [_] = MarkdownFormat().read(source, {})
    lines = text.split("\n")
    places = [lines.index(each) + 1 for each in (".. include:: gone.rst", "```{csv-table} T")]
    assert [warning.partition(":")[0] for warning in source.warnings] == [f"line {place}" for place in places]


def test_cells_of_grid_tables_hold_blocks_in_the_columns_of_the_rule():
    table = (
        "+-------+----------------+\n| # Pkg | Command        |\n+=======+================+\n"
        "| Pip\\  | ```{.bash}     |\n| (Mac) | a | b *c*      |\n|       |                |\n|       | d              |\n"
        "|       | ```            |\n+-------+----------------+\n| two   | - one          |\n|       | - more         |\n"
        "+-------+----------------+\n| over both              |\n+-------+----------------+\n"
    )
    found = page(f"# T\n\n{table}\n: Caption\n", "page.qmd")
    assert found.root.text == "Pkg | Command\nPip (Mac) | a | b *c* d\ntwo | one more\nover both |\n\nCaption"
    assert [mark.detail for mark in found.root.marks if mark.kind is MarkKind.CODE] == ["bash"]


def test_tables_of_pandoc_may_stand_in_what_is_around_them():
    grid = "+---+-----+\n| A | B   |\n+===+=====+\n| 1 | `x` |\n+---+-----+"
    quoted = "\n".join(f"> {line}" for line in grid.split("\n"))
    assert text(f"# T\n\n{quoted}\n") == "A | B\n1 | x"
    listed = "\n".join(f"  {line}" for line in grid.split("\n"))
    assert text(f"# T\n\n- item\n\n{listed}\n- next\n") == "item\n\nA | B\n1 | x\n\nnext"
    assert text(f"# T\n\n    {grid.replace(chr(10), chr(10) + '    ')}\n", "page.qmd") == grid  # code


def test_columns_of_a_simple_table_are_those_that_are_written():
    table = "Key       Value\n--------- ------------\n`a-b` c   see @fig-x\n[d]{.e}   H~2~O\n"
    found = page(f"# T\n\n{table}", "page.qmd")
    assert found.root.text == "Key | Value\na-b c | see fig-x\nd | H2O"
    assert targets(found) == [("#fig-x", "fig-x")]


def test_a_citation_after_a_fence_that_its_quote_ends_is_one():
    found = page("> ```\n> code\n\nAs @knuth says, and `@code`.\n", "page.qmd")
    assert targets(found) == [("cite:knuth", "@knuth")]
    assert targets(page("See [@acme/box](https://a.example/).\n", "page.qmd")) == [("https://a.example/", "@acme/box")]


def test_a_bar_or_a_rule_in_a_cell_of_a_grid_table_is_no_wall():
    table = (
        "+-----+----------------+\n| Key | Values         |\n+=====+================+\n| x   | One of\\        |\n"
        "|     | \\[`a` \\| `b`\\]  |\n+-----+----------------+\n| y   | z              |\n|     +----------------+\n"
        "|     | z2             |\n+-----+----------------+\n"
    )
    assert text(f"# T\n\n{table}", "page.qmd") == "Key | Values\nx | One of [a | b]\ny | z z2"


def test_a_list_of_attributes_may_hold_a_name_of_data_alone():
    assert outline(page("# T { data-search-exclude }\n\n## Two {data}\n")) == [(0, "T"), (1, "Two {data}")]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("**集中管理。**DM 支持", "集中管理。DM 支持"),
        ("的**_并不会_**立即，在**`code`**里", "的并不会立即，在code里"),
        ("1. **[[設定]]**を開きます", "設定を開きます"),
        ("**甲**、**乙**、丙（丁）**戊**", "甲、乙、丙（丁）戊"),
        ("2**3。 a ** b。", "2**3。 a ** b。"),
        ("**a.**b", "**a.**b"),
    ],
)
def test_strong_text_in_east_asian_lines_needs_no_spaces_around(written, shown):
    assert text(written) == shown


def test_strong_text_beside_signs_is_one_stretch_each():
    root = page("**甲**、乙（**丙。**丁）\n").root
    assert [root.text[mark.start : mark.end] for mark in root.marks] == ["甲", "丙。"]


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("![A plan](./a.png =740x460), ![b](b.png =50%) and [c](c.md =x)", "A plan, b and [c](c.md =x)"),
        ("The rule holds. {#rules.one}", "The rule holds."),
        ("The rule holds. \\{#rules.one}", "The rule holds."),
        ("Watch:\n\n@[youtube](Xe-_N)\n\nNow.", "Watch:\n\nNow."),
        ('Look: {{ resize_image(path="a.png", op="fit") }}', "Look:"),
        ("# :tada: :fire: The *new* one :rocket:\n\nAt 10:30: ok :ok:", "At 10:30: ok :ok:"),
    ],
)
def test_what_generators_make_of_attributes_sizes_and_calls_is_no_text(written, shown):
    assert text(written) == shown


def test_names_of_emoji_beside_a_heading_are_in_its_address_and_not_in_its_title():
    found = page("# :tada: The *new* one :rocket:\n\n## :x\n\n## a:b: c\n")
    assert outline(found) == [(0, "The new one"), (1, ":x"), (1, "a:b: c")]
    assert "tada-the-new-one-rocket" in found.root.anchors


def test_a_paragraph_with_a_name_is_a_place(tmp_path):
    pages = {"a.mdx": "# A\n\nOne thing. \\{#rules.one}\n", "b.md": "# B\n\n[x](a.mdx#rules.one)\n"}
    assert (resolved(tmp_path, pages)["resolved"], resolved(tmp_path, pages)["dead_anchor"]) == (1, 0)


@pytest.mark.parametrize(
    "pages",
    [
        {"content/a/b.md": "# B\n", "content/c/d.md": "[b](@/a/b.md)\n"},  # Zola
        {"en/Plugins/Notes.md": "# N\n", "en/Sync/d.md": "[[Plugins/Notes]]\n", "ja/Plugins/Notes.md": "# N\n"},
        {"docs/chat/(all)/slack.mdx": "# S\n", "docs/d.md": "[s](/chat/slack)\n"},  # Next.js
        {"02-b.Rmd": "# B {#bee}\n", "01-a.Rmd": "# A\n\n[b](#bee)\n"},  # bookdown
        {"b.Rmd": "```{r plot, fig.cap='P'}\nx\n```\n", "a.Rmd": "See \\@ref(fig:plot).\n"},
        {"a.md": "# A\n\n## B\n\n$$\nx\n$$ (eq:x)\n\n## C\n\nBy [](eq:x).\n"},  # MyST
        {"a.md": "# A\n\n$$\n\\label{eq:y} y\n$$\n\n## C\n\nBy [it](#eq:y).\n"},
    ],
)
def test_links_find_what_their_site_finds(tmp_path, pages):
    counts = resolved(tmp_path, pages)
    assert (counts["resolved"], counts["dead_anchor"]) == (1, 0)


def test_what_is_in_an_encyclopedia_or_a_register_is_elsewhere(tmp_path):
    found = page("See [](wiki:Shadow_DOM), <rrid:SCR_1> and [roots](ror:03rm).\n")
    assert found.root.text == "See Shadow DOM, SCR 1 and roots."
    assert resolved(tmp_path, {"a.md": "See [](wiki:Shadow_DOM).\n"})["external"] == 1


@pytest.mark.parametrize(
    "said",
    [
        {"page.md": '---\nmyst:\n  substitutions:\n    boat: "a *sloop*"\n---\n'},
        {"_config.yml": "parse:\n  myst_substitutions:\n    boat: a *sloop*\n"},
        {"docs/conf.py": 'kind = 1\nmyst_substitutions = {"boat": "a " + "*sloop*", "n": 1}\n'},
    ],
)
def test_what_myst_puts_for_a_name_is_text(said):
    own = said.pop("page.md", "")
    assert text(f"{own}# T\n\nShe is {{{{ boat }}}} of {{{{ nobody }}}}.\n", "docs/page.md", said) in (
        "She is a sloop of {{ nobody }}.",
        "She is a sloop of .",
    )


def test_what_myst_puts_may_be_blocks_on_a_line_of_their_own():
    front = "---\nsubstitutions:\n  all: |\n    - one\n    - two\n---\n"
    assert (
        text(f"{front}# T\n\nHere:\n\n{{{{ all }}}}\n\n| a |\n|---|\n| {{{{ all }}}} |\n")
        == "Here:\n\none\ntwo\n\na\n{{ all }}"
    )


def test_a_directive_knows_the_addresses_that_the_page_defines():
    found = page("# T\n\n:::{note}\nSee [this][r] and [![b][i]][r].\n:::\n\n[r]: r.md\n[i]: i.png\n")
    assert targets(found) == [("r.md", "this"), ("i.png", "b"), ("r.md", "")]


def test_signs_of_equality_with_blanks_around_are_those_of_a_tag():
    assert text("<Tabs items = {['A', 'B']}>\n\nText.\n\n</Tabs>\n", "page.mdx") == "Text."


def test_braces_in_what_pandoc_hides_are_hidden_too():
    markdown = '::: {.infobox .tip data-latex="{tip}"}\nMind\\index{a!b|see {c}} **x** [@one]: it.\n:::\n'
    assert text(markdown, "page.Rmd") == "Mind x @one: it."


DRAFT = """---
title: Rope Protocol
docname: draft-rope-00
normative:
  HTTP: RFC9110
---x

--- abstract

Ropes talk.

--- note_To_Readers

Tie.

--- middle

# Introduction {#intro}

See {{HTTP}}, {{Section 4.2 of HTTP}}, {{knots}}, {{!RFC8174}}.

## Knots

{::boilerplate bcp14}

Hot.

--- back

# Thanks
{:numbered="false"}

To all.
""".replace("---x\n", "")


def test_an_internet_draft_in_mmark():
    draft = (
        '%%%\ntitle = "Rope Protocol"\n%%%\n\n.# Abstract\n\nRopes talk.\n\n{mainmatter}\n\n# Introduction\n\nTie.\n'
    )
    document = page(f"{draft}\n{{backmatter}}\n\n# Thanks\n\nTo all.\n")
    assert document.title == "Rope Protocol"
    titles = [(section.title, section.text) for section in document.root.children]
    assert titles == [("Abstract", "Ropes talk."), ("Introduction", "Tie."), ("Thanks", "To all.")]


def test_an_internet_draft_in_kramdown():
    [document] = MarkdownFormat().read(SourceFile("draft.md", DRAFT.encode()), {})
    assert outline(document) == [
        (0, "Rope Protocol"),
        (1, "To Readers"),
        (1, "Introduction"),
        (2, "Knots"),
        (1, "Thanks"),
    ]
    assert document.root.text == "Ropes talk."
    assert "See HTTP, Section 4.2 of HTTP, Knots, RFC8174." in document.root.children[1].text
    assert [(kind, target) for kind, target, _ in links(document)] == [
        ("citation", "cite:HTTP"),
        ("citation", "cite:HTTP"),
        ("hyperlink", "#knots"),
        ("citation", "cite:RFC8174"),
    ]


@pytest.mark.parametrize(
    ("path", "source", "shown"),
    [
        (
            "a.qmd",
            "Bread^[即主食。]; ropes^[ibid.] and ^[not all] end.",
            "Bread (即主食。); ropes (ibid.) and (not all) end.",
        ),
        (
            "a.md",
            "A rope^[of hemp [1]] and a sail^[old]; [1]^[[1]](b.md).",
            "A rope (of hemp [1]) and a sail (old); [1]^[1].",
        ),
        ("a.md", "A rope^[of hemp] and x^[2].", "A rope (of hemp) and x^[2]."),
        (
            "a.md",
            'A rope^[hemp]^[jute], x^[2], "^[abc]" and a^[a-z].',
            'A rope (hemp) (jute), x^[2], "^[abc]" and a^[a-z].',
        ),
    ],
)
def test_notes_in_the_line(path: str, source: str, shown: str):
    [document] = MarkdownFormat().read(SourceFile(path, source.encode()), {})
    assert document.root.text == shown


def test_a_name_that_is_written_comes_before_the_words_of_a_heading():
    named, worded = page("# Ropes {#knots}\n", "a.Rmd"), page("# X\n\n## Knots\n", "b.Rmd")
    assert "label:knots" in named.names
    assert "label:knots" not in worded.names
    assert "slug:label:knots" in worded.names


@pytest.mark.parametrize(
    "around",
    [
        "> ```\n> x = 1\n\n",  # the quote ends its code
        "- a\n\n  ```\n  x = 1\n\n",  # the item does
        "<!--\n```\n-->\n\n",
    ],
)
def test_code_ends_where_what_is_around_it_ends(around):
    found = page(f"# T\n\n{around}:::tip\nMind.\n:::\n\nAfter.\n")
    assert [found.root.text[mark.start : mark.end] for mark in found.root.marks if mark.kind is MarkKind.NOTE] == [
        "Tip: Mind."
    ]


def test_what_is_open_in_a_container_ends_with_it():
    found = page("# T\n\n:::note\n```\nx = 1\n:::\n\n::: tip\n<div>\nMind.\n:::\nAfter.\n")
    assert found.root.text == "Note: \n\nx = 1\n\nTip:\n\nMind.\n\nAfter.".replace("Note: ", "Note:")


def test_containers_that_nothing_ends_take_linear_time():
    calls: list[str] = []
    for count in (50, 100):
        text = ":::a\n```\n" * count
        profiled: list[int] = [0]

        def count_calls(frame: object, event: str, _: object, profiled: list[int] = profiled) -> None:
            profiled[0] += event in ("call", "c_call")

        sys.setprofile(count_calls)
        try:
            page(text)
        finally:
            sys.setprofile(None)
        calls.append(str(profiled[0]))
    assert int(calls[1]) < 3 * int(calls[0])
