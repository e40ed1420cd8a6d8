"""Files that Markdown takes in stand in the place of their directive, and are pages of their own only where they are
pages by themselves.
"""

from __future__ import annotations

import tarfile

import pytest
import structformer
from structformer import Document
from structformer.corpus import Corpus
from structformer.document import MarkKind
from structformer.ingestion import ingest

from conftest import write_pages
from reading import Folder, outline, text
from structformer_markdown.format import MarkdownFormat

PART = "Give it a *name* that nobody has.\n"
CODE = "fn main() {\n    // ANCHOR: call\n    moor();\n    // ANCHOR_END: call\n}\n"


def read(files: dict[str, str], path: str = "page.md") -> tuple[Document, list[str]]:
    """A page among its neighbours, and what is said of it."""
    source = Folder(files).source(path)
    [document] = MarkdownFormat().read(source, {})
    return document, source.warnings


@pytest.mark.parametrize(
    "directive",
    [
        "{{#include parts/name.md}}",
        '--8<-- "parts/name.md"',
        "{{< include parts/name.md >}}",
        "<!--@include: ./parts/name.md-->",
        "[!INCLUDE [The name](parts/name.md)]",
        "[!include[The name](parts/name.md)]",
        '{% include "parts/name.md" %}',
        "{% include_relative parts/name.md %}",
        '{{% readfile file="parts/name.md" %}}',
        '!include "parts/name.md"',
        "```{include} parts/name.md\n```",
        ":::{include} parts/name.md\n:parser: myst\n:::",
        "{! parts/name.md !}",
        "{!parts/name.md!}",
    ],
)
def test_every_generators_directive_is_followed(directive):
    files = {"page.md": f"# Page\n\nBefore.\n\n{directive}\n\nAfter.\n", "parts/name.md": PART}
    page, warnings = read(files)
    assert (page.root.text, warnings) == ("Before.\n\nGive it a name that nobody has.\n\nAfter.", [])
    assert MarkdownFormat().parts(Folder(files).source("page.md")) == {"parts/name.md"}


def test_a_page_that_is_imported_stands_where_its_component_is():
    page, code = "import Name from '../_parts/name.mdx';\n\n", "```jsx\n<Name />\n```\n"
    files = {
        "docs/use/page.mdx": f'{page}# Page\n\n<Name of="x" />\n\n<Other />\n\n{code}',
        "docs/_parts/name.mdx": ":::note\n[A *name*](./b.md#c) or [two](../d.md).\n:::\n",
    }
    found, warnings = read(files, "docs/use/page.mdx")
    assert (found.root.text, warnings) == ("Note: A name or two.\n\n<Name />", [])
    assert [link.target for link in found.links()] == ["../_parts/b.md#c", "../d.md"]
    assert MarkdownFormat().parts(Folder(files).source("docs/use/page.mdx")) == {"docs/_parts/name.mdx"}


def test_what_an_include_in_capitals_or_not_takes_in_keeps_its_blocks():
    part = "1. One\n\n    ```\n    a\n    ```\n\n## Two\n\nText.\n"
    for name in ("include", "Include", "INCLUDE"):
        page, _ = read({"page.md": f"# T\n\n## One\n\n[!{name}[x](includes/p.md)]\n", "includes/p.md": part})
        assert [(section.title, section.text) for section in page.sections()][1:] == [
            ("One", "One\na"),
            ("Two", "Text."),
        ]


def test_files_that_mysts_directives_name_are_tables_and_code():
    page = "# Pans\n\n```{csv-table} Prices\n:file: prices.csv\n```\n\n:::{literalinclude} pan.py\n:lines: 2\n:::\n"
    document, warnings = read({"page.md": page, "prices.csv": "wok,12\n", "pan.py": "import pans\npans.heat()\n"})
    assert document.root.text == "Prices\n\nwok | 12\n\npans.heat()"
    assert {mark.kind for mark in document.root.marks} >= {MarkKind.TABLE, MarkKind.CAPTION, MarkKind.CODE}
    assert not warnings
    _, [warning] = read({"page.md": "# Pans\n\n```{csv-table}\n:file: gone.csv\n```\n"})
    assert "gone.csv is not included: it is not in the ingested folder" in warning


def test_an_import_of_a_page_may_stand_among_the_words_of_a_page_in_markdown():
    files = {"page.md": "# T\n\nWords.\n\nimport Name from './_name.mdx'\n\n<Name />\n", "_name.mdx": "A name.\n"}
    assert read(files)[0].root.text == "Words.\n\nA name."


