"""Bi-encoders and cross-encoders by onnxruntime and tokenizers, without torch: BERT's or XLM-R's graph is made from its
files (bert_graph.py), of other forms an exported file is run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from structformer.errors import ModelError
from structformer.extras import TORCH, are_installed
from structformer.models.adapters import settings_of
from structformer.models.base import check_packaged
from structformer.models.bert_graph import BertGraph, bert_graph
from structformer.models.first_tokens import Frame, PairTokens, first_tokens, length_buckets
from structformer.models.pooling import SentenceHead, steps_fit
from structformer.models.precision import fast_bf16
from structformer.models.registry import PASSAGE_ENCODER
from structformer.models.sentence_encoder import PlainTokenizer, Prompt, SeeTokens, SentenceEncoder, Vectors
from structformer.models.sentence_modules import OtherForm, in_folder, read_model_json, read_modules

# Files of a model's folder that hold its graph, the one with 8-bit weights and the plain one; the first is taken.
EXPORTS = ("onnx/model_int8.onnx", "onnx/model.onnx")
_RUNTIME = "onnxruntime"
_TOKENIZED = 1024  # texts tokenized together
_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
# So many texts earn the four seconds in which torch is imported: in bfloat16 it reads 1.5 times as many a second.
_LARGE = 2000


def exported(folder: Path) -> Path | None:
    """Return the exported file that the search should use, the 8-bit one first; None without any or onnxruntime."""
    return export_in(folder) if are_installed(_RUNTIME) else None


def export_in(folder: Path) -> Path | None:
    """Return the exported file of a folder, whatever can read it here."""
    return next((folder / name for name in EXPORTS if (folder / name).exists()), None)


def why_not(location: str) -> str:
    """Return why a folder's or hub name's model cannot be run without torch; "" if it can."""
    if not are_installed(_RUNTIME):
        return f"{_RUNTIME} is not installed"
    try:
        _graph(location)
    except ModelError as error:
        return str(error)
    return ""


def torch_is_quicker(texts: int) -> bool:
    """Whether torch reads so many texts sooner: installed, quick at bfloat16, and for thousands of texts."""
    return texts >= _LARGE and are_installed(*TORCH) and fast_bf16()


def _graph(location: str, *, classifier: bool = False) -> BertGraph | Path:
    """Return a model's graph, or its folder's exported file if it is of another form. Raises ModelError."""
    check_packaged(settings_of(location))
    modules = None if classifier else read_modules(location)
    try:
        return bert_graph(location, modules.body if modules else "", classifier=classifier)
    except OtherForm:
        path = export_in(Path(location))
        if path is None:
            raise
        return path


def _session(graph: BertGraph | Path) -> Any:
    """Return a graph opened by onnxruntime. Raises ModelError."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1)
    options.log_severity_level = 3
    # Threads that wait for work by spinning take the time of those that search.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False  # batches are small; the arena would keep what the largest took
    place, source = (graph.folder, graph.data) if isinstance(graph, BertGraph) else (graph, str(graph))
    if isinstance(graph, BertGraph):
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(place))
    try:
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime has no common error of its own; it refuses files outside of the folder
        why = " ".join(str(error).split())
        raise ModelError(f"{place} cannot be read ({why}): export it again, or delete it") from error


class _Network:
    """A graph that is run on batches of texts of like length."""

    def __init__(self, graph: BertGraph | Path, padding: int, output: str) -> None:
        """output: the one that is wanted, or else the only one. Raises ModelError."""
        self._session, self._padding = _session(graph), padding
        self._inputs = {each.name for each in self._session.get_inputs()}
        outputs = [each.name for each in self._session.get_outputs()]
        if not self._inputs <= _INPUTS or (output not in outputs and len(outputs) > 1):
            raise ModelError(f"{graph} takes {', '.join(sorted(self._inputs))} and gives {', '.join(outputs)}")
        self._output = output if output in outputs else outputs[0]

    def run(self, encoded: Mapping[str, Sequence[Sequence[int]]]) -> Iterator[tuple[list[int], Vectors, Vectors]]:
        """Yield (numbers of texts, what the graph gives of them, their masks) of each batch."""
        ids = encoded["input_ids"]
        for numbers in length_buckets([len(row) for row in ids], "cpu"):
            longest = max(len(ids[number]) for number in numbers)
            given = {}
            for name in self._inputs:
                filler = self._padding if name == "input_ids" else 0
                rows = (encoded[name][number] for number in numbers)
                given[name] = np.array([[*row, *[filler] * (longest - len(row))] for row in rows], np.int64)
            [output] = self._session.run([self._output], given)
            yield numbers, output, given["attention_mask"].astype(np.float32)


