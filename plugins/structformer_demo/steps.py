"""Parts that demos share: commands shown as they run, and the table at the end."""

import json
import re
import shlex
import subprocess
import sys
from typing import Any

import click
from structformer.errors import WorkspaceError

__all__ = ["score_table", "shown_command"]

# What `evaluate` calls its rows, and what a demo does.
ROWS = {
    "BM25": "words: BM25",
    "dense untrained": "meaning: MiniLM, pretrained",
    "RRF untrained": "both, by reciprocal rank fusion",
    "structure and words": "structformer: words and structure, nothing pretrained",
    "hybrid untrained": "structformer: words, structure and MiniLM",
}
# The same by the encoder that was trained, under whatever name.
_TRAINED = {"hybrid": "structformer: the same, trained"}


def shown_command(*arguments: str, title: bool = True, output: bool = True) -> str:
    """Run a command and return its output. title, output: show these. Raises WorkspaceError if it fails."""
    if title:
        click.secho(f"\n$ {shlex.join(['structformer', *arguments])}", bold=True)
    lines = []
    command = [sys.executable, "-P", "-m", "structformer", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if output:
                click.echo(line, nl=False)
    if process.returncode:
        raise WorkspaceError(f"the command above ended with {process.returncode}")
    return "".join(lines)


def score_table(report: str, *, uses_trained: bool = True) -> str:
    """Return the table of what `evaluate --json` printed. uses_trained: whether the search uses the trained encoder."""
    result: dict[str, Any] = json.loads(report)["results"][0]
    rows = {row["label"]: row for row in result["rows"]}
    names = dict(ROWS)
    for label in rows:
        if label not in ROWS and (name := _TRAINED.get(re.split(r"[^a-z]", label)[0])):
            names[label] = name + ("" if uses_trained else " (not in use: see below)")
    lines = [f"{'':56}nDCG@10   right page first   against BM25"]
    for label, name in names.items():
        if label in rows:
            row = rows[label]
            scores, against = row["scores"], row["against"].get("vs BM25")
            versus = f"{against['difference']:+.3f} (p = {against['p']:.4f})" if against else ""
            lines.append(f"{name:56}{scores['nDCG@10']:7.3f}{scores['Success@1']:17.0%}    {versus}".rstrip())
    return "\n".join(lines)
