"""BERT and XLM-R as an ONNX graph, made from config.json and the head of a safetensors file: the weights stay where
they are, and the graph names their places. Needs neither torch nor transformers nor onnx.

Source: Devlin et al. (NAACL 2019), section 3; Conneau et al. (ACL 2020) for XLM-R; names as transformers writes them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from structformer.errors import ModelError
from structformer.models import onnx_wire as wire
from structformer.models.adapters import ADAPTER_FILES, Adapter
from structformer.models.sentence_modules import WEIGHTS, OtherForm, in_folder, model_file, read_model_json

LOGITS, HIDDEN = "logits", "last_hidden_state"
_KINDS = {"F32": (wire.FLOAT, 4), "F16": (wire.FLOAT16, 2), "BF16": (wire.BFLOAT16, 2)}
_BERT, _ROBERTA = "bert", frozenset({"roberta", "xlm-roberta", "camembert"})
_ACTIVATIONS = {"gelu": "Gelu", "relu": "Relu"}
_OLD_NAMES = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
_WORDS = "embeddings.word_embeddings.weight"
_LONGEST_HEAD = 100_000_000  # bytes of a safetensors file's head, as the library has it
# One scale for each 64 weights, and products of 8-bit numbers: one scale for a whole tensor moves scores four times as
# far, since a few of a Transformer's activations are very large.
_BLOCK, _IN_8_BITS = 64, 4


_DOWN, _UP = ".lora_A.weight", ".lora_B.weight"
_Matrices = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class BertGraph:
    """A graph's bytes, and the folder that its weights are read from."""

    data: bytes
    folder: Path
    longest: int
    """Tokens that it has positions for."""


@dataclass(frozen=True, slots=True)
class _Form:
    """Form of a Transformer, from its config.json."""

    layers: int
    heads: int
    hidden: int
    inner: int
    positions: int
    types: int
    epsilon: float
    activation: str
    padding: int | None
    """The padding token's number if positions are counted from it on, as RoBERTa does."""

    @classmethod
    def read(cls, location: str, body: str) -> _Form:
        """Raises OtherForm."""
        config = read_model_json(location, in_folder(body, "config.json"))
        if not isinstance(config, dict) or config.get("model_type") not in {_BERT, *_ROBERTA}:
            kind = config.get("model_type") if isinstance(config, dict) else None
            raise OtherForm(f"{location} is a model of the form {kind}, not BERT's or XLM-R's")
        activation = _ACTIVATIONS.get(str(config.get("hidden_act", "gelu")))
        positions = config.get("position_embedding_type") or "absolute"
        if activation is None or positions != "absolute" or config.get("is_decoder"):
            raise OtherForm(f"{location} is a BERT with another activation, other positions, or a decoder")
        padding = int(config.get("pad_token_id", 1)) if config["model_type"] in _ROBERTA else None
        try:
            numbers = [
                int(config[name])
                for name in (
                    *("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size"),
                    *("max_position_embeddings", "type_vocab_size"),
                )
            ]
            layers, heads, hidden, inner, places, types = numbers
            epsilon = float(config.get("layer_norm_eps", 1e-12))
            form = cls(layers, heads, hidden, inner, places, types, epsilon, activation, padding)
        except (KeyError, TypeError, ValueError) as error:
            raise OtherForm(f"{location}/config.json does not say how large the model is ({error})") from error
        if min(numbers) < 1 or form.hidden % form.heads:
            raise OtherForm(f"{location}/config.json has sizes that no BERT has")
        return form

    @property
    def longest(self) -> int:
        """Tokens that have positions."""
        return self.positions - (0 if self.padding is None else self.padding + 1)


