"""The judged queries that a training's options name to choose its checkpoint by."""

from pathlib import Path

from structformer.evaluation.judgements import read_queries
from structformer.retrieval.rankings.run_files import read_qrels, read_run
from structformer.training import TrainingOptions
from structformer.training.judged.development import JudgedCandidates, judged_development
from structformer.workspace import Workspace


def named_development(workspace: str | Path | Workspace, options: TrainingOptions) -> JudgedCandidates | None:
    """The queries with their candidates; None if the options name none. workspace: whose documents are judged, where
    the options name no other. Raises UsageError, as on a file that cannot be read.
    """
    if options.dev_queries is None or options.dev_qrels is None:
        return None
    queries, qrels = read_queries(Path(options.dev_queries)), read_qrels(Path(options.dev_qrels))
    run = read_run(Path(options.dev_candidates))[1] if options.dev_candidates else None
    return judged_development(options.dev_workspace or workspace, queries, qrels, run=run)


def said_of(judged: JudgedCandidates) -> str:
    """Return a line that says how they choose."""
    candidates = sum(map(len, judged.candidates))
    return f"the checkpoint is chosen by {judged.measure} of {len(judged.queries)} queries, {candidates} candidates"
