"""LoRA adapters (Hu et al., ICLR 2022): folders without a model of their own, whose small matrices change a base's."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from structformer.errors import ModelError
from structformer.models.base import MINILM_HUB, packaged_minilm
from structformer.models.sentence_modules import model_file, read_model_json

if TYPE_CHECKING:
    import torch

ADAPTER_FILES = ("adapter_model.safetensors", "adapter_model.bin")
ADAPTER = "adapter_config.json"
_WRAPPER, _DOWN, _UP = "base_model.model.", "lora_A.weight", "lora_B.weight"
# What changes a base in another way.
_OTHERWISE = ("use_dora", "fan_in_fan_out", "alpha_pattern", "layer_replication")


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter of a base that is at hand."""

    location: str
    base: str
    alpha: float
    by_root: bool
    """alpha is divided by the root of the rank, not by the rank (rsLoRA)."""

    @classmethod
    def of(cls, location: str) -> Adapter | None:
        """The adapter at a location, None if it is none. Raises ModelError without its base, or if not plain LoRA."""
        if (lora := read_model_json(location, ADAPTER)) is None:
            return None
        try:
            base, alpha, kind = lora["base_model_name_or_path"], float(lora["lora_alpha"]), lora["peft_type"]
            plain = kind == "LORA" and not any(lora.get(each) for each in _OTHERWISE)
            revision = lora.get("revision")
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ModelError(f"{location}/{ADAPTER} cannot be read: {error!r}") from error
        base = f"{base}@{revision}" if revision else str(base)
        packaged = packaged_minilm() if base == MINILM_HUB else None
        base = str(packaged) if packaged else base
        if not plain or not _at_hand(base):
            why = f"of {base}, which is not at hand" if plain else "of a kind that only peft merges"
            raise ModelError(
                f"{location} is an adapter {why}: merge it into its base with peft, as by "
                "`merge_and_unload().save_pretrained(FOLDER)`, and name that folder"
            )
        return cls(location, base, alpha, bool(lora.get("use_rslora")))

    def scale(self, rank: int) -> float:
        """Return the factor of B A: alpha / r, with rsLoRA alpha / sqrt(r)."""
        return float(self.alpha / rank ** (0.5 if self.by_root else 1))

    def merged(self, base: Mapping[str, torch.Tensor], own: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """The base's tensors plus B A alpha / r and the adapter's own. Raises ModelError on one the base lacks."""
        weights = dict(base)
        for name, value in own.items():
            inside = name.removeprefix(_WRAPPER)
            target = _named(inside.removesuffix(_DOWN) + "weight" if inside.endswith(_DOWN) else inside, base)
            up = own.get(name.removesuffix(_DOWN) + _UP) if inside.endswith(_DOWN) else None
            if up is not None and target in base and _fits(base[target], up, value):
                change = up.float() @ value.float()
                weights[target] = base[target].float() + change * self.scale(len(value))
            elif "lora_" not in inside:
                weights[target] = value
            elif not inside.endswith(_UP):
                raise ModelError(
                    f"the adapter {self.location} has {name}, for which {self.base} has no weights of its sizes"
                )
        return weights


def settings_of(location: str, name: str = "config.json") -> str:
    """Return where a file of a model is read from: of an adapter that lacks it, its base. Raises ModelError."""
    adapter = None if model_file(location, name) else Adapter.of(location)
    return adapter.base if adapter else location


def _fits(weights: torch.Tensor, up: torch.Tensor, down: torch.Tensor) -> bool:
    return up.dim() == down.dim() == 2 and len(down) == up.shape[1] and weights.shape == (len(up), down.shape[1])


def _at_hand(base: str) -> bool:
    try:  # an adapter of an adapter might be its own base
        return model_file(base, "config.json") is not None and model_file(base, ADAPTER) is None
    except ModelError:
        return False


def _named(name: str, base: Collection[str]) -> str:
    """Return the base's name of a tensor, which may have a further part in front, or lack the first one."""
    likely = [each for each in base if each.endswith(f".{name}") or name.endswith(f".{each}")]
    return likely[0] if name not in base and len(likely) == 1 else name
