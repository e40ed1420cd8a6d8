"""Every file that an ingest sees is a document, part of one, no document, or failed; and which file is part of which."""

from __future__ import annotations

import json
import re
import shutil
import tarfile
from collections import Counter
from pathlib import Path

import pytest
from structformer import Corpus
from structformer.errors import ReadError
from structformer.formats.source import Limits
from structformer.ingestion import ingest, read
from structformer.ingestion.looking import Ignored
from structformer.ingestion.report import Account, IngestReport, of_ignored, of_surveyed
from structformer.ingestion.request import IngestRequest
from structformer.workspace import Workspace
from test_archives import tarred, zipped
from test_ingest import contents

from conftest import unpack, write_pages

SMALL = 100_000  # bytes of a file that is read in no time
DOCBOOK = (
    '<!DOCTYPE {} PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "x.dtd">\n<{} xmlns:xi="http://www.w3.org/2001/XInclude">'
)


def docbook(root: str, text: str) -> str:
    return DOCBOOK.format(root, root) + text + f"</{root}>"


def fates(report: IngestReport) -> dict[str, str]:
    """What became of the files that are no documents, and why."""
    return {each.path: f"{each.fate}: {each.why}" for each in report.account.named}


def checked(report: IngestReport, workspace: Path, files: int) -> None:
    """That the numbers add up, and that the report names every file that is no document."""
    account = report.account.as_dict()
    assert account["seen"] == files
    assert account["documents"] + account["parts"] + account["not_documents"] + account["failed"] == files
    lines = map(json.loads, (Workspace(workspace).reports / "report.jsonl").read_text("utf-8").splitlines())
    became = Counter(dict.fromkeys(((line["file"], line["became"]) for line in lines if "became" in line), 1))
    named = Counter(fate for _, fate in became if fate != "document")
    assert (named["part"], named["no document"], named["failed"]) == (
        account["parts"],
        account["not_documents"],
        account["failed"],
    )


def test_no_page_of_a_manual_vanishes_because_others_take_pieces_of_it(shared, tmp_path):
    pages = unpack(shared / "corpora" / "systemd-docbook.tar.xz", tmp_path / "pages")
    report = ingest(pages, tmp_path / "w", workers=2)
    checked(report, tmp_path / "w", 392)
    entries = {path.name for path in pages.glob("*.xml") if re.search("^<refentry[ >]", path.read_text("utf-8"), re.M)}
    documents = set(Corpus.open(tmp_path / "w").document_ids())
    assert {"systemctl.xml", "systemd.service.xml"} <= entries
    assert documents == entries
    assert fates(report)["standard-options.xml"] == (
        "no document: only pieces for others: they are in bootctl.xml and 63 more"
    )


def test_all_files_of_real_corpora_are_accounted_for(shared, tmp_path):
    folder, count = tmp_path / "all", 0
    for archive in sorted((shared / "corpora").glob("*.tar.xz")):
        with tarfile.open(archive) as tar:
            chosen = [each for _, each in zip(range(400), tar, strict=False) if each.isfile() and each.size < SMALL][
                ::10
            ]
            tar.extractall(folder / archive.name.partition(".")[0], members=chosen, filter="data")
        count += len(chosen)
    assert count > 150
    shutil.copy(shared / "corpora" / "jats-articles.tar.xz", folder)  # its 11 members are files
    checked(ingest(folder, tmp_path / "w", workers=2), tmp_path / "w", count + 11)


