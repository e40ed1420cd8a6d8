"""The ingest report in files; one is a self-contained page: what was read and why, depths, links, what went wrong."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc

from structformer.corpus import Corpus
from structformer.corpus.shards import ShardInfo
from structformer.graph import ReferenceGraph
from structformer.ingestion.looking import Ignored
from structformer.ingestion.report import IngestReport, complete
from structformer.pages import histogram, render
from structformer.storage.files import write_bytes, write_json
from structformer.text.visible_text import listed
from structformer.workspace import Source

_MOST_DEPTH = 12  # what is deeper is counted there
_SHARDS_AT_ONCE = 4  # whose texts are held


def write_reports(
    folder: Path,
    report: IngestReport,
    corpus: Corpus,
    graph: ReferenceGraph,
    sources: Sequence[Source],
    ignored: Ignored,
) -> None:
    """Complete the report, and write it into a folder as report.json, report.html, and report.jsonl with every file."""
    lines = complete(report, corpus, ignored)
    report.links, report.see_also_edges = graph.statistics["links"], graph.see_also_edges
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    write_bytes(folder / "report.jsonl", text.encode("utf-8", "backslashreplace"))
    # How the corpus came about (what was read and what copied) is not part of it, so that equal corpora are equal
    # bytes.
    passing = ("parsed", "unchanged", "ignored", "ignored_suffixes")
    write_json(folder / "report.json", {key: value for key, value in report.as_dict().items() if key not in passing})
    labels = {0: "abstract", _MOST_DEPTH: f"{_MOST_DEPTH}+"}
    depths, lengths = _shape(corpus)
    share = report.characters / report.bytes if report.bytes else 0.0
    names = listed(dict.fromkeys(Path(source.path).name for source in sources))
    reasons = [
        (*name.split(": ", 1), count)
        for name, count in sorted(report.reasons.items(), key=lambda item: (-item[1], item[0]))
    ]
    page = render(
        "ingest.html",
        title=f"Ingest report: {names}",
        about="What structformer read, and what it made of it.",
        figures=[
            (f"{report.documents:,}", "documents"),
            (f"{report.sections:,}", "sections"),
            (f"{report.files:,}", "files"),
            (f"{report.characters / 1e6:,.1f} M", f"characters of text, {share:.0%} of the bytes read"),
            (f"{graph.see_also_edges:,}", "see-also edges"),
            (f"{report.message_count:,}", "messages"),
        ],
        sources=sources,
        reasons=reasons,
        documents=", ".join(f"{count:,} {name}" for name, count in Counter(report.formats).most_common()),
        files=str(report.account),
        depths=histogram(
            [(labels.get(depth, str(depth)), count) for depth, count in sorted(depths.items())], "depth", "sections"
        ),
        lengths=histogram(lengths, "words of their own", "sections"),
        links=[_link(kind, counts) for kind, counts in graph.statistics["links"].items()],
        examples=[
            (outcome.replace("_", " "), document, target)
            for outcome, listed in graph.statistics["examples"].items()
            for document, target in listed
        ],
        messages=report.as_dict()["messages"],
        lossy=report.lossy,
        lossy_files=report.lossy_files,
        more=max(0, report.message_count - len(report.messages)),
    )
    write_bytes(folder / "report.html", page)


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


_STEPS = (0, 1, 10, 20, 50, 100, 200, 500, 1000)


def _shape(corpus: Corpus) -> tuple[Counter[int], list[tuple[str, int]]]:
    """Return how many sections there are at each depth, and of each length in words."""
    depths: Counter[int] = Counter()
    lengths = np.zeros(len(_STEPS), np.int64)
    with ThreadPoolExecutor(_SHARDS_AT_ONCE) as threads:
        for at_depth, of_length in threads.map(lambda shard: _shape_of(corpus, shard), corpus.shards):
            depths.update(dict(enumerate(at_depth.tolist())))
            lengths += of_length
    between = (f"{low}-{high - 1}" if high - low > 1 else str(low) for low, high in pairwise(_STEPS[1:]))
    return depths, list(zip(["none", *between, f"{_STEPS[-1]}+"], lengths.tolist(), strict=True))


def _shape_of(corpus: Corpus, shard: ShardInfo) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return the same of one shard, by columns: a pass over all texts of a large corpus, in one process."""
    table = corpus.table(shard, "sections", ["number", "parent", "text"])
    text = table["text"]
    spaces = pc.add(pc.count_substring(text, " "), pc.count_substring(text, "\n"))
    words = np.where(pc.equal(text, "").to_numpy(), 0, spaces.to_numpy() + 1)
    of_length = np.bincount(np.searchsorted(_STEPS, words, side="right") - 1, minlength=len(_STEPS))
    parents = table["parent"].to_numpy().astype(np.int64)
    above = np.where(parents < 0, -1, np.arange(len(parents)) - table["number"].to_numpy() + parents)
    depths = np.zeros(len(parents), np.int64)
    place = above
    while (place >= 0).any():
        depths += place >= 0
        place = np.where(place >= 0, above[place], -1)
    return np.bincount(np.minimum(depths, _MOST_DEPTH)), of_length
