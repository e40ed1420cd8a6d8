"""Two processes that gather their negatives learn what one with the whole batch learns."""

from __future__ import annotations

import pytest
import torch
from structformer import train
from structformer.errors import UsageError
from structformer.training import TrainingOptions

from boats import boats
from processes import begin

SHARE = """
import sys, torch
from random import Random
from structformer.models import RankerOptions, imported, ranker_kind
from structformer.sampling import Example
from structformer.training import ObjectiveOptions

kind_name, loss, base, found, meeting, rank = *sys.argv[1:6], int(sys.argv[6])
topics = "anchor ballast compass deck engine fender galley".split()
examples = [
    Example("srr", (f"how to clean the {topic}",) * 3, (f"take a cloth to the {topic}", f"{topic} in rain", f"stow the {topic}"), topic, (1, 2, 3))
    for topic in topics
] + [Example("rwi", ("the boat", "the sea"), ("a boat on the water",) * 2, "other", (1, 1))]
chunks = {-1: [examples], 0: [examples[:3], examples[3:]], 1: [examples[3:], examples[:3]]}[rank]  # a process' own first
if rank >= 0:
    torch.distributed.init_process_group("gloo", init_method=meeting, world_size=2, rank=rank)
kind = ranker_kind(kind_name)
torch.manual_seed(0)
ranker = kind.start(base, RankerOptions(document_tokens=48))
objective = imported(kind.objective_of(loss))(ranker, ObjectiveOptions(loss, hard_negatives=int(loss == "infonce"), document_tokens=48))
objective.eval()
prepared = objective.prepare(chunks[0], Random(0))
if rank >= 0:
    objective.beside(prepared, chunks[1:])
losses, _ = objective(prepared)
losses.sum().backward()
gradients = torch.cat([each.grad.flatten() for each in ranker.model.parameters() if each.grad is not None])
torch.save([losses.detach(), gradients], found)
if rank >= 0:
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
"""


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    from structformer.models import make_scratch_model

    folder = tmp_path_factory.mktemp("base")
    texts = [
        "how to clean take a cloth to the anchor ballast compass deck engine fender galley in rain stow boat on water sea"
    ] * 3
    make_scratch_model(lambda: texts, folder, size="tiny", seed=0, vocabulary=300)
    return str(folder)


@pytest.mark.parametrize(("kind", "loss"), [("bi-encoder", "infonce"), ("contextual", "insent")])
def test_two_processes_that_gather_are_one_with_the_whole_batch(kind, loss, base, tmp_path):
    meeting = f"file://{tmp_path}/meeting"
    runs = [begin("-c", SHARE, kind, loss, base, tmp_path / f"{rank}.pt", meeting, rank) for rank in (-1, 0, 1)]
    assert [run.wait() for run in runs] == [0, 0, 0]
    (whole, gradient), (first, own), (second, others) = (torch.load(tmp_path / f"{rank}.pt") for rank in (-1, 0, 1))
    torch.testing.assert_close(torch.cat([first, second]), whole)
    torch.testing.assert_close(own + others, gradient, atol=1e-5, rtol=1e-3)


def test_gather_goes_with_negatives_of_the_batch(tmp_path):
    corpus = boats(tmp_path)
    for ranker, loss in (("bi-encoder", "softmax"), ("cross-encoder", None), ("late-interaction", "infonce")):
        options = TrainingOptions(ranker=ranker, loss=loss, side="both", base_model="scratch", gather=True)
        with pytest.raises(UsageError, match="gather means nothing"):
            train(corpus, options)