@pytest.mark.parametrize("directive", ["{* ../src/tie.py ln[2:3] hl[3] *}", "```python\n{!src/lines.py!}\n```"])
def test_code_of_other_folders_is_shown(directive):
    files = {"docs/page.md": f"# Page\n\n{directive}\n", "src/tie.py": "a\nb\nc\n", "src/lines.py": "b\nc\n"}
    page, warnings = read(files, "docs/page.md")
    assert (page.root.text, [mark.kind for mark in page.root.marks], warnings) == ("b\nc", [MarkKind.CODE], [])


def test_a_file_outside_of_the_folder_is_named_with_what_helps():
    page, warnings = read({"page.md": "# Page\n\nRun it:\n\n{* ../src/tie.py *}\n"})
    assert page.root.text == "Run it:"
    assert warnings == [
        "../src/tie.py is not included: it is outside of the ingested folder: ingest the folder of both, and --include "
        "these pages"
    ]


def test_inclusions_from_outside_are_counted_and_the_command_that_reads_them_is_offered(run, tmp_path):
    write_pages(tmp_path / "site", {"docs/en/page.md": "# Page\n\n{* ../../src/tie.py *}\n", "src/tie.py": "knot()\n"})
    site = tmp_path / "site"
    said = run("ingest", site / "docs" / "en", "-w", "w").err
    assert "1 inclusion not followed: outside of the folder, as ../../src/tie.py; to read both: " in said
    command = f"structformer ingest {site} --include 'docs/en/'"
    assert command in said
    again = run("ingest", site, "--include", "docs/en/", "-w", "w2")
    assert "not followed" not in again.err
    [document] = Corpus.open("w2").documents()
    assert "knot()" in document.root.text


def test_options_of_the_containers_manuals_are_sections_of_their_commands():
    files = {
        "man/tool-run.1.md.in": "% tool-run 1\n\n## OPTIONS\n\n@@option name\n\n@@option nobody\n",
        "man/tool-pod-run.1.md.in": "% tool-pod-run 1\n\n## OPTIONS\n\n@@option name\n",
        "man/options/name.md": "####> Used in: run, pod run\n#### **--name**\n\nA name of the <<container|pod>>.\n",
    }
    page, warnings = read(files, "man/tool-run.1.md.in")
    assert outline(page)[-2:] == [(1, "OPTIONS"), (2, "--name")]
    assert text(page).endswith("A name of the container.")
    assert text(read(files, "man/tool-pod-run.1.md.in")[0]).endswith("A name of the pod.")
    assert warnings == ["options/nobody.md is not included: it is not in the ingested folder, or includes itself"]


@pytest.mark.parametrize(
    ("page", "heading", "said"),
    [
        ("man/tool-run.1.md.in", "--delay=seconds", "Wait before --delay ends. Commands alone."),
        ("man/tool-container.unit.5.md.in", "Delay=seconds", "Wait before Delay= ends."),
    ],
)
def test_an_option_says_what_it_is_in_a_command_or_in_a_unit(page, heading, said):
    option = (
        "####> Used in: run, tool-container.unit.5.md.in\n<< if is_quadlet >>\n#### `Delay=seconds`\n<< else >>\n"
        "#### **--delay**=seconds\n<< endif >>\n\nWait before << '`Delay=`' if is_quadlet else '`--delay`' >> ends.\n"
        "<< if not is_quadlet >>\nCommands alone.\n<< endif >>\n"
    )
    document, _ = read({page: "% tool\n\n## OPTIONS\n\n@@option delay\n", "man/options/delay.md": option}, page)
    assert outline(document)[-1] == (2, heading)
    assert " ".join(text(document).split()).endswith(f"{heading} {said}")


def test_what_stands_like_a_condition_elsewhere_stays():
    option = "#### **--name**\n\n<< endif >>\n\nWith << if other >> and is_quadlet.\n"
    files = {"man/tool.1.md.in": "% tool\n\n@@option name\n", "man/options/name.md": option}
    assert text(read(files, "man/tool.1.md.in")[0]).endswith("<< endif >>\n\nWith << if other >> and is_quadlet.")


def test_a_piece_of_a_file_does_not_make_it_a_part():
    lines = "# Guide\n\nOne.\nTwo.\nThree.\n"
    files = {"page.md": "# Page\n\n{{#include guide.md:4:5}}\n", "guide.md": lines, "code.rs": CODE}
    assert read(files)[0].root.text == "Two. Three."
    assert MarkdownFormat().parts(Folder(files).source("page.md")) == set()


