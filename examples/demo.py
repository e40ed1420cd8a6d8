"""The whole way on real documents: what this Python environment's own distributions say about themselves.

Writes their long descriptions (Markdown), the Markdown files they carry and this project's docs into a folder, and
their one-line summaries, which their authors wrote, as queries; then runs the public commands, showing each.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent
DEMO = Path(os.environ.get("STRUCTFORMER_DEMO", ".demo"))
MIN_WORDS = 60


def collect(folder: Path) -> tuple[int, int]:
    """Write documents, queries.jsonl and qrels.tsv; give the numbers of documents and queries."""
    shutil.rmtree(folder, ignore_errors=True)
    documents = folder / "docs"
    documents.mkdir(parents=True)
    queries: list[str] = []
    qrels = ["query-id\tcorpus-id\tscore\n"]
    seen: set[str] = set()
    for distribution in sorted(importlib.metadata.distributions(), key=lambda each: (each.name or "").lower()):
        metadata = distribution.metadata
        name = (metadata["Name"] or "").lower()
        body = metadata.get_payload() or metadata["Description"] or ""
        kind = metadata["Description-Content-Type"] or ""
        if name in seen or name == "structformer" or "markdown" not in kind or len(str(body).split()) < MIN_WORDS:
            continue
        seen.add(name)
        (documents / f"{name}.md").write_text(str(body), encoding="utf-8")
        summary = (metadata["Summary"] or "").strip()
        if len(summary.split()) >= 4:
            queries.append(json.dumps({"_id": name, "text": summary}) + "\n")
            qrels.append(f"{name}\t{name}.md\t1\n")
        for file in distribution.files or []:
            source = Path(str(distribution.locate_file(file)))
            if file.suffix == ".md" and ".dist-info" not in str(file) and "license" not in file.name.lower() and source.is_file():
                target = documents / "files" / name / "-".join(file.parts[1:] or file.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, target)
    shutil.copytree(PROJECT / "docs", documents / "structformer", ignore=lambda _, names: [n for n in names if not n.endswith(".md")])
    (folder / "queries.jsonl").write_text("".join(queries), encoding="utf-8")
    (folder / "qrels.tsv").write_text("".join(qrels), encoding="utf-8")
    return sum(1 for _ in documents.rglob("*.md")), len(queries)


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
    print(f"{documents} Markdown documents that this environment's Python distributions carry, and {queries} of their one-line")
    print(f"summaries as queries, are in {DEMO}. Every command below works the same on a folder of your own.")
    run("ingest", str(DEMO / "docs"), "--workspace", workspace)
    run("sample", "--held-out", "0.25", "--show", "1", "--workspace", workspace)
    run("train", "--max-time", minutes, "--workspace", workspace)
    run("index", "--workspace", workspace)
    judged = ("--queries", str(DEMO / "queries.jsonl"), "--qrels", str(DEMO / "qrels.tsv"))
    run("evaluate", *judged, "--held-out-structure", "--workspace", workspace)
    run("search", "write a progress bar in the terminal", "-k", "3", "--workspace", workspace)
    print(f"\nThe demo took {time.monotonic() - begun:.0f} s. On your own documents:\n")
    for line in ("ingest ./docs", "train", "index", 'search "how do I ..."', "evaluate --held-out-structure"):
        print(f"  structformer {line}")


if __name__ == "__main__":
    main()
