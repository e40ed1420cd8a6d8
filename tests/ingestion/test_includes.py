"""What documents take in: whatever the format and the form, only files that a walk of the folder opens."""

import json
import re
import zipfile
from pathlib import Path

import pytest
from structformer import Corpus, ingest, read
from structformer.ingestion import FileFilter

# Forms by suffix of the page: `@` stands for the path. Only some are includes; the others must stay what they are.
FORMS = {
    "md": """
        --8<-- "@"
        --8<--\\n@\\n--8<--
        {!@!}
        {{#include @}}
        {{#rustdoc_include @}}
        {{< include @ >}}
        {{< readfile file="@" >}}
        {{% readfile "@" %}}
        {{< code file="@" >}}
        <!-- @include: @ -->
        <!--@include: @-->
        [!INCLUDE [x](@)]
        [!INCLUDE[x](@)]
        [!code-python[x](@)]
        {% include "@" %}
        {% include_relative @ %}
        {% include-markdown "@" %}
        !include @
        !INCLUDE "@"
        <<< @
        {* @ *}
        ```{include} @\\n```
        :::{include} @\\n:::
        ```{literalinclude} @\\n```
        ```{eval-rst}\\n.. include:: @\\n```
        ```{csv-table} t\\n:file: @\\n```
        import Part from "@"\\n\\n<Part/>
        import Part from './@'\\n\\n<Part/>
        ![[@]]
        @@option @
        {{ include("@") }}
        {{ read_csv("@") }}
        <xi:include href="@"/>
        <!--#include file="@"-->
        <iframe src="@"></iframe>
        <embed src="@">
        @[code](@)
        @[code](./@)
        <include src="@"/>
        ::include{file=@}
        ```python file=@\\n```
        :::code source="@":::
    """,
    "tex": r"""
        \input{@}
        \input @ %
        \include{@}
        \import{./}{@}
        \subimport{./}{@}
        \subfile{@}
        \subfileinclude{@}
        \includestandalone{@}
        \InputIfFileExists{@}{}{}
        \lstinputlisting{@}
        \verbatiminput{@}
        \VerbatimInput{@}
        \inputminted{text}{@}
        \bibliography{@}
        \addbibresource{@}
        \usepackage{@}
        \RequirePackage{@}
        \documentclass{@}
        \loadglsentries{@}
        \csvreader{@}{}{}
        \csvautotabular{@}
        \includepdf{@}
        \def\where{@}\input{\where}
        \newcommand{\where}{@}\input{\where}
        \makeatletter\@input{@}
        \openin5=@ \read5 to\line \line
        \input|"cat @"
    """,
    "rst": """
        .. include:: @
        .. include:: @\\n   :literal:
        .. include:: @\\n   :code: text
        .. include:: /@
        .. literalinclude:: @
        .. literalinclude:: /@
        .. raw:: html\\n   :file: @
        .. csv-table:: t\\n   :file: @
        .. list-table:: t\\n   :file: @
        .. code-block:: text\\n   :file: @
        .. parsed-literal::\\n   :file: @
        .. mdinclude:: @
        .. kernel-include:: @
        .. uml:: @
        .. graphviz:: @
        .. jinja:: x\\n   :file: @
        .. toctree::\\n\\n   @
    """,
    "adoc": """
        include::@[]
        include::./@[]
        include::@[lines=1..2]
        include::@[tag=x]
        include::@[tags=**]
        include::@[leveloffset=+1]
        :where: @\\n\\ninclude::{where}[]
        :includedir: .\\n\\ninclude::{includedir}/@[]
        |===\\n|a\\na|include::@[]\\n|===
        ,===\\ninclude::@[]\\n,===
        ----\\ninclude::@[]\\n----
        [source,text]\\n----\\ninclude::@[]\\n----
        include::partial$@[]
        include::example$@[]
        :docinfo: @
        plantuml::@[]
    """,
    "org": """
        #+INCLUDE: "@"
        #+INCLUDE: "./@"
        #+INCLUDE: "@" src text
        #+INCLUDE: "@" example
        #+INCLUDE: "@" :lines "1-2"
        #+INCLUDE: @
        #+SETUPFILE: @
        #+BIBLIOGRAPHY: @
        #+TRANSCLUDE: [[file:@]]
    """,
    "xml": """
        <!DOCTYPE a [<!ENTITY e SYSTEM "@">]><a><title>T</title><p>x &e;</p></a>
        <!DOCTYPE a [<!ENTITY % e SYSTEM "@"> %e;]><a><title>T</title><p>x</p></a>
        <!DOCTYPE a SYSTEM "@"><a><title>T</title><p>x</p></a>
        <a xmlns:xi="http://www.w3.org/2001/XInclude"><title>T</title><xi:include href="@"/></a>
        <a xmlns:xi="http://www.w3.org/2001/XInclude"><title>T</title><xi:include href="@" parse="text"/></a>
        <topic id="t"><title>T</title><body><p conref="@#x"/></body></topic>
        <map><title>M</title><topicref href="@"/></map>
        <book xmlns="http://docbook.org/ns/docbook"><title>B</title><para><textdata fileref="@"/></para></book>
        <?xml-stylesheet href="@"?><a><title>T</title><p>x</p></a>
    """,
    "html": """
        <p>x</p><!--#include virtual="@" -->
        <p>x</p><iframe src="@"></iframe>
        <p>x</p><object data="@"></object>
        <p>x</p><link rel="import" href="@">
        <p>x</p><script src="@"></script>
        <!DOCTYPE html [<!ENTITY e SYSTEM "@">]><p>&e;</p>
    """,
    "wiki": """
        {{:@}}
        {{@}}
        {{#include:@}}
        {{#lst:@}}
    """,
}
# Pages of a format around a form, and the suffixes that what is taken in has.
PAGES = {
    "md": ("# Page\n\n{}\n\nEnd.\n", "md"),
    "tex": ("\\documentclass{{article}}\\begin{{document}}\\section{{Page}}\n{}\nEnd.\\end{{document}}\n", "tex bib"),
    "rst": ("Page\n====\n\n{}\n\nEnd.\n", "txt csv"),
    "adoc": ("= Page\n\n{}\n\nEnd.\n", "adoc"),
    "org": ("* Page\n\n{}\n\nEnd.\n", "org"),
    "xml": ("{}\n", "xml txt"),
    "html": ("<h1>Page</h1>{}\n", "html"),
    "wiki": ("== Page ==\n\n{}\n", "wiki"),
}
OPEN = "open"
CLOSED = {
    "hidden": ".keys",
    "in a hidden folder": "open/.git/objects",
    "of packages": "node_modules/thing",
    "ignored": "built",
    "excluded": "internal/notes",
    "of a workspace": "searched",
}
WHERE = {OPEN: OPEN, **CLOSED, "hidden, by a link": "linked", "outside": "../outside"}


