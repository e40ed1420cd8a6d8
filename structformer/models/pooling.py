"""From token vectors to a text's, by the same arithmetic in numpy and torch: search and training must agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structformer.errors import ModelError
from structformer.models.sentence_modules import WEIGHTS, Dense, SentenceModules, Step, model_file

Array = Any  # of numpy or of torch
_NEVER = 1e30  # less than this below any number of a token's vector
_SMALLEST = 1e-9
_ROOT_OF_HALF = math.sqrt(0.5)


@dataclass(frozen=True, slots=True)
class Layer:
    """A Dense layer's weights."""

    weight: Array
    """(outputs, inputs)."""
    bias: Array | None = None
    """(outputs,)."""
    residual: Array | None = None
    """(outputs, inputs), if the residual has weights of its own."""


@dataclass(frozen=True, slots=True)
class SentenceHead:
    """Pools token vectors into the text's vector."""

    modules: SentenceModules
    layers: tuple[Layer, ...]
    xp: Any
    """numpy or torch, whose arrays the layers are."""

    @classmethod
    def load(cls, location: str, modules: SentenceModules, xp: Any) -> SentenceHead:
        """Load the layers' weights as float32. Raises ModelError if missing, or of sizes not as configured."""
        steps = [step for step in modules.steps if isinstance(step, Dense)]
        return cls(modules, tuple(_layer(location, step, xp) for step in steps), xp)

    def to(self, device: Any) -> SentenceHead:
        """With its layers' arrays on a device of torch."""
        arrays = ((layer.weight, layer.bias, layer.residual) for layer in self.layers)
        layers = (Layer(*(None if each is None else each.to(device) for each in of_layer)) for of_layer in arrays)
        return SentenceHead(self.modules, tuple(layers), self.xp)

    def vectors(self, hidden: Array, mask: Array, skipped: Array | None = None) -> Array:
        """(texts, dimensions), unit length. hidden: (texts, tokens, dimensions); mask: (texts, tokens) float, 0 or 1;
        skipped: (texts,) how many of the first tokens, which are their prompts', take no part.
        """
        vectors = _pooled(self.modules.pooling, hidden, mask, skipped, self.xp)
        layers = iter(self.layers)
        for step in self.modules.steps:
            vectors = self._after(step, vectors, next(layers)) if isinstance(step, Dense) else _unit(vectors, self.xp)
        return _unit(vectors, self.xp)

    def _after(self, step: Dense, vectors: Array, layer: Layer) -> Array:
        outputs = vectors @ layer.weight.T
        if layer.bias is not None:
            outputs = outputs + layer.bias
        outputs = _ACTIVATIONS[step.activation](outputs, self.xp)
        if step.residual:
            outputs = outputs + (vectors if layer.residual is None else vectors @ layer.residual.T)
        return outputs


def _pooled(modes: Sequence[str], hidden: Array, mask: Array, skipped: Array | None, xp: Any) -> Array:
    places = mask.cumsum(1) * mask  # 1, 2, ... of a text's tokens, wherever the padding is
    kept = mask
    if skipped is not None:
        kept = mask * (places > skipped[:, None])
        kept = kept + mask * (kept.sum(1) == 0)[:, None]  # where a text is nothing but its prompt
    parts = [
        xp.amax(hidden - (1 - kept)[..., None] * _NEVER, 1) if mode == "max" else _mean(mode, hidden, kept, places)
        for mode in modes
    ]
    return parts[0] if len(parts) == 1 else xp.concatenate(parts, 1)


def _mean(mode: str, hidden: Array, kept: Array, places: Array) -> Array:
    """A mean whose weights the mode makes: of all tokens, by their places, or of the first or the last one alone."""
    weights = kept
    if mode == "weightedmean":
        weights = kept * places
    elif mode in ("cls", "lasttoken"):
        counted = kept.cumsum(1)
        weights = kept * (counted == (1 if mode == "cls" else kept.sum(1)[:, None]))
    total = weights.sum(1)[:, None].clip(_SMALLEST)
    return (hidden * weights[..., None]).sum(1) / (total**0.5 if mode == "mean_sqrt_len_tokens" else total)


def _unit(vectors: Array, xp: Any) -> Array:
    return vectors / xp.sqrt((vectors * vectors).sum(-1)[..., None].clip(_SMALLEST**2))


def _gelu(value: Array, xp: Any) -> Array:
    erf = xp.erf if hasattr(xp, "erf") else np.vectorize(math.erf, otypes=[np.float32])  # numpy has none
    return value * (0.5 + 0.5 * erf(value * _ROOT_OF_HALF))


_ACTIVATIONS: dict[str, Callable[[Array, Any], Array]] = {
    "Identity": lambda value, xp: value,
    "Tanh": lambda value, xp: xp.tanh(value),
    "ReLU": lambda value, xp: value * (value > 0),
    "Sigmoid": lambda value, xp: 1 / (1 + xp.exp(-value)),
    "GELU": _gelu,
}


def _layer(location: str, step: Dense, xp: Any) -> Layer:
    from safetensors import SafetensorError, safe_open

    name = f"{step.path}/{WEIGHTS}" if step.path else WEIGHTS
    path = model_file(location, name)
    if path is None:
        raise ModelError(f"{location} has no {name}: structformer reads weights from safetensors alone")
    sizes: dict[str, tuple[int, ...]] = {"linear.weight": (step.outputs, step.inputs)}
    if step.bias:
        sizes["linear.bias"] = (step.outputs,)
    if step.residual and step.inputs != step.outputs:
        sizes["residual.weight"] = (step.outputs, step.inputs)
    try:
        with safe_open(path, "np" if xp is np else "pt") as file:
            read = {each: file.get_tensor(each) for each in sizes}
        arrays = {each: array.astype(np.float32) if xp is np else array.float() for each, array in read.items()}
    except (OSError, SafetensorError, TypeError) as error:
        raise ModelError(f"{location}/{name} cannot be read: {error}") from error
    for each, size in sizes.items():
        if tuple(arrays[each].shape) != size:
            raise ModelError(f"{location}/{name}: {each} is of the size {tuple(arrays[each].shape)}, not {size}")
    return Layer(arrays["linear.weight"], arrays.get("linear.bias"), arrays.get("residual.weight"))


def steps_fit(steps: Sequence[Step], dimensions: int) -> str:
    """Return why layers cannot follow each other; "" if they can. dimensions: of the first layer's input."""
    for step in steps:
        if isinstance(step, Dense):
            if step.inputs != dimensions:
                return f"{step.path} reads vectors of {step.inputs} numbers, and gets {dimensions}"
            dimensions = step.outputs
    return ""
