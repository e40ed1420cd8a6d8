"""Evaluation: judgements, runs, measures, significance, reports."""

from typing import TYPE_CHECKING

from structformer.lazy_names import lazy_names

if TYPE_CHECKING:
    from structformer.evaluation.comparison import (
        Comparison,
        Evaluation,
        FoundRun,
        compare_runs,
        default_pipelines,
        evaluate,
        held_out_judgements,
        label,
    )
    from structformer.evaluation.development_queries import named_development, said_of
    from structformer.evaluation.judgements import (
        Judgements,
        is_conteb,
        read_judgements,
        read_queries,
        write_judgements,
    )
    from structformer.evaluation.measures import Measure, own_measures, parse_measure
    from structformer.evaluation.page import write_page
    from structformer.evaluation.reports import Report, ReportRequest, report

__all__ = [
    "Comparison", "Evaluation", "FoundRun", "Judgements", "Measure", "Report", "ReportRequest", "compare_runs",
    "default_pipelines", "evaluate", "held_out_judgements", "is_conteb", "label",
    "named_development", "own_measures", "parse_measure", "read_judgements", "read_queries", "report", "said_of",
    "write_judgements", "write_page",
]  # fmt: skip
__getattr__ = lazy_names(__name__)
