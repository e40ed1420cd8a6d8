"""Calls of the system that fail, or end the process, at every n-th place of a command: what was there stays or its
successor is there, one line says what happened, and the command works when it is run again.

`STRUCTFORMER_FAULTS=all` takes every place, and chains of two faults; else one place of each command and kind.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import write_pages
from processes import python

SHIM = Path(__file__).with_name("faults.c")
COMPILER = shutil.which("cc")
ALL = os.environ.get("STRUCTFORMER_FAULTS") == "all"
PLACES = 1  # of each command and kind of fault; the weekly workflow asks for all
HOWS = {"kill": "kill", "full": errno.ENOSPC, "damaged": errno.EIO, "handles": errno.EMFILE}
PAGES = {
    f"a{number}.md": f"# Page {number}\n\nApples {number}, [next](a{(number + 1) % 4}.md).\n" for number in range(4)
}
UPSERT = """
import sys
from structformer import upsert
from structformer.document import Document, Section, Source
from structformer.errors import StructformerError
try:
    upsert(Document("given", "Given", Section("Given", text="Apples given."), Source("given", "markdown")), sys.argv[1])
except StructformerError as error:
    sys.exit(f"error: {error}")
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(COMPILER is None or sys.platform != "linux", reason="needs Linux and a C compiler"),
]


class Writing(NamedTuple):
    """A command that changes something; `{}` in its arguments is the folder."""

    arguments: tuple[str, ...]
    within: str
    """What paths have in them whose calls fail."""


WRITING = {
    "ingest": Writing(("structformer", "ingest", "{}/docs", "-w", "{}/w"), "/w/"),
    "index": Writing(("structformer", "index", "-w", "{}/w", "--encoder", "none"), "/w/"),
    "sample": Writing(("structformer", "sample", "-w", "{}/w"), "/w/"),
    "upsert": Writing(("upsert", "{}/w"), "/w/"),
    "export": Writing(("structformer", "export", "--site", "{}/site", "-w", "{}/w", "--force"), "/"),
}

SEARCH = Writing(("structformer", "search", "apples", "-w", "{}/w", "--json"), "/w/")


class Bench:
    """A folder of documents and their workspace, copied anew to one place for each try."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.there = folder / "try"
        assert COMPILER is not None
        subprocess.run([COMPILER, "-shared", "-fPIC", "-o", folder / "faults.so", SHIM, "-ldl"], check=True)
        (folder / "upsert.py").write_text(UPSERT)
        write_pages(self.there / "docs", PAGES)
        for name in ("ingest", "index"):
            assert self.run(WRITING[name]).returncode == 0
        (self.there / "docs" / "new.md").write_text("# New\n\nApples too.\n")
        self._keep("ingest", "upsert")
        assert self.run(WRITING["ingest"]).returncode == 0
        self._keep("index", "sample")
        assert self.run(WRITING["index"]).returncode == 0
        self._keep("export")

    def _keep(self, *names: str) -> None:
        for name in names:
            shutil.copytree(self.there, self.folder / f"before-{name}")

    def begin(self, name: str) -> None:
        """Make the place as it is before a command that has something to do."""
        shutil.rmtree(self.there)
        shutil.copytree(self.folder / f"before-{name}", self.there)

    def run(self, writing: Writing, **fault: object) -> subprocess.CompletedProcess[str]:
        """Run a command. One that is struck is a process of its own from the start, into which the faults are loaded."""
        module, *rest = (each.replace("{}", str(self.there)) for each in writing.arguments)
        program = [str(self.folder / "upsert.py")] if module == "upsert" else ["-m", module]
        if not fault:
            return python(*program, *rest)
        environment = {
            **os.environ,
            "LD_PRELOAD": str(self.folder / "faults.so"),
            "FAULT_IN": f"{self.there.name}{writing.within}",
            **{f"FAULT_{key.upper()}": str(value) for key, value in fault.items()},
        }
        command = [sys.executable, *program, *rest]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)

    def calls(self, name: str) -> int:
        """How many such calls the command's busiest process makes."""
        self.begin(name)
        counted = self.folder / f"{name}.count"
        assert self.run(WRITING[name], at=0, count=counted).returncode == 0
        return max(map(int, counted.read_text().split()))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("faults"))


def places(calls: int, kind: int) -> list[int]:
    """Return where a command is struck: everywhere, or at one place, another for each kind."""
    if ALL:
        return [*range(1, calls + 1)]
    step = max(1, calls // PLACES)
    return [*range(1 + kind * step // len(HOWS), calls + 1, step)][:PLACES]


@pytest.mark.parametrize("name", WRITING)
def test_a_fault_at_any_call_loses_nothing_and_the_command_works_again(bench, name):
    calls, wrong = bench.calls(name), []
    assert calls > 5
    for kind, (label, how) in enumerate(HOWS.items()):
        for place in places(calls, kind):
            bench.begin(name)
            struck = bench.run(WRITING[name], at=place, how=how)
            if ALL and place % 5 == 0:  # and once more, while the first is mended
                struck = bench.run(WRITING[name], at=place // 2 + 1, how=how)
            search = bench.run(SEARCH)
            said = search.stdout + search.stderr
            # After an ingest, a search may say that the index is of an earlier corpus.
            readable = search.returncode == 0 or "earlier corpus" in said or "structformer index" in said
            again = bench.run(WRITING[name])
            left = [path for path in bench.there.rglob(".structformer-tmp-*") if "shards" not in path.parts]
            if "Traceback" in struck.stderr + said or not readable or again.returncode or left:
                wrong.append((label, place, struck.stderr[-300:], said[-200:], again.stderr[-300:], left))
    assert not wrong
