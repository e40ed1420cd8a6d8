"""Interaction rankers, the neural baselines of the papers: KNRM, Conv-KNRM and DRMM, over the word pieces of a base
model or over words with vectors of their own (GloVe, word2vec).

Sources: Xiong et al., "End-to-End Neural Ad-hoc Ranking with Kernel Pooling", SIGIR 2017 (KNRM); Dai et al.,
"Convolutional Neural Networks for Soft-Matching N-Grams in Ad-hoc Search", WSDM 2018 (Conv-KNRM); Guo et al., "A Deep
Relevance Matching Model for Ad-hoc Retrieval", CIKM 2016 (DRMM)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from structformer.errors import ModelError
from structformer.models import CrossEncoder, RankerOptions, load_encoder, load_tokenizer

from structformer_exports import read_word_vectors
from structformer_kernels.kinds import CONV_KNRM, DRMM, KERNELS, KNRM

CONFIG, WEIGHTS = "kernel.json", "model.safetensors"
# One kernel for exact matches, ten over the rest of [-1, 1] (KNRM, section 4.2).
_MEANS = (1.0, 0.9, 0.7, 0.5, 0.3, 0.1, -0.1, -0.3, -0.5, -0.7, -0.9)
_WIDTHS = (0.001, *(0.1,) * 10)
_GRAMS = 3
_FILTERS = 128
MAX_TOKENS = 256
# DRMM, section 5.1.3: thirty bins of cosines, the last for exact matches alone, and five hidden units.
_BINS = 30
_HIDDEN = 5


class KernelModel(torch.nn.Module):
    """Scores pairs given as one row of tokens, the query's of type 0 and the document's of type 1."""

    def __init__(self, architecture: str, vocabulary: int, dimensions: int, special: list[int], pad: int) -> None:
        super().__init__()
        if architecture not in KERNELS:
            raise ModelError(f"no kernel ranker {architecture!r}; choose {', '.join(KERNELS)}")
        self.architecture = architecture
        self.special = special
        self.embedding = torch.nn.Embedding(vocabulary, dimensions, padding_idx=pad)
        grams = _GRAMS if architecture == CONV_KNRM else 0
        self._sizes = range(1, grams + 1)
        self.convolutions = torch.nn.ModuleList(torch.nn.Conv1d(dimensions, _FILTERS, size) for size in self._sizes)
        self.means: torch.Tensor
        self.widths: torch.Tensor
        self.register_buffer("means", torch.tensor(_MEANS), persistent=False)
        self.register_buffer("widths", torch.tensor(_WIDTHS), persistent=False)
        if architecture == DRMM:
            self.gate = torch.nn.Linear(dimensions, 1, bias=False)
            layers = torch.nn.Linear(_BINS, _HIDDEN), torch.nn.Tanh(), torch.nn.Linear(_HIDDEN, 1)
            self.matching = torch.nn.Sequential(*layers)
        self.dense = torch.nn.Linear(1 if architecture == DRMM else len(_MEANS) * max(1, grams) ** 2, 1)
        self.config = SimpleNamespace(max_position_embeddings=MAX_TOKENS, hidden_size=dimensions)

    @property
    def device(self) -> torch.device:
        return self.dense.weight.device

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor,
        token_type_ids: torch.Tensor,
        output_hidden_states: bool = False,
    ) -> Any:
        """(pairs, 1) logits. KNRM: eq. 2-6 of its paper; Conv-KNRM: every n-gram length of the query with every one of
        the document (its eq. 3-6). The last tanh is left out: it bounds scores and changes no order. DRMM: eq. 1-3 of
        its paper with log counts (LCH) and gates by the words' vectors (TV).
        """
        words = attention_mask.bool() & ~torch.isin(input_ids, torch.tensor(self.special, device=input_ids.device))
        # Rows are "[CLS] query [SEP] document [SEP]": the two sides are cut out of it and pushed to the left.
        query, query_mask = _side(input_ids, words & (token_type_ids == 0))
        document, document_mask = _side(input_ids, words & (token_type_ids == 1))
        if self.architecture == DRMM:
            return SimpleNamespace(logits=self.dense(self._matched(query, query_mask, document, document_mask)))
        queries, documents = self._grams(self.embedding(query)), self._grams(self.embedding(document))
        features = [self._pooled(one, query_mask, two, document_mask) for one in queries for two in documents]
        return SimpleNamespace(logits=self.dense(torch.cat(features, -1)))

    def _matched(
        self, query: torch.Tensor, query_mask: torch.Tensor, document: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """(pairs, 1): what each query word's histogram of cosines says, weighted by how much the word matters."""
        asked, read = self.embedding(query), self.embedding(document)
        unit = torch.nn.functional.normalize
        cosines = unit(asked, dim=-1) @ unit(read, dim=-1).transpose(1, 2)
        # Word vectors are kept as they are: counts have no gradient. Equal words match exactly whatever they round to.
        bins = ((cosines.detach() + 1) / 2 * (_BINS - 1)).long().clamp(0, _BINS - 2)
        bins = torch.where(query[..., None] == document[:, None, :], _BINS - 1, bins)
        counts = torch.zeros(*query.shape, _BINS, device=query.device)
        counts.scatter_add_(2, bins, mask[:, None, :].expand(bins.shape).to(counts.dtype))
        matched = self.matching(torch.log1p(counts)).squeeze(-1)
        gates = torch.softmax(self.gate(asked).squeeze(-1).masked_fill(~query_mask, -1e4), -1)
        scores: torch.Tensor = (gates * matched * query_mask).sum(1, keepdim=True)
        return scores

    def _grams(self, vectors: torch.Tensor) -> list[torch.Tensor]:
        if not len(self.convolutions):
            return [torch.nn.functional.normalize(vectors, dim=-1)]
        turned = vectors.transpose(1, 2)
        padded = [torch.nn.functional.pad(turned, (0, size - 1)) for size in self._sizes]
        grams = [torch.relu(convolution(each)) for convolution, each in zip(self.convolutions, padded, strict=True)]
        return [torch.nn.functional.normalize(each.transpose(1, 2), dim=-1) for each in grams]

    def _pooled(
        self, query: torch.Tensor, query_mask: torch.Tensor, document: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Return (pairs, kernels): soft term frequencies, logged and summed over the query's words."""
        similar = (query @ document.transpose(1, 2)).float().unsqueeze(-1)
        kernels = torch.exp(-((similar - self.means) ** 2) / (2 * self.widths**2)) * mask[:, None, :, None]
        counts = kernels.sum(2).clamp(min=1e-10).log() * 0.01
        return (counts * query_mask[..., None]).sum(1)


def word_tokenizer(words: Sequence[str]) -> Any:
    """A tokenizer of whole words and signs in lower case, as GloVe's and word2vec's vectors are of; rows of other words
    begin behind the four special ones. Unknown words are left out of both sides.
    """
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    numbers = {word: number for number, word in enumerate([*special, *words])}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    inputs = ["input_ids", "token_type_ids", "attention_mask"]
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True))
    return PreTrainedTokenizerFast(  # type: ignore[no-untyped-call]
        tokenizer_object=tokenizer, model_max_length=MAX_TOKENS, model_input_names=inputs, **names
    )


