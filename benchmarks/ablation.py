"""What each pre-training task is worth: every task alone, families, none, with the same budget, on judged corpora;
passages read in their document's context; and the size curve.

    python benchmarks/ablation.py tasks SHARED [--sets npm docker git] [--steps 12] [--rows NAME ...]
    python benchmarks/ablation.py sizes SHARED [--sets git] [--examples 100 300 1000 3000 10000] [--plot FILE]

SHARED holds corpora/NAME-*.tar.xz and eval/NAME/{queries.jsonl,qrels.tsv}. A bi-encoder from the same base, 32 Examples
a step, lengths and seed each time; the dense ranking of the trained weights as they are (no mixing with the base, no
choice by held-out score). Prints nDCG@10, the difference from the untrained base, and p by the paired randomisation
test, Holm-corrected over a set's rows."""

from __future__ import annotations

import argparse
import platform
import sys
import time
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from structure import CORPORA, ingested

from structformer_papers.kinds import CONTEXTUAL

TOKENS = 128  # that are read of a passage
WIKIFORMER, HARP, CLASSIC = ("srr", "rwi", "ati", "ltm"), ("rqp", "qdm", "rdp", "acm"), ("ict", "bfs", "wlp", "rop")
LINKS, SEAL = ("anchor-dr", "php", "hlp-dual-link", "hlp-co-mention"), ("seal-marked", "seal-plain", "seal-masked")
OTHERS = ("ovs", "bprop", "ares-hard", *LINKS, *SEAL)
DOCS = {"ict": 3.0, "srr": 1.0, "rwi": 0.25, "ati": 0.25}


@dataclass(frozen=True)
class Row:
    """What is trained; without a mix nothing is."""

    mix: dict[str, float] | None
    ranker: str = "bi-encoder"


ROWS = {
    "untrained": Row(None),
    **{task: Row({task: 1.0}) for task in WIKIFORMER},
    "Wikiformer's four": Row(dict.fromkeys(WIKIFORMER, 1.0)),
    **{task: Row({task: 1.0}) for task in HARP},
    "HARP's four": Row(dict.fromkeys(HARP, 1.0)),
    **{task: Row({task: 1.0}) for task in (*CLASSIC, *OTHERS)},
    "docs recipe": Row(DOCS),
    "late chunking, untrained": Row(None, "contextual"),
    "InSeNT": Row(dict(CONTEXTUAL.mix), "contextual"),
}


def prepare(shared: Path, name: str, work: Path) -> Path:
    """Ingest, sample all tasks and index a set; returns its workspace."""
    from structformer.models.attention import AttentionWeights
    from structformer.models.base import resolve_base_model
    from structformer.retrieval.indexing import build_index
    from structformer.sampling import sample
    from structformer.workspace import Workspace

    workspace = Workspace(work / name / "ws")
    if not workspace.has("index"):
        ingested(shared, CORPORA[name], work / name)
        weights = AttentionWeights(resolve_base_model("auto", "bi-encoder").location, workspace.cache)
        sample(workspace, [*WIKIFORMER, *HARP, *CLASSIC, *OTHERS], weights=weights, held_out=0.0)
        build_index(workspace, encoders=[])
    return workspace.path


