"""Comparing pipelines on judged queries, or on held-out structure when nobody has judged any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ir_measures

from structformer.corpus import Corpus
from structformer.corpus.storage import write_bytes, write_json
from structformer.errors import ModelError, UsageError
from structformer.evaluation.judgements import Judgements
from structformer.evaluation.significance import holm, randomisation_test
from structformer.graph import ReferenceGraph
from structformer.models.registry import read_record, trained_models
from structformer.retrieval.index import encoder_location
from structformer.retrieval.pipeline import Pipeline, parse_pipeline
from structformer.retrieval.retriever import Retriever
from structformer.sampling import Samples
from structformer.sampling.held_out import held_out_queries

MEASURES = ("nDCG@10", "RR@10", "Success@1")
CAVEAT = (
    "Held-out structure shows whether training on this corpus carries over to documents it was not trained on. Its queries are "
    "titles, paths and link sentences, not what people type, and title and path queries share words with the paths that are indexed."
)
_DEPTH = 100
_CHUNK = 256


@dataclass(slots=True)
class Row:
    """One pipeline's result. scores: mean by measure. against: by the compared pipeline, the difference in the first
    measure and its Holm-corrected p-value."""

    pipeline: str
    label: str
    scores: dict[str, float]
    per_query: dict[str, dict[str, float]]
    against: dict[str, tuple[float, float]] = field(default_factory=dict)


@dataclass(slots=True)
class Evaluation:
    """A comparison of pipelines on the same queries."""

    title: str
    measures: list[str]
    queries: int
    rows: list[Row]
    unknown_documents: list[str]
    unjudged_queries: int
    unasked_queries: int
    caveat: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The comparison as JSON types, without the per-query scores."""
        return {
            "title": self.title,
            "measures": self.measures,
            "queries": self.queries,
            "rows": [
                {
                    "pipeline": row.pipeline,
                    "label": row.label,
                    "scores": row.scores,
                    "against": {name: {"difference": value[0], "p": value[1]} for name, value in row.against.items()},
                }
                for row in self.rows
            ],
            "unknown_documents": self.unknown_documents,
            "unjudged_queries": self.unjudged_queries,
            "unasked_queries": self.unasked_queries,
            "caveat": self.caveat,
        }

    def as_markdown(self) -> str:
        """The comparison as a Markdown table."""
        compared = list(dict.fromkeys(name for row in self.rows for name in row.against))
        head = ["pipeline", *self.measures, *(f"Δ {name} (p)" for name in compared)]
        lines = [f"{self.title}: {self.queries} queries", "", "| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
        for row in self.rows:
            cells = [row.label, *(f"{row.scores[measure]:.4f}" for measure in self.measures)]
            cells += [f"{row.against[name][0]:+.4f} ({row.against[name][1]:.4f})" if name in row.against else "" for name in compared]
            lines.append("| " + " | ".join(cells) + " |")
        if compared:
            lines += ["", f"Δ: difference in {self.measures[0]}; p: paired randomisation test, Holm-corrected over the rows."]
        return "\n".join([*lines, *(["", self.caveat] if self.caveat else [])]) + "\n"


def default_pipelines(workspace: Path) -> list[Pipeline]:
    """BM25, the untrained and the trained dense and hybrid, and reranking, as far as the models are there."""
    pipelines = [Pipeline("lexical")]
    try:
        encoder_location(workspace, "base")
        pipelines += [Pipeline("dense", "base"), Pipeline("hybrid", "base")]
    except ModelError:
        pass
    models = trained_models(workspace)
    encoders = [name for name in models if read_record(workspace, name).kind == "bi-encoder"]
    for encoder in encoders:
        pipelines += [Pipeline("dense", encoder), Pipeline("hybrid", encoder)]
    best = pipelines[-1]
    for name in models:
        if read_record(workspace, name).kind == "cross-encoder":
            pipelines.append(Pipeline(best.first_stage, best.encoder, reranker=name))
    return pipelines


def label(pipeline: Pipeline) -> str:
    """A pipeline's name in tables."""
    encoder = "untrained" if pipeline.encoder == "base" else "trained" if pipeline.encoder == "bi-encoder" else pipeline.encoder
    first = "BM25" if pipeline.first_stage == "lexical" else f"{pipeline.first_stage} {encoder}"
    return first + (f" + {pipeline.reranker}" if pipeline.reranker else "")


def evaluate(
    workspace: str | Path,
    judgements: Judgements,
    *,
    pipelines: Sequence[str | Pipeline] | None = None,
    measures: Sequence[str] = MEASURES,
    title: str = "judged queries",
    caveat: str = "",
    seed: int = 0,
    output: Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Evaluation:
    """Run every pipeline on the judged queries and compare them.

    Unknown document ids in the qrels count as relevant documents that nothing can find, and are listed. With `output`,
    writes runs in TREC's format, report.json and report.md there.
    Raises UsageError on an unknown measure, or when no query has a judgement.
    """
    workspace = Path(workspace)
    parsed = [_measure(name) for name in measures]
    chosen = [parse_pipeline(each) if isinstance(each, str) else each for each in pipelines] if pipelines else default_pipelines(workspace)
    asked = {
        query: text for query, text in judgements.queries.items() if any(grade > 0 for grade in judgements.qrels.get(query, {}).values())
    }
    if not asked:
        raise UsageError("no query has a relevant document in the qrels: do their query ids belong together?")
    retriever = Retriever.open(workspace)
    known = set(Corpus.open(workspace).document_ids())
    unknown = sorted({document for query in asked for document in judgements.qrels[query]} - known)
    qrels = [ir_measures.Qrel(query, document, grade) for query in asked for document, grade in judgements.qrels[query].items()]
    evaluator = ir_measures.evaluator(parsed, qrels)
    rows: list[Row] = []
    for pipeline in chosen:
        run = _run(retriever, pipeline, asked, judgements.exclude, progress)
        per_query: dict[str, dict[str, float]] = {str(measure): dict.fromkeys(asked, 0.0) for measure in parsed}
        scored = [ir_measures.ScoredDoc(query, document, score) for query, ranked in run.items() for document, score in ranked]
        for metric in evaluator.iter_calc(scored):
            per_query[str(metric.measure)][metric.query_id] = metric.value
        scores = {name: sum(values.values()) / len(values) for name, values in per_query.items()}
        rows.append(Row(str(pipeline), label(pipeline), scores, per_query))
        if output:
            _write_run(output / "runs" / f"{len(rows):02}-{_file_name(label(pipeline))}.run", run, label(pipeline))
    _compare(rows, chosen, str(parsed[0]), seed)
    result = Evaluation(
        title, [str(measure) for measure in parsed], len(asked), rows, unknown,
        unjudged_queries=len(judgements.queries) - len(asked),
        unasked_queries=len(set(judgements.qrels) - set(judgements.queries)),
        caveat=caveat,
    )  # fmt: skip
    if output:
        write_json(output / "report.json", {**result.as_dict(), "per_query": {row.label: row.per_query for row in rows}})
        write_bytes(output / "report.md", result.as_markdown().encode())
    return result


def held_out_judgements(workspace: str | Path, *, seed: int | None = None) -> dict[str, Judgements]:
    """Queries from the documents that `sample` held out, by kind. Raises UsageError when it held out none."""
    samples = Samples.open(workspace)
    corpus = Corpus.open(workspace)
    if samples.manifest["corpus"] != corpus.fingerprint:
        raise UsageError("the Examples are of an earlier corpus: run `structformer sample` and `structformer train` again")
    share = samples.manifest["held_out"]
    if not share:
        raise UsageError("no document was held out (a small corpus trains on all); sample with --held-out 0.1 and train again")
    graph = ReferenceGraph.open(workspace, corpus)
    found: dict[str, Judgements] = {}
    for number, query in enumerate(held_out_queries(corpus, graph, seed=samples.manifest["seed"] if seed is None else seed, share=share)):
        judgements = found.setdefault(query.kind, Judgements({}, {}, {}))
        name = f"{query.kind}-{number}"
        judgements.queries[name] = query.text
        judgements.qrels[name] = {query.document_id: 1}
        if query.exclude:
            judgements.exclude[name] = query.exclude
    return found


def _measure(name: str) -> Any:
    try:
        return ir_measures.parse_measure(name)
    except (ValueError, NameError, SyntaxError, KeyError) as error:
        raise UsageError(f"no measure {name!r} (for example nDCG@10, RR@10, Success@1, AP, R@100)") from error


def _run(
    retriever: Retriever,
    pipeline: Pipeline,
    queries: dict[str, str],
    exclude: dict[str, str],
    progress: Callable[[str, int, int], None] | None,
) -> dict[str, list[tuple[str, float]]]:
    """The run, its scores replaced by falling ones, so that no tool breaks ties in another order than the ranking's."""
    run: dict[str, list[tuple[str, float]]] = {}
    names = list(queries)
    for start in range(0, len(names), _CHUNK):
        part = names[start : start + _CHUNK]
        ranked = retriever.rank_documents([queries[name] for name in part], pipeline, _DEPTH + 1)
        for name, documents in zip(part, ranked, strict=True):
            kept = [document for document, _ in documents if document != exclude.get(name)][:_DEPTH]
            run[name] = [(document, float(_DEPTH - place)) for place, document in enumerate(kept)]
        if progress:
            progress(label(pipeline), min(start + _CHUNK, len(names)), len(names))
    return run


def _compare(rows: list[Row], pipelines: Sequence[Pipeline], measure: str, seed: int) -> None:
    """Tests against BM25, and of trained pipelines against their untrained twins."""
    lexical = next((row for row, pipeline in zip(rows, pipelines, strict=True) if pipeline == Pipeline("lexical")), None)
    pairs: dict[str, list[tuple[Row, Row]]] = {"vs BM25": [], "vs untrained": []}
    by_pipeline = {str(pipeline): row for pipeline, row in zip(pipelines, rows, strict=True)}
    for row, pipeline in zip(rows, pipelines, strict=True):
        if lexical is not None and row is not lexical:
            pairs["vs BM25"].append((row, lexical))
        untrained = by_pipeline.get(str(Pipeline(pipeline.first_stage, "base")))
        if pipeline.first_stage != "lexical" and untrained is not None and untrained is not row:
            pairs["vs untrained"].append((row, untrained))
    for name, compared in pairs.items():
        values = []
        for row, other in compared:
            first, second = row.per_query[measure], other.per_query[measure]
            values.append(randomisation_test(list(first.values()), [second[query] for query in first], seed=seed))
        for (row, other), p in zip(compared, holm(values), strict=True):
            row.against[name] = (row.scores[measure] - other.scores[measure], p)


def _write_run(path: Path, run: dict[str, list[tuple[str, float]]], tag: str) -> None:
    lines = (
        f"{query} Q0 {document} {rank} {score:g} {_file_name(tag)}\n"
        for query, ranked in run.items()
        for rank, (document, score) in enumerate(ranked, 1)
    )
    write_bytes(path, "".join(lines).encode())


def _file_name(text: str) -> str:
    return "-".join("".join(c if c.isalnum() else " " for c in text).split()).lower()
