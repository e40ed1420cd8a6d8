"""Late interaction (ColBERT, Khattab and Zaharia, SIGIR 2020): a vector per token, sums of best matches."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from string import punctuation
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import save_file
from torch.nn.utils.rnn import pad_sequence

from structformer.did_you_mean import did_you_mean
from structformer.errors import ModelError
from structformer.models.first_tokens import Frame, first_tokens
from structformer.models.kinds import RankerOptions
from structformer.models.length_batches import length_buckets
from structformer.models.loading import load_encoder, load_tokenizer, say
from structformer.models.published import PublishedWeights
from structformer.models.sentence_modules import model_file, read_model_json

QUERY_TOKENS = 32
DOCUMENT_TOKENS = 256
DIMENSIONS = 128
SIMILARITIES = ("cosine", "l2", "l2_normalised")
_PAIRS_AT_ONCE = 32
_OPTIONS = "late_interaction.json"
_PROJECTION, _LINEAR = "1_Dense", "linear.weight"
_COLBERT = "artifact.metadata"
# Unused words of BERT's vocabulary; where a vocabulary lacks them, they are added.
_MARKERS = ("[unused0]", "[unused1]")


@dataclass(frozen=True, slots=True)
class LateInteractionOptions:
    """How texts become token vectors, and how these are compared."""

    query_tokens: int = QUERY_TOKENS
    """N_q, to which queries are padded with [MASK]."""
    document_tokens: int = DOCUMENT_TOKENS
    dimensions: int = DIMENSIONS
    similarity: str = "cosine"
    """How two token vectors are compared: "cosine", "l2" (minus the squared distance) or "l2_normalised" (that of unit
    vectors)."""
    mean: bool = False
    """Take the mean over query tokens of the best matches, not their sum."""
    sep_last: bool = False
    """[SEP] follows the [MASK]s instead of the query."""
    attend: bool = True
    """A query's other tokens see its [MASK]s."""
    skip_punctuation: bool = False
    """Documents' punctuation marks match nothing."""

    def __post_init__(self) -> None:
        if self.similarity not in SIMILARITIES:
            raise ModelError(f"no similarity {self.similarity!r}; {did_you_mean(self.similarity, SIMILARITIES)}")


def _published_options(location: str) -> LateInteractionOptions | None:
    """Read a location's own options, structformer's or ColBERT's; None if it has none."""
    for name in (_OPTIONS, _COLBERT):
        if (settings := read_model_json(location, name)) is None:
            continue
        try:
            return LateInteractionOptions(**settings) if name == _OPTIONS else _of_colbert(settings)
        except (ValueError, TypeError, AttributeError) as error:
            raise ModelError(f"{location}/{name} cannot be read: {error}") from error
    return None


def _of_colbert(settings: dict[str, Any]) -> LateInteractionOptions:
    """Of the settings of Stanford's ColBERT, whose vectors are of unit length whatever compares them."""
    return LateInteractionOptions(
        query_tokens=int(settings.get("query_maxlen", QUERY_TOKENS)),
        document_tokens=int(settings.get("doc_maxlen", DOCUMENT_TOKENS)),
        similarity="l2_normalised" if settings.get("similarity") == "l2" else "cosine",
        attend=bool(settings.get("attend_to_mask_tokens", False)),
        skip_punctuation=bool(settings.get("mask_punctuation", True)),
    )


def _published_projection(location: str) -> torch.Tensor | None:
    """(dimensions, hidden) float32: the projection's weights beside the encoder's, or among them as in ColBERT."""
    beside = model_file(location, f"{_PROJECTION}/config.json") is not None
    tensors = PublishedWeights(location, _PROJECTION if beside else "").tensors({_LINEAR})
    return tensors[_LINEAR].float() if _LINEAR in tensors else None