def test_each_kind_of_file_is_counted_once_and_named(tmp_path):
    folder = write_pages(
        tmp_path / "pages",
        {
            "page.md": "# Page\n\ntext\n",
            "records.jsonl": '{"id": "1", "text": "One."}\n{"id": "2", "text": "Two."}\n',
            "empty.md": "",
            "photo.jpg": "no text",
            ".hidden.md": "# Hidden\n",
            ".git/config": "x",
            "node_modules/a.md": "# A\n",
            "left.md": "# Left out\n",
            "out/built.md": "# Built\n",
            "folder.md/inner.md": "# Inner\n",
            ".gitignore": "out/\n",
            "broken.xml": "<article><title>A",
            "big.md": "x" * 6000,
            "main.rst": "Main\n====\n\n.. include:: shared.txt\n",
            "shared.txt": "Of *both*.\n\n.. note:: This is said in every page of the manual, see :ref:`main`.\n",
            "notes.rst": "Notes\n=====\n\n.. include:: shared.txt\n",
        },
    )
    (folder / "binary.md").write_bytes(bytes(range(256)) * 10)
    (folder / "link.png").symlink_to("photo.jpg")
    members = {"a.md": "# A\n", "b.jpg": "x", "c.md": "", "../d.md": "# D\n", "e.zip": zipped({"f.md": "# F\n"})}
    (folder / "docs.zip").write_bytes(zipped(members))
    (folder / "none.tar").write_bytes(tarred({}))
    (folder / "torn.tar").write_bytes(tarred({"g.md": "# G\n", "h.md": "# H\n" * 400})[:2200])
    request = IngestRequest((folder,))
    report = ingest(folder, tmp_path / "w", limits=Limits(file_bytes=5000), workers=1)
    named = fates(report)
    assert {path: fate.partition(":")[0] for path, fate in named.items()} == {
        **dict.fromkeys((".gitignore", ".hidden.md", "empty.md", "photo.jpg", "link.png", "binary.md"), "no document"),
        **dict.fromkeys(("docs.zip/b.jpg", "docs.zip/c.md", "none.tar"), "no document"),
        **dict.fromkeys(("broken.xml", "big.md", "docs.zip/../d.md", "torn.tar"), "failed"),
        "shared.txt": "part",
    }
    assert named["shared.txt"] == "part: part of main.rst and 1 more"
    assert named["photo.jpg"] == "no document: no document by its name or its first line"
    documents = {"page.md", "records.jsonl", "left.md", "folder.md/inner.md", "main.rst", "notes.rst"}
    members_read = {"docs.zip/a.md", "docs.zip/e.zip/f.md", "torn.tar/g.md"}
    checked(report, tmp_path / "w", len(named) + len(documents | members_read))
    assert report.account.folders == 3
    excluded = ingest(folder, tmp_path / "other", limits=Limits(file_bytes=5000), format="markdown", workers=1)
    assert fates(excluded)["main.rst"] == "no document: not markdown"
    ignored, account = Ignored(), Account()
    for each in of_surveyed(request.files(request.sources(Workspace(tmp_path / "new")), ignored)):
        account.add(each)
    for each in of_ignored(ignored):
        account.add(each)
    assert (account.counts["part"], account.seen) == (1, report.account.seen - 5)  # four archives' members


TAKEN = {
    "a page of which another takes a paragraph, or all": {
        "a.xml": docbook(
            "refentry", '<title>A</title><xi:include href="b.xml" xpointer="p"/><xi:include href="c.xml"/>'
        ),
        "b.xml": docbook("refentry", '<title>B</title><para id="p">text</para>'),
        "c.xml": docbook("refentry", "<title>C</title><para>text</para>"),
        "d.xml": docbook("refentry", '<title>D</title><!-- <xi:include href="e.xml"/> --><para>text</para>'),
        "e.xml": docbook("refsect1", "<title>E</title><para>text</para>"),
    },
    "a book's chapters, by inclusion and as an entity": {
        "book.xml": '<!DOCTYPE book PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "x.dtd" [<!ENTITY two SYSTEM "two.xml">]>\n'
        '<book xmlns:xi="http://www.w3.org/2001/XInclude"><title>B</title><xi:include href="one.xml"/>&two;</book>',
        "-one.xml": docbook("chapter", "<title>One</title><para>text</para>"),
        "-two.xml": "<chapter><title>Two</title><para>text</para></chapter>",
    },
    "a document that cannot be read takes nothing in": {
        "-book.xml": docbook("book", '</broken><title>B</title><xi:include href="one.xml"/>'),
        "one.xml": docbook("chapter", "<title>One</title><para>text</para>"),
    },
    "a file with a class of its own; and what stands in conditions that do not hold": {
        "main.tex": "\\documentclass{book}\\begin{document}\\input{a}\\subfile{b}\\input{c}\\iffalse\\input{d}\\fi"
        "\\newif\\ifdraft\\ifdraft\\input{e}\\fi\\end{document}",
        "-a.tex": "\\section{A} text",
        "-b.tex": "\\documentclass[main]{subfiles}\\begin{document}text\\end{document}",
        "c.tex": "\\documentclass{article}\\begin{document}text\\end{document}",
        "d.tex": "\\section{D} text",
        "e.tex": "\\section{E} text",
    },
    "a page that a toctree lists; and a file of which a piece is taken": {
        "index.rst": "I\n=\n\n.. toctree::\n   :maxdepth: 1\n\n   page\n   guide/*\n",
        "page.rst": "Page\n====\n\ntext\n",
        "guide/one.rst": "One\n===\n\ntext\n",
        "all.rst": "All\n===\n\n.. include:: page.rst\n.. include:: guide/one.rst\n.. include:: words.rst\n",
        "-words.rst": "text\n",
        "readme.rst": ".. include:: README.rst\n   :end-before: Install\n\n.. include:: history.rst\n",
        "README.rst": "R\n=\n\nStart.\n\nInstall\n-------\n\ntext\n",
        "-history.rst": "H\n=\n\ntext\n",
    },
    "of files that take in each other the first is the document": {
        "a.rst": "A\n=\n\n.. include:: b.rst\n",
        "-b.rst": "B\n=\n\n.. include:: a.rst\n",
    },
}