class _Weights:
    """The tensors of a safetensors file, of which only the head is read."""

    def __init__(self, path: Path) -> None:
        """Raises ModelError when the file is cut off or damaged."""
        self.path = path.resolve()  # a hub's cache has links; the runtime reads from within one folder alone
        try:
            size = self.path.stat().st_size
            with self.path.open("rb") as file:
                length = int.from_bytes(file.read(8), "little")
                if not 0 < length <= min(size - 8, _LONGEST_HEAD):
                    raise ValueError("its head is cut off")
                head = json.loads(file.read(length))
            head.pop("__metadata__", None)
            self._places = {name: _placed(each, 8 + length, size) for name, each in head.items()}
        except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise ModelError(f"{path} is damaged ({error}): fetch it again") from error
        self.prefix = next((each.removesuffix(_WORDS) for each in self._places if each.endswith(_WORDS)), "")

    @property
    def names(self) -> list[str]:
        """The names of all tensors."""
        return list(self._places)

    def place(self, name: str) -> tuple[str, tuple[int, ...], int]:
        """Return (type, shape, offset) of a tensor. Raises OtherForm where there is none of that name."""
        names = [f"{prefix}{name}" for prefix in (self.prefix, "")]
        names += [each.replace(new, old) for each in names for new, old in _OLD_NAMES.items() if new in each]
        known = next((self._places[each] for each in names if each in self._places), None)
        if known is None or known[0] not in _KINDS:
            raise OtherForm(f"{self.path} has no {name} as numbers of 16 or 32 bits")
        return known

    def array(self, name: str) -> npt.NDArray[np.float32]:
        """Return a tensor's numbers."""
        kind, shape, offset = self.place(name)
        raw = np.memmap(self.path, "<u2" if _KINDS[kind][1] == 2 else "<f4", "r", offset, shape)
        if kind == "BF16":
            return (raw.astype(np.uint32) << 16).view(np.float32)
        return np.asarray(raw.view("<f2") if kind == "F16" else raw, np.float32)


def _placed(entry: Mapping[str, Any], start: int, size: int) -> tuple[str, tuple[int, ...], int]:
    """(type, shape, offset) of a tensor that a head names. Raises ValueError if its bytes are not all in the file."""
    kind, shape, (first, last) = str(entry["dtype"]), tuple(map(int, entry["shape"])), entry["data_offsets"]
    wrong = kind in _KINDS and last - first != math.prod(shape) * _KINDS[kind][1]
    if wrong or not 0 <= first <= last <= size - start:
        raise ValueError("it is cut off")
    return kind, shape, start + first


def _low_rank(adapter: Adapter) -> dict[str, _Matrices]:
    """Return an adapter's (A, B alpha / r) by the end of the layer's name. Raises OtherForm if it has anything else."""
    path = model_file(adapter.location, ADAPTER_FILES[0])
    if path is None:
        raise OtherForm(f"{adapter.location} has no {ADAPTER_FILES[0]}")
    weights, matrices = _Weights(path), {}
    for name in weights.names:
        if name.endswith(_DOWN):
            down, up = weights.array(name), weights.array(name.removesuffix(_DOWN) + _UP)
            matrices[name.removesuffix(_DOWN)] = down, up * np.float32(adapter.scale(len(down)))
    if len(weights.names) != 2 * len(matrices):
        raise OtherForm(f"{adapter.location} changes more than linear layers")
    return matrices


