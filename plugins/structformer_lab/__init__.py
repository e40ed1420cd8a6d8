"""Experiments: variants of a training that a TOML file describes, the tables of the papers among them; fine-tuning and
distillation; judgements by a language model; the stage that starts from a run file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from structformer.lazy_names import lazy_names
from structformer.plugins import hookimpl

if TYPE_CHECKING:
    from structformer.retrieval import StageKind

    from structformer_lab.model_answers import AnswerJournal, Prompt, patient_model, tokens

__all__ = ["AnswerJournal", "Prompt", "patient_model", "tokens"]
__getattr__ = lazy_names(__name__)

_COMMANDS = {
    "finetune": "Train on queries and judgements of your own.",
    "distill": "Teach a fast ranker what a trained cross-encoder knows.",
    "pretrain": "Teach an encoder the structure of many corpora, for use on any.",
    "report": "Write a page with a training run's curves and scores.",
    "judge": "Have a language model judge the first pages of several pipelines.",
    "experiment": "Train and compare variants that a TOML file describes.",
    "benchmark": "Compare pipelines on all sets of NanoBEIR, and their mean.",
}


@hookimpl
def structformer_stages() -> list[StageKind]:
    from structformer_lab.stages import BM25, QUERY_LIKELIHOOD, RUN, TF_IDF

    return [BM25, QUERY_LIKELIHOOD, TF_IDF, RUN]


@hookimpl
def structformer_commands(app: Any) -> None:
    for name, help_line in _COMMANDS.items():
        app.add_lazy(name, f"structformer_lab.commands.{name}:command", help_line, "Research")
