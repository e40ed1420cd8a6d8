"""Every reader against the public suites of hard cases: no crash, and nothing new that fails.

Those in tests/suites come with the repository; the others are read where they are at hand.
"""

from __future__ import annotations

import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest

import ratchet
import suite_readers
from conftest import shared_folder
from suites import cases as kept

SHARED = shared_folder()


def check(tmp_path: Path, name: str, reader: str, *options: str) -> str:
    """check.py's line on a suite of the shared folder."""
    assert SHARED is not None
    path = tmp_path / f"{name}.jsonl"
    path.write_bytes(lzma.decompress((SHARED / "suites" / f"{name}.jsonl.xz").read_bytes()))
    command = [
        sys.executable,
        str(SHARED / "suites" / "check.py"),
        str(path),
        "--reader",
        f"suite_readers:{reader}",
        *options,
    ]
    environment = {"PYTHONPATH": str(Path(__file__).parents[1]), "PATH": ""}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout


def available(name: str) -> None:
    if ratchet.at_hand(SHARED, name):
        return
    if name in kept.SUITES:
        pytest.skip(f"no {name} in tests/suites: it comes with the repository, not with a source distribution")
    pytest.skip(f"no suite {name} in {SHARED}" if SHARED else f"no suite {name}: set STRUCTFORMER_SHARED")


@pytest.mark.parametrize(
    "suite", [suite for suite in ratchet.READERS if suite not in (*kept.SUITES, "w3c_xmlts", "defusedxml")]
)
def test_no_reader_crashes_hangs_or_lets_markup_through(tmp_path, suite):
    available(suite)
    line = check(tmp_path, suite, ratchet.READERS[suite], "--levels", "exact")
    assert "crash=0 slow=0" in line
    assert "leak=0" in line


@pytest.mark.parametrize(
    ("suite", "number"),
    [("commonmark_spec", 652), ("gfm_spec", 672), ("html5lib_tree", 1725), ("html5lib_encoding", 82)],
)
def test_every_case_kept_here_is_read_without_a_crash_or_a_hang(suite, number):
    available(suite)
    cases = kept.cases(suite)
    assert len(cases) == len({case["id"] for case in cases}) == number
    reader = getattr(suite_readers, ratchet.READERS[suite])
    for case in cases:
        reader(case["data"])


def test_every_group_of_known_failures_has_its_reason():
    for suite, known in json.loads(ratchet.FILE.read_text()).items():
        assert set(known["why"]) == set(known["failing"]), suite
        for kind, reason in known["why"].items():
            assert reason.startswith(("on purpose", "to do", "the suite is wrong")), f"{suite}, {kind}"


@pytest.mark.parametrize("suite", ratchet.READERS)
def test_nothing_new_fails_and_nothing_passes_unexpectedly(suite):
    available(suite)
    known = json.loads(ratchet.FILE.read_text())[suite]["failing"]
    found = ratchet.measure(SHARED, suite)
    for kind in sorted({*known, *found}):
        before, now = set(known.get(kind, ())), set(found.get(kind, ()))
        assert not now - before, f"{kind}: these fail now"
        assert not before - now, f"{kind}: these pass now; run tests/ratchet.py --update to keep it so"


def test_wellformedness_without_external_entities():
    available("w3c_xmlts")
    wrong = {"accepted": 0, "refused": 0}
    for case in ratchet.cases(SHARED, "w3c_xmlts"):
        if "entities:none" in case["tags"] and "error" not in case["tags"]:
            for kind in ratchet.failures("w3c_xmlts", case):
                if kind in wrong:
                    wrong[kind] += 1
    assert wrong["accepted"] == 0
    assert wrong["refused"] <= 27


@pytest.mark.slow
def test_pathological_input_takes_seconds(tmp_path):
    # The suite's demand is five seconds; a busy machine gets more, a hang does not.
    available("cmark_pathological")
    line = check(tmp_path, "cmark_pathological", "gfm", "--limit-s", "30")
    assert "cases=26 crash=0 slow=0" in line
    assert "seq_ok=100.0% of 26" in line
    assert "links: ok=100.0%" in line


def test_the_adapter_reports_headings_in_order():
    found = suite_readers.gfm(b"# A\n\n## B\n\n[x](y)\n")
    assert (found["headings"], found["links"]) == ([[1, "A"], [2, "B"]], [["y", "x"]])
