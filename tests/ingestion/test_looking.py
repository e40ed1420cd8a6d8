"""Looking at files before they are read: in workers, with the limits of readers."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from structformer import Corpus, ingest, read
from structformer.engines.pool import end_workers
from structformer.errors import ReadError
from structformer.formats import Limits

# A format that never ends where a file says so: while it looks for parts, at the first bytes, or while it reads.
ENDLESS = """
from structformer import hookimpl
from structformer.document import Document, Section, Source

def look(data, place):
    while b"never ends " + place in data:
        pass

class Endless:
    name = "endless"
    suffixes = (".endless",)
    media_types = ()
    completeness = ""

    def sniff(self, head, path):
        look(head, b"sniffing")
        return 0.0

    def parts(self, source):
        look(source.read(), b"parts")
        return {"b.endless"} if source.path == "a.endless" else set()

    def read(self, source, options):
        look(source.read(), b"reading")
        if source.path == "a.endless":
            source.open("b.endless")
        root = Section(source.path, text=source.read().decode())
        yield Document(source.path, source.path, root, Source(source.path, self.name))

    def resolve(self, link, document):
        return []

@hookimpl
def structformer_formats():
    return [Endless()]
"""


@pytest.fixture
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    site = tmp_path / "site"
    information = site / "endless-1.dist-info"
    information.mkdir(parents=True)
    (site / "endless.py").write_text(ENDLESS)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: endless\nVersion: 1\n")
    (information / "entry_points.txt").write_text("[structformer]\nendless = endless\n")
    monkeypatch.setenv("PYTHONPATH", str(site), prepend=os.pathsep)
    end_workers()
    pages = tmp_path / "pages"
    pages.mkdir()
    (pages / "a.endless").write_text("apples")
    (pages / "b.endless").write_text("pears")
    yield pages
    end_workers()


def documents(workspace: Path) -> list[str]:
    return [document.id for document in Corpus.open(workspace).documents()]


@pytest.mark.parametrize(("name", "place"), [("c.endless", "parts"), ("unknown.txt", "sniffing")])
def test_a_file_that_takes_too_long_to_be_looked_at_is_named_and_costs_itself_alone(pages, tmp_path, name, place):
    (pages / name).write_text(f"never ends {place}")
    ingest(pages, tmp_path / "w", limits=Limits(seconds=1.5), workers=1)
    assert documents(tmp_path / "w") == ["a.endless"]  # b is part of it
    [row] = [row for row in Corpus.open(tmp_path / "w").sources() if row["path"] == name]
    assert (row["status"], row["messages"]) == ("failed", ["took over 1.5 s of processor time: skipped"])


def test_read_has_a_limit_of_time_where_one_is_given(pages):
    (pages / "c.endless").write_text("never ends reading")
    assert [document.id for document in read(pages, timeout=1.5)] == ["a.endless"]
    assert [document.id for document in read(pages, timeout=1.5, most=0)] == []
    with pytest.raises(ReadError, match=r"took over 1.5 s of processor time"):
        read(pages / "c.endless", timeout=1.5)
    with pytest.raises(ReadError, match=r"took over 1.5 s"):
        read(b"never ends reading", "endless", timeout=1.5)


def test_what_a_worker_reads_is_what_this_process_reads():
    text = b"# Knots\n\nSee [a](b.md).\n\n## Bowline\n\n- one\n- `two`\n"
    assert list(read(text, "markdown", timeout=60)) == list(read(text, "markdown"))
