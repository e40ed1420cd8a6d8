"""Weights as their makers published them: in safetensors or pickled, whole or in parts, under names of older versions,
with a ranking head of another form than the one-label classifier that scores pairs here.
"""

import json
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from structformer.errors import ModelError
from structformer.models.adapters import ADAPTER_FILES, Adapter
from structformer.models.sentence_modules import in_folder, model_file, read_model_json

SAFE, PICKLED = "model.safetensors", "pytorch_model.bin"
_INDEX, _MERGED = ".index.json", Path("merged")
_WRAPPER = "module."  # what DataParallel puts before each name
_OLD_NAMES = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
_OLD_BERT = frozenset({"hidden_size", "num_hidden_layers", "type_vocab_size", "vocab_size"})

Tensors = dict[str, torch.Tensor]


class PublishedWeights:
    """A location's weights by today's names, an adapter's merged into its base; no pickled code is run."""

    def __init__(self, location: str, body: str = "", files: Sequence[str] = (SAFE, PICKLED)) -> None:
        """body: the folder within; files: names there, the first is taken. Raises ModelError if none can be read."""
        self.location = location
        self._possible = files
        self._body = body
        self._pickled: dict[Path, Mapping[str, torch.Tensor]] = {}
        self._files = self._found()
        self._places = {today(name): (path, name) for path in self._files for name in self._names(path)}

    @property
    def names(self) -> Collection[str]:
        """Their names."""
        return self._places.keys()

    @property
    def plain(self) -> bool:
        """Whether they are in safetensors, by today's names, so that transformers reads them as they are."""
        return all(_is_safe(path) and name == old for name, (path, old) in self._places.items())

    def shape(self, name: str) -> tuple[int, ...]:
        """Return a tensor's shape; () where there is no such tensor."""
        if name not in self._places:
            return ()
        path, old = self._places[name]
        if not _is_safe(path):
            return tuple(self._pickled[path][old].shape)
        with safe_open(path, "pt") as file:
            return tuple(file.get_slice(old).get_shape())

    def tensors(self, names: Collection[str] | None = None) -> Tensors:
        """Return those of these names that there are; None: all."""
        tensors: Tensors = {}
        for path in self._files:
            chosen = {
                name: old
                for name, (where, old) in self._places.items()
                if where == path and (names is None or name in names)
            }
            if _is_safe(path):
                with safe_open(path, "pt") as file:
                    tensors |= {name: file.get_tensor(old) for name, old in chosen.items()}
            else:
                tensors |= {name: self._pickled[path][old] for name, old in chosen.items()}
        return tensors

    def _found(self) -> list[Path]:
        for whole in self._possible:
            if (path := model_file(self.location, in_folder(self._body, whole))) is not None:
                return [path]
            if (path := model_file(self.location, in_folder(self._body, whole + _INDEX))) is not None:
                return list(self._parts(path))
        if self._possible != ADAPTER_FILES and (adapter := Adapter.of(self.location)) is not None:
            own = PublishedWeights(self.location, files=ADAPTER_FILES).tensors()
            self._pickled[_MERGED] = adapter.merged(PublishedWeights(adapter.base).tensors(), own)
            return [_MERGED]
        raise ModelError(
            f"no weights can be loaded from {self.location}: it has neither {' nor '.join(self._possible)}"
        )

    def _parts(self, index: Path) -> Iterator[Path]:
        """Yield the files that an index names, each once."""
        try:
            named = dict.fromkeys(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise ModelError(f"{self.location}/{index.name} cannot be read: {error}") from error
        for name in named:
            # The names are a stranger's: none may lead out of the folder.
            path = model_file(self.location, in_folder(self._body, name)) if Path(str(name)).name == name else None
            if path is None:
                raise ModelError(f"{self.location}/{index.name} names {name}, which is not there")
            yield path

    def _names(self, path: Path) -> Collection[str]:
        try:
            if _is_safe(path):
                with safe_open(path, "pt") as file:
                    return list(file.keys())
            if path not in self._pickled:
                self._pickled[path] = _unpickled(path)
            return self._pickled[path].keys()
        except (OSError, SafetensorError) as error:
            raise ModelError(f"no weights can be loaded from {self.location}: {path.name}: {error}") from error


def today(name: str) -> str:
    """Return a tensor's name as transformers has it now."""
    while name.startswith(_WRAPPER):
        name = name.removeprefix(_WRAPPER)
    return next((name.removesuffix(old) + new for old, new in _OLD_NAMES.items() if name.endswith(old)), name)


def old_config(location: str, body: str = "") -> dict[str, Any] | None:
    """The settings of an early BERT, whose config.json names no model type; None of others. Raises ModelError."""
    config = read_model_json(location, in_folder(body, "config.json"))
    return config if isinstance(config, dict) and "model_type" not in config and config.keys() >= _OLD_BERT else None


@dataclass(frozen=True, slots=True)
class RankingHead:
    """The linear layer that scores a pair."""

    module: str
    """Its name in the file."""
    target: str
    """Its name in the one-label classifier."""
    signs: tuple[float, ...]
    """Weights of its outputs in the score."""

    @property
    def of_next_sentences(self) -> bool:
        """Whether it says that one text follows the other."""
        return self.module == _NEXT_SENTENCE and self.signs == _FIRST_OVER_SECOND

    @property
    def own(self) -> bool:
        """Whether it is the classifier's own already."""
        return self.module == self.target and self.signs == (1.0,)

    def mapped(self, tensors: Tensors) -> Tensors:
        """Return the tensors with the classifier's layer in the place of this one."""
        renamed = dict(tensors)
        signs = torch.tensor(self.signs)
        weight, bias = (renamed.pop(f"{self.module}.{each}", None) for each in ("weight", "bias"))
        assert weight is not None
        renamed[f"{self.target}.weight"] = (signs @ weight.float())[None]
        if bias is not None or self.target != _WITHOUT_BIAS:
            renamed[f"{self.target}.bias"] = (signs @ bias.float())[None] if bias is not None else torch.zeros(1)
        return renamed


_WITHOUT_BIAS = "score"
_ONE: tuple[float, ...] = (1.0,)
_SECOND_OVER_FIRST = (-1.0, 1.0)  # of rerankers with two labels the second one says "relevant"
_LABELS = {1: _ONE, 2: _SECOND_OVER_FIRST}
_FIRST_OVER_SECOND = (1.0, -1.0)
_NEXT_SENTENCE = "cls.seq_relationship"
# (layer, the classifier's layer that takes its weights, signs by its number of outputs), in the order of preference.
_HEADS: tuple[tuple[str, str, Mapping[int, tuple[float, ...]]], ...] = (
    ("classifier", "classifier", _LABELS),
    ("classifier.out_proj", "classifier.out_proj", _LABELS),  # RoBERTa and ELECTRA
    ("score", "score", _LABELS),
    ("cls", "classifier", {1: _ONE}),  # PROP, ARES
    (_NEXT_SENTENCE, "classifier", {2: _FIRST_OVER_SECOND}),  # BERT's own, whose output 0 says "is next"
)
_SIGNS_OF_OWN_CLASSES = {"PairWiseBertForPreTraining": (0.0, 1.0)}  # HARP
CLASSIFIERS = tuple(
    f"{module}.{each}" for module, target, _ in _HEADS if module == target for each in ("weight", "bias")
)


def ranking_head(weights: PublishedWeights, architecture: str) -> RankingHead | None:
    """The head that ranks; None if the weights have none, or more than two classes. architecture: config.json's class,
    which says what two outputs mean. Raises ModelError on a next-sentence head of an unknown class: its sign would be a
    guess.
    """
    for module, target, signs in _HEADS:
        shape = weights.shape(f"{module}.weight")
        if len(shape) != 2 or shape[0] not in signs:
            continue
        if module != _NEXT_SENTENCE or _is_known(architecture):
            return RankingHead(module, target, signs[shape[0]])
        if architecture not in _SIGNS_OF_OWN_CLASSES:
            raise ModelError(
                f'cannot tell which output of {weights.location} means "relevant": it is a {architecture}; in '
                'config.json, "architectures": ["BertForPreTraining"] means the first less the second, '
                '["PairWiseBertForPreTraining"] the second alone'
            )
        return RankingHead(module, target, _SIGNS_OF_OWN_CLASSES[architecture])
    return None


def _is_known(architecture: str) -> bool:
    import transformers

    return not architecture or hasattr(transformers, architecture)


# Of heads for masked words the dense layer, the norm and the bias: of BERT, of RoBERTa and of DistilBERT.
_MASKED_HEADS = (
    ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions.bias"),
    ("lm_head.dense", "lm_head.layer_norm", "lm_head.bias"),
    ("vocab_transform", "vocab_layer_norm", "vocab_projector.bias"),
)


def masked_head(location: str) -> Tensors | None:
    """A model's own head for masked words, by training's names; None without one. Raises ModelError if unreadable."""
    weights = PublishedWeights(location)
    for dense, norm, bias in _MASKED_HEADS:
        layers = {"dense": dense, "norm": norm}
        tensors = {f"{our}.{each}": f"{their}.{each}" for our, their in layers.items() for each in ("weight", "bias")}
        names = {**tensors, "bias": bias}
        if set(names.values()).issubset(weights.names):
            present = weights.tensors(set(names.values()))
            return {ours: present[theirs].float() for ours, theirs in names.items()}
    return None


def _is_safe(path: Path) -> bool:
    return path.name.endswith(".safetensors")


def _unpickled(path: Path) -> Mapping[str, torch.Tensor]:
    """Return the tensors of a pickled file. Raises ModelError on one that holds anything else."""
    try:
        loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=zipfile.is_zipfile(path))
    except Exception as error:  # a stranger's file may fail in any way
        why = str(error).strip().partition("\n")[0]
        raise ModelError(f"{path} is refused: it holds more than tensors, or is damaged ({why})") from error
    if not isinstance(loaded, Mapping) or not all(
        isinstance(name, str) and isinstance(value, torch.Tensor) for name, value in loaded.items()
    ):
        raise ModelError(f"{path} is refused: it is not a table of tensors by their names")
    return loaded
