"""The ratchet: which cases of the suites each reader fails, so that a new failure and an unexpected pass both fail the test.

    python tests/ratchet.py [SHARED] --update     # after a change that is meant; without SHARED only the suites of tests/suites

`why` holds the reason for each group of failures: on purpose, to do, or the suite is wrong.

A case fails on headings when levels and titles differ from the suite's in any way, on links when targets and anchor texts differ as
multisets, on text when something that must be there is missing, on well-formedness when it is accepted or refused wrongly.
"""

from __future__ import annotations

import argparse
import base64
import json
import lzma
import re
import unicodedata
import urllib.parse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from structformer.errors import ReadError
from structformer.text.visible_text import without_controls

import suite_readers
from suites import cases as kept

FILE = Path(__file__).with_name("ratchet.json")
READERS = {
    "commonmark_spec": "commonmark",
    "gfm_spec": "gfm",
    "commonmark_hs_ext": "gfm",
    "docling_md": "gfm",
    "html5lib_tree": "html",
    "html5lib_encoding": "html",
    "docling_html": "html",
    "mediawiki_parsertests": "mediawiki",
    "mwparserfromhell": "wikitext",
    "latexml": "latex",
    "docbook_xsltng": "xml",
    "jats_samples": "xml",
    "w3c_xmlts": "xml",
    "defusedxml": "xml",
}
_NO_LINK = re.compile(r"\s*(category|file|image|media)\s*:", re.IGNORECASE)


def at_hand(shared: Path | None, suite: str) -> bool:
    """Whether a suite can be read: from tests/suites if it is one of those kept there, else from the shared folder."""
    if suite in kept.SUITES:
        return kept.present(suite)
    return shared is not None and _file(shared, suite).exists()


def cases(shared: Path | None, suite: str) -> list[dict[str, Any]]:
    """A suite's cases, the bytes of each as `data`."""
    if suite in kept.SUITES:
        return kept.cases(suite)
    assert shared is not None, suite
    with lzma.open(_file(shared, suite), "rt", encoding="utf-8") as file:
        listed = [json.loads(line) for line in file]
    for case in listed:
        case["data"] = (
            base64.b64decode(case["source_b64"])
            if "source_b64" in case
            else case["source"].encode("utf-8", "surrogatepass")
        )
    return listed


def _file(shared: Path, suite: str) -> Path:
    return shared / "suites" / f"{suite}.jsonl.xz"


def _flat(text: str) -> str:
    """Our texts have no control characters: a suite's are compared as they would be in ours."""
    return " ".join(unicodedata.normalize("NFC", without_controls(text or "")).split())


def _target(text: str) -> str:
    return urllib.parse.unquote(_flat(text)).replace("_", " ").lstrip(":").rstrip("/")


def failures(suite: str, case: dict[str, Any]) -> Iterator[str]:
    """What a case fails on: "headings", "links", "text", "encoding", "accepted", "refused", "crash"."""
    expected = case["expect"]
    wellformed = expected.get("wellformed")
    reader = getattr(suite_readers, READERS[suite])
    try:
        found = reader(case["data"], expected.get("dialect"))
    except ReadError:
        if wellformed:
            yield "refused"
        elif wellformed is None and not expected.get("rule", "").startswith("reject") and suite != "w3c_xmlts":
            yield "crash"
        return
    if wellformed is False:
        yield "accepted"
    if "headings" in expected and [(level, _flat(text)) for level, text in expected["headings"]] != [
        (level, _flat(text)) for level, text in found["headings"]
    ]:
        yield "headings"
    if "links" in expected:
        listed = [(a, b) for a, b in found["links"] if not (case["format"] == "wikitext" and _NO_LINK.match(a or ""))]
        if Counter((_target(a), _flat(b)) for a, b in expected["links"]) != Counter(
            (_target(a), _flat(b)) for a, b in listed
        ):
            yield "links"
    text = _flat(found["text"])
    if any(_flat(part) not in text for part in expected["must_contain"]) or any(
        part in found["text"] for part in expected["must_not_contain"]
    ):
        yield "text"
    if "encoding" in expected and found.get("encoding") != expected["encoding"].lower():
        yield "encoding"


def measure(shared: Path | None, suite: str) -> dict[str, list[str]]:
    """The cases that fail, by what they fail on."""
    found: dict[str, list[str]] = {}
    for case in cases(shared, suite):
        for kind in failures(suite, case):
            found.setdefault(kind, []).append(case["id"])
    return {kind: sorted(listed) for kind, listed in sorted(found.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path, nargs="?")
    parser.add_argument("--update", action="store_true")
    chosen = parser.parse_args()
    known = json.loads(FILE.read_text()) if FILE.exists() else {}
    for suite in READERS:
        if not at_hand(chosen.shared, suite):
            continue
        found = measure(chosen.shared, suite)
        total = len(cases(chosen.shared, suite))
        print(
            f"{suite:24} {total:5} cases, failing: {', '.join(f'{len(listed)} {kind}' for kind, listed in found.items()) or 'none'}"
        )
        before = known.get(suite, {}).get("why", {})
        known[suite] = {"failing": found, "why": {kind: before.get(kind, "to do: say why") for kind in found}}
    if chosen.update:
        FILE.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