def test_code_is_shown_without_the_marks_of_its_anchors():
    files = {
        "page.md": "# Page\n\n```rust\n{{#include code.rs:call}}\n```\n\n```rust\n{{#include code.rs}}\n```\n",
        "code.rs": CODE,
    }
    assert read(files)[0].root.text == "    moor();\n\nfn main() {\n    moor();\n}"
    files["page.md"] = "# Page\n\n<<< @/code.rs\n"
    assert read(files)[0].root.text == "fn main() {\n    moor();\n}"


@pytest.mark.parametrize(
    ("path", "content", "is_page"),
    [
        ("README.md", "# Readme\n\nText.\n", True),
        ("about.md", "---\ntitle: About\n---\nText.\n", True),
        ("_parts/about.md", "# About\n\nText.\n", False),
        ("includes/about.md", "---\ntitle: include file\n---\nText.\n", False),
        ("about.md", "Text.\n", False),
    ],
)
def test_what_has_a_title_stays_a_page_unless_it_is_kept_among_parts(tmp_path, path, content, is_page):
    folder = tmp_path / "docs"
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_text(content)
    (folder / "index.md").write_text(f"# Index\n\nBefore.\n\n{{{{#include {path}}}}}\n")
    ingest(folder, tmp_path / "w")
    corpus = Corpus.open(tmp_path / "w")
    assert (path in list(corpus.document_ids())) is is_page
    assert ("Text." in text(corpus.document("index.md"))) is not is_page
    assert [link.target for link in corpus.document("index.md").links()] == [path] * is_page


def test_a_changed_part_makes_its_page_be_read_again(tmp_path):
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "index.md").write_text('# Index\n\n--8<-- "part.md"\n')
    (folder / "part.md").write_text("Old.\n")
    ingest(folder, tmp_path / "w")
    (folder / "part.md").write_text("New.\n")
    ingest(folder, tmp_path / "w")
    assert Corpus.open(tmp_path / "w").document("index.md").root.text == "New."


def test_a_page_that_is_taken_in_is_a_link_with_its_whole_title():
    page, _ = read({"page.md": "# Page\n\n{{#include c.md}}\n", "c.md": "# Code in C#\n\nText.\n"})
    assert page.root.text == "Code in C#"


def test_a_missing_file_is_said_once_and_an_example_of_a_directive_stays_as_it_is():
    example = "```md\n{{#include path/to/file.md}}\n```\n"
    page, warnings = read({"page.md": f"# Page\n\n{example}\n{{{{#include gone.md}}}}\n\n{{{{#include gone.md}}}}\n"})
    assert page.root.text == "{{#include path/to/file.md}}"
    assert warnings == ["gone.md is not included: it is not in the ingested folder, or includes itself"]


def test_nothing_outside_the_folder_is_taken_in(tmp_path):
    (tmp_path / "secret.md").write_text("Secret.\n")
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "index.md").write_text("# Index\n\nText.\n\n{{#include ../secret.md}}\n\n{{#include /etc/passwd}}\n")
    ingest(folder, tmp_path / "w")
    assert text(Corpus.open(tmp_path / "w").document("index.md")) == "Index\nText."


def test_files_that_include_each_other_end():
    files = {
        "page.md": "# A\n\nOne.\n\n{{#include b.md}}\n",
        "b.md": "Two.\n\n{{#include page.md}}\n\n{{#include b.md}}\n",
    }
    page, warnings = read(files)
    assert page.root.text == "One.\n\nTwo."
    assert len(warnings) == 2


def test_includes_that_double_at_every_level_are_bounded():
    levels = {f"{number}.md": "Text.\n" + f"{{{{#include {number + 1}.md}}}}\n" * 50 for number in range(9)}
    page, _ = read({"page.md": "# A\n\n{{#include 0.md}}\n", **levels, "9.md": "End.\n"})
    assert 1000 < page.root.word_count < 50_000


def test_what_is_taken_in_is_all_there():
    part = "Choose a region for your bucket.\n\nSee ANCHOR: here, and x <<a|b>> y.\n"
    page, _ = read({"page.md": "# Page\n\n{{#include _part.md}}\n", "_part.md": part})
    assert page.root.text == "Choose a region for your bucket.\n\nSee ANCHOR: here, and x <<a|b>> y."


