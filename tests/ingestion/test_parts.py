"""Work in parts gives the bytes of the work done at once, in whatever order they come, killed and begun again."""

from __future__ import annotations

import bz2
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from structformer import sample
from structformer.corpus.site import Site
from structformer.engines.job_parts import Part
from structformer.errors import UsageError
from structformer.formats.source import Limits
from structformer.ingestion import FileFilter, ingest, ingesting
from structformer.ingestion import ranges as cutting
from structformer.ingestion.request import IngestRequest
from structformer.plugins import load_plugins
from structformer.retrieval.index import Index
from structformer.sampling import SamplingOptions
from structformer.sampling.sets import SampleRequest
from structformer.workspace import Workspace

from topics import digests, write_topics

DRAWN = ("srr", "rwi", "ltm", "wlp")  # two of them look at other documents
BASE = ["--encoder", "base"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_topics(tmp_path_factory.mktemp("parts") / "pages", 120)


def test_eight_parts_in_any_order_give_the_same_bytes(run, pages, tmp_path):
    ingest(pages, tmp_path / "here")
    sample(tmp_path / "here", DRAWN)
    order = list(range(1, 9))
    random.Random(3).shuffle(order)
    for number in order:
        done = run("ingest", pages, "-w", tmp_path / "there", "--part", f"{number}/8", "--workers", 1)
        assert (done.code, "structformer merge" in done.out) == (0, True)
    merged = run("merge", "-w", tmp_path / "there")
    assert (merged.code, "120 documents" in merged.out, "0 files read, 120 unchanged" in merged.out) == (0, True, True)
    for again in (True, False):
        for number in order:
            part = ("--part", f"{number}/8", "--workers", 1)
            done = run("sample", "-w", tmp_path / "there", "--tasks", ",".join(DRAWN), *part)
            assert done.code == 0
        assert ("run it again" in done.out) == (again and number != order[-1])
    assert run("merge", "-w", tmp_path / "there").code == 0
    here, there = digests(tmp_path / "here"), digests(tmp_path / "there")
    assert len(here) > 8
    assert there == here
    assert not list((tmp_path / "there" / "parts").iterdir())


def test_vectors_made_in_parts_are_those_made_at_once(run, tmp_path):
    pages = write_topics(tmp_path / "pages", 60)
    ingest(pages, tmp_path / "w")
    for number in (2, 1):
        done = run("index", "-w", tmp_path / "w", *BASE, "--part", f"{number}/2")
        assert re.search(r"part \d/2: [1-9]\d* texts encoded", done.out)
    merged = run("merge", "-w", tmp_path / "w")
    assert (merged.code, "passages indexed, with vectors of: base" in merged.out) == (0, True)
    in_parts = np.load(Index(Workspace(tmp_path / "w")).vectors("base"))
    ingest(pages, tmp_path / "once")
    assert run("index", "-w", tmp_path / "once", *BASE).code == 0
    at_once = np.load(Index(Workspace(tmp_path / "once")).vectors("base"))
    assert (in_parts * at_once).sum(1).min() > 0.999  # what a text is encoded beside moves its last bits


def test_parts_that_have_not_ended_are_named(run, pages, tmp_path):
    there = tmp_path / "w"
    assert run("ingest", pages, "-w", there, "--part", "2/3").code == 0
    early = run("merge", "-w", there)
    assert (early.code, "these have not ended: 1, 3" in early.err) == (1, True)
    assert not Workspace(there).has("corpus")
    other = run("ingest", pages, "-w", there, "--part", "1/3", "--format", "markdown")
    assert (other.code, "parts of another `structformer ingest`" in other.err) == (2, True)
    rest = run("merge", "-w", there, "--rest")
    assert (rest.code, "120 documents" in rest.out) == (0, True)
    nothing = run("merge", "-w", there)
    assert (nothing.code, "no parts" in nothing.err) == (2, True)


def test_a_wrong_request_leaves_no_parts_behind(run, tmp_path):
    wrong = run("ingest", tmp_path / "nosuch", "-w", tmp_path / "w", "--part", "1/2")
    assert (wrong.code, "does not exist" in wrong.err) == (2, True)
    assert not (tmp_path / "w").exists()


def test_an_unknown_task_leaves_no_plan_behind(run, workspace):
    assert run("sample", "-w", workspace, "--tasks", "srr,nosuch", "--part", "1/2").code == 2
    assert run("sample", "-w", workspace, "--tasks", "srr", "--part", "1/2").code == 0


def test_parts_can_be_dropped(run, pages, tmp_path):
    assert run("ingest", pages, "-w", tmp_path / "w", "--part", "1/3").code == 0
    assert run("merge", "-w", tmp_path / "w", "--drop").code == 0
    assert run("ingest", pages, "-w", tmp_path / "w", "--part", "1/2").code == 0


def test_examples_of_an_earlier_corpus_are_not_merged(run, pages, tmp_path):
    changed = shutil.copytree(pages, tmp_path / "changed")
    ingest(changed, tmp_path / "w")
    assert run("sample", "-w", tmp_path / "w", "--tasks", "srr", "--part", "1/1").code == 0
    (changed / "new.md").write_text("# New\n\nA page that was not there.\n")
    ingest(changed, tmp_path / "w")
    merged = run("merge", "-w", tmp_path / "w")
    assert (merged.code, "an earlier corpus" in merged.err) == (1, True)


def test_parts_compare_and_merge_all_that_an_ingest_is_asked_for(tmp_path):
    asked = IngestRequest((tmp_path / "a",))
    others = {
        "paths": (str(tmp_path.resolve() / "b"), str(tmp_path.resolve() / "c")),
        "add": True,
        "replace_sources": True,
        "remove": True,
        "format": "markdown",
        "options": {"content": "all"},
        "limits": Limits(seconds=1.5),
        "wanted": FileFilter(("*.md",), ("drafts",), gitignore=False),
        "site": Site("https://e.org", "html", "docs/"),
    }
    assert list(others) == [field.name for field in fields(IngestRequest)]
    for name, value in others.items():
        other = replace(asked, **{name: value})
        assert other.description() != asked.description()
        merged = IngestRequest.of(json.loads(json.dumps(other.description())))
        assert merged == replace(other, paths=tuple(str(Path(path).resolve()) for path in other.paths))


def test_parts_compare_and_merge_all_that_is_drawn():
    asked = SampleRequest(("srr",))
    others = {
        "tasks": ("ict", "srr"),
        "options": SamplingOptions(min_words=5, negatives=None),
        "seed": 1,
        "epoch": 1,
        "held_out": 0.25,
        "drawn_by": "1234",
    }
    assert {*others, "weights"} == {field.name for field in fields(SampleRequest)}
    for name, value in others.items():
        other = replace(asked, **{name: value})
        assert other.description() != asked.description()
        assert SampleRequest.of(json.loads(json.dumps(other.description()))) == other


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "-1/3", "1/0", "1/1000000"])
def test_parts_are_numbers_from_one(text):
    with pytest.raises(UsageError, match="write 3/8"):
        Part.parse(text)