def _side(ids: torch.Tensor, chosen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the chosen tokens of every row pushed to its left, and which places they fill."""
    longest = max(1, int(chosen.sum(1).max()))
    order = torch.argsort((~chosen).int(), dim=1, stable=True)[:, :longest]
    mask = chosen.gather(1, order)
    return ids.gather(1, order) * mask, mask


class KernelRanker(CrossEncoder):
    """KNRM, Conv-KNRM or DRMM behind the cross-encoder's interface: scores pairs and trains on the same Examples."""

    @property
    def kind(self) -> str:  # type: ignore[override]
        """Which of them it is."""
        return str(self.model.architecture)

    @classmethod
    def load(cls, location: str, max_tokens: int = MAX_TOKENS, architecture: str = KNRM) -> KernelRanker:
        """From a folder that `save` wrote, or a fresh one over a base model's word-piece vectors or over a file of word
        vectors. Raises ModelError, UsageError on a file that is none.
        """
        folder = Path(location)
        vectors = read_word_vectors(folder) if folder.is_file() else None
        tokenizer = load_tokenizer(location) if vectors is None else word_tokenizer(list(vectors.numbers))
        special, pad = sorted(set(tokenizer.all_special_ids)), int(tokenizer.pad_token_id)
        if (folder / CONFIG).exists():
            try:
                config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
                model = KernelModel(config["architecture"], config["vocabulary"], config["dimensions"], special, pad)
                model.load_state_dict(load_file(folder / WEIGHTS))
            except (OSError, KeyError, TypeError, ValueError, RuntimeError, SafetensorError) as error:
                raise ModelError(f"{location} holds no kernel ranker that can be loaded: {error!r}") from error
            return cls(model, tokenizer, max_tokens)
        if vectors is None:
            words = load_encoder(location).get_input_embeddings().weight
        else:
            matrix = torch.from_numpy(vectors.matrix)
            words = torch.cat([torch.zeros(len(special), matrix.shape[1]), matrix])
        model = KernelModel(architecture, words.shape[0], words.shape[1], special, pad)
        with torch.no_grad():
            model.embedding.weight.copy_(words)
        return cls(model, tokenizer, max_tokens)

    @classmethod
    def start(cls, location: str, kind: str, options: RankerOptions) -> KernelRanker:
        """Return the ranker that training starts from."""
        return cls.load(location, options.document_tokens, kind)

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), their shape and the tokenizer."""
        self.tokenizer.save_pretrained(folder)
        rows, dimensions = self.model.embedding.weight.shape
        config = {"architecture": self.model.architecture, "vocabulary": rows, "dimensions": dimensions}
        (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
        save_file({name: value.contiguous() for name, value in self.model.state_dict().items()}, folder / WEIGHTS)
