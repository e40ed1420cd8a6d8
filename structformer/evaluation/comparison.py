"""Comparing pipelines and runs on judged queries, or on held-out structure when nobody has judged any."""

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from structformer import notebook
from structformer.corpus import Corpus
from structformer.did_you_mean import checked_options, did_you_mean
from structformer.errors import ModelError, UsageError
from structformer.evaluation.judgements import Judgements
from structformer.evaluation.measures import (
    Evaluator,
    bootstrap_intervals,
    holm,
    parse_measure,
    randomisation_test,
    t_test,
)
from structformer.extras import TORCH, are_installed
from structformer.graph import ReferenceGraph
from structformer.models.kinds import ranker_kind
from structformer.models.registry import read_record, trained_models
from structformer.retrieval.loading import searches_without_torch
from structformer.retrieval.pipeline import as_pipeline, dense, hybrid, lexical, make_stage, rerank, stage_kind
from structformer.retrieval.rankings.run_files import Run, falling_scores, read_run, write_run
from structformer.retrieval.retriever import AnyPipeline, Retriever
from structformer.retrieval.stage import Pipeline, Stage
from structformer.retrieval.vectors.encoder_names import ENCODER, STRUCTURE, UNTRAINED
from structformer.retrieval.vectors.encoder_places import encoder_place
from structformer.sampling import Samples
from structformer.sampling.held_out import held_out_queries, held_out_share
from structformer.storage.files import write_bytes, write_json
from structformer.workspace import Workspace

Ranks = Callable[..., list[list[tuple[str, float]]]]  # `Retriever.rank_documents` or `rank_sections`
MEASURES = ("nDCG@10", "RR@10", "Success@1")
CAVEAT = (
    "Held-out structure shows whether training on this corpus carries over to documents it was "
    "not trained on. Its queries are "
    "titles, paths and link sentences, not what people type, and title and path queries share "
    "words with the paths that are indexed."
)
_DEPTH = 100
_SIGNIFICANT = 0.05
_CHUNK = 256
_LONGEST_NAME = 60  # letters of a run's file, which may be long ones
_BM25 = str(as_pipeline(lexical()))
_BASELINES = (
    _BM25,
    str(as_pipeline(lexical(of="documents"))),
    str(as_pipeline(dense(UNTRAINED))),
    str(as_pipeline(hybrid(UNTRAINED, weights="rrf"))),
)
_LABELS = {
    **dict(zip(_BASELINES, ("BM25", "BM25 of documents", "dense untrained", "RRF untrained"), strict=True)),
    str(as_pipeline(dense(STRUCTURE))): "structure alone",
    str(as_pipeline(hybrid(STRUCTURE))): "structure and words",
    str(as_pipeline(hybrid(UNTRAINED))): "hybrid untrained",
    str(as_pipeline(dense(ENCODER))): "dense trained",
    str(as_pipeline(hybrid(ENCODER))): "hybrid trained",
    str(as_pipeline(hybrid(ENCODER, weights="rrf"))): "RRF trained",
}
BEST_BASELINE = "best baseline"


@dataclass(frozen=True, slots=True)
class Tested:
    """A difference in a measure, and whether it is more than chance."""

    difference: float
    p: float
    """From the paired randomisation test, Holm-corrected over the rows."""
    t_test_p: float
    """From the paired t-test, corrected likewise."""


