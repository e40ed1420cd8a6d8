"""Archives and compressed files, read in place and within bounds; and which files of a folder are read as what."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard
from structformer import Corpus
from structformer.errors import ReadError, UsageError
from structformer.formats.source import Limits, SourceFile
from structformer.graph import ReferenceGraph
from structformer.ingestion import archives, ingest, read
from structformer.ingestion.walk import FileFilter
from structformer.ingestion.walk import _Rules as FolderRules

PAGES = {
    "docs/index.md": "# Start\n\nSee [the knots](knots.html#bowline).\n",
    "docs/knots.html": "<h1>Knots</h1><h2 id=bowline>Bowline</h2><p>Loop.</p>",
}


def zipped(files: dict[str, str | bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def tarred(files: dict[str, str | bytes], mode: str = "w") -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as archive:
        for name, data in files.items():
            raw = data.encode() if isinstance(data, str) else data
            info = tarfile.TarInfo(name)
            info.size = len(raw)
            archive.addfile(info, io.BytesIO(raw))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("site.zip", zipped(PAGES)),
        ("site.tar", tarred(PAGES)),
        ("site.tar.gz", tarred(PAGES, "w:gz")),
        ("site.tgz", tarred(PAGES, "w:gz")),
        ("site.tar.bz2", tarred(PAGES, "w:bz2")),
        ("site.tar.xz", tarred(PAGES, "w:xz")),
        ("site.tar.zst", zstandard.compress(tarred(PAGES))),
        ("outer.zip", zipped({"site.tar.gz": tarred(PAGES, "w:gz")})),
    ],
)
def test_an_archive_is_a_folder_of_its_members(tmp_path, name, data):
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / name).write_bytes(data)
    report = ingest(pages, tmp_path / "w")
    graph = ReferenceGraph.open(tmp_path / "w")
    assert (report.documents, dict(report.formats)) == (2, {"html": 1, "markdown": 1}), report.messages
    inside = f"{name}/site.tar.gz" if name == "outer.zip" else name
    assert list(Corpus.open(tmp_path / "w").document_ids()) == [f"{inside}/docs/index.md", f"{inside}/docs/knots.html"]
    assert [(edge["target_document"], edge["target_section"]) for edge in graph.edges()] == [(1, 1)]


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstandard.compress)],
)
def test_a_compressed_file_is_the_file_it_holds(tmp_path, suffix, pack):
    (tmp_path / f"page.md{suffix}").write_bytes(pack(b"# Page\n\ntext\n"))
    [document] = read(tmp_path)
    assert (document.id, document.title) == ("page.md", "Page")
    (tmp_path / "page.md").write_text("# Page\n")
    assert len(list(read(tmp_path))) == 1, "the same page uncompressed stands beside it"


def test_an_epub_is_read_in_its_reading_order(tmp_path):
    package = """<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="b" href="b.xhtml" media-type="application/xhtml+xml"/>
    <item id="a" href="a.xhtml" media-type="application/xhtml+xml"/><item id="n" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/></manifest>
    <spine><itemref idref="b"/><itemref idref="a"/></spine></package>"""
    container = '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/p.opf"/></rootfiles></container>'
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>{}</h1><p>text</p></body></html>'
    files = {
        "META-INF/container.xml": container,
        "OEBPS/p.opf": package,
        **{f"OEBPS/{name}.xhtml": page.format(name.upper()) for name in ("a", "b", "nav")},
    }
    (tmp_path / "book.epub").write_bytes(zipped(files))
    assert [document.title for document in read(tmp_path / "book.epub")] == ["B", "A"]


def test_what_is_no_document_in_an_archive_is_a_file_that_links_may_lead_to(tmp_path):
    files = {"a.md": "# A\n\n![a plan](plan.png) and [gone](gone.md)\n", "plan.png": b"\x89PNG"}
    (tmp_path / "docs.zip").write_bytes(zipped(files))
    report = ingest(tmp_path / "docs.zip", tmp_path / "w")
    assert (report.links["embed"]["file"], report.links["hyperlink"]["unresolved"]) == (1, 1)


def test_an_arxiv_tarball_is_one_paper(tmp_path):
    files = {
        "main.tex": "\\documentclass{article}\\title{Paper}\\begin{document}\\input{part}\\bibliography{r}\\cite{k}\\end{document}",
        "part.tex": "\\section{Part}\\label{p} text",
        "main.bbl": "\\begin{thebibliography}{1}\\bibitem{k} K.\\end{thebibliography}",
    }
    (tmp_path / "2101.00001.tar.gz").write_bytes(tarred(files, "w:gz"))
    [document] = read(tmp_path / "2101.00001.tar.gz")
    assert [section.title for section in document.sections()] == ["Paper", "Part", "References"]


def test_members_that_lead_elsewhere_and_bombs_are_left_out_and_said(tmp_path):
    evil = {"../../out.md": "# x", "/tmp/abs.md": "# x", "ok.md": "# OK\n\nword", "big.md": "x" * 3_000_000}
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "evil.zip").write_bytes(zipped(evil))
    (pages / "cut.zip").write_bytes(zipped(PAGES)[:-60])
    (pages / "bomb.md.gz").write_bytes(gzip.compress(b"x" * 3_000_000))
    report = ingest(pages, tmp_path / "w", limits=Limits(file_bytes=1_000_000))
    assert report.documents == 1
    messages = "\n".join(f"{path}: {message}" for path, message in report.messages)
    for part in (
        "../../out.md: its name leads out",
        "/tmp/abs.md: its name leads out",
        "big.md: over 1.0 MB",
        "cut.zip: damaged archive",
        "bomb.md.gz: unpacks to over 1.0 MB",
    ):
        assert part in messages
    assert not (tmp_path / "out.md").exists()
    assert not Path("/tmp/abs.md").exists()


def test_archives_nested_too_deep(tmp_path):
    data = zipped(PAGES)
    for number in range(4):
        data = zipped({f"n{number}.zip": data})
    (tmp_path / "deep.zip").write_bytes(data)
    report = ingest(tmp_path / "deep.zip", tmp_path / "w")
    assert report.documents == 0
    assert "nested over 3 deep" in report.messages[0][1]
    with pytest.raises(ReadError):
        list(read(tmp_path / "missing.zip") if (tmp_path / "missing.zip").exists() else _raise())


def _raise():
    raise ReadError("no such file")


def test_a_folder_of_mixed_formats_says_what_was_taken_for_what(tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "a.md").write_text("# A\n")
    (pages / "b").write_text("<!doctype html><h1>B</h1>")
    (pages / "c.txt").write_text("\\documentclass{article}\\begin{document}\\section{C} x\\end{document}")
    (pages / "d.xml").write_text(
        "<mediawiki><page><title>D</title><ns>0</ns><revision><text>d</text></revision></page></mediawiki>"
    )
    (pages / "lies.md").write_text("<!DOCTYPE html><html><h1>HTML</h1></html>")
    (pages / "notes.cfg").write_text("a = 1")
    report = ingest(pages, tmp_path / "w")
    assert dict(report.formats) == {"html": 2, "latex": 1, "markdown": 1, "wikitext": 1}
    assert report.reasons["markdown: suffix"] == 1
    assert report.reasons["html: first bytes"] == 2
    assert report.reasons["latex: content (0.95)"] == 1
    assert report.ignored == 1


def test_include_exclude_and_gitignore(tmp_path):
    pages = tmp_path / "pages"
    for name in ("a.md", "b.html", "drafts/c.md", "out/d.md", "sub/keep.md", "sub/drop.md"):
        (pages / name).parent.mkdir(parents=True, exist_ok=True)
        (pages / name).write_text("# x\n" if name.endswith("md") else "<h1>x</h1>")
    (pages / ".gitignore").write_text("out/\n*.tmp\n")
    (pages / "sub" / ".gitignore").write_text("*.md\n!keep.md\n")

    def found(**choice: object) -> list[str]:
        ingest(pages, tmp_path / "w", wanted=FileFilter(**choice))
        return list(Corpus.open(tmp_path / "w").document_ids())

    assert found() == ["a.md", "b.html", "drafts/c.md", "sub/keep.md"]
    assert found(exclude=("drafts/",)) == ["a.md", "b.html", "sub/keep.md"]
    assert found(include=("*.md",), exclude=("drafts/",)) == ["a.md", "sub/keep.md"]
    assert found(gitignore=False) == ["a.md", "b.html", "drafts/c.md", "out/d.md", "sub/drop.md", "sub/keep.md"]


def test_a_line_of_gitignore_that_is_no_pattern_costs_itself_alone(tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    for name in ("a.md", "secret.md"):
        (pages / name).write_text("# x\n")
    (pages / ".gitignore").write_text(
        "\n".join(["\ufeffa.md", "!a.md", "[z-a].md", "[a-\\d]", "\\", "!", "x" * 5_000_000, "secret.md"])
    )
    ingest(pages, tmp_path / "w")
    assert list(Corpus.open(tmp_path / "w").document_ids()) == ["a.md"]
    for asked in ({"include": ("*.md", "[z-a]")}, {"exclude": ("\\",)}):
        with pytest.raises(UsageError, match=r"^--(include|exclude) \S+: no pattern"):
            ingest(pages, tmp_path / "v", wanted=FileFilter(**asked))


@pytest.mark.parametrize(
    ("pattern", "path", "ignored"),
    [
        ("*a" * 14 + "*b", "a" * 120 + ".md", False),
        ("*a" * 14 + "*b", "docs/" + "a" * 100 + "xb", True),
        ("a/**/" * 14 + "b", "a/" * 120 + "c", False),
        ("a/**/" * 14 + "b", "a/x/" * 20 + "b", True),
        ("**/a*b/**/c*d/**/e", "x/ab/aub/c/cud/y/e/f", True),
        ("**/a*b/**/c*d/**/e", "x/aub/cu/d/e", False),
        ("[!b]*" * 14 + "c", "a" * 250, False),
    ],
)
def test_no_pattern_takes_more_time_than_its_length_explains(pattern, path, ignored):
    assert (
        FolderRules(Path(), FileFilter(exclude=(pattern,), gitignore=False)).left_out(path, False)
        == "left out (--exclude)" * ignored
    )


def test_a_pipe_that_takes_a_files_place_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.md")
    with pytest.raises(ReadError, match="not a regular file"):
        SourceFile("a.md", location=tmp_path / "a.md").read()


def test_a_change_of_a_file_that_others_took_from_makes_them_be_read_again(tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "main.tex").write_text(
        "\\documentclass{article}\\begin{document}\\section{S} \\input{part} \\missing{}\\input{later}\\end{document}"
    )
    (pages / "part.tex").write_text("old words")
    (pages / "page.md").write_text("# Page\n")
    ingest(pages, tmp_path / "w")
    assert list(Corpus.open(tmp_path / "w").document_ids()) == ["main.tex", "page.md"]
    for name, words in (("part.tex", "new words"), ("later.tex", "then this")):
        (pages / name).write_text(words)
        report = ingest(pages, tmp_path / "w")
        assert report.parsed == 1
        assert words in Corpus.open(tmp_path / "w").document("main.tex").root.subtree_text()
        ingest(pages, tmp_path / "fresh", fresh=True)
        assert Corpus.open(tmp_path / "w").fingerprint == Corpus.open(tmp_path / "fresh").fingerprint
    assert ingest(pages, tmp_path / "w").parsed == 0


def crawl(pages: dict[str, tuple[str, str, str]]) -> bytes:
    """A web archive: by address, the status line, the content's kind and the content."""
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    stream = io.BytesIO()
    writer = WARCWriter(stream, gzip=True)
    for address, (status, kind, content) in pages.items():
        headers = StatusAndHeaders(status, [("Content-Type", kind)], protocol="HTTP/1.1")
        writer.write_record(
            writer.create_warc_record(address, "response", payload=io.BytesIO(content.encode()), http_headers=headers)
        )
    return stream.getvalue()


