"""The ingest report as one self-contained page: what was read as what and why, how deep it goes, what links do, what went wrong."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from html import escape as _html_escape
from itertools import pairwise
from pathlib import Path
from typing import Any

from structformer.corpus import Corpus
from structformer.graph import ReferenceGraph
from structformer.printing import visible
from structformer.storage.files import write_bytes


def escape(text: str) -> str:
    """A text of a corpus as HTML, with control and bidirectional characters made visible."""
    return _html_escape(visible(text))


STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#5c6670;--line:#d8dee4;--paper:#fff;--bar:#3566a8;--good:#2f855a;--bad:#b4532a;--mid:#9aa7b4}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#9aa5af;--line:#343b43;--paper:#15181c;--bar:#6c9bd8;--good:#5fb38a;--bad:#dd8659;--mid:#6a7580}}
*{box-sizing:border-box}body{margin:0 auto;max-width:64rem;padding:2.5rem 1.5rem 4rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif}h1{font-size:1.6rem;margin:0 0 .25rem}h2{font-size:1.05rem;margin:2.5rem 0 .75rem;border-bottom:1px solid var(--line);
padding-bottom:.3rem}p{margin:.3rem 0;color:var(--soft)}.cards{display:flex;flex-wrap:wrap;gap:.75rem 2.5rem;margin:1.5rem 0}.card b{display:block;
font-size:1.7rem;font-weight:600;line-height:1.2;font-variant-numeric:tabular-nums}.card span{color:var(--soft);font-size:.85rem}
table{border-collapse:collapse;width:100%;font-size:.9rem}th{text-align:left;color:var(--soft);font-weight:500}th,td{padding:.3rem .75rem .3rem 0;
border-bottom:1px solid var(--line);vertical-align:top}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(20rem,1fr));gap:0 3rem}svg{display:block;width:100%;height:auto}svg text{fill:var(--soft);font:12px system-ui,sans-serif}
.bar{fill:var(--bar)}.stack{display:flex;height:.7rem;border-radius:.2rem;overflow:hidden;background:var(--line);min-width:8rem}.stack i{display:block}
.r{background:var(--good)}.e{background:var(--mid)}.u{background:var(--bad)}.key i{display:inline-block;width:.7rem;height:.7rem;border-radius:.15rem;margin:0 .35rem 0 1rem}
code{font:.85em ui-monospace,monospace;overflow-wrap:anywhere}
"""
_MESSAGES = 200


def write_ingest_page(folder: Path, report: Mapping[str, Any], corpus: Corpus, graph: ReferenceGraph) -> Path:
    """Write report.html into a folder where report.jsonl is; equal corpora give equal pages."""
    path = folder / "report.html"
    depths, lengths = _shape(corpus)
    parts = [
        _cards(report, graph),
        "<h2>What was taken for what</h2>",
        _taken(report),
        '<div class="two"><div><h2>How deep sections lie</h2>',
        _histogram([(("abstract" if depth == 0 else str(depth)), count) for depth, count in sorted(depths.items())]),
        "</div><div><h2>Words of a section's own text</h2>",
        _histogram(lengths),
        "</div></div>",
        "<h2>Links</h2>",
        _links(graph),
        "<h2>Files with messages</h2>",
        _messages(folder / "report.jsonl", report["message_count"]),
    ]
    write_bytes(path, page("Ingest report", "What structformer read, and what it made of it.", parts))
    return path


def page(title: str, introduction: str, parts: Iterable[str], style: str = "") -> bytes:
    """A self-contained page: nothing is fetched, no script runs. title, introduction: plain text; parts: HTML; style: beside STYLE."""
    text = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{STYLE}{style}</style></head><body><h1>{escape(title)}</h1>"
        f"<p>{escape(introduction)}</p>" + "".join(parts) + "</body></html>\n"
    )
    return text.encode("utf-8", "backslashreplace")