@dataclass(slots=True)
class Row:
    """One pipeline's result."""

    pipeline: str
    label: str
    scores: dict[str, float]
    """Means by measure."""
    per_query: dict[str, dict[str, float]]
    run: Run
    intervals: dict[str, tuple[float, float]]
    """95 % bootstrap intervals by measure."""
    against: dict[str, tuple[float, float]] = field(default_factory=dict)
    """By the name of what it is compared with, the difference in the first measure and its Holm-corrected p-value."""
    tests: dict[str, dict[str, Tested]] = field(default_factory=dict)
    """By the same name and by measure."""

    @property
    def interval(self) -> tuple[float, float]:
        """The interval of the first measure."""
        return next(iter(self.intervals.values()))

    def as_dict(self) -> dict[str, Any]:
        """Return the row as JSON types, without its run and the per-query scores."""
        return {
            **{name: getattr(self, name) for name in ("pipeline", "label", "scores", "interval", "intervals")},
            "against": {name: {"difference": value, "p": p} for name, (value, p) in self.against.items()},
            "tests": {name: {each: asdict(test) for each, test in tests.items()} for name, tests in self.tests.items()},
        }


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A run and the pipeline that found it."""

    pipeline: str
    label: str
    """Its name in tables."""
    run: Run


@dataclass(slots=True)
class Evaluation:
    """A comparison of pipelines on the same queries."""

    title: str
    measures: list[str]
    judgements: Judgements
    rows: list[Row]
    unknown_documents: list[str]
    unjudged_queries: list[str]
    unasked_queries: list[str]
    own_documents: list[str] = field(default_factory=list)
    """Queries for which the document of their own id was left out, as in BEIR."""
    caveat: str = ""
    baseline: str = ""
    """Label of the best row among BM25 (of sections or of whole documents), the untrained dense search and reciprocal
    rank fusion; "" without any of them."""

    @property
    def queries(self) -> int:
        """How many queries were asked."""
        return len(next(iter(self.rows[0].per_query.values()))) if self.rows else 0

    def _repr_html_(self) -> str:
        rows = [[notebook.text(row.label), *self.cells(row)] for row in self.rows]
        heads = ["", *self.measures, "95 % interval", *(f"against {name}" for name in self.compared())]
        return notebook.box(
            f"{self.title}: {notebook.count_of(self.queries, 'query', 'queries')}",
            notebook.table(heads, rows),
            notebook.note(self.caveat) if self.caveat else "",
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON types, without the per-query scores."""
        lists = ("unknown_documents", "unjudged_queries", "unasked_queries", "own_documents")
        names = ("title", "measures", "queries", "baseline", "caveat", *lists)
        return {**{name: getattr(self, name) for name in names}, "rows": [row.as_dict() for row in self.rows]}

    def cells(self, row: Row) -> list[str]:
        """A row's scores, the first one's interval, and the difference and p of each comparison, as pages show them."""
        scores, (low, high) = [f"{row.scores[measure]:.3f}" for measure in self.measures], row.interval
        against = (row.against.get(name) for name in self.compared())
        return [*scores, f"{low:.3f}–{high:.3f}", *(f"{it[0]:+.3f} (p {it[1]:.4f})" if it else "" for it in against)]

    def compared(self) -> list[str]:
        """Return names of what the rows are compared with."""
        return list(dict.fromkeys(name for row in self.rows for name in row.against))

    def note(self) -> str:
        """Describe the columns."""
        parts = [f"95 %: bootstrap interval of {self.measures[0]}."]
        if self.compared():
            parts.append(
                f"vs: difference in {self.measures[0]}; p: paired randomisation test, Holm-corrected over the rows."
            )
        if f"vs {BEST_BASELINE}" in self.compared():
            parts.append(f"The best of BM25 (of sections, of documents), dense untrained and RRF: {self.baseline}.")
        return " ".join(parts)

    def _mark(self, row: Row, measure: str) -> str:
        test = row.tests.get(self.compared()[0], {}).get(measure) if self.compared() else None
        return "*" if test is not None and test.p < _SIGNIFICANT else ""

    def as_markdown(self) -> str:
        """Return the comparison as a Markdown table."""
        compared = self.compared()
        rows = [["pipeline", *self.measures, "95 %", *(f"{name} (p)" for name in compared)]]
        for row in self.rows:
            scores = [f"{row.scores[measure]:.4f}{self._mark(row, measure)}" for measure in self.measures]
            tests = [row.against.get(name) for name in compared]
            against = (f"{test[0]:+.4f} ({test[1]:.4f})" if test else "" for test in tests)
            rows.append([row.label, *scores, _ends(row.interval), *against])
        starred = f" *: p < .05 in that measure against {compared[0].removeprefix('vs ')}." if compared else ""
        parts = [f"{self.title}: {self.queries} queries", _markdown(rows), self.note() + starred]
        if len(self.measures) > 1:
            intervals = ([row.label, *map(_ends, row.intervals.values())] for row in self.rows)
            parts.append(_markdown([["95 %", *self.measures], *intervals]))
        return "\n\n".join([*parts, *filter(None, [self.caveat])]) + "\n"

    def row(self, name: str) -> Row:
        """Return a row by its label or its pipeline. Raises UsageError."""
        match = next((row for row in self.rows if name in (row.label, row.pipeline)), None)
        if match is None:
            raise UsageError(f"no row {name!r}; {did_you_mean(name, (row.label for row in self.rows))}")
        return match


def _ends(interval: tuple[float, float]) -> str:
    return f"{interval[0]:.3f}-{interval[1]:.3f}"


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    """Return a table, its head first."""
    head, *others = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([head, "|" + "---|" * len(rows[0]), *others])


