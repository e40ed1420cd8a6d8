"""How much of its GPU's arithmetic a run uses for its model: model FLOPs utilisation (Chowdhery et al., "PaLM", 2022,
appendix B).
"""

from __future__ import annotations

import torch

from structformer.training.masked import MASKED_SHARE
from structformer.training.objectives import Objective
from structformer.training.prepared import Prepared

# TFLOP/s in bfloat16 with dense matrices and sums in float32, as their maker's data sheets have them. A name is looked
# for in this order.
_PEAKS = {
    "B200": 2250.0,
    "GH200": 989.0,
    "H200": 989.0,
    "H100 PCIe": 756.0,
    "H100 NVL": 835.0,
    "H100": 989.0,
    "A100": 312.0,
    "L40S": 362.0,
    "L40": 181.0,
    "L4": 121.0,
    "A40": 150.0,
    "RTX A6000": 155.0,
    "A10": 125.0,
    "RTX 4090": 165.0,
    "RTX 3090": 71.0,
}


def peak_of(device_name: str) -> float | None:
    """The operations a second that a GPU of that name can do at most, None where that is not known."""
    words = f" {device_name.replace('-', ' ')} "
    return next((peak * 1e12 for name, peak in _PEAKS.items() if f" {name} " in words), None)


class ModelArithmetic:
    """The operations that learning from texts takes: multiplications and additions of the model's matrices and of
    attention, forwards and backwards. Padding, and what is read twice to save memory, does not count.
    """

    def __init__(self, objective: Objective) -> None:
        model = objective.model
        words = {id(each.weight) for each in model.modules() if isinstance(each, torch.nn.Embedding)}
        own = [parameter for parameter in model.parameters() if id(parameter) not in words]
        weights = sum(parameter.numel() for parameter in own)
        trained = sum(parameter.numel() for parameter in own if parameter.requires_grad)
        width = int(getattr(model.config, "hidden_size", 0))
        head = width * (width + int(getattr(model.config, "vocab_size", 0))) if objective.head is not None else 0
        self._token = 2 * weights + 4 * trained + 6 * MASKED_SHARE * head
        self._pair_of_tokens = 12 * width * int(getattr(model.config, "num_hidden_layers", 0))

    def of(self, prepared: Prepared) -> float:
        """A chunk's."""
        lengths = torch.cat([batch.features["attention_mask"].sum(1) for _, batch in prepared.all_batches]).double()
        return float(self._token * lengths.sum() + self._pair_of_tokens * lengths.square().sum())
