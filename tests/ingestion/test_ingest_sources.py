"""What `ingest` and `up` take: files and folders as a shell lists them, the site's address from settings above them,
what takes long, and what includes too much.
"""

from __future__ import annotations

import json
import re
import shutil
import time
from collections import namedtuple
from pathlib import Path
from queue import Queue

import pytest
from structformer import Corpus
from structformer.corpus.site import Site
from structformer.errors import UsageError
from structformer.formats.source import MAX_OPENED, SourceFile
from structformer.ingestion import FileFilter, IngestReport, ingest
from structformer.ingestion.ir_datasets_source import dataset_documents
from structformer.ingestion.site_finding import found_site
from structformer.ingestion.slow_files import SECONDS, noticing, noting
from structformer.ingestion.walk import FolderFiles
from structformer.storage.files import read_json
from structformer.workspace import Source, Workspace
from test_archives import zipped

from conftest import write_pages

PAGES = {
    "a.md": "# A\n\nTo [B](b.md), to [G](guide/g.md) and ![a picture](i.png).\n",
    "b.md": "# B\n\nBack to [A](a.md).\n",
    "guide/g.md": "# G\n\nUp to [A](../a.md).\n",
    "guide/h.md": "# H\n\nNobody asked for it.\n",
    "i.png": "a picture",
}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return write_pages(tmp_path / "repository" / "docs", PAGES)


def ids(workspace: Path) -> list[str]:
    return list(Corpus.open(workspace).document_ids())


def addresses(workspace: Path) -> dict[str, str]:
    corpus = Corpus.open(workspace)
    return {document.id: corpus.site.address(document) for document in corpus.documents()}


def outcomes(report: IngestReport) -> tuple[int, int]:
    """How many links within the corpus were resolved, and how many not."""
    return report.links["hyperlink"]["resolved"], report.links["hyperlink"]["unresolved"]


def checked(report: IngestReport, files: int) -> None:
    """That the numbers add up."""
    account = report.account.as_dict()
    counts = [account[name] for name in ("documents", "parts", "not_documents", "failed")]
    assert (sum(counts), account["seen"]) == (files, files)


def test_several_files_are_named_from_their_folder_and_link_to_each_other(docs, tmp_path):
    report = ingest([docs / "b.md", docs / "a.md", docs / "guide" / "g.md"], tmp_path / "w", workers=1)
    assert ids(tmp_path / "w") == ["a.md", "b.md", "guide/g.md"]
    assert outcomes(report) == (4, 0)
    checked(report, 3)


def test_what_a_shell_lists_of_a_folder_is_the_folder(docs, tmp_path, run):
    ingest(docs, tmp_path / "whole", workers=1)
    listed = run("ingest", *sorted(docs.iterdir()), "-w", tmp_path / "w", "--json")
    assert ids(tmp_path / "w") == ids(tmp_path / "whole") == ["a.md", "b.md", "guide/g.md", "guide/h.md"]
    account = listed.json["account"]
    assert (account["seen"], account["documents"], account["not_documents"]) == (5, 4, 1)
    assert Corpus.open(tmp_path / "w").fingerprint == Corpus.open(tmp_path / "whole").fingerprint
    dry = run("ingest", *sorted(docs.iterdir()), "-w", tmp_path / "v", "--dry-run", "--json").json
    assert [file["path"] for file in dry["read"]] == ids(tmp_path / "w")
    assert dry["account"] == account


def test_a_path_in_another_is_read_with_it(docs, tmp_path):
    checked(ingest([docs, docs / "a.md", docs / "guide"], tmp_path / "w", workers=1), 5)
    assert ids(tmp_path / "w") == ["a.md", "b.md", "guide/g.md", "guide/h.md"]


def test_files_of_folders_that_share_nothing_have_their_folders_names(tmp_path, monkeypatch):
    monkeypatch.setattr("os.path.commonpath", lambda paths: "/")
    first = write_pages(tmp_path / "x" / "docs", {"a.md": "# A\n", "b.md": "# B\n"})
    second = write_pages(tmp_path / "y" / "docs", {"a.md": "# Another\n"})
    ingest([first / "a.md", first / "b.md", second / "a.md"], tmp_path / "w", workers=1)
    assert ids(tmp_path / "w") == ["docs/a.md", "docs/b.md", "docs-2/a.md"]