def test_a_document_by_itself_stays_one_whoever_takes_it_in(tmp_path):
    files = {f"{case}/{path}": text for case, files in TAKEN.items() for path, text in files.items()}
    pages = write_pages(tmp_path / "pages", {path.replace("/-", "/"): text for path, text in files.items()})
    ingest(pages, tmp_path / "w", workers=1)
    assert set(Corpus.open(tmp_path / "w").document_ids()) == {path for path in files if "/-" not in path}
    rows = {row["path"]: row for row in Corpus.open(tmp_path / "w").sources()}
    failed = "a document that cannot be read takes nothing in/book.xml"
    parts = {path.replace("/-", "/") for path in files if "/-" in path} - {failed}
    assert {path for path, row in rows.items() if row["status"] == "part"} == parts
    assert ingest(pages, tmp_path / "w", workers=1).parsed == 1, "what failed is tried again, nothing else"


def test_members_of_an_archive_are_parts_of_others_by_the_same_rules(tmp_path):
    case = "a page of which another takes a paragraph, or all"
    files = {**TAKEN[case], "b.rst": "B\n=\n\n.. include:: c.rst\n", "c.rst": "C.\n", "p.xml": docbook("para", "x")}
    files["a.xml"] = files["a.xml"].replace("</refentry>", '<xi:include href="p.xml" xpointer="x"/></refentry>')
    (tmp_path / "docs.zip").write_bytes(zipped(files))
    report = ingest(tmp_path / "docs.zip", tmp_path / "w", workers=1)
    assert fates(report) == {
        "docs.zip/c.rst": "part: part of docs.zip/b.rst",
        "docs.zip/p.xml": "no document: only pieces for others: they are in docs.zip/a.xml",
    }
    assert report.account.counts["document"] == 6


def test_a_part_becomes_a_document_again_and_a_document_a_part(tmp_path):
    pages = write_pages(tmp_path / "pages", {f"p{number}.rst": f"P\n=\n\nPage {number}.\n" for number in range(9)})
    (pages / "p3.rst").write_text("P\n=\n\n.. include:: words.rst\n")
    (pages / "words.rst").write_text("Some words.\n")
    assert ingest(pages, tmp_path / "w", workers=1).account.counts["part"] == 1
    for text, part in (("Nothing.\n", []), (".. include:: words.rst\n", ["part of p3.rst"])):
        (pages / "p3.rst").write_text(f"P\n=\n\n{text}")
        report = ingest(pages, tmp_path / "w", workers=1)
        ingest(pages, tmp_path / f"fresh{len(part)}", workers=2)
        assert contents(tmp_path / "w") == contents(tmp_path / f"fresh{len(part)}")
        assert [each.why for each in report.account.named] == part


def test_binary_content_is_no_document_and_a_file_of_it_cannot_be_read(tmp_path):
    (tmp_path / "page.md").write_bytes(bytes(range(256)) * 10)
    with pytest.raises(ReadError, match="binary content"):
        list(read(tmp_path / "page.md"))


def test_the_terminal_and_the_json_say_what_became_of_all_files(run, pages, tmp_path):
    (pages / "photo.jpg").write_text("x")
    done = run("ingest", pages, "-w", tmp_path / "w", "--workers", "1")
    assert "files: 4 seen: 3 read, 0 included by others, 1 skipped, 0 failed" in done.out
    assert "photo.jpg: no document by its name or its first line" in done.err
    account = run("ingest", "-w", tmp_path / "w", "--json").json["account"]
    assert account == run("ingest", pages, "-w", tmp_path / "w", "--dry-run", "--json").json["account"]
    assert account["named"] == [
        {"file": "photo.jpg", "became": "no document", "why": "no document by its name or its first line"}
    ]


def test_a_warning_of_many_files_is_said_once(run, tmp_path):
    front = "---\ntitle: A: b\n  bad: [x\n---\n\n# Page\n\nText.\n"
    write_pages(tmp_path / "docs", {f"{n}.md": front for n in range(4)})
    said = run("ingest", tmp_path / "docs", "-w", "w").err
    assert said.count("front matter is not valid YAML") == 1
    assert "0.md: line 2: front matter is not valid YAML; it was read line by line (as 3 more files)" in said
    assert run("ingest", tmp_path / "docs", "-w", "v", "-v").err.count("front matter is not valid YAML") == 4
