"""A comparison as one self-contained page: the table, the scores with their intervals, and every query's change against the baseline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from structformer.evaluation.difference import Difference, QueryDifference
from structformer.evaluation.evaluate import Evaluation, Row
from structformer.ingest_page import escape, page
from structformer.storage.files import write_bytes

_PLOTS = """
.mark{stroke:var(--ink);stroke-width:1.5}.grid{stroke:var(--line)}.win{fill:var(--good)}.loss{fill:var(--bad)}svg .name{fill:var(--ink)}
.best td{font-weight:600}details{margin:.4rem 0;border-bottom:1px solid var(--line);padding-bottom:.4rem}summary{cursor:pointer}
summary b{font-variant-numeric:tabular-nums;margin-right:.6rem}.plus{color:var(--good)}.minus{color:var(--bad)}.scroll{overflow-x:auto}
"""
_WIDTH, _ROW, _NAMES = 720.0, 26.0, 240.0
_SHOWN = 15


def write_page(path: Path, results: Sequence[Evaluation], differences: Sequence[tuple[Difference, dict[str, str]]] = ()) -> None:
    """Write the page of these comparisons; a Difference comes with its documents' texts by id."""
    parts = [part for result in results for part in _section(result)]
    for found, texts in differences:
        parts += _difference(found, texts)
    write_bytes(path, page("Evaluation", "Which search finds the judged documents best.", parts, _PLOTS))


def _section(result: Evaluation) -> list[str]:
    parts = [f"<h2>{escape(result.title)}</h2><p>{result.queries} queries</p>", _table(result), f"<p>{escape(result.note())}</p>"]
    if result.caveat:
        parts.append(f"<p>{escape(result.caveat)}</p>")
    parts += [f"<h2>{escape(result.measures[0])} with 95 % intervals</h2>", _intervals(result)]
    best = max(result.rows, key=lambda row: row.scores[result.measures[0]])
    baseline = next((row for row in result.rows if row.label == result.baseline), None)
    if baseline is not None and best is not baseline:
        parts += [
            f"<h2>Every query: {escape(best.label)} against {escape(baseline.label)}</h2>",
            _changes(best, baseline, result.measures[0]),
        ]
    return parts


def _table(result: Evaluation) -> str:
    compared = result.compared()
    head = "".join(f'<th class="n">{escape(name)}</th>' for name in (*result.measures, "95 %", *compared))
    first = result.measures[0]
    best = max(row.scores[first] for row in result.rows)
    rows = []
    for row in result.rows:
        cells = [*(f"{row.scores[measure]:.3f}" for measure in result.measures), f"{row.interval[0]:.3f}–{row.interval[1]:.3f}"]
        cells += [f"{row.against[name][0]:+.3f} (p {row.against[name][1]:.4f})" if name in row.against else "" for name in compared]
        kind = ' class="best"' if row.scores[first] == best else ""
        rows.append(f"<tr{kind}><td>{escape(row.label)}</td>" + "".join(f'<td class="n">{escape(cell)}</td>' for cell in cells) + "</tr>")
    return f'<div class="scroll"><table><tr><th></th>{head}</tr>{"".join(rows)}</table></div>'


def _intervals(result: Evaluation) -> str:
    """A dot for each row's score on a line for its interval."""
    measure = result.measures[0]
    low = min(row.interval[0] for row in result.rows)
    high = max(row.interval[1] for row in result.rows)
    span = max(high - low, 1e-6)
    height = _ROW * len(result.rows) + 24

    def x(value: float) -> float:
        return _NAMES + (value - low) / span * (_WIDTH - _NAMES - 60)

    marks = []
    for number in range(5):
        value = low + span * number / 4
        marks.append(f'<line class="grid" x1="{x(value):.1f}" x2="{x(value):.1f}" y1="0" y2="{height - 20:.0f}"/>')
        marks.append(f'<text x="{x(value):.1f}" y="{height - 5:.0f}" text-anchor="middle">{value:.2f}</text>')
    for place, row in enumerate(result.rows):
        y = _ROW * (place + 0.5)
        marks.append(f'<text class="name" x="{_NAMES - 12}" y="{y + 4:.1f}" text-anchor="end">{escape(row.label[:40])}</text>')
        marks.append(f'<line class="mark" x1="{x(row.interval[0]):.1f}" x2="{x(row.interval[1]):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        marks.append(f'<circle class="bar" cx="{x(row.scores[measure]):.1f}" cy="{y:.1f}" r="5"/>')
    return f'<svg viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" aria-label="Scores with intervals">{"".join(marks)}</svg>'


def _changes(row: Row, other: Row, measure: str) -> str:
    """Every query's change as a bar, sorted."""
    changes = sorted((row.per_query[measure][query] - other.per_query[measure][query] for query in row.per_query[measure]), reverse=True)
    width, height = _WIDTH / len(changes), 160.0
    middle = height / 2
    bars = [
        f'<rect class="{"win" if change > 0 else "loss"}" x="{place * width:.2f}" width="{max(width - 0.2, 0.2):.2f}" '
        f'y="{middle - max(change, 0.0) * middle:.1f}" height="{abs(change) * middle:.1f}"/>'
        for place, change in enumerate(changes)
        if change
    ]
    better, worse = sum(change > 0 for change in changes), sum(change < 0 for change in changes)
    svg = f'<svg viewBox="0 0 {_WIDTH:.0f} {height:.0f}" role="img" aria-label="Changes by query">{"".join(bars)}</svg>'
    return f"<p>{better} better, {len(changes) - better - worse} the same, {worse} worse.</p>{svg}"


def _difference(found: Difference, texts: dict[str, str]) -> list[str]:
    parts = [f"<h2>{escape(found.second)} against {escape(found.first)}, by query</h2>"]
    for title, queries in (("Won", found.wins), ("Lost", found.losses)):
        parts.append(f"<p>{title}: {len(queries)} queries{f', the first {_SHOWN}' if len(queries) > _SHOWN else ''}</p>")
        parts += [_query(each, found, texts) for each in queries[:_SHOWN]]
    return parts


def _query(each: QueryDifference, found: Difference, texts: dict[str, str]) -> str:
    kind = "plus" if each.change > 0 else "minus"
    rows = []
    for name, first, second in each.relevant:
        text = escape(texts.get(name, "")[:300])
        rows.append(f"<p>wanted: <code>{escape(name)}</code>, rank {first or '–'} → {second or '–'}<br>{text}</p>")
    for label, top in ((found.first, each.tops[0]), (found.second, each.tops[1])):
        rows.append(f"<p>first of {escape(label)}: <code>{escape(top or '–')}</code><br>{escape(texts.get(top, '')[:300])}</p>")
    head = f'<summary><b class="{kind}">{each.change:+.2f}</b>{escape(each.text[:200])}</summary>'
    return f"<details>{head}{''.join(rows)}</details>"
