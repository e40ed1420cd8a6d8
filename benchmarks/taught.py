"""What would a ranker, or an adapter of the query encoder, bring that other corpora taught? Leaving corpora out.

    python benchmarks/taught.py SHARED {ranker,adapter} [--sets npm docker ...] [--work DIR]

SHARED holds corpora/NAME.tar.xz and eval/NAME/{queries.jsonl,qrels.tsv}; a workspace that is there already keeps its
vectors. Everything is learned from the questions that the corpora's own structure asks, as training is; people's
queries only judge.

ranker: gradient-boosted trees (LightGBM, `pip install lightgbm`; lambdarank, monotone in every score, mean of three
seeds) over features of the first hundred documents: scores and ranks of all parts, second and third best passages,
shares of the question's idf in title, path and passage, lengths, places, what the question is like. For each set it
learns from the others, and is added to the search's score with several weights; the last column has the weight that
the set's own openings choose. Prints the differences of nDCG@10 to the search as it is, for people's queries and for
openings.

adapter: the query encoder's last three layers, trained by query-side training's own loss on all sets but a third of
them, 300 steps of 96 questions; prints the differences on the sets left out and on the others."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from structformer.corpus import Corpus
from structformer.evaluation.judgements import Judgements
from structformer.evaluation.measures import Evaluator, parse_measure
from structformer.graph import ReferenceGraph
from structformer.models.bi_encoder import BiEncoder
from structformer.models.chosen_base import base_for
from structformer.query_side.objective import QuerySideObjective
from structformer.query_side.training_queries import TrainingQueries, training_queries
from structformer.retrieval import Retriever
from structformer.retrieval.documents.copies import Copies
from structformer.retrieval.indexing import build_index
from structformer.retrieval.learning.pseudo_query_scores import NOTHING, PseudoQueryScores, UntrainedSearch
from structformer.retrieval.learning.static_scores import CrossFitted
from structformer.retrieval.learning.structure import IndexStructure
from structformer.retrieval.questions.document_shares import DocumentShares
from structformer.retrieval.questions.pseudo_queries import LINK, OPENING, SENTENCE, PseudoQuery, draw_pseudo_queries
from structformer.retrieval.vectors.encoder_names import STRUCTURE, UNTRAINED
from structformer.retrieval.vectors.encoder_places import base_place, load_untrained
from structformer.training.batching import Batching
from structformer.training.resolve import device_name
from structure import CORPORA, prepared

_CANDIDATES, _TOP = 100, 10
_BATCH = 16
_ADDED = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8)  # weights of the ranker, in its own standard deviations
_MOST = {"openings": 1500, "others": 1000}
_STEPS, _GROUPS, _RATE = 300, 96, 1e-4
_TREES = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 20,
    "learning_rate": 0.05,
    "num_leaves": 15,
    "min_data_in_leaf": 50,
    "feature_fraction": 0.6,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "lambda_l2": 5,
    "verbose": -1,
}
_ROUNDS, _SEEDS = 200, 3
_RANKED = ("dense", "overview", "words", "document", "static", "static overview", "described")
_RISING = {"score", "second score", "dense 2", "dense 3", "words 2", "static 2", *_RANKED, "title", "path", "passage"}
Groups = list[tuple[np.ndarray, np.ndarray, np.ndarray]]  # of each question: features, documents, which is right


@dataclass
class Set:
    """A corpus that is indexed as it is by default, with people's queries."""

    name: str
    retriever: Retriever
    judgements: Judgements
    workspace: Any

    @cached_property
    def corpus(self) -> Corpus:
        return Corpus.open(self.workspace)

    @cached_property
    def graph(self) -> ReferenceGraph:
        return ReferenceGraph.open(self.workspace, self.corpus)

    @cached_property
    def encoder(self) -> BiEncoder:
        """The untrained one."""
        return load_untrained(base_place(base_for(self.workspace, "auto", "bi-encoder")))

    def search(self, *, cross_fitted: bool) -> UntrainedSearch:
        """What questions are asked of; people's ask the whole static encoder."""
        opened = self.retriever.opened
        _, index, weights = opened.encoder(UNTRAINED)
        if cross_fitted:
            halves = IndexStructure(self.workspace, opened.units, opened.documents).halves()
        else:
            whole: Any = opened.encoder(STRUCTURE)[0]
            halves = whole, whole
        static = CrossFitted(halves) if halves else None
        return UntrainedSearch(opened.units, opened.documents, opened.lexical, index, self.encoder, static, weights)

    def value(self, runs: Sequence[Sequence[str]]) -> float:
        """Mean nDCG@10 of people's queries, whose documents these are, best first."""
        asked = self.judgements.asked()
        evaluator = Evaluator([parse_measure("nDCG@10")], {query: self.judgements.qrels[query] for query in asked})
        run = {
            query: [(document, float(-rank)) for rank, document in enumerate(documents)]
            for query, documents in zip(asked, runs, strict=True)
        }
        return sum(value for *_, value in evaluator.values(run)) / len(asked)