def test_every_task_belongs_to_one_part():
    parts = [Part(number, 5) for number in range(1, 6)]
    taken = sorted(task for part in parts for task in part.of_tasks(range(23)))
    assert taken == list(range(23))


def test_a_killed_part_makes_again_only_what_was_in_flight(tmp_path, pages):
    """Two workers have at most a shard each in flight."""
    more = tmp_path / "more"
    for copy in range(12):
        shutil.copytree(pages, more / f"copy-{copy}")
    command = [sys.executable, "-m", "structformer", "ingest", str(more), "-w", str(tmp_path / "w"), "--part", "1/1"]
    process = subprocess.Popen([*command, "--workers", "2"], start_new_session=True)
    made = tmp_path / "w" / "parts" / "ingest" / "shards"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(list(made.glob("*-*-*"))) < 4:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = {path.name: path.stat().st_ino for path in made.glob("*-*-*")}
    assert before
    subprocess.run([*command, "--workers", "2", "--quiet"], check=True)
    after = {path.name: path.stat().st_ino for path in made.glob("*-*-*")}
    assert {name: after[name] for name in before} == before
    assert len(after) > len(before)


def dump(pages: int, streams: int) -> tuple[bytes, bytes]:
    """A dump of so many pages, in one stream and in several, the way Wikipedia's multistream files are."""
    words = random.Random(5)
    texts = [
        f"<page><title>Page {number}</title><ns>0</ns><id>{number}</id><revision><text>The [[Page {number - 1}]] of "
        f"{' '.join(str(words.random()) for _ in range(120))}\n== Part ==\nMore of it.</text></revision></page>\n".encode()
        for number in range(1, pages + 1)
    ]
    head = b'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" version="0.11" xml:lang="en">\n'
    tail = b"</mediawiki>\n"
    size = -(-pages // streams)
    parts = [b"".join(texts[start : start + size]) for start in range(0, pages, size)]
    return head + b"".join(texts) + tail, b"".join(map(bz2.compress, (head, *parts, tail)))


def test_a_multistream_dump_is_read_in_ranges_page_for_page(tmp_path, monkeypatch):
    plain, packed = dump(400, 20)
    (tmp_path / "plain").mkdir()
    (tmp_path / "packed").mkdir()
    (tmp_path / "plain" / "wiki.xml").write_bytes(plain)
    (tmp_path / "packed" / "wiki.xml.bz2").write_bytes(packed)
    parts = cutting.ranges(tmp_path / "packed" / "wiki.xml.bz2", load_plugins().format("wikitext"), len(packed) // 6)
    assert len(parts) >= 5
    assert [part.start for part in parts[1:]] == [part.end for part in parts[:-1]]
    titles = []
    for part in reversed(parts):
        pieces = cutting.range_pieces(
            tmp_path / "packed" / "wiki.xml.bz2", part, load_plugins().format("wikitext"), 1_000_000
        )
        titles = [match for piece in pieces for match in re.findall(rb"<title>(.*?)</title>", piece)] + titles
    assert titles == re.findall(rb"<title>(.*?)</title>", plain)


def test_a_dump_of_one_stream_is_not_cut(tmp_path):
    plain, _ = dump(400, 1)
    path = tmp_path / "wiki.xml.bz2"
    path.write_bytes(bz2.compress(plain))
    assert cutting.ranges(path, load_plugins().format("wikitext"), 10_000) == []


def test_streams_that_end_within_pages_are_not_cut_there(tmp_path):
    plain, _ = dump(400, 1)
    cut = [plain[start : start + 30_001] for start in range(0, len(plain), 30_001)]
    path = tmp_path / "wiki.xml.bz2"
    path.write_bytes(b"".join(map(bz2.compress, cut)))
    for part in cutting.ranges(path, load_plugins().format("wikitext"), 20_000)[1:]:
        start = bz2.decompress(path.read_bytes()[part.start :])
        assert start.lstrip().startswith(b"<page>")


def test_damage_in_a_range_costs_that_range_alone(run, tmp_path, monkeypatch):
    size = cutting.RANGE_BYTES // 10
    monkeypatch.setattr(ingesting, "ranges", partial(cutting.ranges, size=size))
    _, packed = dump(2_400, 24)
    assert len(packed) > 3 * size
    folder = tmp_path / "dumps"
    folder.mkdir()
    data = bytearray(packed)
    place = len(data) // 2
    data[place : place + 2000] = bytes(2000)
    (folder / "wiki.xml.bz2").write_bytes(data)
    ended = run("ingest", folder, "-w", tmp_path / "w")
    assert ended.code == 0
    assert "damaged" in ended.err
    documents = int(re.search(r"(\d+) documents", ended.out)[1])
    assert 1_600 < documents < 2_400
    for number in (2, 3, 1):
        assert run("ingest", folder, "-w", tmp_path / "parts", "--part", f"{number}/3").code == 0
    assert run("merge", "-w", tmp_path / "parts").code == 0
    assert digests_of_corpus(tmp_path / "parts") == digests_of_corpus(tmp_path / "w")


def digests_of_corpus(workspace: Path) -> list[str]:
    return sorted(path.name for path in Workspace(workspace).shards.iterdir())
