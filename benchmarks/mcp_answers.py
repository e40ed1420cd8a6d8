"""What an assistant gets over MCP for twenty questions on each corpus: how much, how often the first page is right, and
whether doubt is said where the documents do not answer, and only there.

    python benchmarks/mcp_answers.py --set WORKSPACE JUDGED [--set WORKSPACE JUDGED ...] [--answered 14]

JUDGED has queries.jsonl and qrels.tsv. What is not answered is asked from its unanswerable.jsonl, else from UNANSWERED.
Asks by the official client over standard input and output."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from structformer.evaluation.judgements import read_judgements

QUESTIONS = 20  # of each corpus
UNANSWERED = (
    "how to bake a chocolate cake",
    "zxqvwkk qqqwww",
    "renew a passport from abroad",
    "which vaccines does a puppy need",
    "tune the valves of a motorcycle",
    "prune an apple tree in winter",
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--set", dest="sets", action="append", nargs=2, type=Path, required=True, metavar="FOLDER")
    options.add_argument("--answered", type=int, default=14, help="questions of the twenty that have an answer")
    chosen = options.parse_args()
    print("| corpus | kB: least | median | most | first right | in the answer | doubt right: answered | not answered |")
    print("|---|---|---|---|---|---|---|---|")
    for workspace, judged in chosen.sets:
        print(asyncio.run(row(workspace, judged, chosen.answered)))


async def row(workspace: Path, judged: Path, answered: int) -> str:
    """A corpus's row of the table."""
    found = read_judgements(judged / "queries.jsonl", judged / "qrels.tsv")
    asked = list(found.asked().items())
    chosen = asked[:: max(1, len(asked) // answered)][:answered]
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "structformer", "mcp", "-w", str(workspace)], env=dict(os.environ)
    )
    sizes: list[float] = []
    first = among = sure = doubted = 0
    unanswered = unanswerable(judged)[: QUESTIONS - len(chosen)]
    async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def search(query: str) -> tuple[str, dict[str, Any]]:
            result = await session.call_tool("search", {"query": query})
            text = "".join(part.text for part in result.content if part.type == "text")
            sizes.append(len(text.encode()) / 1000)
            return text, dict(result.structured_content or {})

        for name, query in chosen:
            right = {document for document, grade in found.qrels[name].items() if grade > 0}
            text, values = await search(query)
            pages = [each["address"].rpartition("#s")[0] or each["address"] for each in values["sections"]]
            first += bool(pages) and pages[0] in right
            among += bool(right.intersection(pages))
            sure += not doubts(text)
        for query in unanswered:
            doubted += doubts((await search(query))[0])
    return (
        f"| {judged.name} | {min(sizes):.1f} | {median(sizes):.1f} | {max(sizes):.1f} | {first} of {len(chosen)} "
        f"| {among} | {sure} of {len(chosen)} | {doubted} of {len(unanswered)} |"
    )


def doubts(text: str) -> bool:
    """Whether an answer begins with saying that nothing surely fits, or that nothing was found."""
    return text.startswith("Nothing ")


def unanswerable(judged: Path) -> Sequence[str]:
    """Questions that the corpus does not answer."""
    file = judged / "unanswerable.jsonl"
    return [json.loads(line)["text"] for line in file.read_text().splitlines()] if file.exists() else UNANSWERED


if __name__ == "__main__":
    main()
