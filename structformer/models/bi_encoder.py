"""The bi-encoder: mean pooling, unit length, cosine. Saved so that sentence-transformers loads it."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from structformer.models.fused_attention import fuse_attention
from structformer.models.kinds import RankerOptions
from structformer.models.length_batches import length_buckets
from structformer.models.loading import load_encoder, load_tokenizer
from structformer.models.precision import fast_bf16
from structformer.models.registry import PASSAGE_ENCODER

QUERY_TOKENS = 64
DOCUMENT_TOKENS = 256
_MODULES = "sentence_transformers.models"
_TOKENIZE_BATCH = 1024  # texts tokenized together, and put into batches by their lengths


class BiEncoder:
    """Encodes queries and documents into vectors whose inner product is their score."""

    kind = "bi-encoder"

    def __init__(self, model: Any, tokenizer: Any, passages: BiEncoder | Path | None = None) -> None:
        """passages: what encodes documents, or its folder, where queries' side alone was trained; None: this one."""
        self.model = model
        self.tokenizer = tokenizer
        self._passages = passages

    @classmethod
    def load(cls, location: str, *, model: Any = None) -> BiEncoder:
        """From a folder or hub name. model: used in the place of the saved one. Raises ModelError."""
        return cls(model or load_encoder(location), load_tokenizer(location), passage_folder(location))

    @classmethod
    def start(cls, location: str, kind: str, options: RankerOptions) -> BiEncoder:
        """What training starts from; the options concern other kinds."""
        return cls.load(location)

    @property
    def passages(self) -> BiEncoder | None:
        """What encodes documents where that is another encoder, loaded when first needed: a search encodes none."""
        if isinstance(self._passages, Path):
            self._passages = BiEncoder.load(str(self._passages))
        return self._passages

    @passages.setter
    def passages(self, encoder: BiEncoder | None) -> None:
        self._passages = encoder

    @property
    def dimensions(self) -> int:
        return int(self.model.config.hidden_size)

    def encode_tokens(self, texts: Sequence[str], max_tokens: Sequence[int]) -> dict[str, list[list[int]]]:
        """Token ids of the texts without padding, by feature, each text cut to its own number of tokens."""
        encoded: dict[str, list[list[int]]] = {name: [[]] * len(texts) for name in ("input_ids", "attention_mask")}
        for limit in dict.fromkeys(max_tokens):
            numbers = [number for number, each in enumerate(max_tokens) if each == limit]
            found = self.tokenizer(
                [texts[number] for number in numbers], truncation=True, max_length=limit, padding=False
            )
            for name, values in found.items():
                column = encoded.setdefault(name, [[]] * len(texts))
                for number, ids in zip(numbers, values, strict=True):
                    column[number] = ids
        return encoded

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], max_tokens: int = DOCUMENT_TOKENS) -> npt.NDArray[np.float32]:
        """(texts, dimensions) float32, unit length; texts of like length go through the model together, so that little
        is padding.
        """
        training = self.model.training
        self.model.eval()
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _TOKENIZE_BATCH):
            chunk = texts[start : start + _TOKENIZE_BATCH]
            encoded = self.encode_tokens(chunk, [max_tokens] * len(chunk))
            for numbers in length_buckets([len(ids) for ids in encoded["input_ids"]], self.model.device.type):
                bucket = {name: [values[number] for number in numbers] for name, values in encoded.items()}
                batch = self.tokenizer.pad(bucket, padding=True, return_tensors="pt").to(self.model.device)
                pooled = pool(self.model(**batch).last_hidden_state.float(), batch["attention_mask"])
                vectors[[start + number for number in numbers]] = pooled.float().cpu().numpy()
        self.model.train(training)
        return vectors

    def for_bulk(self) -> BiEncoder:
        """This encoder for a whole collection: in bfloat16 where the machine is quick at it, which moves cosines by
        under 0.01.
        """
        if self.model.device.type != "cuda" and not fast_bf16():
            return self
        passages = self.passages.for_bulk() if self.passages else None
        model = copy.deepcopy(self.model)
        if self.model.device.type == "cpu":
            # torch's fused attention takes a third of the time there, for a tenth of the work.
            model.set_attn_implementation("eager")
            fuse_attention(model)
        return BiEncoder(model.to(torch.bfloat16), self.tokenizer, passages)

    def encode_queries(self, queries: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of queries, read up to QUERY_TOKENS."""
        return self.encode(queries, QUERY_TOKENS)

    def encode_documents(self, documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """Vectors of documents (index units), read up to DOCUMENT_TOKENS."""
        return (self.passages or self).encode(documents, DOCUMENT_TOKENS)

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """(pairs,) float32 cosines; equal queries are encoded once."""
        distinct = list(dict.fromkeys(queries))
        rows = {query: row for row, query in enumerate(distinct)}
        vectors = self.encode_queries(distinct)[[rows[query] for query in queries]]
        found: npt.NDArray[np.float32] = (vectors * self.encode_documents(documents)).sum(1)
        return found

    def score_all(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """(queries, documents) float32: every query with every document."""
        found: npt.NDArray[np.float32] = self.encode_queries(queries) @ self.encode_documents(documents).T
        return found

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), tokenizer and the modules that sentence-transformers reads: its `encode_query`
        and `encode_document` give what `encode_queries` and `encode_documents` do.
        """
        self.model.save_pretrained(folder, safe_serialization=True)
        self.tokenizer.save_pretrained(folder)
        names = {"0": "Transformer", "1": "Pooling", "2": "Normalize"}
        paths = {"0": "", "1": "1_Pooling", "2": "2_Normalize"}
        modules = [
            {"idx": int(number), "name": number, "path": paths[number], "type": f"{_MODULES}.{kind}"}
            for number, kind in names.items()
        ]
        if self.passages:
            self.passages.save(folder / PASSAGE_ENCODER)
            modules = [{"idx": 0, "name": "0", "path": "", "type": f"{_MODULES}.Router"}]
            sides = {
                side: {
                    (Path(inside) / paths[number]).as_posix(): f"{_MODULES}.{kind}" for number, kind in names.items()
                }
                for side, inside in (("query", ""), ("document", PASSAGE_ENCODER))
            }
            router = {
                "types": {path: kind for side in sides.values() for path, kind in side.items()},
                "structure": {side: list(its) for side, its in sides.items()},
                "parameters": {"default_route": "query", "allow_empty_key": True},
            }
            (folder / "router_config.json").write_text(json.dumps(router, indent=2) + "\n")
        pooling = {
            "word_embedding_dimension": self.dimensions,
            "pooling_mode_mean_tokens": True,
            "pooling_mode_cls_token": False,
        }
        for name in ("1_Pooling", "2_Normalize"):
            (folder / name).mkdir(exist_ok=True)
        for path, value in (
            ("modules.json", modules),
            ("1_Pooling/config.json", pooling),
            ("sentence_bert_config.json", {"max_seq_length": DOCUMENT_TOKENS, "do_lower_case": False}),
            ("config_sentence_transformers.json", {"similarity_fn_name": "cosine"}),
        ):
            (folder / path).write_text(json.dumps(value, indent=2) + "\n")


def passage_folder(location: str) -> Path | None:
    """The folder of what encodes passages, in that of a model of which queries' side alone was trained."""
    folder = Path(location) / PASSAGE_ENCODER
    return folder if folder.is_dir() else None


def pool(hidden: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Mean over the real tokens, then unit length. hidden: (texts, tokens, dimensions); mask: (texts, tokens) 0/1."""
    weights = mask.unsqueeze(-1).to(hidden.dtype)
    mean = (hidden * weights).sum(1) / weights.sum(1).clamp(min=1e-9)
    return torch.nn.functional.normalize(mean, dim=-1)
