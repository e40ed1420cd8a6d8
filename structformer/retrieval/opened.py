"""An index opened for search: its units, its lexical index, and the models and vectors that stages ask for, loaded when
first needed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from structformer.errors import UsageError, WorkspaceError
from structformer.models.kinds import ranker_kind
from structformer.models.registry import checked_model, model_kind, read_record, trained_models
from structformer.retrieval.exact import CollectionStatistics
from structformer.retrieval.fusion import FusionWeights
from structformer.retrieval.index import Index, encoder_place
from structformer.retrieval.lexical import LexicalIndex
from structformer.retrieval.pipeline import UNTRAINED, Pipeline
from structformer.retrieval.ranking import Ranking
from structformer.retrieval.units import IndexedDocuments, Units
from structformer.workspace import Workspace

if TYPE_CHECKING:
    from structformer.models.bi_encoder import BiEncoder
    from structformer.retrieval.dense import DenseIndex
    from structformer.retrieval.token_index import TokenIndex


class Scorer(Protocol):
    """A ranker as rerank uses it."""

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """(pairs,) float32 scores."""
        ...


class OpenedIndex:
    """What the stages of a pipeline search in."""

    def __init__(self, workspace: Workspace) -> None:
        """Raises WorkspaceError when there is no index, or it is not what was written for this corpus."""
        self.workspace = workspace
        self.index = Index(workspace)
        folder = self.index.folder
        self.units = Units(folder / "units.arrow")
        self.documents = IndexedDocuments(folder / "documents.arrow")
        self.lexical = LexicalIndex(folder / "lexical", self.index.manifest["language"])
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

    @property
    def statistics(self) -> CollectionStatistics:
        """Term statistics of the units, counted when they are first asked for."""
        if self._statistics is None:
            self._statistics = CollectionStatistics.of(self.index, self.units, self.lexical.words)
        return self._statistics

    def run(
        self, queries: Sequence[str], pipeline: Pipeline, documents: Collection[int] | None = None
    ) -> list[Ranking]:
        """Every query's ranking. documents: numbers of those that may be found, None for all."""
        rankings = [Ranking(query) for query in queries]
        for stage in pipeline.stages:
            if stage.kind.needs is not None:
                stage.kind.needs(self, stage)
        for stage in pipeline.stages:
            stage.kind.run(self, stage, rankings, documents)
        return rankings

    def weights(self, encoder: str) -> FusionWeights:
        """The learned weights of an encoder's hybrid."""
        return self.encoder(encoder)[2]

    def encoder(self, name: str) -> tuple[BiEncoder, DenseIndex, FusionWeights]:
        """A bi-encoder with its vectors of this index and its fusion weights, made where they are missing."""
        if name not in self._dense:
            from structformer.models.onnx import load_for_search
            from structformer.retrieval.dense import DenseIndex

            if name != UNTRAINED:
                checked_model(self.workspace, name)
            vectors, weights = self.index.vectors(name)
            place = encoder_place(self.workspace, name)
            fingerprint = model_fingerprint(self.workspace, name)
            encoder = cast("BiEncoder", load_for_search("bi-encoder", place.queries))
            if model_fingerprint(self.workspace, name) != fingerprint or vectors.stem != place.vectors:
                raise WorkspaceError(f"the model {name} was trained again while it was loaded: search again")
            self._dense[name] = encoder, DenseIndex(vectors, self.owners), weights
        return self._dense[name]

    def reranker(self, name: str) -> Scorer:
        """A ranker of any kind by its name in the workspace or its path. Raises ModelError, UsageError."""
        if name not in self._rerankers:
            self._rerankers[name] = load_scorer(self.workspace, name)
        return self._rerankers[name]

    def token_index(self, name: str) -> TokenIndex:
        if name not in self._late:
            from structformer.models.late_interaction import LateInteraction
            from structformer.retrieval.token_index import TokenIndex, token_files, write_token_vectors

            if ranker_kind(model_kind(self.workspace, name)).first_stage != "late":
                raise UsageError(
                    f"{name} is not a late-interaction model; there are: {', '.join(trained_models(self.workspace))}"
                )
            ranker = LateInteraction.load(str(checked_model(self.workspace, name)))
            files = token_files(f"late/{read_record(self.workspace, name).fingerprint}.npy")
            if not all(self.index.has(file) for file in files):
                with self.index.adding(f"making the token vectors of {name}", files):
                    write_token_vectors(self.units, ranker, self.index.folder / files[0])
            path, _ = [self.index.path(file) for file in files]
            self._late[name] = TokenIndex(path, ranker, self.owners)
        return self._late[name]


def model_fingerprint(workspace: Workspace, name: str) -> str:
    """The digest of a trained model's weights; "" of an untrained one's, which don't change."""
    return "" if name == UNTRAINED else read_record(workspace, name).fingerprint


def load_scorer(workspace: Workspace, name: str) -> Scorer:
    """A ranker of any kind that scores query-document pairs. Raises ModelError on an unknown model."""
    kind, location = ranker_kind(model_kind(workspace, name)), str(checked_model(workspace, name))
    if not kind.exported:
        return kind.load(location)
    from structformer.models.onnx import load_for_search

    scorer: Any = load_for_search(kind.name, location)
    return cast("Scorer", scorer)