def test_more_files_of_the_same_folder_are_named_as_the_first_ones(docs, tmp_path):
    ingest(docs / "a.md", tmp_path / "w", workers=1)
    with pytest.raises(UsageError, match="--add reads this beside it"):
        ingest([docs / "a.md", docs / "b.md"], tmp_path / "w", workers=1)
    report = ingest([docs / "b.md", docs / "guide"], tmp_path / "w", add=True, workers=1)
    assert ids(tmp_path / "w") == ["a.md", "b.md", "guide/g.md", "guide/h.md"]
    assert (report.parsed, outcomes(report)) == (3, (4, 0))
    other = write_pages(tmp_path / "notes", {"n.md": "# N\n", "o.md": "# O\n"})
    ingest([other / "n.md", other / "o.md"], tmp_path / "w", add=True, workers=1)
    assert ids(tmp_path / "w")[-2:] == ["notes/n.md", "notes/o.md"]
    ingest([other / "n.md"], tmp_path / "w", remove=True, workers=1)
    assert ids(tmp_path / "w")[-2:] == ["guide/h.md", "notes/o.md"]


def test_listed_files_take_in_others_of_their_own_folders_and_nothing_else(tmp_path):
    folder = write_pages(
        tmp_path / "all",
        {
            "one/a.rst": "A\n=\n\n.. include:: shared.txt\n\n.. include:: ../secret.txt\n",
            "two/b.rst": "B\n=\n\nText.\n",
            "one/shared.txt": "Said in both.\n",
            "secret.txt": "Nobody may see it.\n",
        },
    )
    report = ingest([folder / "one" / "a.rst", folder / "two" / "b.rst"], tmp_path / "w", workers=1)
    text = "".join(section.text for section in Corpus.open(tmp_path / "w").document("one/a.rst").sections())
    assert ("Said in both." in text, "Nobody" in text) == (True, False)
    assert [path for path, message in report.messages if "secret.txt is not included" in message] == ["one/a.rst"]


def test_listed_links_lead_nowhere_else(docs, tmp_path):
    outside = write_pages(tmp_path / "elsewhere", {"secret.md": "# Secret\n"})
    for name, target in {"out.md": outside / "secret.md", "lost.md": docs / "none", "again.md": docs / "a.md"}.items():
        (docs / name).symlink_to(target)
    report = ingest([path for path in docs.iterdir() if path.suffix == ".md"], tmp_path / "w", workers=1)
    assert ids(tmp_path / "w") == ["a.md", "b.md"]
    assert dict(report.messages) == {
        "lost.md": "symbolic link to nothing: skipped",
        "out.md": "symbolic link to outside the ingested folder: skipped",
    }
    checked(report, 4)
    ingest([docs / "out.md"], tmp_path / "w", remove=True, workers=1)
    ingest(docs / "out.md", tmp_path / "chosen", workers=1)  # alone it was chosen
    assert ids(tmp_path / "chosen") == ["secret.md"]


def test_listed_files_are_left_out_as_those_of_a_folder_are(docs, tmp_path):
    report = ingest(
        [docs / "a.md", docs / "b.md"], tmp_path / "w", wanted=FileFilter(exclude=("b.*",), gitignore=False), workers=1
    )
    assert ids(tmp_path / "w") == ["a.md"]
    assert [each.why for each in report.account.named] == ["left out (--exclude)"]


SETTINGS = [
    ("mkdocs.yml", 'site_url: "https://e.org/m/"  # ours\n', "docs", "https://e.org/m/guide/g/"),
    ("mkdocs.yaml", "site_url: https://e.org/\nuse_directory_urls: false\n", "docs", "https://e.org/guide/g.html"),
    ("docusaurus.config.ts", "// url: 'https://x.org'\nconst c = {url: 'https://e.org', baseUrl: '/b/'};", "docs",
     "https://e.org/b/docs/guide/g"),
    ("docusaurus.config.mjs", "{url: 'https://e.org', baseUrl: '/', presets: [['x', {docs: {routeBasePath: '/'}}]]}",
     "docs", "https://e.org/guide/g"),
    ("book.toml", '[book]\nsrc = "docs"\n[output.html]\nsite-url = "https://e.org/b/"\n', "docs",
     "https://e.org/b/guide/g.html"),
    ("hugo.toml", "baseURL = 'https://e.org/'\n[params]\nbaseURL2 = 'x'\n", "content", "https://e.org/guide/g/"),
    ("hugo.yaml", "baseURL: https://e.org/\ncontentDir: docs\n", "docs", "https://e.org/guide/g/"),
    ("hugo.json", '{"baseurl": "https://e.org/", "uglyURLs": true}', "content", "https://e.org/guide/g.html"),
    ("config.toml", 'base_url = "https://e.org"\n', "content", "https://e.org/guide/g/"),
    ("_config.yml", "url: https://e.org\nbaseurl: /j\n", "docs", "https://e.org/j/docs/guide/g.html"),
    ("conf.py", "import os\nhtml_baseurl = 'https://e.org/s/'\n", "docs", "https://e.org/s/docs/guide/g.html"),
    ("astro.config.mjs", "export default defineConfig({ site: 'https://e.org', base: '/a' })", "src/content/docs",
     "https://e.org/a/guide/g/"),
    (".vitepress/config.mts", "{base: '/v/', sitemap: {hostname: 'https://e.org'}, srcDir: 'docs'}", "docs",
     "https://e.org/v/guide/g.html"),
]  # fmt: skip


