"""An encoder of a plugin that runs without torch, and knows words from elsewhere, searches as a pretrained one."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from structformer import Retriever
from structformer.models import Card, Defaults, RankerKind, write_record
from structformer.models.registry import ModelRecord
from structformer.plugins import hookimpl, load_plugins
from structformer.retrieval.indexing import build_index
from structformer.storage.seal import seal
from structformer.workspace import Workspace

from structformer_devkit.rankers import check_ranker

_DEFAULTS = Defaults(1, 1.0, 128)


class Hashed:
    """Words as vectors that no corpus taught: pseudo-random ones, by the words' letters."""

    kind, dimensions = "hashed", 64

    @classmethod
    def load(cls, location: str) -> "Hashed":
        return cls()

    @classmethod
    def start(cls, location: str, kind: str, options: Any) -> "Hashed":
        return cls()

    def save(self, folder: Any) -> None:
        write_record(Path(folder), ModelRecord("hashed", "hashed", "", "abc123", {"settings": {"name": "hashed"}}))

    def for_bulk(self) -> "Hashed":
        return self

    def tokens(self, text: str) -> np.ndarray:
        seeds = [sum(256**place * letter for place, letter in enumerate(word.encode()[:7])) for word in text.split()]
        return np.stack([np.random.default_rng(seed).normal(size=64) for seed in seeds or [0]]).astype(np.float32)

    def encode_documents_with_tokens(self, texts: Any, see: Any) -> np.ndarray:
        vectors = np.zeros((len(texts), 64), np.float32)
        for place, text in enumerate(texts):
            tokens = self.tokens(text.lower())
            see(place, tokens)
            vectors[place] = tokens.mean(0) / np.linalg.norm(tokens.mean(0))
        return vectors

    encode_queries_with_tokens = encode_documents_with_tokens

    def encode_documents(self, texts: Any) -> np.ndarray:
        return self.encode_documents_with_tokens(texts, lambda place, tokens: None)

    encode_queries = encode_documents

    def score(self, queries: Any, documents: Any) -> np.ndarray:
        return (self.encode_queries(queries) * self.encode_documents(documents)).sum(1)

    def score_all(self, queries: Any, documents: Any) -> np.ndarray:
        return self.encode_queries(queries) @ self.encode_documents(documents).T


class Plugin:
    def __init__(self, kind: RankerKind) -> None:
        self.kind = kind

    @hookimpl
    def structformer_rankers(self) -> list[RankerKind]:
        return [self.kind]


@pytest.fixture
def kind(request: pytest.FixtureRequest) -> Any:
    kind = RankerKind(
        "hashed", model=f"{__name__}:Hashed", objective="", losses=("infonce",), mix={}, cpu=_DEFAULTS, gpu=_DEFAULTS,
        card=Card("Hashed", "", "sentence-similarity"), first_stage="dense", trainer=f"{__name__}:never",
        gives_tokens=True, runs_on=("numpy",), **getattr(request, "param", {}),
    )  # fmt: skip
    load_plugins().add(Plugin(kind), "hashed")
    yield kind
    load_plugins.cache_clear()


def made_of(workspace: Path) -> dict[str, Any]:
    folder = Workspace(workspace).model("hashed")
    folder.mkdir(parents=True)
    Hashed().save(folder)
    seal(folder)
    build_index(workspace, encoders=["hashed"])
    [made] = (Workspace(workspace).folder("index") / "dense").glob("abc123.made.json")
    return json.loads(made.read_text())


def test_it_keeps_the_rules(kind):
    assert check_ranker(kind) == []


def test_it_gets_descriptions_a_second_look_and_a_pretrained_ones_weights(workspace, kind):
    made = made_of(workspace)
    assert made["pretrained"]
    assert made["look"] > 0
    assert "reads" in made
    retriever = Retriever.open(workspace)
    _, index, weights = retriever.opened.encoder("hashed")
    assert index.look is not None
    assert index.descriptions is not None
    assert weights.look > 0
    assert retriever.search("a loop that does not slip", pipeline="hybrid:hashed")


@pytest.mark.parametrize("kind", [{"languages": ("fi",)}], indirect=True)
def test_one_that_reads_other_languages_than_the_documents_counts_less(workspace, kind):
    made = made_of(workspace)
    assert made["reads"] <= 0.6
    assert "look" not in made


@pytest.mark.parametrize("kind", [{"pretrained": False}], indirect=True)
def test_one_that_knows_nothing_from_elsewhere_gets_none_of_it(workspace, kind):
    made = made_of(workspace)
    assert not made["pretrained"]
    assert "look" not in made
    assert "reads" not in made
