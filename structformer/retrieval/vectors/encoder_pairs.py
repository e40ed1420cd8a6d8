"""A base and a query model that share one vector space: naming them, and the test that they do share one."""

from collections.abc import Iterator
from itertools import islice

import numpy as np

from structformer.corpus import Corpus
from structformer.errors import ModelError
from structformer.graph import ReferenceGraph
from structformer.models.base import BaseModel
from structformer.models.chosen_base import choose_base, chosen_base, keep_base, usable_pair
from structformer.retrieval.documents.units import shard_units
from structformer.retrieval.vectors.encoder_names import UNTRAINED
from structformer.retrieval.vectors.encoder_places import load_encoder
from structformer.retrieval.vectors.reading import evenly
from structformer.workspace import Workspace

_PASSAGES, _SHARDS = 64, 8
_CHARACTERS = 200  # of a passage: what a query model reads of a query
_LEAST = 0.5  # of two models without a common space 1 in 64 passages meets its own


def choose_encoders(workspace: Workspace, base_model: str, query_model: str) -> None:
    """Choose a workspace's base and query model, if given. A base alone encodes queries too; so with the query model
    "auto". Raises ModelError if the two share no vector space, and leaves the earlier choice.
    """
    pair = usable_pair(workspace, base_model, query_model)
    if pair is not None:
        check_pair(workspace, *pair)
        keep_base(workspace, *pair)
    elif base_model:
        choose_base(workspace, base_model)
    elif query_model and (base := chosen_base(workspace)) is not None:
        keep_base(workspace, base)


def check_pair(workspace: Workspace, base: BaseModel, queries: BaseModel) -> None:
    """Encode passages of the corpus by both. Raises ModelError where their vectors differ in length, or most of those
    by the query model are nearest to another passage than their own.
    """
    what = "a query model by"
    asking, reading = (load_encoder(workspace, UNTRAINED, each.location, what) for each in (queries, base))
    if asking.dimensions != reading.dimensions:
        raise ModelError(
            f"{queries.name} makes vectors of {asking.dimensions} numbers and {base.name} of {reading.dimensions}: "
            "a query model must share the vector space of its base"
        )
    every = list(dict.fromkeys(_passages(workspace)))
    texts = [every[number] for number in evenly(len(every), _PASSAGES)]
    if not texts:
        return
    nearest = (asking.encode_queries(texts) @ reading.encode_documents(texts).T).argmax(1)
    met = int((nearest == np.arange(len(texts))).sum())
    if met <= _LEAST * len(texts):
        raise ModelError(
            f"{queries.name} does not share the vector space of {base.name}: of {len(texts)} passages {met} are "
            "nearest to themselves; take the query model that was made for this base, or leave out --query-model"
        )


def _passages(workspace: Workspace) -> Iterator[str]:
    """Yield the beginnings of passages from several parts of the corpus."""
    corpus = Corpus.open(workspace)
    graph = ReferenceGraph.open(workspace, corpus)
    for shard in evenly(len(corpus.shards), _SHARDS).tolist():
        for _, units in islice(shard_units(corpus, graph, shard), _PASSAGES):
            yield from (unit.text[:_CHARACTERS] for unit in units if unit.text.strip())
