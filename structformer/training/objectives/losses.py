"""Losses over groups of pairs and over batches, a value per group or query; a teacher's scores; other devices' rows."""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_array
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy, log_softmax, relu

from structformer.errors import ModelError
from structformer.models.kinds import ranker_kind
from structformer.models.registry import checked_model, read_record
from structformer.sampling import Example
from structformer.sampling.view import NEARLY_EQUAL, phrase, word_set
from structformer.text.query_like import plain
from structformer.workspace import Workspace


def grouped(scores: torch.Tensor, group_sizes: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ((groups, largest) scores, the same shape of bool: which of them are real).

    scores: (pairs,) float, the pairs of all groups one after another; group_sizes sums to pairs.
    Raises ValueError on an empty group or sizes that don't fit.
    """
    if not group_sizes or min(group_sizes) < 1 or sum(group_sizes) != len(scores):
        raise ValueError(f"group sizes {list(group_sizes)} don't cut {len(scores)} scores into groups of at least one")
    sizes = torch.tensor(list(group_sizes), device=scores.device)
    real = torch.arange(max(group_sizes), device=scores.device)[None] < sizes[:, None]
    return torch.zeros(real.shape, dtype=scores.dtype, device=scores.device).masked_scatter(real, scores), real


def group_softmax(scores: torch.Tensor, group_sizes: Sequence[int]) -> torch.Tensor:
    """(groups,): -log softmax at each group's first item, counted once in the denominator (Wikiformer eq. 3-6)."""
    table, real = grouped(scores.float(), group_sizes)
    return torch.logsumexp(table.masked_fill(~real, float("-inf")), 1) - table[:, 0]


def pairwise_hinge(scores: torch.Tensor, group_sizes: Sequence[int], margin: float = 1.0) -> torch.Tensor:
    """(groups,): max(0, margin - s+ + s-), averaged over the group's negatives (HARP section 3.3; PROP eq. 4)."""
    table, real = grouped(scores.float(), group_sizes)
    return _over_negatives(relu(margin - table[:, :1] + table), real)


def softmax_hinge(scores: torch.Tensor, group_sizes: Sequence[int], margin: float = 1.0) -> torch.Tensor:
    """(groups,): the hinge of HARP's released code, on the softmax of each pair of a positive and a negative score."""
    table, real = grouped(scores.float(), group_sizes)
    positive = torch.sigmoid(table[:, :1] - table)  # the softmax over two scores
    return _over_negatives(relu(margin - positive + (1 - positive)), real)


def margin_mse(scores: torch.Tensor, teacher: torch.Tensor, group_sizes: Sequence[int]) -> torch.Tensor:
    """(groups,): mean squared difference of student's and teacher's margins s+ - s- (Hofstätter et al. 2020, eq. 6)."""
    table, real = grouped(scores.float(), group_sizes)
    taught, _ = grouped(teacher.float(), group_sizes)
    return _over_negatives(((table[:, :1] - table) - (taught[:, :1] - taught)).square(), real)


def distilled_kl(scores: torch.Tensor, teacher: torch.Tensor, group_sizes: Sequence[int]) -> torch.Tensor:
    """Return (groups,): KL(softmax of the teacher's scores || softmax of the student's) (Hinton et al. 2015)."""
    table, real = grouped(scores.float(), group_sizes)
    taught, _ = grouped(teacher.float(), group_sizes)
    ours, theirs = (log_softmax(each.masked_fill(~real, -1e9), 1) for each in (table, taught))
    return (theirs.exp() * (theirs - ours)).masked_fill(~real, 0.0).sum(1)


def pointwise(scores: torch.Tensor, group_sizes: Sequence[int]) -> torch.Tensor:
    """(groups,): mean cross-entropy of each pair, the first relevant (HARP eq. 18; Nogueira and Cho 2019, eq. 1)."""
    table, real = grouped(scores.float(), group_sizes)
    targets = torch.zeros_like(table)
    targets[:, 0] = 1.0
    each = binary_cross_entropy_with_logits(table, targets, reduction="none")
    return each.masked_fill(~real, 0.0).sum(1) / real.sum(1)


def info_nce(scores: torch.Tensor, allowed: torch.Tensor) -> torch.Tensor:
    """Return (queries,): -log softmax at the own document, over the allowed ones.

    scores: (queries, documents) float, query i's positive is document i; allowed: the same shape, bool, False where a
    document must not count as a negative. Source: van den Oord et al. 2018, eq. 4, with the batch's documents.
    """
    own = torch.arange(len(scores), device=scores.device)
    allowed = allowed.clone()
    allowed[own, own] = True
    scores = scores.float()
    return cross_entropy(scores.masked_fill(~allowed, torch.finfo(scores.dtype).min), own, reduction="none")


def _over_negatives(values: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    negatives = real.clone()
    negatives[:, 0] = False
    return values.masked_fill(~negatives, 0.0).sum(1) / negatives.sum(1).clamp(min=1)


def batch_documents(examples: Sequence[Example], own: int) -> tuple[list[str], list[str]]:
    """Return the Examples' positives, then `own` negatives each; and each text's document, "" if it is another's."""
    documents = [example.documents[0] for example in examples]
    owners = [example.document_id for example in examples]
    for example in examples:
        extra = example.documents[1 : 1 + own]
        documents += extra
        owners += ["" if section < 0 else example.document_id for section in example.sections[1 : 1 + len(extra)]]
    return documents, owners


def negatives_allowed(
    examples: Sequence[Example], documents: Sequence[str], owners: Sequence[str], *, own: int
) -> torch.Tensor:
    """(examples, documents) bool: whether a document may be a negative of an Example's query. documents: the positives,
    then each Example's `own` negatives (fewer if it has fewer).
    """
    count = len(examples)
    _, codes = np.unique([*owners, *(example.document_id for example in examples)], return_inverse=True)
    refused = codes[len(owners) :, None] == codes[: len(owners)]
    start = count
    for number, example in enumerate(examples):
        end = start + min(own, len(example.documents) - 1)
        refused[number, start:end] = False
        start = end
    refused |= _nearly_equal_rows([word_set(document) for document in documents], count)
    shown = [plain(document) for document in documents]
    for number, example in enumerate(examples):
        if query := phrase(example.queries[0]):
            refused[number] |= [query in text for text in shown]
    return torch.from_numpy(~refused)


def _nearly_equal_rows(words: Sequence[frozenset[str]], count: int) -> npt.NDArray[np.bool_]:
    """(count, texts): which texts are nearly equal to which of the first `count`; `nearly_equal` of all at once."""
    known: dict[str, int] = {}
    columns = np.fromiter((known.setdefault(word, len(known)) for each in words for word in each), np.int64)
    sizes = np.array([len(each) for each in words])
    ends = np.concatenate([[0], np.cumsum(sizes)])
    held = csr_array((np.ones(len(columns), np.int32), columns, ends), shape=(len(words), max(1, len(known))))
    common = (held[:count] @ held.T).toarray()
    return np.asarray(common >= NEARLY_EQUAL * (sizes[:count, None] + sizes - common))


class CrossEncoderTeacher:
    """Returns (pairs,) float scores; scores are cached, 24 bytes per pair, so that later epochs cost nothing."""

    def __init__(self, workspace: Workspace, name: str, device: torch.device) -> None:
        """Raises ModelError on an unknown model, or one that is not a cross-encoder."""
        record = read_record(workspace, name)
        kind = ranker_kind(record.kind)
        if not kind.joint:
            raise ModelError(f"{name} is a {record.kind}; only a cross-encoder teaches")
        self._ranker = kind.load(str(checked_model(workspace, name)))
        self._ranker.model.to(device).eval()
        self._known: dict[bytes, float] = {}

    def __call__(self, queries: Sequence[str], documents: Sequence[str]) -> torch.Tensor:
        keys = [
            hashlib.blake2b(f"{query}\0{document}".encode("utf-8", "surrogatepass"), digest_size=12).digest()
            for query, document in zip(queries, documents, strict=True)
        ]
        missing = {key: number for number, key in enumerate(keys) if key not in self._known}
        if missing:
            with torch.autocast(self._ranker.model.device.type, enabled=False):
                scores = self._ranker.score(
                    [queries[number] for number in missing.values()], [documents[number] for number in missing.values()]
                )
            self._known.update(zip(missing, map(float, scores), strict=True))
        return torch.tensor([self._known[key] for key in keys])


def of_all(rows: torch.Tensor) -> torch.Tensor:
    """Return the rows of all processes, in their order; each may have another number of them."""
    return torch.cat(_parts(rows))


def and_others(rows: torch.Tensor) -> torch.Tensor:
    """Return a process's own rows and after them those of the others, in their order."""
    parts = _parts(rows)
    own = torch.distributed.get_rank()
    return torch.cat([rows, *parts[:own], *parts[own + 1 :]])


def _parts(rows: torch.Tensor) -> list[torch.Tensor]:
    counts = _gathered(torch.tensor([len(rows)], device=rows.device))[:, 0].tolist()
    padded = torch.cat([rows, rows.new_zeros(max(counts) - len(rows), *rows.shape[1:])])
    return [part[:count] for part, count in zip(_gathered(padded), counts, strict=True)]


def _gathered(rows: torch.Tensor) -> torch.Tensor:
    gathered: torch.Tensor = _Gathered.apply(rows)  # type: ignore[no-untyped-call]
    return gathered


class _Gathered(torch.autograd.Function):
    """(processes, ...): a tensor of each process, with the sum of their gradients: each has a part of the loss."""

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor) -> torch.Tensor:
        parts = [torch.empty_like(rows) for _ in range(torch.distributed.get_world_size())]
        torch.distributed.all_gather(parts, rows.contiguous())
        return torch.stack(parts)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        summed = gradient.contiguous()
        torch.distributed.all_reduce(summed)
        return summed[torch.distributed.get_rank()]
