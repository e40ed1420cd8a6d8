"""Judgements by a language model, which gives each query's first documents of several pipelines grades from 0 to 3; and
how far they agree with people's: Cohen's kappa of the judgements, Kendall's tau of how they put systems in order.

The four grades and one request a pair are those of UMBRELA (Upadhyay et al., 2024), after Thomas et al., "Large
language models can accurately predict searcher preferences" (SIGIR 2024); the words are ours.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from scipy.stats import kendalltau
from structformer.errors import UsageError
from structformer.evaluation import Comparison, FoundRun, Judgements, compare_runs, label
from structformer.retrieval import Pipeline, Retriever
from structformer.storage import read_toml

from structformer_lab.model_answers import AnswerJournal, Progress, Prompt, tokens
from structformer_web import LanguageModel

MEASURE = "nDCG@10"
_DEPTH = 100  # documents of a run
_PASSAGES = 2  # of a document that are shown
_BATCH = 64
_TOKENS_OF_A_GRADE = 4  # for the estimate
RELEVANT = 2  # the least grade of a page that answers, as UMBRELA makes two of four
_CLOSING = re.compile(r"<(?=\s*/?\s*(?:question|page)\b)", re.IGNORECASE)
_OUT_OF = re.compile(r"(?:/|\bout of)\s*3\b", re.IGNORECASE)
_DIGIT = r"(?<![\d.,-])([0-3])(?![.,]?\d)"
_FIRST = re.compile(rf"\W*{_DIGIT}")
_NAMED = re.compile(rf"(?:grade|score|relevance|rating)\W{{0,9}}(?:is\W)?{_DIGIT}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Template:
    """The texts of a request; {query} and {passage} in `user` are placeholders."""

    system: str
    user: str

    @classmethod
    def read(cls, path: Path | None = None) -> Template:
        """Return the template in a TOML file, the package's own without one. Raises UsageError."""
        table = read_toml(path or Path(__file__).with_name("judge.toml"))
        texts = [str(table.get(name, "")).strip() for name in ("system", "user")]
        if set(table) != {"system", "user"} or "{query}" not in texts[1] or "{passage}" not in texts[1]:
            raise UsageError(f"{path}: a prompt has two texts, `system`, and `user` with {{query}} and {{passage}}")
        return cls(*texts)

    def prompt(self, query: str, passage: str) -> Prompt:
        """Return the request about a page for a query, whose quotations these cannot end. Its key is of all of it."""
        values = {"{query}": _CLOSING.sub("&lt;", query), "{passage}": _CLOSING.sub("&lt;", passage)}
        asked = re.sub(r"\{query\}|\{passage\}", lambda match: values[match[0]], self.user)
        key = hashlib.sha256(f"{self.system}\n\n{asked}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
        return Prompt(key, [{"role": "system", "content": self.system}, {"role": "user", "content": asked}])


def grade_of(answer: str) -> int | None:
    """Return the grade that an answer gives: what it begins with, else the last that it names as one, else the only
    digit from 0 to 3 in it; None of other answers.
    """
    text = _OUT_OF.sub("", answer).strip()
    if match := _FIRST.match(text):
        return int(match[1])
    digits = set(_NAMED.findall(text)[-1:]) or set(re.findall(_DIGIT, text))
    return int(digits.pop()) if len(digits) == 1 else None


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


def cohens_kappa(first: Sequence[int], second: Sequence[int]) -> float | None:
    """Return the agreement of two judges beyond chance, 1 for the same judgements (Cohen, 1960); None if chance alone
    would give the same ones, as where both say one thing of everything.
    """
    count = max(len(first), 1)
    agreed = sum(one == other for one, other in zip(first, second, strict=True)) / count
    ones, others = Counter(first), Counter(second)
    chance = sum(ones[each] * others[each] for each in ones) / count**2
    return (agreed - chance) / (1 - chance) if first and chance < 1 else None


def kendalls_tau(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return the rank correlation tau-b of two lists of scores; None where one of them puts nothing in order."""
    value = float(kendalltau(first, second).statistic) if len(first) > 1 else math.nan
    return None if math.isnan(value) else value


def agreement(people: Judgements, model: Judgements, runs: Sequence[FoundRun]) -> dict[str, Any]:
    """Compare a model's judgements with people's of the same queries, over the pairs that the model has judged; what
    people's do not list counts as 0, as in measures.

    Return, in JSON's types, the `pairs`; those relevant by `both`, by `people_alone` (a grade over 0) and by
    `model_alone` (2 or 3); their `kappa`; the pipelines' `scores`, means of nDCG@10 by people's judgements and by the
    model's; and the `tau` of these.
    """
    judged = [
        (people.qrels[query].get(document, 0) > 0, grade >= RELEVANT)
        for query, grades in model.qrels.items()
        for document, grade in grades.items()
    ]
    counts = Counter(judged)
    by_model = means_of(model, runs)
    scores = {name: [mean, by_model[name]] for name, mean in means_of(people, runs).items()}
    return {
        "pairs": len(judged),
        "both": counts[True, True],
        "people_alone": counts[True, False],
        "model_alone": counts[False, True],
        "kappa": cohens_kappa([one for one, _ in judged], [other for _, other in judged]),
        "tau": kendalls_tau([one for one, _ in scores.values()], [other for _, other in scores.values()]),
        "scores": scores,
    }


def means_of(judgements: Judgements, runs: Sequence[FoundRun]) -> dict[str, float]:
    """Return each run's mean of nDCG@10 by its label, 0 where nothing is relevant."""
    if not any(grade > 0 for grades in judgements.qrels.values() for grade in grades.values()):
        return {each.label: 0.0 for each in runs}
    rows = compare_runs(runs, judgements, Comparison((MEASURE,), standard=False)).rows
    return {row.label: row.scores[MEASURE] for row in rows}
