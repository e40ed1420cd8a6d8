"""An exported bi-encoder's query side by onnxruntime and tokenizers alone: a search with it imports no torch."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer.errors import ModelError
from structformer.extras import are_installed
from structformer.models.pooling import SentenceHead
from structformer.models.sentence_modules import QUERY, QUERY_TOKENS, read_modules

FOLDER = "onnx"
PLAIN, QUANTIZED = "model.onnx", "model_int8.onnx"
_PADDING = 1  # tokens that a text may be filled up by
_TOKENIZER = "tokenizer.json"


def exported(folder: Path) -> Path | None:
    """The exported file that the search should use: the 8-bit one when there is one; None without any, or without
    onnxruntime.
    """
    return export_in(folder) if are_installed("onnxruntime") else None


def export_in(folder: Path) -> Path | None:
    """The exported file of a folder, whatever can read it here."""
    return next((folder / FOLDER / name for name in (QUANTIZED, PLAIN) if (folder / FOLDER / name).exists()), None)


def session(path: Path, threads: int, *, searching: bool = False) -> Any:
    """An exported file opened by onnxruntime. Raises ModelError."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    if searching:
        # Threads that wait for work by spinning take the time of those that search.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.enable_cpu_mem_arena = False  # a search's batches are small; the arena would keep what the largest took
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common error of its own
        raise ModelError(f"{path} cannot be read ({error}): export it again, or delete it") from error


class OnnxQueryEncoder:
    """Encodes queries as the bi-encoder of a folder does, from its exported file and what its modules say."""

    def __init__(self, folder: Path, path: Path) -> None:
        """Raises ModelError when a file of the folder cannot be read."""
        from tokenizers import Tokenizer

        self._session = session(path, os.cpu_count() or 1, searching=True)
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
            self._padding = int(
                json.loads((folder / "config.json").read_text(encoding="utf-8")).get("pad_token_id") or 0
            )
        except Exception as error:  # tokenizers has no error of its own
            raise ModelError(f"{folder} cannot be read ({error}): export it again, or delete it") from error
        modules = read_modules(str(folder))
        self._head = SentenceHead.load(str(folder), modules, np)
        self._prompt = modules.prompt(QUERY)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        most, self._skipped = QUERY_TOKENS, 0
        if self._prompt:
            alone = self._tokenizer.encode(self._prompt)
            most += len(self._tokenizer.encode(self._prompt, add_special_tokens=False).ids)
            if not modules.include_prompt:
                self._skipped = len(alone.ids) - alone.special_tokens_mask[-1]
        self._tokenizer.enable_truncation(min(most, modules.longest or most))
        self._inputs = {each.name for each in self._session.get_inputs()}

    def encode_queries(self, queries: Sequence[str]) -> npt.NDArray[np.float32]:
        """(queries, dimensions) float32, unit length; of each query QUERY_TOKENS are read beside the prompt."""
        return self.encode_queries_with_tokens(queries, lambda _, __: None)

    def encode_queries_with_tokens(
        self, queries: Sequence[str], see: Callable[[int, npt.NDArray[np.float32]], None]
    ) -> npt.NDArray[np.float32]:
        """The same; see(place, vectors) is called with each query's (tokens, hidden) float32."""
        encoded = self._tokenizer.encode_batch([self._prompt + query or " " for query in queries])
        vectors: list[npt.NDArray[np.float32] | None] = [None] * len(queries)
        for places in _like_lengths([len(each.ids) for each in encoded]):
            found, hidden = self._encode([encoded[place] for place in places])
            for row, place in enumerate(places):
                vectors[place] = found[row]
                see(place, hidden[row, self._skipped : len(encoded[place].ids)])
        return np.stack([vector for vector in vectors if vector is not None])

    def _encode(self, encoded: Sequence[Any]) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
        """Texts' vectors, and those of their tokens."""
        longest = max(len(each.ids) for each in encoded)

        def padded(rows: Sequence[Sequence[int]], filler: int) -> npt.NDArray[np.int64]:
            return np.array([[*row, *[filler] * (longest - len(row))] for row in rows], np.int64)

        features = {
            "input_ids": padded([each.ids for each in encoded], self._padding),
            "attention_mask": padded([each.attention_mask for each in encoded], 0),
            "token_type_ids": padded([each.type_ids for each in encoded], 0),
        }
        [hidden] = self._session.run(None, {name: features[name] for name in features.keys() & self._inputs})
        skipped = np.full(len(encoded), self._skipped) if self._skipped else None
        found: npt.NDArray[np.float32] = self._head.vectors(
            hidden, features["attention_mask"].astype(np.float32), skipped
        ).astype(np.float32)
        return found, hidden


def _like_lengths(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of texts of nearly the same length: on a CPU padding costs as much as text."""
    group: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if group and lengths[place] > lengths[group[0]] + _PADDING:
            yield group
            group = []
        group.append(place)
    if group:
        yield group
