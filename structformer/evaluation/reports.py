"""A whole evaluation, its page and its runs; and the gate: whether a search is good enough and no worse than it was."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structformer.errors import UsageError
from structformer.evaluation.asked_openings import evaluate_by_structure
from structformer.evaluation.comparison import CAVEAT, Comparison, Evaluation, Row, evaluate, held_out_judgements
from structformer.evaluation.judgements import Judgements
from structformer.evaluation.measures import Evaluator, bootstrap_intervals, parse_measure, randomisation_test
from structformer.evaluation.page import Difference, difference, texts_of, write_page
from structformer.extras import TORCH, are_installed, needed_for, needs
from structformer.retrieval.curated import curated_file
from structformer.retrieval.rankings.run_files import Run, read_run
from structformer.retrieval.retriever import Retriever
from structformer.retrieval.stage import Pipeline
from structformer.retrieval.vectors.encoder_names import UNTRAINED
from structformer.text.lines import as_number
from structformer.workspace import Workspace, check_folder, dated_name, new_folder

_TEXTS = 15  # words of a document beside a difference
TOLERANCE = 0.05
_SIGNIFICANT = 0.05
_ROUNDING = 1e-9  # a mean of many sevenths may end just below 0.7


@dataclass(frozen=True, slots=True)
class ReportRequest:
    """A comparison to make: pipelines, queries, bounds."""

    judged: Sequence[tuple[str, Judgements]] = ()
    """Judged queries, each with a title. Without them, and without `held_out_structure`, openings are asked."""
    held_out_structure: bool = False
    """Also ask openings, titles, paths and link sentences of held-out documents."""
    pipelines: Sequence[str] = ()
    """Pipelines to compare; none: all."""
    runs: Sequence[Path] = ()
    """TREC run files to compare."""
    against: Sequence[str] = ()
    """Pipelines that all others are tested against."""
    diff: tuple[str, str] | None = None
    """Two labels or pipelines: where the second wins and loses against the first."""
    measures: Sequence[str] = ("nDCG@10", "RR@10", "Success@1")
    """Measures of ir-measures."""
    at_least: Sequence[str] = ()
    """Bounds that the checked pipeline must hold: 0.7 of the first measure, or RR@10>=0.6."""
    no_worse_than: Path | None = None
    """An earlier TREC run that the checked pipeline must not be worse than."""
    tolerance: float = TOLERANCE
    """How much lower than `no_worse_than` the first measure may be if that may be chance."""
    seed: int = 0
    """Of the randomisation test."""

    def check(self) -> None:
        """Raise UsageError on what does not go together."""
        judged = bool(self.judged)
        if not judged and not self.held_out_structure and (self.pipelines or self.runs or self.against or self.diff):
            raise UsageError(
                "give --queries and --qrels, --beir, --dataset, or --held-out-structure: without them the standard "
                "ways to search are compared, on openings of documents"
            )
        if self.no_worse_than and (self.held_out_structure or not judged):
            raise UsageError("--no-worse-than needs judged queries: those drawn from a corpus change with it")


@dataclass(frozen=True, slots=True)
class Check:
    """The outcome of one check."""

    passed: bool
    summary: str
    """In words."""
    figures: dict[str, Any]
    """The same as JSON types."""


@dataclass(slots=True)
class Report:
    """The results of an evaluation."""

    folder: Path
    """Where the runs, report.json, report.md and report.html are."""
    results: list[Evaluation]
    """A comparison for each set of queries."""
    checked: str
    """The pipeline that the gate looks at."""
    differences: list[tuple[Difference, dict[str, str]]] = field(default_factory=list)
    """Differences that `diff` asked for, for each of the results, with the first words of the documents in it."""
    checks: list[tuple[str, str, Check]] = field(default_factory=list)
    """(title, label of the pipeline, what its check came to)."""

    @property
    def unknown_documents(self) -> list[str]:
        """Judged documents that the corpus does not have."""
        return sorted({document for result in self.results for document in result.unknown_documents})

    @property
    def unasked_queries(self) -> list[str]:
        """Judged queries that are not among the queries."""
        return sorted({query for result in self.results for query in result.unasked_queries})

    @property
    def passed(self) -> bool:
        """Whether all judgements could be used, and the gate lets the search through."""
        return not (self.unknown_documents or self.unasked_queries) and all(each.passed for _, _, each in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """Return the same as JSON types."""
        return {
            "folder": str(self.folder),
            "results": [result.as_dict() for result in self.results],
            "differences": [each.as_dict() for each, _ in self.differences],
            "checks": [
                {"title": title, "pipeline": self.checked, "passed": each.passed, "said": each.summary, **each.figures}
                for title, _, each in self.checks
            ],
        }


def report(
    workspace: str | Path | Workspace,
    request: ReportRequest,
    folder: Path | None = None,
    *,
    name: str | None = None,
    force: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
    say: Callable[[str], object] = lambda message: None,
    beside: Callable[[Path], object] = lambda made: None,
) -> Report:
    """Compare, and write the report into `folder`, else into the workspace's evaluation of that `name` (the date and
    time).

    force: also over an earlier one. say: remarks on what could not be compared. beside: adds files to the folder before
    it is put in place. Raises UsageError on what does not go together or must not be written, WorkspaceError without an
    index."""
    place = Workspace(workspace)
    target = folder or place.evaluation(name or dated_name())
    own = folder is None
    check_folder(target, place, force=force, own=own)  # before minutes of work
    request.check()
    names = [each.strip() for each in request.measures if each.strip()]
    measured = [str(parse_measure(each)) for each in names]
    bounds = [bound(each, *measured[:1] or [""]) for each in request.at_least]
    earlier = read_run(request.no_worse_than)[1] if request.no_worse_than else {}
    names += dict.fromkeys(measure for measure, _ in bounds if measure not in measured)
    retriever = Retriever.open(place)
    if curated_file(place):
        say(str(retriever.opened.curated))
    # Before anything is asked: what is compared may get its vectors only now, and would change what `search` uses.
    compared: list[Pipeline | str] = []
    for part in request.diff or ():
        try:
            compared.append(retriever.pipeline(part))
        except UsageError:
            compared.append(part)  # the label of a row
    own_rows = [part for part in compared if not isinstance(part, str)]
    chosen = [*map(retriever.pipeline, request.pipelines), *own_rows] if request.pipelines else None
    checked = str(chosen[0] if chosen else retriever.default_pipeline())
    with new_folder(target, place, force=force, own=own) as made:
        results = _results(retriever, request, names, chosen, made, progress, say)
        compared_results = [difference(result, *map(str, compared)) for result in results] if compared else []
        differences = [(each, texts_of(each, retriever.documents, _TEXTS)) for each in compared_results]
        write_page(made / "report.html", results, differences)
        beside(made)
    checks: list[tuple[str, str, Check]] = []
    for result in results if bounds or request.no_worse_than else ():
        row = result.row(checked)
        outcomes = [at_least(row, *each) for each in bounds]
        if request.no_worse_than:
            outcomes.append(no_worse(result, row, request.no_worse_than, earlier, request.tolerance, request.seed))
        checks += [(result.title, row.label, each) for each in outcomes]
    return Report(target, results, checked, differences, checks)


def _results(
    retriever: Retriever,
    request: ReportRequest,
    measures: Sequence[str],
    pipelines: Sequence[Pipeline] | None,
    folder: Path,
    progress: Callable[[int, int], None],
    say: Callable[[str], object],
) -> list[Evaluation]:
    """Return a comparison for each set of queries; of openings if no other set is given."""
    workspace = retriever.workspace
    ids = {document.id for document in retriever.documents}
    sets = [(title, judgements, "") for title, judgements in request.judged]
    for title, judgements in request.judged:
        if judgements.are_of_sections(ids):
            sets.append((f"{title}, documents", judgements.of_documents(), ""))
    if request.held_out_structure:
        sets += [
            (f"held-out structure, {kind} queries", judgements, CAVEAT)
            for kind, judgements in held_out_judgements(workspace).items()
        ]
    against = [retriever.pipeline(each) for each in request.against]
    results: list[Evaluation] = []
    if not request.judged and pipelines is None:
        openings = folder / "openings" if sets else folder
        try:
            compare = _openings_compared(retriever, say)
            how = Comparison(tuple(measures), seed=request.seed, output=openings)
            results.append(compare(workspace, how, progress))
        except UsageError as error:
            if not sets:
                raise
            say(str(error))
    for number, (title, judgements, caveat) in enumerate(sets, 1):
        results.append(
            evaluate(
                workspace,
                judgements,
                pipelines=pipelines,
                runs=request.runs,
                measures=measures,
                against=against,
                title=title,
                caveat=caveat,
                seed=request.seed,
                output=folder if len(sets) + len(results) == 1 else folder / f"{number}",
                progress=lambda _, done, total: progress(done, total),
            )
        )
    return results


def _openings_compared(retriever: Retriever, say: Callable[[str], object]) -> Callable[..., Evaluation]:
    """The comparison on openings: with the untrained encoder, or without it by words and structure, with a remark."""
    torch, opened = are_installed(*TORCH), retriever.opened
    if opened.has_structure and not (torch and opened.index.has_vectors(UNTRAINED)):
        indexing = f"`structformer index -w {retriever.workspace} --encoder structure --encoder base`"
        left_out = f"pretrained encoders are left out of this comparison: {indexing} makes vectors to ask"
        say(left_out if torch else needs("comparing pretrained encoders too", TORCH))
        return evaluate_by_structure
    with needed_for("comparing ways to search on openings"):
        from structformer.evaluation.held_out_openings import evaluate_openings
    return evaluate_openings


def bound(text: str, first: str) -> tuple[str, float]:
    """Return (measure, the least that its mean may be) of `0.7`, for the first measure, or `RR@10>=0.6`. Raises
    UsageError.
    """
    name, sign, number = text.rpartition(">=")
    try:
        least = as_number(number)
    except ValueError:
        least = math.nan
    if math.isnan(least) or (sign and not name.strip()):
        raise UsageError(f"{text!r} is not a bound: write 0.7, or a measure with its bound, as RR@10>=0.6")
    return str(parse_measure(name.strip())) if sign else first, least


def at_least(row: Row, measure: str, least: float) -> Check:
    """Check a row of an evaluation by a bound."""
    score, (low, high) = row.scores[measure], row.intervals[measure]
    passed = score >= least - _ROUNDING
    queries = len(row.per_query[measure])
    end = f"at least {least:g}" if passed else f"{least - score:.3f} under {least:g}"
    outcome = f"{measure} is {score:.3f} [{low:.3f}, {high:.3f}] on {_counted(queries)}: {end}"
    figures = {"measure": measure, "value": score, "interval": [low, high], "least": least}
    return Check(passed, outcome, {**figures, "queries": queries})


def no_worse(result: Evaluation, row: Row, path: Path, earlier: Run, tolerance: float, seed: int) -> Check:
    """Check a row by an earlier run, on the queries that this has: one that came later would count as never answered by
    it. tolerance: how much lower the row may be if that may be chance. Raises UsageError where it has none of them.
    """
    measure = result.measures[0]
    now = {query: value for query, value in row.per_query[measure].items() if query in earlier}
    if not now:
        raise UsageError(f"{path} has none of the queries of {result.title}")
    judged, run = result.judgements, {query: earlier[query] for query in now}
    evaluator = Evaluator([parse_measure(measure)], {query: judged.qrels[query] for query in now}, judged.subtopics)
    before = dict.fromkeys(now, 0.0) | {query: value for _, query, value in evaluator.values(run)}
    changes = [now[query] - before[query] for query in now]
    change = sum(changes) / len(changes)
    [(low, high)] = bootstrap_intervals([changes], seed=seed)
    p = randomisation_test(list(now.values()), [before[query] for query in now], seed=seed)
    significant = p < _SIGNIFICANT
    passed = change >= 0 or not (significant or -change > tolerance + _ROUNDING)
    how = f"{'no worse' if passed else 'worse'} than in {path}: {change:+.3f}"
    missing = len(row.per_query[measure]) - len(now)
    end = f", p = {p:.3f}" + ("" if passed or significant else f"; more than {tolerance:g} lower")
    end += f"; {_counted(missing)} not in that run left out" if missing else ""
    outcome = f"{measure} is {how} [{low:+.3f}, {high:+.3f}] on {_counted(len(now))}{end}"
    figures = {"measure": measure, "earlier": str(path), "difference": change, "interval": [low, high], "p": p}
    return Check(passed, outcome, {**figures, "tolerance": tolerance, "queries": len(now)})


def _counted(queries: int) -> str:
    return f"{queries} quer{'y' if queries == 1 else 'ies'}"
