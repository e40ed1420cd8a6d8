"""The ingest report as one self-contained page: what was read as what and why, how deep it goes, what links do, what
went wrong.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.graph import ReferenceGraph
from structformer.pages import histogram, render
from structformer.storage.files import write_bytes
from structformer.workspace import Source

_MAX_MESSAGES = 200
_MAX_DEPTHS = 12


def write_ingest_page(
    folder: Path, report: Mapping[str, Any], corpus: Corpus, graph: ReferenceGraph, sources: Sequence[Source]
) -> Path:
    """Write report.html into a folder where report.jsonl is."""
    depths, lengths = _shape(corpus)
    share = report["characters"] / report["bytes"] if report["bytes"] else 0.0
    names = ", ".join(dict.fromkeys(Path(source.path).name for source in sources))
    with (folder / "report.jsonl").open(encoding="utf-8") as lines:
        messages = [json.loads(line) for line in islice(lines, _MAX_MESSAGES)]
    reasons = [
        (*name.split(": ", 1), count)
        for name, count in sorted(report["reasons"].items(), key=lambda item: (-item[1], item[0]))
    ]
    page = render(
        "ingest.html",
        title=f"Ingest report: {names}",
        about="What structformer read, and what it made of it.",
        figures=[
            (f"{report['documents']:,}", "documents"),
            (f"{report['sections']:,}", "sections"),
            (f"{report['files']:,}", "files"),
            (f"{report['characters'] / 1e6:,.1f} M", f"characters of text, {share:.0%} of the bytes read"),
            (f"{graph.see_also_edges:,}", "see-also edges"),
            (f"{report['message_count']:,}", "messages"),
        ],
        sources=sources,
        reasons=reasons,
        documents=_listed(report["formats"]),
        files=_listed(report["statuses"]),
        depths=histogram(_by_depth(depths), "depth", "sections"),
        lengths=histogram(lengths, "words of their own", "sections"),
        links=[_link(kind, counts) for kind, counts in graph.statistics["links"].items()],
        examples=[
            (outcome.replace("_", " "), document, target)
            for outcome, listed in graph.statistics["examples"].items()
            for document, target in listed
        ],
        messages=messages,
        more=max(0, report["message_count"] - len(messages)),
    )
    write_bytes(folder / "report.html", page)
    return folder / "report.html"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))


def _link(kind: str, counts: Mapping[str, int]) -> dict[str, Any]:
    lost = counts["unresolved"] + counts["ambiguous"]
    outside = counts["external"] + counts["file"]
    total = counts["resolved"] + outside + lost or 1
    parts = (("r", counts["resolved"]), ("e", outside), ("u", lost))
    return {
        "kind": kind.replace("_", " "),
        "shares": [(name, f"{100 * value / total:.2f}") for name, value in parts],
        "counts": [counts[name] for name in ("resolved", "external", "file", "unresolved", "ambiguous", "dead_anchor")],
    }


def _by_depth(depths: Counter[int]) -> list[tuple[str, int]]:
    found = [
        ("abstract" if depth == 0 else str(depth), count)
        for depth, count in sorted(depths.items())
        if depth < _MAX_DEPTHS
    ]
    deeper = sum(count for depth, count in depths.items() if depth >= _MAX_DEPTHS)
    return [*found, (f"{_MAX_DEPTHS}+", deeper)] if deeper else found


_STEPS = (0, 1, 10, 20, 50, 100, 200, 500, 1000)


def _shape(corpus: Corpus) -> tuple[Counter[int], list[tuple[str, int]]]:
    depths: Counter[int] = Counter()
    lengths: Counter[int] = Counter()
    for shard in corpus.shards:
        known: list[int] = []
        for row in corpus.rows(shard, "sections", ["number", "parent", "text"]):
            if row["number"] == 0:
                known = []
            depth = 0 if row["parent"] < 0 else known[row["parent"]] + 1
            known.append(depth)
            depths[depth] += 1
            words = row["text"].count(" ") + row["text"].count("\n") + 1 if row["text"] else 0
            lengths[max(step for step in _STEPS if step <= words)] += 1
    between = (f"{low}-{high - 1}" if high - low > 1 else str(low) for low, high in pairwise(_STEPS[1:]))
    names = ["none", *between, f"{_STEPS[-1]}+"]
    return depths, [(name, lengths[step]) for name, step in zip(names, _STEPS, strict=True)]
