"""The bi-encoder: a Transformer with its makers' pooling and prompts; sentence-transformers loads what it saves."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from safetensors.torch import save_file

from structformer.errors import ModelError
from structformer.models import sentence_modules
from structformer.models.first_tokens import Frame, first_tokens, length_buckets, longest_input
from structformer.models.kinds import RankerOptions
from structformer.models.loading import load_encoder, load_tokenizer
from structformer.models.pooling import SentenceHead, steps_fit
from structformer.models.precision import fast_bf16
from structformer.models.registry import PASSAGE_ENCODER
from structformer.models.sentence_encoder import Prompt, SeeTokens, SentenceEncoder, read_in_lower_case

_TOKENIZE_BATCH = 1024  # texts tokenized together, and put into batches by their lengths


class BiEncoder(SentenceEncoder):
    """Encodes queries and documents into unit vectors whose inner product, the cosine, is their score."""

    def __init__(
        self, model: Any, tokenizer: Any, passages: BiEncoder | Path | None = None, head: SentenceHead | None = None
    ) -> None:
        """passages: encodes documents if the query side alone was trained, or its folder; None: this one. head: pools
        token vectors into the text's vector; None: their mean, without prompts. It is never trained.
        """
        self.model = model
        self.tokenizer = tokenizer
        self.head = head or SentenceHead(sentence_modules.PLAIN, (), torch)
        self._passages = passages

    @classmethod
    def load(cls, location: str) -> BiEncoder:
        """Load a folder or hub name with its pooling, layers and prompts. Raises ModelError, also on unknown ones."""
        modules = sentence_modules.read_modules(location)
        model = load_encoder(location, body=modules.body)
        if getattr(model.config, "is_encoder_decoder", False):
            raise ModelError(f"{location} is not an encoder alone: it writes texts too; take a BERT-like model")
        if wrong := steps_fit(modules.steps, int(model.config.hidden_size) * len(modules.pooling)):
            raise ModelError(f"{location}: {wrong}")
        tokenizer = load_tokenizer(location, body=modules.body)
        if modules.lower_case:
            read_in_lower_case(tokenizer.backend_tokenizer)
        passages = Path(location) / PASSAGE_ENCODER  # where the query side alone was trained
        head = SentenceHead.load(location, modules, torch)
        return cls(model, tokenizer, passages if passages.is_dir() else None, head)

    @classmethod
    def start(cls, location: str, kind: str, options: RankerOptions) -> BiEncoder:
        """Load what training starts from, with another pooling if the options name one."""
        encoder = cls.load(location)
        if options.pooling is not None:
            if wrong := steps_fit(encoder.modules.steps, int(encoder.model.config.hidden_size)):
                raise ModelError(f"{location} has its own layers behind its own pooling: {wrong}")
            encoder.head = replace(encoder.head, modules=replace(encoder.modules, pooling=(options.pooling,)))
        return encoder

    @property
    def passages(self) -> BiEncoder | None:
        """The encoder of documents if they have their own, loaded when first needed: a search encodes none."""
        if isinstance(self._passages, Path):
            self._passages = BiEncoder.load(str(self._passages))
        return self._passages

    @passages.setter
    def passages(self, encoder: BiEncoder | None) -> None:
        self._passages = encoder

    @property
    def modules(self) -> sentence_modules.SentenceModules:  # type: ignore[override]
        """The modules around the Transformer."""
        return self.head.modules

    @property
    def dimensions(self) -> int:
        """Numbers of a vector."""
        return self.modules.dimensions(int(self.model.config.hidden_size))

    @cached_property
    def longest(self) -> int | None:
        """The number of tokens that texts are cut to, whatever is asked for; None for any."""
        return min(
            (each for each in (self.modules.longest, longest_input(self.model)) if each and each > 0), default=None
        )

    @cached_property
    def _features(self) -> frozenset[str] | None:
        """The features that the model takes of its tokenizer's; None for all."""
        if not isinstance(self.model, torch.nn.Module):
            return None
        return frozenset(inspect.signature(self.model.forward).parameters)

    def encode_tokens(
        self, texts: Sequence[str], max_tokens: Sequence[int], prompts: Sequence[Prompt] | None = None
    ) -> dict[str, list[list[int]]]:
        """Token ids of texts without padding, by feature, each cut to its number of tokens beside the prompt's."""
        given = prompts or [Prompt()] * len(texts)
        limits = [limit + prompt.tokens for limit, prompt in zip(max_tokens, given, strict=True)]
        own = [max(0, min(limit, self.longest or limit) - self._frame.tokens) for limit in limits]
        prompted = [prompt.text + text for prompt, text in zip(given, texts, strict=True)]
        encoded = self._frame.framed(first_tokens(self.tokenizer, prompted, own))
        # Not every model knows token types.
        return {name: rows for name, rows in encoded.items() if self._features is None or name in self._features}

    @cached_property
    def _frame(self) -> Frame:
        return Frame.of_texts(self.tokenizer)

    @torch.inference_mode()
    def encode(
        self,
        texts: Sequence[str],
        max_tokens: int = sentence_modules.DOCUMENT_TOKENS,
        prompt: Prompt | None = None,
        see: SeeTokens | None = None,
    ) -> npt.NDArray[np.float32]:
        """(texts, dimensions) float32, unit length. prompt: before each text. see: gets each text's token vectors."""
        prompt = prompt or Prompt()
        training = self.model.training
        self.model.eval()
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        for start in range(0, len(texts), _TOKENIZE_BATCH):
            chunk = texts[start : start + _TOKENIZE_BATCH]
            encoded = self.encode_tokens(chunk, [max_tokens] * len(chunk), [prompt] * len(chunk))
            for numbers in length_buckets([len(ids) for ids in encoded["input_ids"]], self.model.device.type):
                bucket = {name: [values[number] for number in numbers] for name, values in encoded.items()}
                # Padding behind the texts, where it cannot move a token's place.
                batch = self.tokenizer.pad(bucket, padding=True, padding_side="right", return_tensors="pt")
                batch = batch.to(self.model.device)
                skipped = torch.full((len(numbers),), prompt.skipped, device=self.model.device)
                hidden = self.model(**batch).last_hidden_state
                pooled = self.pool(hidden, batch["attention_mask"], skipped)
                for row, number in enumerate(numbers if see else ()):
                    own = hidden[row, prompt.skipped : len(encoded["input_ids"][number])]
                    see(start + number, own.float().cpu().numpy())  # type: ignore[misc]
                vectors[[start + number for number in numbers]] = pooled.cpu().numpy()
        self.model.train(training)
        return vectors

    def pool(self, hidden: torch.Tensor, mask: torch.Tensor, skipped: torch.Tensor | None = None) -> torch.Tensor:
        """(texts, dimensions) float32, unit length. mask: (texts, tokens); skipped: (texts,) tokens of prompts."""
        if self.modules.include_prompt:
            skipped = None
        if any(layer.weight.device != hidden.device for layer in self.head.layers):
            with torch.inference_mode(False):  # training may use what a judge has moved
                self.head = self.head.to(hidden.device)
        with torch.autocast(hidden.device.type, enabled=False):
            vectors: torch.Tensor = self.head.vectors(hidden.float(), mask.float(), skipped)
        return vectors

    def for_bulk(self) -> BiEncoder:
        """Return this encoder for a whole collection: in bfloat16 where that is quick; cosines move by under 0.01."""
        if self.model.device.type != "cuda" and not fast_bf16():
            return self
        passages = self.passages.for_bulk() if self.passages else None
        model = copy.deepcopy(self.model)
        if self.model.device.type == "cpu":
            # torch's fused attention takes a third of the time there, for a tenth of the work.
            model.set_attn_implementation("eager")
            fuse_attention(model)
        return type(self)(model.to(torch.bfloat16), self.tokenizer, passages, self.head)

    def score_all(self, queries: Sequence[str], documents: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return (queries, documents) float32: every query with every document."""
        return self.encode_queries(queries) @ self.encode_documents(documents).T

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), tokenizer and modules; sentence-transformers gives the same vectors."""
        self.model.save_pretrained(folder, safe_serialization=True)
        self.tokenizer.save_pretrained(folder)
        if self.passages:
            self.passages.save(folder / PASSAGE_ENCODER)
        self.save_modules(folder, folder / PASSAGE_ENCODER if self.passages else None)

    def save_modules(self, folder: Path, passages: Path | None = None) -> None:
        """Write all but the Transformer. passages: the folder within of the documents' own encoder, written before."""
        most = sentence_modules.DOCUMENT_TOKENS + max(prompt.tokens for prompt in self.prompts.values())
        modules = replace(self.modules, longest=min(most, self.longest or most))
        sentence_modules.write_modules(folder, modules, int(self.model.config.hidden_size), passages)
        for name, layer in zip(sentence_modules.dense_folders(modules), self.head.layers, strict=True):
            arrays = {"linear.weight": layer.weight, "linear.bias": layer.bias, "residual.weight": layer.residual}
            kept = {each: array.cpu().contiguous() for each, array in arrays.items() if array is not None}
            save_file(kept, folder / name / sentence_modules.WEIGHTS)


def fuse_attention(model: torch.nn.Module) -> None:
    """Fuse each layer's self-attention of a BERT in place, no other's. The model can then not be trained or saved."""
    from transformers.models.bert.modeling_bert import BertSelfAttention

    for module in list(model.modules()):
        for name, child in module.named_children():
            if type(child) is BertSelfAttention and not child.is_decoder:
                setattr(module, name, _FusedSelfAttention(child))


class _FusedSelfAttention(torch.nn.Module):
    """Takes the place of a BertSelfAttention; the scale of the products is in the weights of the queries."""

    def __init__(self, plain: Any) -> None:
        super().__init__()
        self._heads, self._size = plain.num_attention_heads, plain.attention_head_size
        parts = (plain.query, plain.key, plain.value)
        self.joined = torch.nn.Linear(plain.query.in_features, 3 * self._heads * self._size)
        with torch.no_grad():
            self.joined.weight.copy_(torch.cat([part.weight for part in parts]))
            self.joined.bias.copy_(torch.cat([part.bias for part in parts]))
            self.joined.weight[: self._heads * self._size] *= plain.scaling
            self.joined.bias[: self._heads * self._size] *= plain.scaling

    def forward(
        self, hidden_states: torch.Tensor, attention_mask: torch.Tensor | None = None, **_: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """((texts, tokens, dimensions), (texts, heads, tokens, tokens)). attention_mask: added to the products."""
        texts, tokens, _width = hidden_states.shape
        joined = self.joined(hidden_states).view(texts, tokens, 3, self._heads, self._size)
        query, key, value = joined.permute(2, 0, 3, 1, 4)
        weights = query @ key.transpose(-1, -2)
        # All of a text's tokens see the same ones, so one row tells whether any is padding.
        if attention_mask is not None and attention_mask[..., 0, :].any():
            weights += attention_mask
        weights = torch.softmax(weights, -1)
        return (weights @ value).transpose(1, 2).reshape(texts, tokens, -1), weights