def _cards(report: Mapping[str, Any], graph: ReferenceGraph) -> str:
    share = report["characters"] / report["bytes"] if report["bytes"] else 0.0
    cards = (
        (f"{report['documents']:,}", "documents"),
        (f"{report['sections']:,}", "sections"),
        (f"{report['files']:,}", "files"),
        (f"{report['characters'] / 1e6:,.1f} M", f"characters of text, {share:.0%} of the bytes read"),
        (f"{graph.see_also_edges:,}", "see-also edges"),
        (f"{report['message_count']:,}", "remarks"),
    )
    return '<div class="cards">' + "".join(f'<div class="card"><b>{value}</b><span>{name}</span></div>' for value, name in cards) + "</div>"


def _taken(report: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<tr><td>{escape(name.partition(": ")[0])}</td><td>{escape(name.partition(": ")[2])}</td><td class="n">{count:,}</td></tr>'
        for name, count in sorted(report["reasons"].items(), key=lambda item: (-item[1], item[0]))
    )
    statuses = ", ".join(f"{count:,} {escape(name)}" for name, count in report["statuses"].items())
    documents = ", ".join(f"{count:,} {escape(name)}" for name, count in sorted(report["formats"].items(), key=lambda item: -item[1]))
    return (
        f'<table><tr><th>format</th><th>told by</th><th class="n">sources</th></tr>{rows}</table>'
        f"<p>Documents: {documents or 'none'}. Files: {statuses or 'none'}.</p>"
    )


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


def _histogram(bars: list[tuple[str, int]]) -> str:
    height, left, width = 22, 78, 460
    most = max((count for _, count in bars), default=0) or 1
    rows = []
    for number, (name, count) in enumerate(bars[:40]):
        y = number * height
        length = max(1 if count else 0, round((width - left - 70) * count / most))
        rows.append(
            f'<text x="{left - 8}" y="{y + 15}" text-anchor="end">{escape(name)}</text><rect class="bar" x="{left}" y="{y + 4}" width="{length}" '
            f'height="{height - 8}" rx="2"/><text x="{left + length + 6}" y="{y + 15}">{count:,}</text>'
        )
    return f'<svg viewBox="0 0 {width} {height * len(bars[:40])}" role="img">{"".join(rows)}</svg>'


def _links(graph: ReferenceGraph) -> str:
    rows = []
    for kind, counts in graph.statistics["links"].items():
        lost = counts["unresolved"] + counts["ambiguous"]
        total = counts["resolved"] + counts["external"] + lost or 1
        shares = "".join(
            f'<i class="{name}" style="width:{100 * value / total:.2f}%"></i>'
            for name, value in (("r", counts["resolved"]), ("e", counts["external"]), ("u", lost))
        )
        numbers = "".join(
            f'<td class="n">{counts[name]:,}</td>' for name in ("resolved", "external", "unresolved", "ambiguous", "dead_anchor")
        )
        rows.append(f'<tr><td>{escape(kind.replace("_", " "))}</td><td><div class="stack">{shares}</div></td>{numbers}</tr>')
    examples = "".join(
        f"<tr><td>{escape(outcome.replace('_', ' '))}</td><td><code>{escape(document)}</code></td><td><code>{escape(target)}</code></td></tr>"
        for outcome, listed in graph.statistics["examples"].items()
        for document, target in listed
    )
    return (
        '<p class="key"><i class="r" style="margin-left:0"></i>resolved<i class="e"></i>to other sites<i class="u"></i>unresolved or ambiguous</p>'
        '<table><tr><th>kind</th><th></th><th class="n">resolved</th><th class="n">external</th><th class="n">unresolved</th><th class="n">ambiguous</th>'
        f'<th class="n">page without anchor</th></tr>{"".join(rows)}</table>'
        + (
            f"<h2>Examples of links that lead nowhere</h2><table><tr><th></th><th>in</th><th>to</th></tr>{examples}</table>"
            if examples
            else ""
        )
    )


def _messages(path: Path, total: int) -> str:
    if not total:
        return "<p>None: every file was read whole.</p>"
    rows: list[str] = []
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if len(rows) >= _MESSAGES:
                break
            message = json.loads(line)
            rows.append(f"<tr><td><code>{escape(message['file'])}</code></td><td>{escape(message['message'])}</td></tr>")
    more = f"<p>{total - len(rows):,} more in report.jsonl.</p>" if total > len(rows) else ""
    return f"<table><tr><th>file</th><th>what</th></tr>{''.join(rows)}</table>{more}"