class OnnxEncoder(SentenceEncoder):
    """Encodes texts as BiEncoder does, to the same vectors but for rounding."""

    def __init__(self, location: str, path: Path | None = None, passages: str = "") -> None:
        """path: an exported file that is run in the place of the graph. passages: the encoder of documents, if that is
        another one. Raises ModelError when a file cannot be read, OtherForm when there is nothing to run.
        """
        self.modules = modules = read_modules(location)
        name = in_folder(modules.body, "config.json")
        settings = settings_of(location, name)
        self.tokenizer = PlainTokenizer(settings, modules.body, lower_case=modules.lower_case)
        graph = path or _graph(location)
        self._network = _Network(graph, self.tokenizer.padding, "last_hidden_state")
        config = read_model_json(settings, name)
        hidden = int(config["hidden_size"])
        if wrong := steps_fit(modules.steps, hidden * len(modules.pooling)):
            raise ModelError(f"{location}: {wrong}")
        places = graph.longest if isinstance(graph, BertGraph) else config.get("max_position_embeddings")
        self.longest = min((each for each in (modules.longest, places) if each and each > 0), default=None)
        self.dimensions = modules.dimensions(hidden)
        self._head = SentenceHead.load(location, modules, np)
        self._frame = Frame.of_texts(self.tokenizer)
        own = Path(location) / PASSAGE_ENCODER
        self._passages = passages or (str(own) if own.is_dir() else "")

    @cached_property
    def passages(self) -> OnnxEncoder | None:
        """The encoder of documents if they have their own, loaded when first needed."""
        return OnnxEncoder(self._passages) if self._passages else None

    def for_bulk(self) -> OnnxEncoder:
        """Return this encoder, which has one form."""
        return self

    def encode(
        self, texts: Sequence[str], max_tokens: int, prompt: Prompt | None = None, see: SeeTokens | None = None
    ) -> Vectors:
        """Return (texts, dimensions) float32, unit length, as `BiEncoder.encode` gives them."""
        prompt = prompt or Prompt()
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        most = max_tokens + prompt.tokens
        own = max(0, min(most, self.longest or most) - self._frame.tokens)
        for start in range(0, len(texts), _TOKENIZED):
            chunk = [prompt.text + text for text in texts[start : start + _TOKENIZED]]
            encoded = self._frame.framed(first_tokens(self.tokenizer, chunk, [own] * len(chunk)))
            for numbers, hidden, mask in self._network.run(encoded):
                skipped = np.full(len(numbers), prompt.skipped) if prompt.skipped else None
                vectors[[start + number for number in numbers]] = self._head.vectors(hidden, mask, skipped)
                for row, number in enumerate(numbers if see else ()):
                    see(start + number, hidden[row, prompt.skipped : int(mask[row].sum())])  # type: ignore[misc]
        return vectors


class OnnxCrossEncoder(PairTokens):
    """Scores pairs as CrossEncoder does."""

    kind = "cross-encoder"

    def __init__(self, location: str, path: Path | None = None) -> None:
        """path: an exported file that is run in the place of the graph. Raises ModelError as OnnxEncoder does."""
        tokenizer = PlainTokenizer(location)
        graph = path or _graph(location, classifier=True)
        config = read_model_json(location, "config.json") or {}
        super().__init__(
            tokenizer, graph.longest if isinstance(graph, BertGraph) else config.get("max_position_embeddings")
        )
        self._network = _Network(graph, tokenizer.padding, "logits")

    def score(self, queries: Sequence[str], documents: Sequence[str]) -> Vectors:
        """Return (pairs,) float32 scores."""
        scores = np.zeros(len(documents), np.float32)
        for start in range(0, len(documents), _TOKENIZED):
            chunk = slice(start, start + _TOKENIZED)
            for numbers, logits, _ in self._network.run(self.encode_pairs(queries[chunk], documents[chunk])):
                scores[[start + number for number in numbers]] = logits[:, 0]
        return scores