class Judged:
    """A judged set's documents and queries, scored by an encoder's dense ranking."""

    def __init__(self, shared: Path, name: str, workspace: Path) -> None:
        from structformer.evaluation.judgements import read_queries
        from structformer.retrieval.documents.units import Units
        from structformer.retrieval.rankings.run_files import read_qrels
        from structformer.workspace import Workspace

        units = Units(Workspace(workspace).folder("index") / "units.arrow")
        count = len(units)
        self.texts = [units[number].ranker_text for number in range(count)]
        self.owners = [units[number].document_id for number in range(count)]
        self.documents = units.numbers("document").tolist()
        queries = read_queries(shared / "eval" / name / "queries.jsonl")
        self.qrels = read_qrels(shared / "eval" / name / "qrels.tsv")
        self.queries = {query: text for query, text in queries.items() if query in self.qrels}

    def ndcg(self, location: str, ranker: str = "bi-encoder") -> list[float]:
        """nDCG@10 by query."""
        import ir_measures
        import torch
        from ir_measures import nDCG
        from structformer.models import RankerOptions, ranker_kind

        encoder: Any = ranker_kind(ranker).start(location, RankerOptions(TOKENS))
        with torch.autocast("cpu", torch.bfloat16):
            if ranker == "contextual":
                passages = encoder.encode_documents(list(encoder.in_context(self.texts, self.documents)))
            else:
                passages = encoder.encode(self.texts, TOKENS)
            scores = encoder.encode_queries(list(self.queries.values())) @ passages.T
        run: dict[str, dict[str, float]] = {}
        for query, row in zip(self.queries, scores, strict=True):
            best: dict[str, float] = {}
            for unit in row.argsort()[::-1][:400]:
                best.setdefault(self.owners[unit], float(row[unit]))
            run[query] = best
        found = {each.query_id: each.value for each in ir_measures.iter_calc([nDCG @ 10], self.qrels, run)}
        return [found.get(query, 0.0) for query in self.queries]


def trained(workspace: Path, row: Row, steps: int) -> tuple[str, dict[str, Any]]:
    """Train the ablation's ranker; returns its folder and what was counted."""
    from structformer.errors import ModelError
    from structformer.training import TrainingOptions, train_ranker

    options = TrainingOptions(
        ranker=row.ranker,
        mix=row.mix,
        max_steps=steps,
        max_seconds=None,
        max_epochs=1e9,
        groups=32,
        document_tokens=TOKENS,
        hard_negatives=0,
        interpolate=False,
        name="ablation",
    )
    try:
        result = train_ranker(workspace, replace(options))
    except ModelError as error:
        return "", {"missing": str(error).partition(":")[0]}
    return str(result.folder), {
        "examples": result.plan.examples,
        "seconds": result.seconds,
        "epochs": result.plan.epochs,
    }


def tasks(shared: Path, sets: list[str], steps: int, work: Path, rows: list[str]) -> None:
    """The table of all tasks."""
    from structformer.evaluation.measures import holm, randomisation_test
    from structformer.models.base import resolve_base_model

    for name in sets:
        workspace = prepare(shared, name, work)
        judged = Judged(shared, name, workspace)
        print(
            f"\n{name}: {len(judged.queries)} queries, {len(judged.texts)} passages, {steps} steps of 32 Examples",
            flush=True,
        )
        scores: dict[str, list[float]] = {}
        notes: dict[str, str] = {}
        for row in rows:
            begun = time.monotonic()
            what = ROWS[row]
            location, counted = (
                (resolve_base_model("auto", "bi-encoder").location, {})
                if what.mix is None
                else trained(workspace, what, steps)
            )
            if not location:
                notes[row] = counted["missing"]
                continue
            scores[row] = judged.ndcg(location, what.ranker)
            notes[row] = ", ".join(f"{count} {task}" for task, count in counted.get("examples", {}).items())
            mean = sum(scores[row]) / len(scores[row])
            print(f"  {row:20} {mean:.3f}  {time.monotonic() - begun:.0f} s  {notes[row]}", flush=True)
        base = scores["untrained"]
        compared = [row for row in scores if row != "untrained"]
        values = holm([randomisation_test(scores[row], base, seed=0) for row in compared])
        print(f"\n| {name} | nDCG@10 | vs untrained | p | Examples there are |\n|---|---|---|---|---|")
        for row in rows:
            if row not in scores:
                print(f"| {row} | | | | none |")
                continue
            mean, difference = sum(scores[row]) / len(base), (sum(scores[row]) - sum(base)) / len(base)
            p = f"{values[compared.index(row)]:.4f}" if row in compared else ""
            print(f"| {row} | {mean:.3f} | {f'{difference:+.3f}' if p else ''} | {p} | {notes[row]} |")
        sys.stdout.flush()


