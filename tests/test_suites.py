"""The Markdown plugin against the public suites of hard cases, where they are at hand."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

import suite_readers


def cases(shared: Path, name: str) -> list[dict]:
    path = shared / "suites" / f"{name}.jsonl.xz"
    if not path.exists():
        pytest.skip(f"no {path}")
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def check(shared: Path, tmp_path: Path, name: str, reader: str, *options: str) -> str:
    """check.py's line on a suite."""
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(lzma.decompress((shared / "suites" / f"{name}.jsonl.xz").read_bytes()))
    command = [sys.executable, str(shared / "suites" / "check.py"), str(path), "--reader", f"suite_readers:{reader}", *options]
    environment = {"PYTHONPATH": str(Path(__file__).parent), "PATH": ""}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


@pytest.mark.parametrize(
    ("suite", "reader", "headings", "links"),
    [
        ("commonmark_spec", "commonmark", "nonempty ok=40/40", 100.0),
        ("commonmark_spec", "gfm", "nonempty ok=40/40", 99.0),
        ("gfm_spec", "gfm", "nonempty ok=40/40", 99.0),
        ("commonmark_hs_ext", "gfm", "nonempty ok=26/26", 95.0),
    ],
)
def test_specifications(shared, tmp_path, suite, reader, headings, links):
    line = check(shared, tmp_path, suite, reader, "--levels", "exact")
    assert "crash=0 slow=0" in line
    assert headings in line
    assert float(line.split("links: ok=")[1].split("%")[0]) >= links
    if suite != "commonmark_hs_ext":
        assert "targetR=100.0" in line


@pytest.mark.slow
def test_pathological_input_takes_seconds(shared, tmp_path):
    # The suite's demand is five seconds; a busy machine gets more, a hang does not.
    line = check(shared, tmp_path, "cmark_pathological", "gfm", "--limit-s", "30")
    assert "cases=26 crash=0 slow=0" in line
    assert "seq_ok=100.0% of 26" in line
    assert "links: ok=100.0%" in line


def test_the_adapter_reports_headings_in_order():
    found = suite_readers.gfm(b"# A\n\n## B\n\n[x](y)\n")
    assert (found["headings"], found["links"]) == ([[1, "A"], [2, "B"]], [["y", "x"]])