def opened(shared: Path, name: str, work: Path) -> Set:
    workspace, judgements = prepared(shared, name, work)
    build_index(workspace, encoders=[STRUCTURE, UNTRAINED])
    return Set(name, Retriever.open(workspace), judgements, workspace)


class Features:
    """Of questions' first documents."""

    def __init__(self, its: Set) -> None:
        self._set = its
        retriever = its.retriever.opened
        self._units, self._documents = list(retriever.units), list(retriever.documents)
        words: Callable[[str], list[str]] = retriever.lexical.words
        self._words = words
        self._of_units = [frozenset(words(unit.ranker_text)) for unit in self._units]
        self._of_paths = [frozenset(words(" ".join(unit.path[1:]))) for unit in self._units]
        self._of_titles = [frozenset(words(document.title)) for document in self._documents]
        having: Counter[str] = Counter()
        self._first = np.searchsorted(retriever.owners, np.arange(len(self._documents) + 1))
        for first, last in zip(self._first, self._first[1:], strict=False):
            having.update(frozenset[str]().union(*self._of_units[first:last]))
        self._having = having

    def _idf(self, words: frozenset[str]) -> float:
        count = len(self._documents) + 1
        return float(sum(np.log(count / (self._having[word] + 0.5)) for word in words))

    def groups(self, questions: Sequence[PseudoQuery], search: UntrainedSearch, *, own: bool) -> Groups:
        """own: whether the questions are the corpus's own, whose holders may not answer."""
        asked = PseudoQueryScores(questions, search)
        shares = DocumentShares(asked, search.units, search.lexical)
        found: Groups = []
        for start in range(0, len(asked), _BATCH):
            numbers = list(range(start, min(start + _BATCH, len(asked))))
            found += self._batch(asked, shares, numbers, search, own=own)
        return found

    def _batch(
        self,
        asked: PseudoQueryScores,
        shares: DocumentShares,
        numbers: list[int],
        search: UntrainedSearch,
        *,
        own: bool,
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        vectors, owners, weights = asked.vectors[numbers], asked.owners, search.weights
        parts = dict(zip(("dense", "overview", "words"), asked.parts(vectors, numbers), strict=True))
        parts |= dict(zip(("static", "static overview"), asked.static_parts(numbers), strict=True))
        allowed = torch.ones_like(parts["dense"], dtype=torch.bool)
        if own:
            right, wrong = asked.allowed(numbers)
            allowed = right | wrong
        parts = {name: part.masked_fill(~allowed, NOTHING) for name, part in parts.items()}
        best = {name: self._three_best(part, owners) for name, part in parts.items()}
        whole = torch.zeros(len(numbers), len(self._documents))
        described = best["dense"][0].clone()
        assert search.index.descriptions is not None
        for row, number in enumerate(numbers):
            question = asked.questions[number]
            for document, share in shares.of(question).items():
                whole[row, document] = share
            kept = search.index.descriptions
            cosines, _ = kept.best(vectors[row].numpy(), kept.saying(question) if own else ())
            having = np.isfinite(cosines)
            described[row, kept.documents[having]] = torch.from_numpy(np.asarray(cosines[having], np.float32))
        scores = weights.dense * parts["dense"] + weights.overview * parts["overview"]
        scores += weights.lexical * parts["words"] + weights.document * whole[:, owners]
        scores += weights.structure * parts["static"] + weights.structure_overview * parts["static overview"]
        scores = (scores + weights.described * described[:, owners]).masked_fill(~allowed, NOTHING)
        total = self._three_best(scores, owners)
        tables = {name: its[0] for name, its in best.items()} | {"document": whole, "described": described}
        tables |= {"score": total[0], "second score": total[1], "dense 2": best["dense"][1]}
        tables |= {"dense 3": best["dense"][2], "words 2": best["words"][1], "static 2": best["static"][1]}
        for row, number in enumerate(numbers):
            answer = asked.questions[number].document
            count = min(_CANDIDATES, int((total[0][row] > NOTHING / 2).sum()))
            documents = torch.topk(total[0][row], count).indices.numpy()
            if own and answer not in documents:
                continue
            columns = {name: _column(table[row, documents]) for name, table in tables.items()}
            at = [self._best_unit(scores[row], asked.units, document) for document in documents]
            columns |= self._of_texts(asked.questions[number].text, documents, at)
            values = columns["score"]
            columns |= {"behind": values - values[0], "spread": np.full(count, values[0] - values[min(9, count - 1)])}
            for name in _RANKED:
                known = np.nan_to_num(columns[name], nan=-1.0)
                columns[f"rank by {name}"] = np.log1p((known[None] > known[:, None]).sum(1))
            names = sorted(columns)
            yield np.stack([columns[name] for name in names], 1), documents, documents == answer
        self.names = names

    def _three_best(self, scores: torch.Tensor, owners: torch.Tensor) -> list[torch.Tensor]:
        """Three (questions, documents) tables: each document's best unit's score, the second's and the third's."""
        found, places, left = [], owners[None].expand(len(scores), -1), scores
        for _ in range(3):
            empty = torch.full((len(scores), len(self._documents)), NOTHING)
            found.append(empty.scatter_reduce(1, places, left, "amax"))
            left = left.masked_fill(left >= found[-1].gather(1, places), NOTHING)
        return found

    def _best_unit(self, scores: torch.Tensor, units: np.ndarray, document: int) -> int:
        first, last = np.searchsorted(units, self._first[document : document + 2])
        return int(units[first + int(scores[first:last].argmax())])

    def _of_texts(self, question: str, documents: np.ndarray, units: Sequence[int]) -> dict[str, np.ndarray]:
        asked = frozenset(self._words(question))
        total = self._idf(asked) or 1.0
        count = len(documents)
        sizes = self._first[documents + 1] - self._first[documents]
        return {
            "title": np.array([self._idf(asked & self._of_titles[document]) / total for document in documents]),
            "path": np.array([self._idf(asked & self._of_paths[unit]) / total for unit in units]),
            "passage": np.array([self._idf(asked & self._of_units[unit]) / total for unit in units]),
            "place": (np.array(units) - self._first[documents]) / sizes,
            "depth": np.array([len(self._units[unit].path) for unit in units], float),
            "length": np.log1p([len(self._units[unit].text) for unit in units]),
            "passages": np.log1p(sizes),
            "words asked": np.full(count, float(len(asked))),
            "idf asked": np.full(count, total / max(1, len(asked))),
            "unknown": np.full(count, sum(not self._having[word] for word in asked) / max(1, len(asked))),
        }


def _column(values: torch.Tensor) -> np.ndarray:
    found = values.double().numpy()
    return np.where(found > NOTHING / 2, found, np.nan)


def drawn(its: Set) -> dict[str, list[PseudoQuery]]:
    """A corpus's own questions."""
    units = its.retriever.opened.units
    copies = Copies.of(units)
    kinds = {"openings": (OPENING,), "others": (LINK, SENTENCE)}
    return {
        name: draw_pseudo_queries(its.corpus, its.graph, units, copies=copies, sources=kind, most=_MOST[name])
        for name, kind in kinds.items()
    }


def ranker(sets: Sequence[Set]) -> None:
    """Print what trees add that were learned on other sets."""
    import lightgbm

    groups: dict[str, dict[str, Groups]] = {}
    for its in sets:
        features = Features(its)
        cross_fitted = its.search(cross_fitted=True)
        groups[its.name] = {name: features.groups(some, cross_fitted, own=True) for name, some in drawn(its).items()}
        people = [PseudoQuery(text, -1, "people") for text in its.judgements.asked().values()]
        groups[its.name]["people"] = features.groups(people, its.search(cross_fitted=False), own=False)
        print(its.name, {name: len(some) for name, some in groups[its.name].items()}, file=sys.stderr, flush=True)
    names = features.names
    rising = [1 if name in _RISING else -1 if name.startswith("rank by") else 0 for name in names]
    print(f"| people's queries | {' | '.join(map(str, _ADDED))} | chosen by openings |\n|---|{'---|' * 8}")
    means = []
    for its in sets:
        taught = [group for other in sets if other is not its for name in _MOST for group in groups[other.name][name]]
        data = lightgbm.Dataset(
            np.concatenate([rows for rows, *_ in taught]),
            np.concatenate([right for *_, right in taught]).astype(int),
            group=[len(rows) for rows, *_ in taught],
            free_raw_data=False,
        )
        trees = [
            lightgbm.train({**_TREES, "monotone_constraints": rising, "seed": seed}, data, _ROUNDS)
            for seed in range(_SEEDS)
        ]
        found = {
            part: [sum(tree.predict(rows) for tree in trees) for rows, *_ in groups[its.name][part]]
            for part in ("people", "openings")
        }
        unit = float(np.concatenate(found["people"]).std()) or 1.0
        score = names.index("score")

        def order(
            part: str, added: float, its: Set = its, found: Any = found, scale: tuple[int, float] = (score, unit)
        ) -> list[np.ndarray]:
            return [
                np.argsort(-(rows[:, scale[0]] + added * more / scale[1]), kind="stable")
                for (rows, *_), more in zip(groups[its.name][part], found[part], strict=True)
            ]

        ids = [document.id for document in its.retriever.opened.documents]
        people = [
            its.value(
                [
                    [ids[documents[place]] for place in best[:_TOP]]
                    for (_, documents, _), best in zip(groups[its.name]["people"], order("people", added), strict=True)
                ]
            )
            for added in _ADDED
        ]
        openings = [
            float(
                np.mean(
                    [
                        _gain(right[best])
                        for (*_, right), best in zip(
                            groups[its.name]["openings"], order("openings", added), strict=True
                        )
                    ]
                )
            )
            for added in _ADDED
        ]
        chosen = people[int(np.argmax(openings))]
        differences = [value - people[0] for value in (*people, chosen)]
        means.append(differences)
        print(f"| {its.name} {people[0]:.4f} | {_signed(differences)} |")
        print(
            f"| its openings {openings[0]:.4f} | {_signed([value - openings[0] for value in openings])} | |", flush=True
        )
    print(f"| mean | {_signed(np.mean(means, 0))} |")


def _gain(right: np.ndarray) -> float:
    rank = int(right.argmax()) + 1
    return float(1 / np.log2(rank + 1)) if rank <= _TOP else 0.0


def _signed(values: Sequence[float] | np.ndarray) -> str:
    return " | ".join(f"{value:+.4f}" for value in values)


def adapter(sets: Sequence[Set]) -> None:
    """Print what layers add that were trained on other sets."""
    asked: dict[str, tuple[PseudoQueryScores, TrainingQueries]] = {}
    for its in sets:
        scores, questions, *_ = training_queries(its.corpus, its.graph, its.search(cross_fitted=True), seed=0)
        asked[its.name] = scores, questions
    before = {its.name: _people(its, its.encoder) for its in sets}
    for fold in range(3):
        left_out = {its.name for its in list(sets)[fold::3]}
        encoder = _taught([asked[its.name] for its in sets if its.name not in left_out], sets[0])
        for its in sets:
            kind = "left out" if its.name in left_out else "learned from"
            print(f"{its.name}, {kind}: {_people(its, encoder) - before[its.name]:+.4f}", flush=True)


def _people(its: Set, encoder: BiEncoder) -> float:
    opened = its.retriever.opened
    before = opened.encoder(UNTRAINED)
    opened.use_encoder(UNTRAINED, encoder, *before[1:])
    runs = its.retriever.rank_documents(list(its.judgements.asked().values()), f"hybrid:{UNTRAINED}", k=_TOP)
    opened.use_encoder(UNTRAINED, *before)
    return its.value([[document for document, _ in run] for run in runs])


def _taught(corpora: Sequence[tuple[PseudoQueryScores, TrainingQueries]], its: Set) -> BiEncoder:
    encoder = load_untrained(base_place(base_for(its.workspace, "auto", "bi-encoder")))
    torch.manual_seed(0)
    choice = np.random.default_rng(0)
    batching = Batching(device_name(), None)
    objectives = [QuerySideObjective(encoder, scores, query_tokens=64, batching=batching) for scores, _ in corpora]
    optimizer = torch.optim.AdamW([each for each in encoder.model.parameters() if each.requires_grad], lr=_RATE)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, step / 30) * (1 - step / _STEPS))
    encoder.model.train()
    for step in range(_STEPS):
        objective, (_, questions) = objectives[step % len(corpora)], corpora[step % len(corpora)]
        mix = questions.mix()
        sources = choice.choice(list(mix), _GROUPS, p=np.array(list(mix.values())) / sum(mix.values()))
        drawn = [questions.example(source, int(choice.integers(questions.counts[source]))) for source in sources]
        losses, _ = objective(objective.prepare(drawn, Random(step)))
        optimizer.zero_grad()
        losses.mean().backward()
        torch.nn.utils.clip_grad_norm_(encoder.model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    encoder.model.eval()
    return encoder


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shared", type=Path)
    parser.add_argument("what", choices=("ranker", "adapter"))
    parser.add_argument("--sets", nargs="+", default=list(CORPORA), choices=list(CORPORA))
    parser.add_argument("--work", type=Path, default=Path(".benchmarks"))
    arguments = parser.parse_args()
    sets = [opened(arguments.shared, name, arguments.work) for name in arguments.sets]
    (ranker if arguments.what == "ranker" else adapter)(sets)


if __name__ == "__main__":
    main()
