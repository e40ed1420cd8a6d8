"""Whether an assistant finds the judged document over MCP in two calls, and whether answers keep to their tokens.

    python benchmarks/assistants.py WORKSPACE QUERIES QRELS [--queries 100]

Asks by the official client over standard input and output. A query counts as answered in one call when a judged
document's section stands in the answer, in two when its address does, so that `read` gives it. Tokens are counted by
the encoder's own tokenizer."""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
from pathlib import Path

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from structformer.evaluation.judgements import read_judgements

from structformer_serve.service import SearchService
from structformer_serve.tokens import TokenCounter

_LIMIT = 4000
_ADDRESS = re.compile(r"\[([^\]\n]+?)(?:#s\d+)?\]")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("workspace", type=Path)
    options.add_argument("queries", type=Path)
    options.add_argument("qrels", type=Path)
    options.add_argument("--queries", dest="count", type=int, default=100)
    chosen = options.parse_args()
    asyncio.run(ask(chosen.workspace, chosen.queries, chosen.qrels, chosen.count))


async def ask(workspace: Path, queries: Path, qrels: Path, count: int) -> None:
    """Ask and tell."""
    judged = read_judgements(queries, qrels)
    service = SearchService(workspace)
    counter = TokenCounter(service.workspace, service.current)
    asked = list(judged.asked().items())[:count]
    command = StdioServerParameters(
        command=sys.executable, args=["-m", "structformer", "mcp", "-w", str(workspace)], env=dict(os.environ)
    )
    one = two = over = cut = 0
    lengths: list[int] = []
    async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
        await session.initialize()

        async def call(tool: str, **arguments: object) -> str:
            result = await session.call_tool(tool, arguments)
            return "".join(part.text for part in result.content if part.type == "text")

        for name, query in asked:
            right = {document for document, grade in judged.qrels[name].items() if grade > 0}
            answer = await call("search", query=query)
            lengths.append(counter.count(answer))
            over += lengths[-1] > _LIMIT
            whole = answer.partition("\n## ")[2]
            one += any(document in right for document in _ADDRESS.findall(whole))
            found = [document for document in _ADDRESS.findall(answer) if document in right]
            if found:
                section = await call("read", address=found[0], max_tokens=1000)
                cut += counter.count(section) > 1000 * 1.02
                two += bool(section)
    print(
        json.dumps(
            {
                "queries": len(asked),
                "in one call": round(one / len(asked), 3),
                "in two calls": round(two / len(asked), 3),
                "of the limit 0.85": round(two / len(asked) / 0.85, 3),
                "answers over 4000 tokens": over,
                "reads over 1020 of 1000 tokens": cut,
                "mean tokens": round(sum(lengths) / len(lengths)),
                "most tokens": max(lengths),
            }
        )
    )


if __name__ == "__main__":
    main()