def sizes(shared: Path, sets: list[str], examples: list[int], work: Path, plot: Path | None) -> None:
    """The size curve."""
    from structformer.models.base import resolve_base_model

    for name in sets:
        workspace = prepare(shared, name, work)
        judged = Judged(shared, name, workspace)
        base = judged.ndcg(resolve_base_model("auto", "bi-encoder").location)
        points = [(0, sum(base) / len(base))]
        print(
            f"\n{name}, docs recipe\n\n| Examples | nDCG@10 | seconds |\n|---|---|---|\n| 0 | {points[0][1]:.3f} | |",
            flush=True,
        )
        for size in examples:
            location, counted = trained(workspace, Row(DOCS), max(1, round(size / 32)))
            found = judged.ndcg(location)
            points.append((size, sum(found) / len(found)))
            print(f"| {size} | {points[-1][1]:.3f} | {counted['seconds']:.0f} |", flush=True)
        if plot is not None:
            plot.write_text(curve(points, f"{name}: dense nDCG@10 by Examples seen"))
            print(f"plot: {plot}")


def curve(points: list[tuple[int, float]], title: str) -> str:
    """Return an SVG of the curve over a logarithmic axis, the untrained score as a dashed line."""
    import math

    width, height, left, right, top, bottom = 640, 300, 56, 16, 34, 40
    base, rest = points[0][1], points[1:]
    low, high = min(value for _, value in points) - 0.01, max(value for _, value in points) + 0.01
    first, last = math.log10(rest[0][0]), math.log10(rest[-1][0])

    def place(size: float, value: float) -> tuple[float, float]:
        x = left + (math.log10(size) - first) / max(last - first, 1e-9) * (width - left - right)
        return x, top + (high - value) / (high - low) * (height - top - bottom)

    parts = [f'<text x="{left}" y="20" font-size="14">{title}</text>']
    for number in range(5):
        value = low + (high - low) * number / 4
        y = place(rest[0][0], value)[1]
        parts.append(f'<line x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:.3f}</text>')
    parts += [
        f'<text x="{place(size, low)[0]:.1f}" y="{height - 16}" text-anchor="middle">{size:,}</text>'
        for size, _ in rest
    ]
    y = place(rest[0][0], base)[1]
    parts.append(
        f'<line x1="{left}" x2="{width - right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#b4532a" stroke-dasharray="5 4"/>'
    )
    parts.append(
        f'<text x="{width - right}" y="{y - 5:.1f}" text-anchor="end" fill="#b4532a">untrained {base:.3f}</text>'
    )
    placed = [place(*point) for point in rest]
    parts.append(
        f'<polyline points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in placed)}" fill="none" '
        'stroke="#3566a8" stroke-width="2"/>'
    )
    parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#3566a8"/>' for x, y in placed]
    style = (
        '<style>text{font:12px system-ui,sans-serif;fill:#444}</style><rect width="100%" height="100%" fill="#fff"/>'
    )
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}">{style}{"".join(parts)}</svg>\n'


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="what", required=True)
    for what, sets in (("tasks", ["npm", "docker", "git"]), ("sizes", ["git"])):
        command = commands.add_parser(what)
        command.add_argument("shared", type=Path)
        command.add_argument(
            "--sets", nargs="+", default=sets, choices=[name for name, archive in CORPORA.items() if archive]
        )
        command.add_argument("--work", type=Path, default=Path(".benchmarks"))
        if what == "tasks":
            command.add_argument("--steps", type=int, default=12)
            command.add_argument("--rows", nargs="+", choices=list(ROWS), default=list(ROWS))
        else:
            command.add_argument("--examples", nargs="+", type=int, default=[100, 300, 1000, 3000, 10_000])
            command.add_argument("--plot", type=Path)
    arguments = parser.parse_args()
    packages = ", ".join(f"{name} {version(name)}" for name in ("torch", "transformers"))
    print(f"{platform.machine()}, Python {platform.python_version()}, {packages}", flush=True)
    if arguments.what == "tasks":
        rows = [row for row in ROWS if row in {"untrained", *arguments.rows}]
        tasks(arguments.shared, arguments.sets, arguments.steps, arguments.work, rows)
    else:
        sizes(arguments.shared, arguments.sets, arguments.examples, arguments.work, arguments.plot)


if __name__ == "__main__":
    main()
