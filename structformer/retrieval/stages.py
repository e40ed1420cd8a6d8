"""What each stage of a pipeline does: a first stage finds units, the others order them anew."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from structformer.errors import UsageError
from structformer.models.registry import model_folder, model_kind, trained_models
from structformer.retrieval.exact import CollectionStatistics, bm25, query_likelihood, tf_idf
from structformer.retrieval.fusion import FusionWeights, Ranked, best, reciprocal_rank_fusion, shares
from structformer.retrieval.index import encoder_location, ensure_vectors, fusion_weights, read_index
from structformer.retrieval.lexical import LexicalIndex
from structformer.retrieval.pipeline import Pipeline, Stage
from structformer.retrieval.units import IndexedDocuments, Units

if TYPE_CHECKING:
    from structformer.models.bi_encoder import BiEncoder
    from structformer.retrieval.dense import DenseIndex
    from structformer.retrieval.token_index import TokenIndex


class Scorer(Protocol):
    """A ranker as rerank uses it."""

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """(pairs,) float32 scores."""
        ...


@dataclass(slots=True)
class Ranking:
    """What a pipeline made of one query: the ranked units, and each stage's scores by unit."""

    query: str
    ranked: Ranked = field(default_factory=list)
    scores: dict[str, dict[int, float]] = field(default_factory=dict)

    def add(self, stage: str, ranked: Ranked) -> None:
        """Take a stage's order over."""
        self.ranked = ranked
        self.scores[stage] = dict(ranked)