@dataclass(frozen=True, slots=True)
class Comparison:
    """How runs are compared; see `evaluate`."""

    measures: tuple[str, ...] = MEASURES
    against: tuple[str, ...] = ()
    standard: bool = True
    title: str = "judged queries"
    caveat: str = ""
    seed: int = 0
    output: Path | None = None


def default_pipelines(workspace: Workspace) -> list[Pipeline]:
    """The standard pipelines, as far as models are there, without torch those exported and indexed: BM25 of sections
    and documents, static, untrained dense, RRF and hybrid, trained ones, late interaction, rerankers.
    """
    stages: list[Stage] = [lexical(), lexical(of="documents")]
    torch = are_installed(*TORCH)
    models = [name for name in trained_models(workspace) if torch or searches_without_torch(workspace, name)]
    if STRUCTURE in models:
        models.remove(STRUCTURE)
        stages += [dense(STRUCTURE), hybrid(STRUCTURE)]
    try:
        encoder_place(workspace, UNTRAINED)
        if torch or searches_without_torch(workspace, UNTRAINED):
            stages += [dense(UNTRAINED), hybrid(UNTRAINED, weights="rrf"), hybrid(UNTRAINED)]
    except ModelError:
        pass
    kinds = {name: ranker_kind(read_record(workspace, name).kind) for name in models}
    alone: list[Stage] = []
    by_vectors = [name for name, kind in kinds.items() if kind.first_stage and stage_kind(kind.first_stage).vectors]
    for name in sorted(models, key=lambda name: (name != ENCODER, name)):
        if name in by_vectors:  # words can be added to it
            stages += [dense(name), hybrid(name)]
        elif kinds[name].first_stage:
            alone.append(make_stage(kinds[name].first_stage, name))
    default = hybrid(ENCODER) if ENCODER in by_vectors else stages[-1]
    pipelines = [as_pipeline(stage) for stage in (*stages, *alone)]
    return pipelines + [default >> rerank(name) for name in models if kinds[name].joint and torch]


def label(pipeline: Pipeline) -> str:
    """Return a pipeline's name in tables."""
    first, *others = pipeline.stages
    names = (stage.model if stage.kind.ranks else str(stage) for stage in others)
    return " + ".join((_LABELS.get(str(first), str(first)), *names))


