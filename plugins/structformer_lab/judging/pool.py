"""The pool that is judged: each query's first documents of several pipelines, with what shows best what they say."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from structformer.evaluation import FoundRun, Judgements, label
from structformer.retrieval import Pipeline, Retriever

from structformer_lab.judging.agreement import agreement
from structformer_lab.judging.grading import Template, grade_of
from structformer_lab.model_answers import AnswerJournal, Progress, Prompt, tokens
from structformer_web import LanguageModel

_DEPTH = 100  # documents of a run
_PASSAGES = 2  # of a document that are shown
_BATCH = 64
_TOKENS_OF_A_GRADE = 4  # for the estimate


@dataclass(frozen=True)
class Pool:
    """Queries with the documents that pipelines found for them, and the model that grades these."""

    queries: dict[str, str]
    runs: list[FoundRun]
    prompts: dict[tuple[str, str], Prompt]
    """By query id and document id; those of the same query and text are equal."""
    model: LanguageModel
    cache: Path
    """The folder of the journals of answers, one for each model."""

    @property
    def journal(self) -> AnswerJournal:
        """Return where the model's grades are kept."""
        name = f"judged-{hashlib.sha256(self.model.name.encode()).hexdigest()[:12]}.jsonl"
        return AnswerJournal(self.cache / name, "grade", grade_of)

    @cached_property
    def missing(self) -> dict[str, Prompt]:
        """Return the prompts that have no answer yet, by their keys: all, as long as the model has no name."""
        answers = self.journal.answers() if self.model.name else {}
        return {each.key: each for each in self.prompts.values() if each.key not in answers}

    def cost(self) -> dict[str, int]:
        """Return how much is asked: queries, pages, requests, and about how many tokens."""
        sent = tokens(sum(len(message["content"]) for each in self.missing.values() for message in each.messages))
        counts = {"queries": len(self.queries), "pages": len(self.prompts), "requests": len(self.missing)}
        return {**counts, "tokens_sent": sent, "tokens_back": len(self.missing) * _TOKENS_OF_A_GRADE}

    def ask(self, at_once: int | None, progress: Progress) -> str:
        """Ask for the grades that are missing, as `AnswerJournal.ask` does."""
        return self.journal.ask(self.model, iter(self.missing.values()), len(self.missing), at_once, progress)

    def judgements(self) -> Judgements:
        """Return the model's grades."""
        answers = self.journal.answers()
        qrels: dict[str, dict[str, int]] = {}
        for (query, document), prompt in self.prompts.items():
            if prompt.key in answers:
                qrels.setdefault(query, {})[document] = int(answers[prompt.key])
        return Judgements(self.queries, qrels)

    def report(self, model: Judgements, people: Judgements | None) -> dict[str, Any]:
        """Return what was judged in JSON's types: how often each grade was given, and the agreement with people."""
        counts = Counter(grade for grades in model.qrels.values() for grade in grades.values())
        agreed = None
        if people is not None and (both := [query for query in model.qrels if people.qrels.get(query)]):
            one, other = (Judgements(self.queries, {name: of.qrels[name] for name in both}) for of in (people, model))
            agreed = agreement(one, other, self.runs)
        pipelines = [each.pipeline for each in self.runs]
        grades = {str(grade): counts[grade] for grade in range(4)}
        return {"model": self.model.name, "pipelines": pipelines, **self.cost(), "grades": grades, "agreement": agreed}


def make_pool(
    retriever: Retriever,
    asked: Judgements,
    pipelines: Sequence[Pipeline],
    model: LanguageModel,
    template: Template,
    *,
    depth: int,
    characters: int,
    progress: Callable[[str, int, int], None],
) -> Pool:
    """Return the pool of the queries and documents that one of the pipelines has among its first `depth`.

    A document is shown by its best passages for the query in the default search, whoever found it, so that one more
    pipeline asks only about the documents that it adds; else in the first pipeline that found it.
    """
    queries, owners, documents = asked.queries, retriever.opened.owners, retriever.documents
    best: dict[tuple[str, str], list[int]] = {}
    runs = {pipeline: FoundRun(str(pipeline), label(pipeline), {}) for pipeline in pipelines}
    for pipeline in dict.fromkeys([retriever.default_pipeline(), *pipelines]):
        for start in range(0, len(queries), _BATCH):
            names = list(queries)[start : start + _BATCH]
            rankings = retriever.rank([queries[name] for name in names], pipeline, names=names)
            for name, ranking in zip(names, rankings, strict=True):
                units: dict[str, list[int]] = {}
                for number, _ in ranking.ranked:
                    units.setdefault(documents[int(owners[number])].id, []).append(number)
                units.pop(asked.exclude.get(name, ""), None)
                for document, numbers in units.items():
                    best.setdefault((name, document), numbers[:_PASSAGES])
                if pipeline in runs:
                    runs[pipeline].run[name] = [(each, float(-at)) for at, each in enumerate(list(units)[:_DEPTH])]
            progress(f"searching with {label(pipeline)}", start + len(names), len(queries))
    prompts = {}
    for name, text in queries.items():
        for document in dict.fromkeys(each for run in runs.values() for each, _ in run.run[name][:depth]):
            shown = (retriever.units[number] for number in best[name, document])
            passage = "\n\n".join(f"{' › '.join(unit.path)}\n{unit.text}" for unit in shown)
            prompts[name, document] = template.prompt(text, passage[:characters])
    return Pool(queries, list(runs.values()), prompts, model, retriever.workspace.cache)