class Stages:
    """An index's stages. Models and vectors are loaded when a pipeline first needs them."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.folder, manifest = read_index(workspace)
        self.units = Units(self.folder / "units.arrow")
        self.documents = IndexedDocuments(self.folder / "documents.arrow")
        self.lexical = LexicalIndex(self.folder / "lexical", manifest["language"])
        self._owners: npt.NDArray[np.int64] | None = None
        self._dense: dict[str, tuple[BiEncoder, DenseIndex, FusionWeights]] = {}
        self._late: dict[str, TokenIndex] = {}
        self._rerankers: dict[str, Scorer] = {}
        self._statistics: CollectionStatistics | None = None

    @property
    def owners(self) -> npt.NDArray[np.int64]:
        """(units,) the number of each unit's document."""
        if self._owners is None:
            self._owners = self.units.numbers("document")
        return self._owners

    def run(self, queries: Sequence[str], pipeline: Pipeline, documents: Collection[int] | None = None) -> list[Ranking]:
        """Every query's ranking. documents: numbers of those that may be found, None for all."""
        rankings = [Ranking(query) for query in queries]
        for stage in pipeline.stages:
            if stage.name == "rerank":
                self.reranker(stage.model)  # a wrong name is told even where nothing is found to rerank
        for stage in pipeline.stages:
            self._apply(stage, rankings, documents)
        return rankings

    def weights(self, encoder: str) -> FusionWeights:
        """The learned weights of an encoder's hybrid."""
        return self.encoder(encoder)[2]

    def _apply(self, stage: Stage, rankings: Sequence[Ranking], documents: Collection[int] | None) -> None:
        if stage.name in ("dense", "hybrid", "dense-fusion"):
            encoder, index, weights = self.encoder(stage.model)
            vectors = encoder.encode_queries([ranking.query for ranking in rankings])
            learned = stage.name != "dense" and stage.option("weights") == "learned"
            found: Sequence[Ranked] = [[]] * len(rankings)
            if stage.name != "dense-fusion":
                found = index.search_all(vectors, stage.k, overview_weight=weights.overview if learned else 0.0, documents=documents)
            for ranking, vector, by_vector in zip(rankings, vectors, found, strict=True):
                if stage.name == "dense":
                    ranking.add("dense", by_vector)
                elif stage.name == "hybrid":
                    self._hybrid(ranking, vector, by_vector, stage, documents)
                else:
                    self._add_dense(ranking, vector, stage)
            return
        for ranking in rankings:
            if stage.name == "lexical":
                ranking.add("lexical", self.lexical.search(ranking.query, stage.k, documents))
            elif stage.name == "late":
                ranking.add("late", self._token_index(stage.model).search(ranking.query, stage.k, documents))
            else:
                self._rescore(ranking, stage)

    def _hybrid(
        self, ranking: Ranking, vector: npt.NDArray[np.float32], by_vector: Ranked, stage: Stage, documents: Collection[int] | None
    ) -> None:
        lexical = self.lexical.search(ranking.query, stage.k, documents)
        if stage.option("weights") == "rrf":
            ranking.scores.update(lexical=dict(lexical), dense=dict(by_vector))
            ranking.add("hybrid", reciprocal_rank_fusion([lexical, by_vector], stage.k))
            return
        whole = shares(self.lexical.search_documents(ranking.query, stage.k, documents))
        units = sorted({unit for unit, _ in (*lexical, *by_vector)})
        self._weigh(ranking, vector, units, shares(lexical), whole, stage)
        ranking.scores["lexical"] = dict(lexical)

    def _add_dense(self, ranking: Ranking, vector: npt.NDArray[np.float32], stage: Stage) -> None:
        head, tail = ranking.ranked[: stage.k], ranking.ranked[stage.k :]
        units = [unit for unit, _ in head]
        if stage.option("weights") == "rrf":
            cosines, _ = self.encoder(stage.model)[1].scores(vector, np.array(units, np.int64))
            dense = best(dict(zip(units, map(float, cosines), strict=True)), stage.k)
            ranking.scores["dense"] = dict(dense)
            fused = reciprocal_rank_fusion([head, dense], stage.k)
        else:
            whole = shares(self.lexical.search_documents(ranking.query, stage.k))
            self._weigh(ranking, vector, units, shares(head), whole, stage)
            fused = ranking.ranked
        ranking.add(stage.name, fused + below(fused, tail))

    def _weigh(
        self, ranking: Ranking, vector: npt.NDArray[np.float32], units: list[int], lexical: Mapping[int, float],
        whole: Mapping[int, float], stage: Stage,
    ) -> None:  # fmt: skip
        """Order units by the weighted sum of their four scores."""
        _, index, weights = self.encoder(stage.model)
        numbers = np.array(units, np.int64)
        cosines, overviews = index.scores(vector, numbers)
        owners = index.owners[numbers].tolist() if units else []
        by_document = [whole.get(owner, 0.0) for owner in owners]
        features = np.stack([cosines, overviews, np.array([lexical.get(unit, 0.0) for unit in units]), np.array(by_document)], axis=1)
        totals = features.astype(np.float64) @ weights.as_array() if units else np.empty(0)
        ranking.scores.update(
            dense=dict(zip(units, map(float, cosines), strict=True)),
            overview=dict(zip(units, map(float, overviews), strict=True)),
            document=dict(zip(units, by_document, strict=True)),
        )
        ranking.add(stage.name, best(dict(zip(units, map(float, totals), strict=True)), stage.k))

    def _rescore(self, ranking: Ranking, stage: Stage) -> None:
        """The first k units in the order of another scorer, then the rest below them in their own."""
        head, tail = ranking.ranked[: stage.k], ranking.ranked[stage.k :]
        if not head:
            ranking.add(stage.name, [])
            return
        units = [unit for unit, _ in head]
        ordered = best(dict(zip(units, self._scores(ranking.query, units, stage), strict=True)), stage.k)
        ranking.add(stage.name, ordered + below(ordered, tail))

    def _scores(self, query: str, units: list[int], stage: Stage) -> list[float]:
        if stage.name == "rerank":
            return self._model_scores(query, units, stage.model)
        if self._statistics is None:
            self._statistics = CollectionStatistics.of(self.folder, self.units, self.lexical.words)
        statistics = self._statistics
        asked = self.lexical.words(query[:200_000])
        texts = [self.lexical.words(text) for text in self.units.ranker_texts(units)]
        if stage.name == "bm25":
            k1, b = float(stage.option("k1")), float(stage.option("b"))
            return [bm25(asked, text, statistics, k1=k1, b=b) for text in texts]
        if stage.name == "ql":
            return [query_likelihood(asked, text, statistics, mu=float(stage.option("mu"))) for text in texts]
        return [tf_idf(asked, text, statistics) for text in texts]

    def _model_scores(self, query: str, units: list[int], model: str) -> list[float]:
        texts = self.units.ranker_texts(units)
        return [float(score) for score in self.reranker(model).score([query] * len(texts), texts)]

    def encoder(self, name: str) -> tuple[BiEncoder, DenseIndex, FusionWeights]:
        """A bi-encoder with its vectors of this index and its fusion weights, made where they are missing."""
        if name not in self._dense:
            from structformer.models.onnx import load_for_search
            from structformer.retrieval.dense import DenseIndex

            vectors = ensure_vectors(self.workspace, name)
            encoder = cast("BiEncoder", load_for_search("bi-encoder", encoder_location(self.workspace, name)[0]))
            self._dense[name] = encoder, DenseIndex(vectors, self.owners), fusion_weights(vectors)
        return self._dense[name]

    def reranker(self, name: str) -> Scorer:
        """A ranker of any kind by its name in the workspace or its path. Raises ModelError, UsageError."""
        if name not in self._rerankers:
            self._rerankers[name] = load_scorer(self.workspace, name)
        return self._rerankers[name]

    def _token_index(self, name: str) -> TokenIndex:
        if name not in self._late:
            from structformer.models.late_interaction import LateInteraction
            from structformer.models.registry import read_record
            from structformer.retrieval.token_index import TokenIndex, write_token_vectors

            if model_kind(self.workspace, name) != "late-interaction":
                raise UsageError(f"{name} is no late-interaction model; there are: {', '.join(trained_models(self.workspace))}")
            ranker = LateInteraction.load(str(model_folder(self.workspace, name)))
            path = self.folder / "late" / f"{read_record(self.workspace, name).fingerprint}.npy"
            if not path.exists():
                write_token_vectors(self.units, ranker, path)
            self._late[name] = TokenIndex(path, ranker, self.owners)
        return self._late[name]