class _Builder:
    """Collects the operators and tensors of a graph."""

    def __init__(self, weights: _Weights, adapted: Mapping[str, _Matrices], *, inside: bool, int8: bool) -> None:
        self._weights, self._inside, self._int8 = weights, inside, int8
        self.adapted = dict(adapted)
        self.nodes: list[bytes] = []
        self.tensors: dict[str, bytes] = {}

    def add(
        self, operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: wire.Attribute
    ) -> str:
        """Add an operator; returns the name of what it gives."""
        self.nodes.append(wire.node(operator, inputs, output, domain=domain, **attributes))
        return output

    def constant(self, name: str, values: npt.NDArray[Any]) -> str:
        """Add a tensor of the graph's own; returns its name."""
        kinds = {"float32": wire.FLOAT, "int64": wire.INT64, "int8": wire.INT8, "uint8": wire.UINT8}
        data = np.asarray(values, order="C")
        self.tensors[name] = wire.tensor(name, kinds[data.dtype.name], data.shape, data.tobytes())
        return name

    def weight(self, name: str, shape: tuple[int, ...]) -> str:
        """Add a tensor of the model's; returns its name. Raises ModelError if it has another shape."""
        kind, own, offset = self._checked(name, shape)
        if self._inside or self._int8:
            return self.constant(name, self._weights.array(name))
        number, width = _KINDS[kind]
        self.tensors[name] = wire.outer_tensor(
            name, number, own, self._weights.path.name, offset, math.prod(own) * width
        )
        return name if number == wire.FLOAT else self.add("Cast", [name], f"{name}_float", to=wire.FLOAT)

    def _checked(self, name: str, shape: tuple[int, ...]) -> tuple[str, tuple[int, ...], int]:
        kind, own, offset = self._weights.place(name)  # a size of 0 may be any
        if len(own) != len(shape) or any(wanted not in (0, size) for size, wanted in zip(own, shape, strict=True)):
            raise ModelError(
                f"the weights of {self._weights.path} are of other sizes than its config.json says: {name} is {own}"
            )
        return kind, own, offset

    def linear(self, x: str, name: str, outputs: int, inputs: int) -> str:
        """x, (rows, inputs), times a layer's weights, plus its bias and what an adapter adds."""
        product = self._product(x, name, outputs, inputs)
        ours = next((each for each in self.adapted if each.endswith(f".{name}")), None)
        if ours is None:
            return product
        down, up = (self.constant(f"{name}.{number}", each) for number, each in enumerate(self.adapted.pop(ours)))
        low = self.add("Gemm", [x, down], f"{name}.low", transB=1)
        return self.add("Add", [product, self.add("Gemm", [low, up], f"{name}.change", transB=1)], f"{name}.adapted")

    def _product(self, x: str, name: str, outputs: int, inputs: int) -> str:
        bias = self.weight(f"{name}.bias", (outputs,))
        if not self._int8:
            weight = self.weight(f"{name}.weight", (outputs, inputs))
            return self.add("Gemm", [x, weight, bias], f"{name}.out", transB=1)
        self._checked(f"{name}.weight", (outputs, inputs))
        blocks = -(-inputs // _BLOCK)
        rows = np.zeros((outputs, blocks * _BLOCK), np.float32)
        rows[:, :inputs] = self._weights.array(f"{name}.weight")
        whole, scales = _in_8_bits(rows.reshape(outputs, blocks, _BLOCK))
        given = [
            self.constant(f"{name}.weight_int8", (whole.astype(np.int16) + 128).astype(np.uint8)),
            self.constant(f"{name}.scales", scales.reshape(-1)),
        ]
        sizes = {"K": inputs, "N": outputs, "bits": 8, "block_size": _BLOCK, "accuracy_level": _IN_8_BITS}
        product = self.add("MatMulNBits", [x, *given], f"{name}.product", wire.MICROSOFT, **sizes)
        return self.add("Add", [product, bias], f"{name}.out")

    def rows(self, table: str, width: int, numbers: str, output: str) -> str:
        """Return the rows of a large table that have these numbers."""
        if not self._int8:
            return self.add("Gather", [self.weight(table, (0, width)), numbers], output)
        self._checked(table, (0, width))
        whole, scales = _in_8_bits(self._weights.array(table))
        rows = self.add("Gather", [self.constant(f"{table}_int8", whole), numbers], f"{output}_int8")
        scale = self.add("Gather", [self.constant(f"{table}_scales", scales), numbers], f"{output}_scale")
        return self.add("Mul", [self.add("Cast", [rows], f"{output}_whole", to=wire.FLOAT), scale], output)

    def normalized(self, x: str, name: str, form: _Form) -> str:
        """Layer normalization."""
        given = [self.weight(f"{name}.{each}", (form.hidden,)) for each in ("weight", "bias")]
        return self.add("LayerNormalization", [x, *given], f"{name}.out", axis=-1, epsilon=form.epsilon)


def _in_8_bits(values: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return (whole numbers, scales), a scale for each row of the last axis."""
    scales = np.maximum(np.abs(values).max(-1, keepdims=True), 1e-12) / 127
    return np.round(values / scales).astype(np.int8), scales.astype(np.float32)


def bert_graph(
    location: str, body: str = "", *, classifier: bool = False, inside: bool = False, int8: bool = False
) -> BertGraph:
    """The graph of a folder's or hub name's Transformer, which gives `last_hidden_state`, (texts, tokens, hidden)
    float32; with `classifier` that of a cross-encoder, which gives `logits`, (texts, 1).

    body: the Transformer's folder within. inside: with the weights in the graph. int8: these in 8 bits by blocks, which
    moves scores by about 0.004. Raises OtherForm where it is no BERT or XLM-R in one safetensors file, ModelError where
    its files are damaged.
    """
    adapter = Adapter.of(location)
    adapted = _low_rank(adapter) if adapter else {}
    location = adapter.base if adapter else location
    form = _Form.read(location, body)
    path = model_file(location, in_folder(body, WEIGHTS))
    if path is None:
        raise OtherForm(f"{location} has no {in_folder(body, WEIGHTS)}")
    weights = _Weights(path)
    built = _Builder(weights, adapted, inside=inside, int8=int8)
    x = _embedded(built, form)
    for number in range(form.layers):
        x = _layer(built, form, f"encoder.layer.{number}", x)
    if built.adapted and not classifier:
        raise OtherForm(f"{path} has no layers for an adapter's {', '.join(built.adapted)}")
    output: wire.Value
    if classifier:
        output = (_scored(built, form, weights, x), wire.FLOAT, ("texts", 1))
    else:
        output = (built.add("Reshape", [x, "text_shape"], HIDDEN), wire.FLOAT, ("texts", "tokens", form.hidden))
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if form.types > 1 else [])]
    inputs: list[wire.Value] = [(name, wire.INT64, ("texts", "tokens")) for name in names]
    data = wire.model(built.nodes, list(built.tensors.values()), inputs, [output])
    return BertGraph(data, weights.path.parent, form.longest)


def _embedded(built: _Builder, form: _Form) -> str:
    """Words, types and positions as (texts * tokens, hidden); and what all layers share."""
    hidden, zero = form.hidden, built.constant("zero", np.zeros(1, np.int64))
    word = built.rows(_WORDS, hidden, "input_ids", "words")
    types = built.weight("embeddings.token_type_embeddings.weight", (form.types, hidden))
    kind = built.add("Gather", [types, "token_type_ids" if form.types > 1 else zero], "kinds")
    table = built.weight("embeddings.position_embeddings.weight", (form.positions, hidden))
    if form.padding is None:
        built.add("Shape", ["input_ids"], "tokens", start=1, end=2)
        place = built.add("Slice", [table, zero, "tokens", zero], "places")
    else:
        padding = built.constant("padding", np.array([form.padding]))
        is_padding = built.add("Equal", ["input_ids", padding], "is_padding")
        own = built.add("Cast", [built.add("Not", [is_padding], "is_own")], "own", to=wire.INT64)
        counted = built.add("CumSum", [own, built.constant("one", np.ones((), np.int64))], "counted")
        number = built.add("Add", [built.add("Mul", [counted, own], "counted_own"), padding], "place_numbers")
        place = built.add("Gather", [table, number], "places")
    total = built.add("Add", [built.add("Add", [word, kind], "words_kinds"), place], "words_kinds_places")
    built.add("Shape", ["input_ids"], "batch")
    built.add("Concat", ["batch", built.constant("hidden", np.array([hidden]))], "text_shape", axis=0)
    built.add("Cast", ["attention_mask"], "mask", to=wire.INT32)
    flat = built.constant("flat", np.array([-1, hidden]))
    return built.add("Reshape", [built.normalized(total, "embeddings.LayerNorm", form), flat], "embedded")


def _layer(built: _Builder, form: _Form, name: str, x: str) -> str:
    hidden, own = form.hidden, f"{name}.attention"
    parts = []
    for part in ("query", "key", "value"):
        flat = built.linear(x, f"{own}.self.{part}", hidden, hidden)
        parts.append(built.add("Reshape", [flat, "text_shape"], f"{own}.{part}"))
    read = built.add("MultiHeadAttention", [*parts, "", "mask"], f"{own}.read", wire.MICROSOFT, num_heads=form.heads)
    read = built.linear(built.add("Reshape", [read, "flat"], f"{own}.flat"), f"{own}.output.dense", hidden, hidden)
    x = built.normalized(built.add("Add", [read, x], f"{own}.sum"), f"{own}.output.LayerNorm", form)
    inner = built.linear(x, f"{name}.intermediate.dense", form.inner, hidden)
    inner = built.add(form.activation, [inner], f"{name}.active")
    inner = built.linear(inner, f"{name}.output.dense", hidden, form.inner)
    return built.normalized(built.add("Add", [inner, x], f"{name}.sum"), f"{name}.output.LayerNorm", form)


def _scored(built: _Builder, form: _Form, weights: _Weights, x: str) -> str:
    """Return a classifier's only number, from the first token."""
    hidden = built.add("Reshape", [x, "text_shape"], HIDDEN)
    first = built.add("Gather", [hidden, built.constant("first", np.zeros((), np.int64))], "first_token", axis=1)
    dense, last = (
        ("pooler.dense", "classifier") if form.padding is None else ("classifier.dense", "classifier.out_proj")
    )
    pooled = built.add("Tanh", [built.linear(first, dense, form.hidden, form.hidden)], "pooled")
    if weights.place(f"{last}.weight")[1][:1] != (1,):
        raise OtherForm(f"{weights.path} has a classifier of several labels")
    return built.add("Identity", [built.linear(pooled, last, 1, form.hidden)], LOGITS)