def test_anchors_are_told_by_their_whole_names():
    code = "// #region outer\nouter();\n// #region inner\ninner();\n// #endregion inner\nlast();\n// #endregion outer\n"
    files = {"page.md": "# Page\n\n```ts\n{{#include a.ts:outer}}\n```\n", "a.ts": code}
    assert read(files)[0].root.text == "outer();\ninner();\nlast();"
    files["a.ts"] = (
        "// ANCHOR: outer-most\nno();\n// ANCHOR_END: outer-most\n// ANCHOR: outer\nyes();\n// ANCHOR_END: outer\n"
    )
    assert read(files)[0].root.text == "yes();"


@pytest.mark.parametrize(
    "page",
    [
        "# Page\n\n<!--\n{{#include _x.md}}\n-->\n\nText.\n",
        "# Page\n\n{/*\n{{#include _x.md}}\n*/}\n\nText.\n",
        "# Page\n\n````\n```{include} _x.md\n```\n````\n\nText.\n",
    ],
)
def test_what_is_not_taken_in_is_no_part(page):
    files = {"page.md": page, "_x.md": "Lost?\n"}
    assert "Lost?" not in read(files)[0].root.text
    assert MarkdownFormat().parts(Folder(files).source("page.md")) == set()


@pytest.mark.parametrize(
    "below", ["Own text.\n\n## Own\n", "Own text.\n\n```sh\nls\n```\n\n## Own\n", "## Own\n\nOwn text.\n"]
)
def test_an_include_without_an_end_takes_nothing_away(below):
    text = f"# Page\n\n```{{include}} parts/name.md\n\n{below}"
    document, warnings = read({"page.md": text, "parts/name.md": PART})
    assert "nobody has" in document.root.text
    assert "Own text." in " ".join(section.text for section in document.sections())
    assert outline(document) == [(0, "Page"), (1, "Own")]
    assert warnings == ["```{include} parts/name.md without an end: what is below it is read"]


def test_two_includes_stand_side_by_side_and_line_ends_do_not_matter():
    text = "# Page\n\n:::{include} a.md\n:::\n:::{include} b.md\n:::\n"
    files = {"page.md": text.replace("\n", "\r\n"), "a.md": "One.\n", "b.md": "Two.\n"}
    assert read(files)[0].root.text == "One.\n\nTwo."
    assert MarkdownFormat().parts(Folder(files).source("page.md")) == {"a.md", "b.md"}


@pytest.mark.parametrize(
    "readme", ["<h1 align='center'>Tool</h1>\n\nText.\n", "<!-- c -->\n\n# Tool\n\nText.\n", "Text.\n"]
)
def test_a_readme_stays_a_page(readme):
    files = {"docs/index.md": "```{include} ../README.md\n```\n", "README.md": readme}
    assert MarkdownFormat().parts(Folder(files).source("docs/index.md")) == set()
    assert [link.target for link in read(files, "docs/index.md")[0].links()] == ["../README.md"]


@pytest.mark.parametrize("path", [".env", ".git/config", "a/../.env", "x.md:" + "9" * 5000, "a" * 100_000])
def test_hidden_files_and_absurd_names_are_not_taken_in(tmp_path, path):
    page = f"# Page\n\nText.\n\n{{{{#include {path}}}}}\n"
    write_pages(tmp_path, {"page.md": page, ".env": "SECRET\n", ".git/config": "SECRET\n", "x.md": "X.\n"})
    assert "SECRET" not in text(next(iter(structformer.read(tmp_path))))


def test_many_includes_of_a_large_file_and_wide_indents_are_bounded():
    large = "A line of a large file.\n" * 5000
    page, _ = read({"page.md": "# A\n\n" + "{{#include _x.md}}\n" * 2000, "_x.md": large})
    assert len(page.root.text) < 5_000_000
    page, _ = read({"page.md": "# A\n\n" + " " * 900 + "{{#include _x.md}}\n" * 3, "_x.md": large})
    assert len(page.root.text) < 2_000_000


def test_podmans_options_are_no_pages_and_stand_in_their_commands(shared, tmp_path):
    with tarfile.open(shared / "corpora" / "podman-markdown.tar.xz") as tar:
        tar.extractall(tmp_path / "podman", filter="data")
    ingest(tmp_path / "podman", tmp_path / "w")
    corpus = Corpus.open(tmp_path / "w")
    assert sum("/options/" in name for name in corpus.document_ids()) < 20  # nobody takes these in
    update = corpus.document("source/markdown/podman-update.1.md.in")
    assert any(section.title.startswith("--cpu-shares") for section in update.sections())