def found(folder: Path, page: str) -> tuple[str, tuple[str, ...]]:
    """The address of a page below a folder, and what was read above the folder to know it."""
    told = found_site([Source("", str(folder))])
    return told.site.address_of(page, page, {}), told.above


@pytest.mark.parametrize(("name", "text", "pages", "address"), SETTINGS, ids=[name for name, *_ in SETTINGS])
def test_settings_above_the_folder_say_where_its_pages_are_read(name, text, pages, address, tmp_path):
    repository = write_pages(tmp_path / "r", {name: text, f"{pages}/guide/g.md": "# G\n\nText.\n"})
    (repository / ".git").mkdir()
    assert found(repository, f"{pages}/guide/g.md") == (address, ())
    top = pages.partition("/")[0]
    if top == pages:
        assert found(repository / pages, "guide/g.md") == (address, (f"../{name}",))
        assert found(repository / pages / "guide", "g.md") == (address, (f"../../{name}",))
    else:  # more than two folders above nothing is opened
        assert found(repository / top, f"{pages.partition('/')[2]}/guide/g.md") == (address, (f"../{name}",))
        assert found(repository / pages, "guide/g.md") == ("", ())


def test_parts_of_a_site_have_the_same_addresses_however_they_are_given(docs, tmp_path):
    (docs.parent / "mkdocs.yml").write_text("site_url: https://e.org/\n")
    known = {"a.md": "https://e.org/a/", "guide/g.md": "https://e.org/guide/g/", "guide/h.md": "https://e.org/guide/h/"}
    ingest([docs / "a.md", docs / "guide"], tmp_path / "listed", workers=1)
    assert addresses(tmp_path / "listed") == known
    ingest(docs / "guide", tmp_path / "part", workers=1)
    assert addresses(tmp_path / "part") == {"g.md": known["guide/g.md"], "h.md": known["guide/h.md"]}
    source = write_pages(docs.parent / "src", {"README.md": "# Of the program\n"})
    ingest([docs, source], tmp_path / "both", workers=1)
    assert addresses(tmp_path / "both")["docs/a.md"] == known["a.md"]
    assert addresses(tmp_path / "both")["src/README.md"] == ""
    built = write_pages(docs / "_build", {"x.html": "<h1>X</h1><p>Built.</p>"})
    ingest(built, tmp_path / "built", workers=1)
    assert addresses(tmp_path / "built") == {"x.html": ""}


@pytest.mark.parametrize(
    ("file", "text", "name"),
    [
        ("mkdocs.yml", "# site_name: no\nsite_name: 'Fast boats'  # ours\nsite_url: https://e.org/\n", "Fast boats"),
        ("mkdocs.yml", "nav: []\nsite_name: Boats\n", "Boats"),  # also without an address
        ("_config.yml", "name: Boats\ndescription: all of them\n", "Boats"),
        ("_config.yml", "title: Boats\n", "Boats"),
        ("docusaurus.config.ts", "const c = {\n  // title: 'x',\n  title: 'Boats & oars',\n};", "Boats & oars"),
        ("docusaurus.config.ts", "const c = {\n  title: process.env.TITLE,\n};", ""),
        ("conf.py", "import os\nproject = 'Boats'\n", "Boats"),
        ("book.toml", '[book]\ntitle = "Boats"\nsrc = "docs"\n', "Boats"),
        ("hugo.json", '{\n  "title": "Boats",\n  "contentDir": "docs"\n}', "Boats"),
    ],
)
def test_a_sites_settings_say_its_name(docs, file, text, name):
    (docs.parent / file).write_text(text)
    assert found_site([Source("", str(docs))]).site.name == name