class LateInteractionModel(torch.nn.Module):
    """An encoder and the projection of its token vectors."""

    def __init__(self, encoder: Any, dimensions: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.config = encoder.config
        self.projection = torch.nn.Linear(encoder.config.hidden_size, dimensions, bias=False)

    @property
    def device(self) -> torch.device:
        return self.projection.weight.device

    def forward(self, **features: torch.Tensor) -> torch.Tensor:
        """Return (texts, tokens, dimensions) float."""
        vectors: torch.Tensor = self.projection(self.encoder(**features).last_hidden_state)
        return vectors


@dataclass(slots=True)
class TokenVectors:
    """Vectors of texts' tokens."""

    vectors: torch.Tensor
    """(texts, tokens, dimensions) float."""
    mask: torch.Tensor
    """(texts, tokens) bool, which of them count."""

    def __getitem__(self, texts: torch.Tensor) -> TokenVectors:
        return TokenVectors(self.vectors[texts], self.mask[texts])


class LateInteraction:
    """Scores query-document pairs by MaxSim: `[CLS] [Q] query [SEP] [MASK]...` against `[CLS] [D] document [SEP]`."""

    kind = "late-interaction"

    def __init__(
        self, model: LateInteractionModel, tokenizer: Any, options: LateInteractionOptions, note: str = ""
    ) -> None:
        """note: what whoever trains it must know about its weights."""
        self.note = note
        self.model = model
        self.tokenizer = tokenizer
        self.options = options

    @classmethod
    def load(cls, location: str) -> LateInteraction:
        """Load a folder or hub name, ColBERT's form too. Warns of a random projection if none. Raises ModelError."""
        loaded = cls._loaded(location, LateInteractionOptions())
        if loaded.note:
            say(f"{loaded.note}, and before it scores mean nothing")
        return loaded

    @classmethod
    def _loaded(cls, location: str, options: LateInteractionOptions) -> LateInteraction:
        projection = _published_projection(location)
        options = _published_options(location) or options
        if projection is not None:
            options = replace(options, dimensions=len(projection))
        tokenizer, encoder = load_tokenizer(location), load_encoder(location)
        if tokenizer.mask_token is None:
            raise ModelError(f"{location} has no [MASK] token, with which late interaction pads queries")
        known = tokenizer.get_vocab()
        tokenizer.add_special_tokens({"additional_special_tokens": list(_MARKERS)})
        room = encoder.get_input_embeddings().num_embeddings
        if any(marker not in known for marker in _MARKERS) and len(tokenizer) > room:
            encoder.resize_token_embeddings(len(tokenizer))
        model = LateInteractionModel(encoder, options.dimensions)
        if projection is None:
            note = f"{location} has no projection of token vectors: training starts with a fresh one"
            return cls(model, tokenizer, options, note)
        if projection.shape != model.projection.weight.shape:
            raise ModelError(f"the projection of {location} does not fit its encoder: {tuple(projection.shape)}")
        model.projection.weight.data.copy_(projection)
        return cls(model, tokenizer, options)

    @classmethod
    def start(cls, location: str, kind: str, options: RankerOptions) -> LateInteraction:
        """Load what training starts from."""
        chosen = LateInteractionOptions(
            similarity=options.similarity,
            mean=options.mean_max_sim,
            dimensions=options.dimensions,
            sep_last=options.sep_last,
        )
        return cls._loaded(location, chosen)

    def encode_query_tokens(self, queries: Sequence[str]) -> list[list[int]]:
        """Return token ids of queries, cut to N_q or padded to it with [MASK]."""
        marked = [f"{_MARKERS[0]} {query}" for query in queries]
        tokens = self._first_tokens(marked, self.options.query_tokens)
        masks = [[self.tokenizer.mask_token_id] * (self.options.query_tokens - len(row)) for row in tokens]
        if self.options.sep_last:
            return [[*row[:-1], *masked, row[-1]] for row, masked in zip(tokens, masks, strict=True)]
        return [[*row, *masked] for row, masked in zip(tokens, masks, strict=True)]

    def encode_document_tokens(self, documents: Sequence[str], max_tokens: int | None = None) -> list[list[int]]:
        """Return token ids of documents, cut to `max_tokens`."""
        marked = [f"{_MARKERS[1]} {document}" for document in documents]
        return self._first_tokens(marked, max_tokens or self.options.document_tokens)

    def _first_tokens(self, texts: Sequence[str], most: int) -> list[list[int]]:
        limits = [most - self._frame.tokens] * len(texts)
        return self._frame.framed(first_tokens(self.tokenizer, texts, limits))["input_ids"]

    @cached_property
    def _frame(self) -> Frame:
        return Frame.of_texts(self.tokenizer)

    def embed_queries(self, ids: Sequence[Sequence[int]]) -> TokenVectors:
        """Return every query (ids of `encode_query_tokens`) as N_q vectors; the encoder sees its [MASK] padding."""
        padded = torch.tensor([list(row) for row in ids], device=self.model.device)
        seen = torch.ones_like(padded) if self.options.attend else (padded != self.tokenizer.mask_token_id).long()
        vectors = self.model(input_ids=padded, attention_mask=seen)
        return TokenVectors(self.normalised(vectors), torch.ones_like(padded, dtype=torch.bool))

    def embed_documents(self, ids: Sequence[Sequence[int]]) -> TokenVectors:
        """Documents' token vectors, padded to the longest; documents of like length go through the model together."""
        longest = max(len(row) for row in ids)
        rows: list[tuple[int, torch.Tensor]] = []
        for numbers in length_buckets([len(row) for row in ids], self.model.device.type):
            rows_of = [torch.tensor(ids[number], device=self.model.device) for number in numbers]
            padded = pad_sequence(rows_of, batch_first=True, padding_value=self.tokenizer.pad_token_id)
            attention = pad_sequence([torch.ones_like(row) for row in rows_of], batch_first=True)
            vectors = self.normalised(self.model(input_ids=padded, attention_mask=attention))
            vectors = torch.nn.functional.pad(vectors, (0, 0, 0, longest - padded.shape[1]))
            rows += [(number, vectors[place]) for place, number in enumerate(numbers)]
        stacked = torch.stack([vectors for _, vectors in sorted(rows, key=lambda row: row[0])])
        lengths = torch.tensor([len(row) for row in ids], device=self.model.device)
        counted = torch.arange(longest, device=self.model.device)[None] < lengths[:, None]
        if self.options.skip_punctuation:
            skipped = [[token in self._punctuation for token in row] + [False] * (longest - len(row)) for row in ids]
            counted &= ~torch.tensor(skipped, device=self.model.device)
        return TokenVectors(stacked, counted)

    @cached_property
    def _punctuation(self) -> frozenset[int]:
        return frozenset(self.tokenizer.convert_tokens_to_ids(list(punctuation))) - {self.tokenizer.unk_token_id}

    def normalised(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return token vectors at unit length, unless distances of plain vectors are wanted."""
        return vectors if self.options.similarity == "l2" else torch.nn.functional.normalize(vectors, dim=-1)

    def similarity(self, queries: TokenVectors, documents: TokenVectors) -> torch.Tensor:
        """Return (queries, documents) float: every query's score with every document."""
        products = (
            self._token_similarity(queries.vectors, vectors[mask][None])
            for vectors, mask in zip(documents.vectors, documents.mask, strict=True)
        )
        return torch.stack([self._reduced(each, queries.mask) for each in products], 1)

    def pair_similarity(self, queries: TokenVectors, documents: TokenVectors) -> torch.Tensor:
        """Return (pairs,) float: query i's score with document i."""
        products = self._token_similarity(queries.vectors, documents.vectors)
        return self._reduced(products.masked_fill(~documents.mask[:, None, :], float("-inf")), queries.mask)

    def _token_similarity(self, queries: torch.Tensor, documents: torch.Tensor) -> torch.Tensor:
        """Return (queries, query tokens, document tokens)."""
        products = queries @ documents.transpose(-1, -2)
        if self.options.similarity == "cosine":
            return products
        return 2 * products - queries.square().sum(-1)[..., :, None] - documents.square().sum(-1)[..., None, :]

    def _reduced(self, products: torch.Tensor, query_mask: torch.Tensor) -> torch.Tensor:
        best = products.amax(-1).masked_fill(~query_mask, 0.0).sum(-1)
        return best / query_mask.sum(-1) if self.options.mean else best

    @torch.inference_mode()
    def score(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return (pairs,) float32 scores."""
        training = self.model.training
        self.model.eval()
        scores = np.zeros(len(documents), np.float32)
        query_ids, document_ids = self.encode_query_tokens(queries), self.encode_document_tokens(documents)
        order = sorted(range(len(documents)), key=lambda number: len(document_ids[number]))
        for start in range(0, len(order), _PAIRS_AT_ONCE):
            numbers = order[start : start + _PAIRS_AT_ONCE]
            distinct = {tuple(query_ids[number]): None for number in numbers}
            rows = {ids: row for row, ids in enumerate(distinct)}
            asked = self.embed_queries(list(distinct))
            chosen = torch.tensor([rows[tuple(query_ids[number])] for number in numbers], device=asked.mask.device)
            read = self.embed_documents([document_ids[number] for number in numbers])
            pairs = self.pair_similarity(asked[chosen], read)
            scores[numbers] = pairs.float().cpu().numpy()
        self.model.train(training)
        return scores

    @torch.inference_mode()
    def score_all(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return (queries, documents) float32 scores."""
        training = self.model.training
        self.model.eval()
        asked = self.embed_queries(self.encode_query_tokens(queries))
        ids = self.encode_document_tokens(documents)
        scores = np.zeros((len(queries), len(documents)), np.float32)
        for start in range(0, len(ids), 64):
            block = self.similarity(asked, self.embed_documents(ids[start : start + 64]))
            scores[:, start : start + 64] = block.float().cpu().numpy()
        self.model.train(training)
        return scores

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), tokenizer and modules, as sentence-transformers' MultiVectorEncoder reads."""
        self.model.encoder.save_pretrained(folder, safe_serialization=True)
        self.tokenizer.save_pretrained(folder)
        package = "sentence_transformers"
        modules = [
            ("", f"{package}.base.modules.transformer.Transformer"),
            (_PROJECTION, f"{package}.base.modules.dense.Dense"),
            ("2_MultiVectorMask", f"{package}.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"),
        ]
        if self.options.similarity != "l2":
            modules.append(("3_Normalize", f"{package}.base.modules.normalize.Normalize"))
        tokens = {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"}
        dense = {
            "in_features": self.model.config.hidden_size,
            "out_features": self.options.dimensions,
            "bias": False,
            "activation_function": "torch.nn.modules.linear.Identity",
            **tokens,
        }
        expansion = {
            "strategy": "fixed",
            "attend": self.options.attend,
            "length": self.options.query_tokens,
            "token": self.tokenizer.mask_token,
        }
        transformer = {
            "transformer_task": "feature-extraction",
            "module_output_name": "token_embeddings",
            "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
            "query_length": self.options.query_tokens,
            "document_length": self.options.document_tokens,
            "query_expansion": expansion,
        }
        skipped = list(punctuation) if self.options.skip_punctuation else []
        mask = {"skiplist_words": skipped, "skiplist_tasks": ["document"], "keep_only_token_ids": None}
        listed = [{"idx": n, "name": str(n), "path": path, "type": kind} for n, (path, kind) in enumerate(modules)]
        model_config = {
            "model_type": "MultiVectorEncoder",
            "prompts": {"query": f"{_MARKERS[0]} ", "document": f"{_MARKERS[1]} "},
            "default_prompt_name": None,
            "similarity_fn_name": "meanmaxsim" if self.options.mean else "maxsim",
        }
        for path, value in (
            ("modules.json", listed),
            (f"{_PROJECTION}/config.json", dense),
            ("2_MultiVectorMask/config.json", mask),
            ("3_Normalize/config.json", tokens),
            ("sentence_bert_config.json", transformer),
            ("config_sentence_transformers.json", model_config),
            (_OPTIONS, asdict(self.options)),
        ):
            target = folder / path
            target.parent.mkdir(exist_ok=True)
            target.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
        weight = self.model.projection.weight.detach().cpu().contiguous()
        save_file({_LINEAR: weight}, folder / _PROJECTION / "model.safetensors")