def test_a_web_archive_is_the_pages_that_were_fetched(tmp_path):
    pages = {
        "https://docs.e.org/": (
            "200 OK",
            "text/html",
            "<h1>Home</h1><p><a href='https://docs.e.org/a/b.php#x'>b</a></p>",
        ),
        "https://docs.e.org/a/b.php": (
            "200 OK",
            "text/html; charset=utf-8",
            "<h1 id=x>B</h1><p><a href='/'>home</a></p>",
        ),
        "https://docs.e.org/gone": ("404 Not Found", "text/html", "<h1>Gone</h1><p>text</p>"),
        "https://docs.e.org/logo.png": ("200 OK", "image/png", "PNG"),
        "http://[x/odd/": ("200 OK", "text/html", "<h1>Odd</h1><p>text</p>"),
    }
    (tmp_path / "crawl.warc.gz").write_bytes(crawl(pages))
    report = ingest(tmp_path / "crawl.warc.gz", tmp_path / "w")
    corpus = Corpus.open(tmp_path / "w")
    found = {document.id: corpus.site.address(document) for document in corpus.documents()}
    assert found == {
        "crawl.warc.gz/docs.e.org/index.html": "https://docs.e.org/",
        "crawl.warc.gz/docs.e.org/a/b.php.html": "https://docs.e.org/a/b.php",
        "crawl.warc.gz/unknown/[x/odd/index.html": "http://[x/odd/",
    }
    assert report.links["hyperlink"]["resolved"] == 2
    (tmp_path / "cut.warc.gz").write_bytes(crawl(pages)[:-200])
    (tmp_path / "odd.warc").write_bytes(b"nothing of the kind\r\n" * 20)
    report = ingest([tmp_path / "cut.warc.gz", tmp_path / "odd.warc"], tmp_path / "w2")
    assert report.documents >= 2
    assert [message.partition(" ")[0] for _, message in report.messages] == ["damaged"] * 2


@pytest.mark.parametrize("in_parallel", [True, False])
def test_a_large_bzip2_file_reads_the_same_where_no_parallel_decoder_is_installed(tmp_path, monkeypatch, in_parallel):
    packed = tmp_path / "dump.bz2"
    packed.write_bytes(b"".join(bz2.compress(f"block {number}\n".encode() * 1000) for number in range(20)))
    monkeypatch.setattr(archives, "_PARALLEL_BYTES", 100)
    if not in_parallel:
        monkeypatch.setattr(archives, "find_spec", lambda name: None)
    with packed.open("rb") as data, archives.decompressed(data, "bzip2", location=packed, workers=2) as stream:
        assert stream.read() == bz2.decompress(packed.read_bytes())