def test_nothing_above_a_repository_nor_in_a_folder_of_everybody_is_opened(tmp_path):
    folder = write_pages(tmp_path / "x" / "docs", {"a.md": "# A\n"})
    (tmp_path / "x" / "mkdocs.yml").write_text("site_url: https://e.org/\n")
    (folder / ".git").write_text("gitdir: elsewhere\n")
    report = ingest(folder, tmp_path / "w", workers=1)
    assert (report.site.base_url, report.settings_above) == ("", [])
    (folder / ".git").unlink()
    (tmp_path / "x").chmod(0o777)
    assert ingest(folder, tmp_path / "w", workers=1).settings_above == []
    (tmp_path / "x").chmod(0o755)
    assert ingest(folder, tmp_path / "w", workers=1).settings_above == ["../mkdocs.yml"]


def test_settings_that_were_read_are_named_and_can_be_left_unread(docs, tmp_path, run):
    (docs.parent / "mkdocs.yml").write_text("site_url: https://e.org/\n")
    (docs.parent / "conf.py").write_text("html_baseurl = os.environ['X']\n")
    found = run("ingest", docs, "-w", tmp_path / "w")
    assert "site address https://e.org/, from ../mkdocs.yml" in found.err
    dry = run("ingest", docs, "-w", tmp_path / "v", "--dry-run")
    assert "site address https://e.org/, from ../mkdocs.yml" in dry.err
    (docs.parent / "mkdocs.yml").write_text("site_url: https://new.org/\n")
    assert run("ingest", "-w", tmp_path / "w", "--json").json["site"] == {
        "base_url": "https://new.org/",
        "said_by": "../mkdocs.yml",
        "read_above": ["../mkdocs.yml"],
    }
    (docs.parent / "mkdocs.yml").unlink()
    lost = run("ingest", "-w", tmp_path / "w")
    assert "no site address in ../conf.py" in lost.err
    (docs.parent / "mkdocs.yml").write_text("site_url: https://e.org/\n")
    for arguments in ([docs, "--base-url", "none"], []):  # and a later ingest keeps to it
        none = run("ingest", *arguments, "-w", tmp_path / "w")
        assert (none.code, "site address" in none.err, "read above" in none.err) == (0, False, False)
    given = ingest(docs, tmp_path / "w", site=Site("https://given.org/"), workers=1)
    assert (given.site.base_url, given.settings_above) == ("https://given.org/", [])
    assert run("ingest", docs, "-w", tmp_path / "w", "--url-rule", "html", "--base-url", "none").code == 2


ODD = ["", "\x00\xff", "{" * 100_000, "/*" * 90_000, 'a = "' * 30_000, "docs: {" * 20_000, "[a]\n" * 40_000]
ODD += ["site_url: http://[x", "site_url: https://e.org:99999/", 'baseURL = "http://[::1"', "url: 'https://e org'"]
ODD += [f"site_url: https://e.org/\ndocs_dir: {path}" for path in ("y" * 5000, "x/" * 9000, "../../..")]


@pytest.mark.parametrize("name", ["mkdocs.yml", "hugo.json", "hugo.toml", "docusaurus.config.js", "conf.py"])
def test_odd_settings_cost_nothing_but_the_address(name, docs):
    for text in ODD:
        (docs.parent / name).write_text(text, encoding="latin-1")
        address, above = found(docs, "a.md")
        assert above == (f"../{name}",)
        assert address == "" or "../../.." in text
    (docs.parent / name).write_text("site_url: https://e.org/\n" + "#" * 300_000)
    assert found(docs, "a.md") == ("", ())  # too large to be settings
    (docs.parent / name).unlink()
    (docs.parent / name).symlink_to(docs / "a.md")
    assert found(docs, "a.md") == ("", ())


def test_a_file_that_takes_long_is_named_once_while_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("structformer.ingestion.slow_files.SECONDS", 0.2)
    monkeypatch.setattr("structformer.ingestion.slow_files._LOOK_SECONDS", 0.01)
    named: Queue[tuple[str, float]] = Queue()
    heard = noticing(tmp_path, lambda path, seconds: named.put((path, seconds)))
    with heard as folder, noting(folder, lambda path: None) as noted:
        noted("a long name of a quick file.md")
        noted("slow.md")
        path, seconds = named.get(timeout=60)
        noted("slow.md")  # again, as when it is read after its digest was taken
        time.sleep(0.5)
    assert (path, seconds > 0.2, named.empty()) == ("slow.md", True, True)
    assert not list(tmp_path.iterdir())  # the notes are gone