def canary(kind: str, suffix: str) -> str:
    word = "quokka" + "".join(letter for letter in kind if letter.isalpha())
    return {
        "csv": f"a,b\n{word},2\n",
        "xml": f"<p id='x'>{word}</p>",
        "bib": f"@article{{k, title = {{{word}}}}}\n",
    }.get(suffix, f"{word}\n")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("includes") / "docs"
    for kind, where in {OPEN: OPEN, **CLOSED, "outside": "../outside"}.items():
        (root / where).mkdir(parents=True, exist_ok=True)
        for suffix in {suffix for _, suffixes in PAGES.values() for suffix in suffixes.split()}:
            (root / where / f"s.{suffix}").write_text(canary(kind, suffix))
    (root / ".env").write_text("quokkahidden\n")
    (root / "linked").symlink_to(".keys")
    (root / ".gitignore").write_text("built/\n")
    (root / "searched" / "workspace.json").write_text(json.dumps({"format": "structformer workspace"}))
    for page, number, form in forms():
        around, suffixes = PAGES[page]
        for suffix in suffixes.split():
            for kind, where in WHERE.items():
                text = around.format(form.replace("@include", "\x00").replace("@", f"{where}/s.{suffix}"))
                name = f"{page}-{number}-{suffix}-{list(WHERE).index(kind)}.{page}"
                (root / name).write_text(text.replace("\x00", "@include"))
    return root


def forms() -> list[tuple[str, int, str]]:
    lines = {page: table.strip("\n").splitlines() for page, table in FORMS.items()}
    return [
        (page, number, line.strip().replace("\\n", "\n"))
        for page, each in lines.items()
        for number, line in enumerate(each)
        if line.strip()
    ]


def test_no_form_of_any_format_takes_in_what_the_walk_does_not_open(folder, tmp_path):
    wanted = FileFilter(exclude=("internal/*",))
    ingest(folder, tmp_path / "w", wanted=wanted)
    taken: dict[str, set[str]] = {}
    for document in Corpus.open(tmp_path / "w").documents():
        text = " ".join(section.title + " " + section.text for section in document.sections())
        taken.setdefault(document.id.rpartition(".")[2], set()).update(re.findall("quokka[a-z]+", text))
    assert {page: words for page, words in taken.items() if words - {"quokkaopen"}} == {}
    with_includes = {"md", "tex", "rst", "adoc", "org", "xml"}
    assert {page for page, words in taken.items() if "quokkaopen" in words} >= with_includes  # the forms are true ones


def test_a_single_file_takes_in_nothing_hidden_beside_it(folder):
    for page, number, form in forms():
        for path in (".env", ".keys/s.txt", ".keys/s." + page):
            around = PAGES[page][0]
            file = folder / f"single.{page}"
            file.write_text(
                around.format(form.replace("@include", "\x00").replace("@", path)).replace("\x00", "@include")
            )
            try:
                text = " ".join(section.text for document in read(file) for section in document.sections())
            finally:
                file.unlink()
            assert "quokka" not in text, (page, number, form, path)


def test_what_is_excluded_later_leaves_the_pages_that_took_it_in(tmp_path):
    pages = tmp_path / "docs"
    (pages / "parts").mkdir(parents=True)
    (pages / "a.adoc").write_text("= A\n\ninclude::parts/b.adoc[]\n")
    (pages / "parts" / "b.adoc").write_text("quokka\n")

    def text(**wanted) -> str:
        ingest(pages, tmp_path / "w", wanted=FileFilter(**wanted))
        return " ".join(section.text for each in Corpus.open(tmp_path / "w").documents() for section in each.sections())

    assert "quokka" in text(include=("*.adoc",))
    assert "quokka" in text(include=("a.adoc",))  # which pages are asked for says nothing of their parts
    assert "quokka" not in text(exclude=("parts",))
    assert "quokka" in text()
    (pages / ".gitignore").write_text("parts\n")
    assert "quokka" not in text()
    assert "quokka" in text(gitignore=False)


def test_hidden_members_of_an_archive_are_not_taken_in(tmp_path):
    with zipfile.ZipFile(tmp_path / "repository.zip", "w") as archive:
        archive.writestr("page.adoc", "= P\n\nApples.\n\ninclude::.git/config[]\n")
        archive.writestr(".git/config", "quokka\n")
    [page] = read(tmp_path / "repository.zip")
    assert [section.text for section in page.sections()] == ["Apples."]
