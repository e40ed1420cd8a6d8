"""What an assistant gets over MCP: how much, how often a section of the judged page is first, in full in the answer, or
one `read` away, and whether doubt is said where the documents do not answer, and only there.

    python benchmarks/assistants.py --set WORKSPACE JUDGED [--set WORKSPACE JUDGED ...] [--queries 14]

JUDGED has queries.jsonl and qrels.tsv. What is not answered is asked from its unanswerable.jsonl, else from UNANSWERED.
Asks by the official client over standard input and output; three bytes of an answer count as a token, as there."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from structformer.evaluation.judgements import read_judgements

_MOST_TOKENS, _READ = 4000, 1000
UNANSWERED = (
    "how to bake a chocolate cake",
    "zxqvwkk qqqwww",
    "renew a passport from abroad",
    "which vaccines does a puppy need",
    "tune the valves of a motorcycle",
    "prune an apple tree in winter",
)
COLUMNS = (
    "corpus",
    "kB: least, median, most",
    "first right",
    "in full",
    "after one read",
    "sure, rightly",
    "doubts, rightly",
    f"over {_MOST_TOKENS} tokens",
    f"reads over {_READ}",
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--set", dest="sets", action="append", nargs=2, type=Path, required=True, metavar="FOLDER")
    options.add_argument("--queries", type=int, default=14, help="of each corpus, with an answer")
    chosen = options.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    for workspace, judged in chosen.sets:
        print(f"| {' | '.join(asyncio.run(row(workspace, judged, chosen.queries)))} |")


async def row(workspace: Path, judged: Path, answered: int) -> list[str]:
    """Return a corpus's row of the table."""
    found = read_judgements(judged / "queries.jsonl", judged / "qrels.tsv")
    asked = list(found.asked().items())
    chosen = asked[:: max(1, len(asked) // answered)][:answered]
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "structformer", "mcp", "-w", str(workspace)], env=dict(os.environ)
    )
    sizes: list[float] = []
    counts: Counter[str] = Counter()
    unanswered = unanswerable(judged)
    async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(tool: str, **arguments: object) -> tuple[str, dict[str, Any]]:
            result = await session.call_tool(tool, arguments)
            text = "".join(part.text for part in result.content if part.type == "text")
            return text, dict(result.structured_content or {})

        async def search(query: str) -> tuple[str, dict[str, bool]]:
            text, values = await call("search", query=query)
            sizes.append(len(text.encode()) / 1000)
            counts["long"] += _tokens(text) > _MOST_TOKENS
            return text, {each["address"]: bool(each["markdown"]) for each in values["sections"]}

        for name, query in chosen:
            right = {document for document, grade in found.qrels[name].items() if grade > 0}
            text, whole = await search(query)
            its = [address for address in whole if (address.rpartition("#s")[0] or address) in right]
            counts["first"] += bool(its) and its[0] == next(iter(whole))
            counts["whole"] += any(whole[address] for address in its)
            counts["sure"] += not doubts(text)
            if its:
                section, _ = await call("read", address=its[0], max_tokens=_READ)
                counts["read"] += bool(section)
                counts["overlong"] += _tokens(section) > 1.02 * _READ
        for query in unanswered:
            counts["doubted"] += doubts((await search(query))[0])
    of = f" of {len(chosen)}"
    return [
        judged.name,
        f"{min(sizes):.1f}, {median(sizes):.1f}, {max(sizes):.1f}",
        *(f"{counts[what]}{of}" for what in ("first", "whole", "read", "sure")),
        f"{counts['doubted']} of {len(unanswered)}",
        *(str(counts[what]) for what in ("long", "overlong")),
    ]


def _tokens(text: str) -> float:
    """As the server counts them."""
    return len(text.encode("utf-8", "replace")) / 3


def doubts(text: str) -> bool:
    """Whether an answer begins with saying that nothing surely fits, or that nothing was found."""
    return text.startswith("Nothing ")


def unanswerable(judged: Path) -> Sequence[str]:
    """Return questions that the corpus does not answer."""
    file = judged / "unanswerable.jsonl"
    return [json.loads(line)["text"] for line in file.read_text().splitlines()] if file.exists() else UNANSWERED


if __name__ == "__main__":
    main()
