"""The loss of query-side training: the hybrid should find a question's document among all passages."""

from collections.abc import Sequence
from random import Random

import numpy as np
import numpy.typing as npt
import torch

from structformer.models.bi_encoder import BiEncoder
from structformer.models.sentence_modules import QUERY
from structformer.query_side.training_queries import query_weights
from structformer.retrieval.learning.pseudo_query_scores import NOTHING, PseudoQueryScores
from structformer.sampling import Example
from structformer.training.data.batching import Batching, Prepared, in_order
from structformer.training.objectives.objectives import Objective, ObjectiveOptions

_SCALE = 1.3  # scores, in standard deviations, are multiplied by this before the softmax
# What leaving the base's vector costs: 1 - cosine of a question's vector with the untrained one, times this. With
# none the git manual lost what npm's gained; 2 to 6 gained on all, 15 gained less.
_ANCHOR = 6.0
_TRAINED_LAYERS = 3  # the last ones: as good as all six of MiniLM's at half of the time


class QuerySideObjective(Objective):
    """Softmax over the corpus's passages of the hybrid's score (cosine, overview's cosine, lexical share), the best
    passage of the question's document that does not hold the question being the right one; and a pull towards the
    untrained vector.

    An Example's `sections[0]` is the number of its question. Questions of a document that has many count less, by the
    root of their number, so that no document fills the training."""

    ranker: BiEncoder

    def __init__(self, ranker: BiEncoder, asked: PseudoQueryScores, *, query_tokens: int, batching: Batching) -> None:
        super().__init__(
            ranker, ObjectiveOptions("infonce", group_size=1, query_tokens=query_tokens, batching=batching)
        )
        self._asked = asked
        self._weights = torch.from_numpy(_weights(asked))
        ranker.model.requires_grad_(False)
        lists = [module for module in ranker.model.modules() if isinstance(module, torch.nn.ModuleList)]
        layers = max(lists, key=len)  # the Transformer's, whatever its architecture calls them
        for layer in layers[-_TRAINED_LAYERS:]:
            layer.requires_grad_(True)

    def prepare(self, examples: Sequence[Example], rng: Random) -> Prepared:
        texts = [example.queries[0] for example in examples]
        prompt = self.ranker.prompts[QUERY]
        encoded = self.ranker.encode_tokens(texts, [self.options.query_tokens] * len(texts), [prompt] * len(texts))
        numbers = torch.tensor([example.sections[0] for example in examples])
        batches = {"queries": self._batches(encoded, rng)}
        return Prepared(list(examples), [1] * len(texts), batches, {"questions": numbers}, len(texts))

    def forward(self, prepared: Prepared) -> tuple[torch.Tensor, torch.Tensor | None]:
        per_query = []
        for batch in prepared.batches["queries"]:
            moved = batch.to(self.model.device)
            hidden = self.model(**moved.features).last_hidden_state
            skipped = torch.full((len(hidden),), self.ranker.prompts[QUERY].skipped, device=hidden.device)
            per_query.append(self.ranker.pool(hidden, moved.features["attention_mask"], skipped))
        numbers = prepared.places["questions"].tolist()
        with torch.autocast(per_query[0].device.type, enabled=False):
            vectors = in_order(prepared.batches["queries"], per_query).float().cpu()
            losses = self._losses(vectors, numbers)
        return losses.to(self.model.device), None

    def _losses(self, vectors: torch.Tensor, numbers: list[int]) -> torch.Tensor:
        best, wrong = self._asked.best_and_wrong(vectors, numbers)
        softmax = torch.nn.functional.softplus(torch.logsumexp(_SCALE * wrong, 1) - _SCALE * best)
        moved = 1 - (vectors * self._asked.vectors[numbers]).sum(1)
        losses = torch.where(best > NOTHING / 2, softmax, 0.0) + _ANCHOR * moved
        return losses * self._weights[numbers]


def _weights(asked: PseudoQueryScores) -> npt.NDArray[np.float32]:
    """Return (questions,) what each counts, on average 1 in each source, whose shares the mix decides."""
    weights = query_weights(asked, range(len(asked)))
    for source in {question.source for question in asked.questions}:
        of_source = [number for number, question in enumerate(asked.questions) if question.source == source]
        weights[of_source] /= weights[of_source].mean()
    return weights.astype(np.float32)
