"""Every reader against the public suites of hard cases, where they are at hand: at least so much, and nothing new that fails."""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

import ratchet
import suite_readers

# Suite, cases left out by tag, and the least shares: (headings of the cases that have some, precision and recall of links, text), in percent.
LEAST = [
    ("commonmark_spec", "commonmark", (), (40, 40), (99, 99), None),
    ("gfm_spec", "gfm", (), (40, 40), (94, 99), None),
    ("commonmark_hs_ext", "gfm", (), (26, 26), (95, 65), None),
    ("html5lib_tree", "html", ("script-on", "fragment"), (15, 15), (80, 80), 99.0),
    (
        "mediawiki_parsertests",
        "mediawiki",
        ("template", "ext-tag", "special-mode", "media.txt", "mediaLinks.txt", "interwikiLinks.txt"),
        (77, 77),
        (86, 87),
        None,
    ),
    ("mwparserfromhell", "wikitext", (), (13, 15), (80, 74), None),
    ("latexml", "latex", (), (142, 153), (85, 75), None),
    ("docbook_xsltng", "xml", (), (520, 534), (92, 99), None),
    ("jats_samples", "xml", (), (25, 25), (98, 99), None),
]


def check(shared: Path, tmp_path: Path, name: str, reader: str, *options: str) -> str:
    """check.py's line on a suite."""
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(lzma.decompress((shared / "suites" / f"{name}.jsonl.xz").read_bytes()))
    command = [
        sys.executable,
        str(shared / "suites" / "check.py"),
        str(path),
        "--reader",
        f"suite_readers:{reader}",
        *options,
    ]
    environment = {"PYTHONPATH": str(Path(__file__).parent), "PATH": ""}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def available(shared: Path, name: str) -> None:
    if not (shared / "suites" / f"{name}.jsonl.xz").exists():
        pytest.skip(f"no suite {name} in {shared}")


@pytest.mark.parametrize(
    ("suite", "reader", "skipped", "headings", "links", "text"), LEAST, ids=[f"{row[0]}-{row[1]}" for row in LEAST]
)
def test_at_least(shared, tmp_path, suite, reader, skipped, headings, links, text):
    available(shared, suite)
    line = check(
        shared, tmp_path, suite, reader, "--levels", "exact", *(part for tag in skipped for part in ("--skip-tag", tag))
    )
    assert "crash=0 slow=0" in line
    right, total = map(int, line.split("nonempty ok=")[1].split(" ")[0].split("/"))
    assert total == headings[1]
    assert right >= headings[0]
    found = line.split("links: ok=")[1]
    assert float(found.split(" P=")[1].split(" ")[0]) >= links[0]
    assert float(found.split(" R=")[1].split(" ")[0]) >= links[1]
    if text is not None:
        assert float(line.split("text ")[1].split("%")[0]) >= text
    assert "leak=0" in line


@pytest.mark.parametrize("suite", ratchet.READERS)
def test_nothing_new_fails_and_nothing_passes_unexpectedly(shared, suite):
    available(shared, suite)
    known = json.loads(ratchet.FILE.read_text())[suite]["failing"]
    found = ratchet.measure(shared, suite)
    for kind in sorted({*known, *found}):
        before, now = set(known.get(kind, ())), set(found.get(kind, ()))
        assert not now - before, f"{kind}: these fail now"
        assert not before - now, f"{kind}: these pass now; run tests/ratchet.py --update to keep it so"


def test_wellformedness_without_external_entities(shared):
    available(shared, "w3c_xmlts")
    wrong = {"accepted": 0, "refused": 0}
    for case in ratchet.cases(shared, "w3c_xmlts"):
        if "entities:none" in case["tags"] and "error" not in case["tags"]:
            for kind in ratchet.failures("w3c_xmlts", case):
                if kind in wrong:
                    wrong[kind] += 1
    assert wrong["accepted"] == 0
    assert wrong["refused"] <= 27


@pytest.mark.slow
def test_pathological_input_takes_seconds(shared, tmp_path):
    # The suite's demand is five seconds; a busy machine gets more, a hang does not.
    available(shared, "cmark_pathological")
    line = check(shared, tmp_path, "cmark_pathological", "gfm", "--limit-s", "30")
    assert "cases=26 crash=0 slow=0" in line
    assert "seq_ok=100.0% of 26" in line
    assert "links: ok=100.0%" in line


def test_the_adapter_reports_headings_in_order():
    found = suite_readers.gfm(b"# A\n\n## B\n\n[x](y)\n")
    assert (found["headings"], found["links"]) == ([[1, "A"], [2, "B"]], [["y", "x"]])