class _EncoderScorer:
    """A bi-encoder that scores pairs, for models whose vectors are not in the index."""

    def __init__(self, encoder: BiEncoder) -> None:
        self._encoder = encoder

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        distinct = list(dict.fromkeys(queries))
        rows = {query: row for row, query in enumerate(distinct)}
        vectors = self._encoder.encode_queries(distinct)[[rows[query] for query in queries]]
        found: npt.NDArray[np.float32] = (vectors * self._encoder.encode_documents(documents)).sum(1)
        return found


def load_scorer(workspace: Path, name: str) -> Scorer:
    """A ranker of any kind that scores query-document pairs. Raises ModelError when there is no such model."""
    kind, location = model_kind(workspace, name), str(model_folder(workspace, name))
    if kind == "late-interaction":
        from structformer.models.late_interaction import LateInteraction

        return LateInteraction.load(location)
    if kind == "kernel":
        from structformer.models.kernel import KernelRanker

        return cast("Scorer", KernelRanker.load(location))
    from structformer.models.onnx import load_for_search

    ranker: Any = load_for_search(kind, location)
    return _EncoderScorer(ranker) if kind == "bi-encoder" else cast("Scorer", ranker)


def below(head: Ranked, tail: Ranked) -> Ranked:
    """The rest of a ranking in its own order, with scores under the head's last."""
    floor = head[-1][1] if head else 0.0
    return [(unit, floor - 1.0 - place) for place, (unit, _) in enumerate(tail)]
