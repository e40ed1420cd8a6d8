"""The rules that every ranker keeps."""

import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from structformer.corpus import Corpus
from structformer.models import RankerKind, RankerOptions, imported, make_scratch_model
from structformer.sampling import document_examples
from structformer.training import MaskedHead, Objective, ObjectiveOptions

from structformer_devkit.example_corpus import example_workspace
from structformer_devkit.formats import Broken, carried_out

_QUERIES = ("mend the rudder", "clean the sail")
_DOCUMENTS = ("The rudder steers the boat.", "A sail that is not cleaned rots.")
_TOKENS = "its vectors of tokens come with those of texts"
_RUNTIMES = frozenset({"torch", "onnxruntime", "numpy"})
RANKER_RULES = (
    *("it says what runs it", "it scores pairs", "saved and loaded it scores the same", "it can be trained"),
    *("it scores all with all", _TOKENS),
)


def check_ranker(kind: RankerKind) -> list[Broken]:
    """Return the rules that a tiny random model breaks when it scores, is saved and learns. `trainer` is not run."""
    with tempfile.TemporaryDirectory(prefix="structformer-") as folder:
        return carried_out(kind.name, _broken(kind, Path(folder)))


def _broken(kind: RankerKind, folder: Path) -> Iterator[Broken]:
    corpus = Corpus.open(example_workspace(folder))
    texts = [section.text for document in corpus.documents() for section in document.sections()]
    make_scratch_model(lambda: texts, folder / "base", size="tiny", seed=0, vocabulary=500)
    ranker = kind.start(str(folder / "base"), RankerOptions(document_tokens=64))
    scores = ranker.score(_QUERIES, _DOCUMENTS)
    if scores.shape != (2,) or not np.isfinite(scores).all():
        yield Broken("it scores pairs", kind.name, f"two pairs gave {scores!r}")
    if not kind.joint and (table := ranker.score_all(_QUERIES, _DOCUMENTS)).shape != (2, 2):
        yield Broken("it scores all with all", kind.name, f"two queries and two documents gave the shape {table.shape}")
    yield from _broken_traits(kind, ranker)
    saved = folder / "saved"
    saved.mkdir()
    ranker.save(saved)
    again = kind.load(str(saved)).score(_QUERIES, _DOCUMENTS)
    if np.abs(again - scores).max() > 1e-5:
        yield Broken("saved and loaded it scores the same", kind.name, f"{scores} before, {again} after")
    if kind.trainer:
        return
    drawn = (example for document in corpus.documents() for example in document_examples(document, ["srr"]))
    examples = list(islice(drawn, 4))
    for loss in (loss for loss in kind.losses if not kind.loss(loss).needs_teacher):
        objective: Objective = imported(kind.objective_of(loss))(
            ranker,
            ObjectiveOptions(loss, group_size=4, document_tokens=64),
            head=MaskedHead.of(ranker.model, str(folder / "base")) if kind.masked_words else None,
        )
        losses, _ = objective(objective.prepare(examples, Random(0)))
        if losses.shape != (len(examples),) or not torch.isfinite(losses).all():
            yield Broken("it can be trained", loss, f"{len(examples)} Examples gave losses {losses!r}")
            continue
        torch.autograd.backward(losses.mean())
        if not any(
            parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in ranker.model.parameters()
        ):
            yield Broken("it can be trained", loss, "no weight has a gradient")
        objective.zero_grad(set_to_none=True)


def _broken_traits(kind: RankerKind, ranker: Any) -> Iterator[Broken]:
    """Yield the differences between what the kind says of its encoder and the encoder."""
    if unknown := sorted({*kind.runtimes} - _RUNTIMES):
        yield Broken("it says what runs it", kind.name, f"runs_on names {unknown[0]}, none of {sorted(_RUNTIMES)}")
    for side in ("documents", "queries") if kind.gives_tokens else ():
        encode, with_tokens = (getattr(ranker, f"encode_{side}{end}", None) for end in ("", "_with_tokens"))
        if encode is None or with_tokens is None:
            yield Broken(_TOKENS, kind.name, f"gives_tokens, but there is no encode_{side}_with_tokens")
            continue
        seen: dict[int, int] = {}
        vectors = with_tokens(_DOCUMENTS, lambda place, tokens, seen=seen: seen.update({place: tokens.ndim}))
        if seen != {0: 2, 1: 2} or np.abs(vectors - encode(_DOCUMENTS)).max() > 1e-5:
            yield Broken(_TOKENS, kind.name, f"encode_{side}_with_tokens showed {seen}, or gave other vectors")
