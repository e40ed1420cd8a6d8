"""Everything read is hostile until parsed: one ingest over the suite of hostile files, watched from inside every process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest
from structformer.corpus import Corpus
from structformer.ingestion.walk import display_path

WATCH = """
import os, sys
_log = os.open(os.environ["WATCH_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
def _watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        os.write(_log, b"open " + os.fsencode(arguments[0]).replace(b"\\n", b" ") + b"\\n")
    elif event.startswith("socket.") and event not in ("socket.gethostname",):
        os.write(_log, event.encode() + b"\\n")
    elif event in ("os.system", "os.exec", "os.posix_spawn"):
        os.write(_log, event.encode() + b"\\n")
sys.addaudithook(_watch)
"""


@pytest.fixture(scope="module")
def hostile(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite's files and the workspace that one ingest over them made."""
    script = shared / "suites" / "hostile.py"
    if not script.exists():
        pytest.skip(f"no {script}")
    folder = tmp_path_factory.mktemp("hostile")
    subprocess.run([sys.executable, str(script), str(folder), "--light"], check=True, capture_output=True)
    site = tmp_path_factory.mktemp("site")
    (site / "sitecustomize.py").write_text(WATCH)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
        "WATCH_LOG": str(folder / "watch.log"),
    }
    command = [
        sys.executable,
        "-m",
        "structformer",
        "ingest",
        str(folder / "corpus"),
        "-w",
        str(folder / "workspace"),
        "-q",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Traceback" not in done.stderr
    return folder


@pytest.fixture(scope="module")
def entries(hostile: Path) -> list[dict]:
    return json.loads((hostile / "manifest.json").read_text())["entries"]


@pytest.fixture(scope="module")
def found(hostile: Path) -> tuple[dict[str, list[dict]], dict[str, list]]:
    """Rows of sources, and documents, by file."""
    corpus = Corpus.open(hostile / "workspace")
    rows, documents = defaultdict(list), defaultdict(list)
    for row in corpus.sources():
        rows[row["file"]].append(row)
        if row["path"] != row["file"]:
            rows[row["path"]].append(row)
    for document in corpus.documents():
        documents[document.source.path].append(document)
    return rows, documents


def stored_name(name: str) -> str:
    """A manifest's name as the corpus has it."""
    name = name.replace("(d/ x200)", "/".join(["d"] * 200))
    return name.replace("\\udc", "\\x") if "\\udc" in name else display_path(name)


def text_of(documents: list) -> str:
    return "\n".join(
        part for document in documents for section in document.sections() for part in (section.title, section.text)
    )


@pytest.mark.slow
def test_every_rule_of_the_manifest_is_kept(entries, found):
    rows, documents = found
    whole = {path: text_of(listed) for path, listed in documents.items()}
    broken = []
    for entry in entries:
        name = stored_name(entry["file"])
        # What is damaged may be read as far as it goes, if that is said: its line is looked at below.
        read = [row for row in rows[name] if row["documents"] and not (row["status"] == "damaged" and row["messages"])]
        text = "\n".join(
            text
            for path, text in whole.items()
            if path == name or name.startswith(path + ".") or path.startswith(name + "/")
        )
        if entry["rule"] == "ingest" and not read and not any(row["status"] == "part" for row in rows[name]):
            broken.append(f"{name}: not read: {[row['messages'] for row in rows[name]]}")
        if entry["rule"] == "error" and read and not (entry["note"].startswith("mode 000") and os.geteuid() == 0):
            broken.append(f"{name}: read, but {entry['note']}")
        if (
            entry["rule"] in ("error", "either")
            and not read
            and not any(row["messages"] or row["status"] == "part" for row in rows[name])
        ):
            optional = name.endswith((".hidden.md", "noext"))
            if not optional:
                broken.append(f"{name}: nothing said of it")
        if entry["rule"] == "ignore" and read:
            broken.append(f"{name}: opened as a document")
        if read and not any(row["status"] == "failed" for row in rows[name]):
            broken += [f"{name}: lacks {part!r}" for part in entry["must_contain"] if part not in text]
        broken += [f"{name}: leaks {part!r}" for part in entry["must_not_contain"] if part in text]
        broken += [f"{name}: {problem}" for problem in structure(entry, name, documents)] if read else []
    assert not broken


def structure(entry: dict, name: str, documents: dict[str, list]) -> list[str]:
    expected = entry.get("expect", {})
    listed = documents.get(name, [])
    titles = [section.title for document in listed for section in document.sections()]
    problems = []
    if "headings" in expected:
        wanted = [" ".join(text.split()) for _, text in expected["headings"]]
        if wanted not in ([t for t in titles if t in wanted], [t for t in titles[1:] if t in wanted]):
            problems.append(f"headings {titles[:5]}, wanted {wanted}")
    if "n_headings" in expected and len(titles) - 1 != expected["n_headings"]:
        problems.append(f"{len(titles) - 1} headings, wanted {expected['n_headings']}")
    if (
        "n_links" in expected
        and (count := sum(1 for document in listed for _ in document.links())) != expected["n_links"]
    ):
        problems.append(f"{count} links, wanted {expected['n_links']}")
    return problems


@pytest.mark.slow
def test_no_canary_is_anywhere_in_the_corpus(hostile, found):
    canary = json.loads((hostile / "manifest.json").read_text())["canary"]
    for path, listed in found[1].items():
        for document in listed:
            for section in document.sections():
                for part in (section.title, section.text):
                    assert canary not in part, path
                    assert "root:x:0:0" not in part, path


@pytest.mark.slow
def test_nothing_outside_the_folder_is_opened_and_no_socket(hostile):
    opened = (hostile / "watch.log").read_bytes().split(b"\n")
    assert any(line.startswith(b"open ") and b"zz_good.md" in line for line in opened), "the watch saw nothing"
    outside = os.fsencode(hostile / "outside")
    for line in opened:
        assert not line.startswith((b"socket.", b"os.")), line
        path = os.path.normpath(line[5:])
        assert not path.startswith(outside), line
        assert path not in (b"/etc/passwd", b"/dev/zero"), line
    assert not list(hostile.rglob("PWNED*"))
    assert not list(Path("/tmp").glob("PWNED*"))


@pytest.mark.slow
def test_every_cut_is_said_with_its_amount(hostile):
    messages = [
        json.loads(line) for line in (hostile / "workspace" / "corpus" / "report.jsonl").read_text().splitlines()
    ]
    said = defaultdict(str)
    for message in messages:
        said[message["file"]] += message["message"] + "; "
    assert "that page is left out" in said["half_dump.xml"]
    assert "leads out of the archive" in said["arc/evil.tar"]
    assert "line" in said["trunc.xml"]
    assert any("nested over" in message["message"] for message in messages if message["file"] == "deep_quote.md")
