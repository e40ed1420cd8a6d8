"""An exported bi-encoder's query side by onnxruntime and tokenizers alone: a search with it imports no torch."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from structformer.errors import ModelError

FOLDER = "onnx"
PLAIN, QUANTIZED = "model.onnx", "model_int8.onnx"
QUERY_TOKENS = 64
_TOKENIZER = "tokenizer.json"


def exported(folder: Path) -> Path | None:
    """The exported file that the search should use: the 8-bit one when there is one; None without any, or without
    onnxruntime.
    """
    if importlib.util.find_spec("onnxruntime") is None:
        return None
    return next((folder / FOLDER / name for name in (QUANTIZED, PLAIN) if (folder / FOLDER / name).exists()), None)


class OnnxQueryEncoder:
    """Encodes queries as the bi-encoder of a folder does, from its exported file."""

    def __init__(self, folder: Path, path: Path, threads: int | None = None) -> None:
        """Raises ModelError when a file of the folder cannot be read."""
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or len(os.sched_getaffinity(0))
        options.log_severity_level = 3
        options.enable_cpu_mem_arena = False  # a search's batches are small; the arena would keep what the largest took
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
            padding = json.loads((folder / "config.json").read_text()).get("pad_token_id") or 0
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # neither library has an error of its own
            raise ModelError(f"{path} cannot be read ({error}): export it again, or delete it") from error
        self._tokenizer.enable_truncation(QUERY_TOKENS)
        self._tokenizer.enable_padding(pad_id=int(padding))
        self._inputs = {each.name for each in self._session.get_inputs()}

    def encode_queries(self, queries: Sequence[str]) -> npt.NDArray[np.float32]:
        """(queries, dimensions) float32, unit length: the mean over a query's tokens, read up to QUERY_TOKENS."""
        encoded = self._tokenizer.encode_batch([query or " " for query in queries])
        features = {
            "input_ids": np.array([each.ids for each in encoded], np.int64),
            "attention_mask": np.array([each.attention_mask for each in encoded], np.int64),
            "token_type_ids": np.array([each.type_ids for each in encoded], np.int64),
        }
        [hidden] = self._session.run(None, {name: features[name] for name in features.keys() & self._inputs})
        mask = features["attention_mask"][..., None].astype(np.float32)
        mean = (hidden * mask).sum(1) / np.maximum(mask.sum(1), 1e-9)
        lengths = np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-12)
        found: npt.NDArray[np.float32] = (mean / lengths).astype(np.float32)
        return found