@checked_options(queries="judgements", qrels="judgements", metrics="measures")
def evaluate(
    workspace: str | Path | Workspace,
    judgements: Judgements,
    *,
    pipelines: Sequence[AnyPipeline] | None = None,
    labels: Sequence[str] = (),
    runs: Sequence[Path] = (),
    ensembles: Mapping[str, Sequence[str]] | None = None,
    measures: Sequence[str] = MEASURES,
    against: Sequence[AnyPipeline] = (),
    standard: bool = True,
    title: str = "judged queries",
    caveat: str = "",
    seed: int = 0,
    output: Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Evaluation:
    """Run every pipeline on the judged queries and compare them, with each other and with run files.

    Documents are judged by their ids, or sections by id#anchor. Unknown ids in the qrels count as relevant documents
    that nothing can find, and are listed; so are judged queries that are not there. labels: names of the pipelines in
    the table. ensembles: by the name of a row, the labels of the rows whose ranks it averages. against: pipelines that
    the others are compared with; `standard` adds BM25 and the best baseline, as far as they are among them. With
    `output`, writes runs in TREC's format, report.json, report.md and by_query.tsv there. Raises UsageError on an
    unknown measure, or when no query has a judgement."""
    workspace, watched = Workspace(workspace), notebook.notebook_progress(progress) or (lambda row, done, total: None)
    # A wrong name fails before the work begins.
    Evaluator([parse_measure(name) for name in measures], judgements.qrels, judgements.subtopics)
    retriever = Retriever.open(workspace)
    chosen = [retriever.pipeline(each) for each in pipelines] if pipelines is not None else default_pipelines(workspace)
    if not labels:  # what is written in two ways may be one search
        chosen = list(dict.fromkeys(chosen))
    compared = [retriever.pipeline(each) for each in against]
    chosen += [each for each in compared if each not in chosen]
    asked = judgements.asked()
    names = [*labels, *(label(each) for each in chosen[len(labels) :])]
    corpus = Corpus.open(workspace)
    known = set(corpus.document_ids())
    rank: Ranks = retriever.rank_documents
    if judgements.are_of_sections(known):
        rank = retriever.rank_sections
        judgements = _by_sections(judgements, corpus, known)
        known = {unit.section_id for unit in retriever.units}
    found_runs = [
        FoundRun(str(each), name, _run(rank, each, asked, judgements.exclude, partial(watched, name)))
        for each, name in zip(chosen, names, strict=True)
    ]
    for path in runs:
        tag, run = read_run(path)
        asked_run = {query: run[query] for query in asked if query in run}
        _check_shared(path, asked_run, asked, known)
        found_runs.append(FoundRun(str(path), f"{tag} ({path.name})", asked_run))
    runs_by_label = {each.label: each.run for each in found_runs}
    for name, members in (ensembles or {}).items():
        run = average_ranks([runs_by_label[member] for member in members])
        found_runs.append(FoundRun(f"ensemble of {', '.join(members)}", name, run))
    how = Comparison(tuple(measures), tuple(map(str, compared)), standard, title, caveat, seed, output)
    unknown = sorted({document for query in asked for document in judgements.qrels[query]} - known)
    own = [query for query in asked if judgements.exclude.get(query) == query and query in known]
    return compare_runs(found_runs, judgements, how, unknown=unknown, own=own)


def _by_sections(judgements: Judgements, corpus: Corpus, known: Collection[str]) -> Judgements:
    """Judgements of sections by the anchors that hits have: a section may have several, as of what it defines."""
    own: dict[str, str] = {}
    for document in {name.partition("#")[0] for grades in judgements.qrels.values() for name in grades} & set(known):
        for section in corpus.document(document).sections():
            own |= {f"{document}#{anchor}": f"{document}#{section.anchors[0]}" for anchor in section.anchors}
    return judgements.renamed(lambda name: own.get(name, name))


def _check_shared(path: Path, run: Run, asked: Collection[str], known: Collection[str]) -> None:
    """Warn if a run lacks queries or names unknown documents. Raises UsageError if it has none of the corpus's."""
    documents = {document for ranked in run.values() for document, _ in ranked}
    there = documents.intersection(known)
    problem = f"{path} has rankings for {len(run)} of {len(asked)} queries"
    if documents:
        problem += f"; {len(documents) - len(there)} of its {len(documents)} documents are not in the corpus"
    if not there:
        raise UsageError(problem)
    if len(run) < len(asked) or len(there) < len(documents):
        warnings.warn(problem, stacklevel=3)


def average_ranks(runs: Sequence[Run]) -> Run:
    """Systems' mean ranks; a document one did not find counts as after its last (HARP's ensembles, table 3)."""
    averaged: Run = {}
    for query in dict.fromkeys(query for run in runs for query in run):
        ranks = [{name: place for place, (name, _) in enumerate(run.get(query, ()), 1)} for run in runs]
        names = dict.fromkeys(name for places in ranks for name in places)
        means = {name: sum(places.get(name, len(places) + 1) for places in ranks) / len(runs) for name in names}
        ordered = sorted(means, key=lambda name: (means[name], name))[:_DEPTH]
        averaged[query] = [(name, float(_DEPTH - place)) for place, name in enumerate(ordered)]
    return averaged


def compare_runs(
    found_runs: Sequence[FoundRun],
    judgements: Judgements,
    how: Comparison,
    *,
    unknown: Sequence[str] = (),
    own: Sequence[str] = (),
) -> Evaluation:
    """Measure runs on the same judged queries and compare them; see `evaluate`, which makes the runs. unknown: judged
    documents that are not in the corpus; own: queries whose own document was left out.
    """
    parsed = [parse_measure(name) for name in how.measures]
    asked = judgements.asked()
    evaluator = Evaluator(parsed, {query: judgements.qrels[query] for query in asked}, judgements.subtopics)
    rows: list[Row] = []
    for each in found_runs:
        per_query: dict[str, dict[str, float]] = {str(measure): dict.fromkeys(asked, 0.0) for measure in parsed}
        for measure, query, value in evaluator.values(each.run):
            per_query[measure][query] = value
        scores = {measure: sum(values.values()) / len(values) for measure, values in per_query.items()}
        ends = bootstrap_intervals([list(values.values()) for values in per_query.values()], seed=how.seed)
        intervals = dict(zip(per_query, ends, strict=True))
        rows.append(Row(each.pipeline, each.label, scores, per_query, each.run, intervals))
        if how.output:
            name = "-".join("".join(c if c.isalnum() else " " for c in each.label).split()).lower()[:_LONGEST_NAME]
            write_run(how.output / "runs" / f"{len(rows):02}-{name}.run", each.run, name)
    result = Evaluation(
        how.title,
        [str(measure) for measure in parsed],
        judgements,
        rows,
        list(unknown),
        unjudged_queries=sorted(set(judgements.queries) - set(asked)),
        unasked_queries=sorted(set(judgements.qrels) - set(judgements.queries)),
        own_documents=list(own),
        caveat=how.caveat,
    )
    _compare(result, how)
    if how.output:
        write_json(
            how.output / "report.json", {**result.as_dict(), "per_query": {row.label: row.per_query for row in rows}}
        )
        write_bytes(how.output / "report.md", result.as_markdown().encode())
        write_by_query(how.output / "by_query.tsv", result)
    return result


def held_out_judgements(workspace: str | Path | Workspace) -> dict[str, Judgements]:
    """Queries from the documents that `sample` held out, by kind; without Examples, from those that query-side training
    with the seed 0 holds out. Raises UsageError when none are.
    """
    workspace = Workspace(workspace)
    corpus = Corpus.open(workspace)
    share, drawn_with = held_out_share(corpus.document_count), 0
    if workspace.has("samples"):
        manifest = Samples.open(workspace).manifest
        if manifest["corpus"] != corpus.fingerprint:
            raise UsageError(
                "the Examples are of an earlier corpus: run `structformer sample` and `structformer train` again"
            )
        share, drawn_with = manifest["held_out"], manifest["seed"]
    if not share:
        raise UsageError(
            "no document was held out (in a small corpus training uses all); sample with --held-out 0.1 and train again"
        )
    graph = ReferenceGraph.open(workspace, corpus)
    by_task: dict[str, Judgements] = {}
    for number, query in enumerate(held_out_queries(corpus, graph, seed=drawn_with, share=share)):
        judgements = by_task.setdefault(query.kind, Judgements({}, {}))
        name = f"{query.kind}-{number}"
        judgements.queries[name] = query.text
        judgements.qrels[name] = {query.document_id: 1}
        if query.exclude:
            judgements.exclude[name] = query.exclude
    return by_task


def _run(
    rank: Ranks,
    pipeline: Pipeline,
    queries: dict[str, str],
    exclude: dict[str, str],
    progress: Callable[[int, int], None],
) -> Run:
    """Return the run, with the scores that ranked."""
    run: Run = {}
    names = list(queries)
    progress(0, len(names))
    for start in range(0, len(names), _CHUNK):
        part = names[start : start + _CHUNK]
        ranked = rank([queries[name] for name in part], pipeline, _DEPTH + 1, names=part)
        for name, documents in zip(part, ranked, strict=True):
            kept = [each for each in documents if each[0] != exclude.get(name)][:_DEPTH]
            run[name] = falling_scores(kept)
        progress(min(start + _CHUNK, len(names)), len(names))
    return run


def _compare(result: Evaluation, how: Comparison) -> None:
    """Tests against BM25, the best baseline, and the rows asked for."""
    first = result.measures[0]
    by_pipeline = {row.pipeline: row for row in result.rows}
    wanted: dict[str, Row] = {}
    if how.standard and _BM25 in by_pipeline:
        wanted["vs BM25"] = by_pipeline[_BM25]
    baselines = [by_pipeline[name] for name in _BASELINES if name in by_pipeline]
    if how.standard and len(baselines) > 1:
        best = max(baselines, key=lambda row: row.scores[first])
        result.baseline = best.label
        wanted[f"vs {BEST_BASELINE}"] = best
    wanted.update({f"vs {by_pipeline[name].label}": by_pipeline[name] for name in how.against})
    for name, other in wanted.items():
        rows = [row for row in result.rows if row is not other]
        for measure in result.measures:
            theirs = other.per_query[measure]
            pairs = [
                (list(row.per_query[measure].values()), [theirs[query] for query in row.per_query[measure]])
                for row in rows
            ]
            drawn = holm([randomisation_test(mine, second, seed=how.seed) for mine, second in pairs])
            by_t = holm([t_test(mine, second) for mine, second in pairs])
            for row, p, t_test_p in zip(rows, drawn, by_t, strict=True):
                test = Tested(row.scores[measure] - other.scores[measure], p, t_test_p)
                row.tests.setdefault(name, {})[measure] = test
                if measure == first:
                    row.against[name] = test.difference, test.p


def write_by_query(path: Path, result: Evaluation) -> None:
    """Write every query's score of every row and measure, separated by tabs."""
    lines = ["\t".join(("query", "row", *result.measures))]
    for row in result.rows:
        for query in row.per_query[result.measures[0]]:
            scores = (f"{row.per_query[measure][query]:.4f}" for measure in result.measures)
            lines.append("\t".join((query, row.label, *scores)))
    write_bytes(path, ("\n".join(lines) + "\n").encode())
