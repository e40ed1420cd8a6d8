"""The whole way on real documents: what this Python environment's own distributions say about themselves.

Writes their long descriptions (Markdown), the Markdown files they carry and this project's docs into a folder. Some
sentences are taken out of the documents and become the queries: which document does each belong to? Then runs the
public commands, showing each.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
DEMO = Path(os.environ.get("STRUCTFORMER_DEMO", ".demo"))
QUERY = "write a progress bar in the terminal"
MIN_WORDS = 60
MAX_QUERIES = 8  # per document
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
FENCE = re.compile(r"^(```|~~~)")
SENTENCE = re.compile(r"(?:^|(?<=[.!?] ))[A-Z][^.!?`<>|*_#\[\]]{50,220}[.!?](?= |$)")


def descriptions() -> Iterator[tuple[str, str]]:
    """Names and texts of the Markdown that the installed distributions carry, and of this project's docs."""
    seen: set[str] = set()
    for distribution in sorted(importlib.metadata.distributions(), key=lambda each: (each.name or "").lower()):
        metadata = distribution.metadata
        name = (metadata["Name"] or "").lower()
        body = str(metadata.get_payload() or metadata["Description"] or "")
        if name in seen or name == "structformer" or "markdown" not in (metadata["Description-Content-Type"] or ""):
            continue
        seen.add(name)
        if len(body.split()) >= MIN_WORDS:
            yield f"{name}.md", body
        for file in distribution.files or []:
            source = Path(str(distribution.locate_file(file)))
            if (
                file.suffix == ".md"
                and ".dist-info" not in str(file)
                and "license" not in file.name.lower()
                and source.is_file()
            ):
                yield (
                    f"files/{name}/{'-'.join(file.parts[1:] or file.parts).lstrip('.')}",
                    source.read_text(encoding="utf-8", errors="replace"),
                )
    for path in sorted((PROJECT / "docs").glob("*.md")):
        yield f"structformer/{path.name}", path.read_text(encoding="utf-8")


def take_sentences(text: str) -> tuple[str, list[str]]:
    """The text without some of its plain sentences, spread evenly over it, and these sentences."""
    text = COMMENT.sub("", text)
    fenced = False
    candidates: list[str] = []
    for line in text.splitlines():
        fenced ^= bool(FENCE.match(line.strip()))
        if not fenced and line[:1].isalpha():
            candidates += [found for found in SENTENCE.findall(line) if text.count(found) == 1]
    taken = candidates[:: max(1, -(-len(candidates) // MAX_QUERIES))]
    for sentence in taken:
        text = text.replace(sentence, "", 1)
    return text, taken


def collect(folder: Path) -> tuple[int, int]:
    """Write documents, queries.jsonl and qrels.tsv; give the numbers of documents and queries."""
    shutil.rmtree(folder, ignore_errors=True)
    queries: list[str] = []
    qrels: list[str] = []
    count = 0
    for name, text in descriptions():
        text, taken = take_sentences(text)
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        count += 1
        for number, sentence in enumerate(taken):
            queries.append(json.dumps({"_id": f"{name}-{number}", "text": sentence}) + "\n")
            qrels.append(f"{name}-{number}\t{name}\t1\n")
    (folder / "queries.jsonl").write_text("".join(queries), encoding="utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(qrels), encoding="utf-8")
    return count, len(queries)


def run(*arguments: str) -> None:
    """Show a structformer command and run it; the demo ends when one fails."""
    command = ["structformer", *arguments]
    print(f"\n\033[1m$ {shlex.join(command)}\033[0m", flush=True)
    completed = subprocess.run([sys.executable, "-m", *command], check=False)
    if completed.returncode:
        sys.exit(f"the command above ended with {completed.returncode}")


def main() -> None:
    """Run the demo."""
    begun = time.monotonic()
    minutes = os.environ.get("STRUCTFORMER_DEMO_TRAIN", "4m")
    documents, queries = collect(DEMO)
    workspace = str(DEMO / "workspace")
    shutil.rmtree(workspace, ignore_errors=True)
    print(
        f"{documents} Markdown documents that this environment's Python distributions carry are in "
        f"{DEMO}. {queries} sentences were"
    )
    print(
        "taken out of them and are the queries: which document does each belong to? Every command below works the same"
    )
    print("on a folder of your own.")
    run("ingest", str(DEMO / "docs"), "--workspace", workspace)
    print("\nMeaning, learned from these documents alone, before any model is loaded:")
    run("index", "--encoder", "structure", "--workspace", workspace)
    run("search", QUERY, "-k", "3", "--workspace", workspace)
    print("\nA pretrained encoder beside it, trained on what the documents' structure asks:")
    run("sample", "--show", "1", "--workspace", workspace)
    run("train", "--max-time", minutes, "--workspace", workspace)
    run("index", "--workspace", workspace)
    run("search", QUERY, "-k", "3", "--workspace", workspace)
    run(
        "evaluate",
        "--queries",
        str(DEMO / "queries.jsonl"),
        "--qrels",
        str(DEMO / "qrels.tsv"),
        "--workspace",
        workspace,
    )
    print(f"\nThe demo took {time.monotonic() - begun:.0f} s. On your own documents:\n")
    for line in ("ingest ./docs", "train", "index", 'search "how do I ..."', "evaluate"):
        print(f"  structformer {line}")


if __name__ == "__main__":
    main()