def test_the_terminal_names_what_takes_long(tmp_path, run, monkeypatch):
    assert SECONDS == 5.0
    monkeypatch.setattr("structformer.ingestion.slow_files.SECONDS", 0.2)
    monkeypatch.setattr("structformer.ingestion.slow_files._LOOK_SECONDS", 0.01)
    folder = write_pages(tmp_path / "pages", {"slow.md": "word *and* [so on](x.md)\n" * 8000})
    err = run("ingest", folder, "--workers", 1).err
    assert re.search(r"^reading slow\.md: \d+ s so far$", err, re.MULTILINE)
    assert "so far" not in run("ingest", folder, "--quiet", "--fresh").err


def test_a_worker_that_cannot_see_the_notes_works_on(tmp_path):
    begun: list[str] = []
    with noting(str(tmp_path / "nowhere"), begun.append) as noted:
        noted("a.md")
    with noticing(tmp_path, None) as folder, noting(folder, begun.append) as noted:
        noted("b.md")
    assert (begun, list(tmp_path.iterdir())) == (["a.md", "b.md"], [])


def test_inclusions_that_multiply_are_bounded_by_their_number(tmp_path):
    pages = {
        f"f{number}.txt": f"Level {number}.\n\n" + f".. include:: f{number + 1}.txt\n\n" * 10 for number in range(8)
    }
    folder = write_pages(
        tmp_path / "pages", {**pages, "f8.txt": "The end.\n", "bomb.rst": "Bomb\n====\n\n.. include:: f0.txt\n"}
    )
    report = ingest(folder, tmp_path / "w", workers=1)
    assert ids(tmp_path / "w") == ["bomb.rst"]
    messages = [message for path, message in report.messages if path == "bomb.rst"]
    assert messages[0] == f"includes more than {MAX_OPENED} files, or some so often: the rest is left out"
    text = "".join(section.text for section in Corpus.open(tmp_path / "w").document("bomb.rst").sections())
    assert 5000 < text.count("The end.") <= MAX_OPENED


def test_what_is_opened_for_a_document_counts_together(tmp_path, monkeypatch):
    monkeypatch.setattr("structformer.formats.source.MAX_OPENED", 3)
    folder = write_pages(tmp_path, {"a.txt": "a", "b.txt": "b"})
    source = SourceFile("main.txt", b"", neighbours=FolderFiles(folder))
    first = source.open("a.txt")
    assert first is not None
    assert [opened is not None for opened in (first.open("b.txt"), source.open("none.txt"), source.open("b.txt"))] == [
        True,
        False,
        True,
    ]
    assert (first.open("a.txt"), source.open("a.txt"), len(source.warnings)) == (None, None, 1)


@pytest.mark.parametrize("taker", ["broken", "unnamed"])
def test_members_of_an_archive_are_parts_as_files_of_a_folder_are(taker, tmp_path):
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="chapter.xml"/>'
    pages = {
        "broken": {"book.xml": f"<book><title Book<para>{include}", "chapter.xml": CHAPTER},
        "unnamed": {
            "manual": f"<?xml version='1.0'?><book><title>Book</title>{include}</book>",
            "chapter.xml": CHAPTER,
        },
    }[taker]
    folder = write_pages(tmp_path / "pages", pages)
    (tmp_path / "packed.zip").write_bytes(zipped(pages))
    of_folder = ingest(folder, tmp_path / "folder", workers=1)
    of_archive = ingest(tmp_path / "packed.zip", tmp_path / "archive", workers=1)
    assert [f"packed.zip/{id}" for id in ids(tmp_path / "folder")] == ids(tmp_path / "archive")
    assert ids(tmp_path / "folder") == (["chapter.xml"] if taker == "broken" else ["manual"])
    for report in (of_folder, of_archive):
        checked(report, 2)
    lines = (tmp_path / "archive" / "corpus" / "report.jsonl").read_text("utf-8").splitlines()
    became = {line["file"]: line["became"] for line in map(json.loads, lines) if "became" in line}
    assert became == ({"packed.zip/book.xml": "failed"} if taker == "broken" else {"packed.zip/chapter.xml": "part"})


CHAPTER = "<chapter><title>Knots</title><para>The bowline holds.</para></chapter>"


# -- a workspace that is moved with what it came from -------------------------------------------------------------------


