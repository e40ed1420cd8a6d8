"""Late interaction (ColBERT, Khattab and Zaharia, SIGIR 2020): a vector per token, sums of best matches."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from string import punctuation
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import save_file
from structformer.did_you_mean import did_you_mean
from structformer.errors import ModelError
from structformer.models import (
    Frame,
    PublishedWeights,
    RankerOptions,
    first_tokens_of,
    length_buckets,
    load_encoder,
    load_tokenizer,
    read_model_json,
    warn_once,
)
from torch.nn.utils.rnn import pad_sequence

QUERY_TOKENS, DOCUMENT_TOKENS = 32, 256
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
    dimensions: int = 128
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
    beside = read_model_json(location, f"{_PROJECTION}/config.json") is not None
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

    def __iter__(self) -> Iterator[torch.Tensor]:
        """Yield each text's (tokens, dimensions), of those that count."""
        return (vectors[mask] for vectors, mask in zip(self.vectors, self.mask, strict=True))


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
            warn_once(f"{loaded.note}, and before it scores mean nothing")
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
        masked = [[self.tokenizer.mask_token_id] * (self.options.query_tokens - len(row)) for row in tokens]
        ends = [len(row) - self.options.sep_last for row in tokens]
        return [[*row[:end], *masks, *row[end:]] for row, end, masks in zip(tokens, ends, masked, strict=True)]

    def encode_document_tokens(self, documents: Sequence[str], max_tokens: int | None = None) -> list[list[int]]:
        """Return token ids of documents, cut to `max_tokens`."""
        marked = [f"{_MARKERS[1]} {document}" for document in documents]
        return self._first_tokens(marked, max_tokens or self.options.document_tokens)

    def _first_tokens(self, texts: Sequence[str], most: int) -> list[list[int]]:
        limits = [most - self._frame.tokens] * len(texts)
        return self._frame.framed(first_tokens_of(self.tokenizer, texts, limits))["input_ids"]

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
        read: dict[int, torch.Tensor] = {}
        for numbers in length_buckets([len(row) for row in ids], self.model.device.type):
            bucket = {"input_ids": [ids[number] for number in numbers]}
            batch = self.tokenizer.pad(bucket, padding_side="right", return_tensors="pt").to(self.model.device)
            vectors = self.normalised(self.model(**batch))
            read |= {number: own[: len(ids[number])] for number, own in zip(numbers, vectors, strict=True)}
        skipped = self._punctuation if self.options.skip_punctuation else ()
        counted = [torch.tensor([token not in skipped for token in row], device=self.model.device) for row in ids]
        rows = [read[number] for number in range(len(ids))]
        return TokenVectors(pad_sequence(rows, batch_first=True), pad_sequence(counted, batch_first=True))

    @cached_property
    def _punctuation(self) -> frozenset[int]:
        return frozenset(self.tokenizer.convert_tokens_to_ids(list(punctuation))) - {self.tokenizer.unk_token_id}

    def normalised(self, vectors: torch.Tensor) -> torch.Tensor:
        """Return token vectors at unit length, unless distances of plain vectors are wanted."""
        return vectors if self.options.similarity == "l2" else torch.nn.functional.normalize(vectors, dim=-1)

    def similarity(self, queries: TokenVectors, documents: Iterable[torch.Tensor]) -> torch.Tensor:
        """(queries, documents) float: every query's score with every document, given as its (tokens, dimensions)."""
        products = (self._token_similarity(queries.vectors, vectors[None]) for vectors in documents)
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
            own = [tuple(query_ids[number]) for number in numbers]
            rows = {ids: row for row, ids in enumerate(dict.fromkeys(own))}
            asked = self.embed_queries(list(rows))[torch.tensor([rows[ids] for ids in own], device=self.model.device)]
            read = self.embed_documents([document_ids[number] for number in numbers])
            scores[numbers] = self.pair_similarity(asked, read).float().cpu().numpy()
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
        options, package = self.options, "sentence_transformers"
        modules = [
            ("", f"{package}.base.modules.transformer.Transformer"),
            (_PROJECTION, f"{package}.base.modules.dense.Dense"),
            ("2_MultiVectorMask", f"{package}.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask"),
        ]
        if options.similarity != "l2":
            modules.append(("3_Normalize", f"{package}.base.modules.normalize.Normalize"))
        tokens = {"module_input_name": "token_embeddings", "module_output_name": "token_embeddings"}
        files = {
            "modules.json": [
                {"idx": number, "name": str(number), "path": path, "type": kind}
                for number, (path, kind) in enumerate(modules)
            ],
            f"{_PROJECTION}/config.json": {
                "in_features": self.model.config.hidden_size,
                "out_features": options.dimensions,
                "bias": False,
                "activation_function": "torch.nn.modules.linear.Identity",
                **tokens,
            },
            "2_MultiVectorMask/config.json": {
                "skiplist_words": list(punctuation) if options.skip_punctuation else [],
                "skiplist_tasks": ["document"],
                "keep_only_token_ids": None,
            },
            "3_Normalize/config.json": tokens,
            "sentence_bert_config.json": {
                "transformer_task": "feature-extraction",
                "module_output_name": "token_embeddings",
                "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
                "query_length": options.query_tokens,
                "document_length": options.document_tokens,
                "query_expansion": {
                    "strategy": "fixed",
                    "attend": options.attend,
                    "length": options.query_tokens,
                    "token": self.tokenizer.mask_token,
                },
            },
            "config_sentence_transformers.json": {
                "model_type": "MultiVectorEncoder",
                "prompts": {"query": f"{_MARKERS[0]} ", "document": f"{_MARKERS[1]} "},
                "default_prompt_name": None,
                "similarity_fn_name": "meanmaxsim" if options.mean else "maxsim",
            },
            _OPTIONS: asdict(options),
        }
        for path, value in files.items():
            target = folder / path
            target.parent.mkdir(exist_ok=True)
            target.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
        weight = self.model.projection.weight.detach().cpu().contiguous()
        save_file({_LINEAR: weight}, folder / _PROJECTION / "model.safetensors")