def project(folder: Path) -> Path:
    write_pages(
        folder / "docs", {"keel.md": "# Keel\n\nThe keel is below.\n", "mast.md": "# Mast\n\nThe mast is above.\n"}
    )
    ingest(folder / "docs", folder / "w", workers=1)
    return folder


@pytest.mark.parametrize("how", [shutil.move, shutil.copytree], ids=["moved", "cloned"])
def test_a_workspace_that_is_moved_together_with_its_pages_goes_on(how, tmp_path):
    how(project(tmp_path / "boats"), there := tmp_path / "ships")
    (there / "docs" / "oar.md").write_text("# Oar\n\nAn oar moves a boat.\n")
    report = ingest(there / "docs", there / "w", workers=1)
    assert (report.parsed, report.unchanged) == (1, 2)
    ingest(workspace=there / "w", workers=1)
    assert "oar.md" in set(Corpus.open(there / "w").document_ids())
    assert [source.path for source in Workspace(there / "w").sources()] == [str(there / "docs")]


def test_a_workspace_within_its_pages_moves_with_them(tmp_path):
    pages = write_pages(tmp_path / "boats", {"keel.md": "# Keel\n\nThe keel is below.\n"})
    ingest(pages, pages / ".structformer", workers=1)
    pages.rename(there := tmp_path / "ships")
    assert ingest(there, there / ".structformer", workers=1).unchanged == 1


def test_a_workspace_that_is_moved_alone_finds_its_pages_where_they_were(tmp_path):
    there = project(tmp_path / "boats")
    (there / "w").rename(tmp_path / "w")
    assert ingest(there / "docs", tmp_path / "w", workers=1).unchanged == 2
    assert ingest(workspace=tmp_path / "w", workers=1).unchanged == 2


def test_a_workspace_is_moved_with_its_pages_behind_a_link(tmp_path):
    (tmp_path / "linked").symlink_to(project(tmp_path / "boats"), target_is_directory=True)
    assert ingest(tmp_path / "linked" / "docs", tmp_path / "linked" / "w", workers=1).unchanged == 2
    (tmp_path / "linked").unlink()
    (tmp_path / "boats").rename(tmp_path / "ships")
    (tmp_path / "linked").symlink_to(tmp_path / "ships", target_is_directory=True)
    assert ingest(tmp_path / "linked" / "docs", tmp_path / "linked" / "w", workers=1).unchanged == 2


def test_pages_elsewhere_stay_where_they_are_and_so_do_those_of_an_earlier_marker(tmp_path):
    pages = write_pages(tmp_path / "elsewhere", {"keel.md": "# Keel\n\nThe keel is below.\n"})
    (tmp_path / "boats").mkdir()
    ingest(pages, tmp_path / "boats" / "w", workers=1)
    (tmp_path / "boats").rename(tmp_path / "ships")
    marker = tmp_path / "ships" / "w" / "workspace.json"
    assert read_json(marker, digest=True)["sources"] == [{"label": "", "path": str(pages)}]  # as all were once
    assert ingest(pages, tmp_path / "ships" / "w", workers=1).unchanged == 1


def test_workspaces_in_the_folder_are_not_read_and_none_is_a_source(tmp_path):
    pages = write_pages(tmp_path / "boats", {"keel.md": "# Keel\n\nThe keel is below.\n"})
    write_pages(pages / "other tool", {"workspace.json": "{}", "mast.md": "# Mast\n\nIt is high.\n"})
    for name in ("one", "two", "one"):
        report = ingest(pages, pages / name, workers=1)
        assert [*Corpus.open(pages / name).document_ids()] == ["keel.md", "other tool/mast.md"]
    assert report.account.folders == 2
    with pytest.raises(UsageError, match="one is a workspace: name the folder of the documents"):
        ingest(pages / "one", pages / "two", replace_sources=True, workers=1)


def test_a_data_set_whose_documents_end_early_is_named_and_leaves_nothing(tmp_path, monkeypatch):
    ir_datasets = pytest.importorskip("ir_datasets")

    class Broken:
        def docs_count(self):
            return 2

        def docs_iter(self):
            yield namedtuple("Doc", ["doc_id", "text"])("a", "Ropes are laid.")
            raise OSError("the connection was closed")

    monkeypatch.setattr(ir_datasets, "load", lambda name: Broken())
    with pytest.raises(UsageError, match="the documents of boats/docs are unavailable: the connection was closed"):
        dataset_documents("boats/docs", tmp_path)
    assert list(tmp_path.iterdir()) == []
