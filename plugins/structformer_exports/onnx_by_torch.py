"""Exporting models of other forms than BERT's and XLM-R's by torch's own exporter, for onnxruntime."""

import inspect
import logging
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from structformer.models import Ranker, ranker_kind

_BLOCK = 64
_LARGE = 1_000_000  # numbers of a table
_IN_8_BITS = 4  # onnxruntime's accuracy level at which products are computed in 8 bits too


class _Wrapped(torch.nn.Module):
    """The model with its inputs by position and one tensor as output."""

    def __init__(self, model: Any, output: str, names: list[str]) -> None:
        super().__init__()
        self.model = model
        self._output = output
        self._names = names

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.model(**dict(zip(self._names, inputs, strict=True)))[self._output]
        return result


def export_by_torch(ranker: Ranker, target: Path, int8: Path | None) -> None:
    """Write a model's graph to a file, and with 8-bit weights to another one if it is named."""
    joint = ranker_kind(ranker.kind).joint
    encoded = ranker.tokenizer("how do I", "an answer") if joint else ranker.tokenizer("how do I")
    taken = inspect.signature(ranker.model.forward).parameters
    names = [name for name in ("input_ids", "attention_mask", "token_type_ids") if name in encoded and name in taken]
    inputs = tuple(torch.tensor([encoded[name]] * 2) for name in names)
    texts = torch.export.Dim("texts", min=1, max=4096)
    tokens = torch.export.Dim("tokens", min=2, max=int(ranker.model.config.max_position_embeddings))
    output = "logits" if joint else "last_hidden_state"
    model = _Wrapped(ranker.model.float().cpu().eval(), output, names)
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")
        logging.getLogger("torch.onnx").setLevel(logging.ERROR)
        program = torch.onnx.export(
            model,
            inputs,
            dynamo=True,
            input_names=names,
            output_names=[output],
            verbose=False,
            dynamic_shapes=({0: texts, 1: tokens},) * len(names)
            if len(names) == 1
            else (tuple({0: texts, 1: tokens} for _ in names),),
        )
        assert program is not None
        program.save(str(target), external_data=False)
    if int8 is None:
        return
    import onnx
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    for name in ("onnxruntime.quantization", "onnxruntime.quantization.matmul_nbits_quantizer"):
        logging.getLogger(name).setLevel(logging.ERROR)
    # By blocks, as structformer.models.bert_graph says.
    quantizer = MatMulNBitsQuantizer(
        onnx.load(str(target)), bits=8, block_size=_BLOCK, is_symmetric=True, accuracy_level=_IN_8_BITS
    )
    quantizer.process()
    _quantize_word_vectors(quantizer.model.model)
    quantizer.model.save_model_to_file(str(int8))


def _quantize_word_vectors(model: Any) -> None:
    """Store rows of large tables in 8 bits, each with its scale: word vectors are three quarters of a small model."""
    from onnx import helper, numpy_helper

    tables = {each.name: each for each in model.graph.initializer}
    nodes = []
    for node in model.graph.node:
        table = tables.get(node.input[0]) if node.op_type == "Gather" else None
        if table is None or len(table.dims) != 2 or table.dims[0] * table.dims[1] < _LARGE:
            nodes.append(node)
            continue
        rows = numpy_helper.to_array(table)
        scales = np.maximum(np.abs(rows).max(1, keepdims=True), 1e-12) / 127
        whole, scale, name = f"{table.name}_int8", f"{table.name}_scale", node.output[0]
        model.graph.initializer.append(numpy_helper.from_array(np.round(rows / scales).astype(np.int8), whole))
        model.graph.initializer.append(numpy_helper.from_array(scales.astype(np.float32), scale))
        model.graph.initializer.remove(table)
        nodes += [
            helper.make_node("Gather", [whole, node.input[1]], [f"{name}_int8"], axis=0),
            helper.make_node("Cast", [f"{name}_int8"], [f"{name}_whole"], to=1),
            helper.make_node("Gather", [scale, node.input[1]], [f"{name}_scale"], axis=0),
            helper.make_node("Mul", [f"{name}_whole", f"{name}_scale"], [name]),
        ]
    del model.graph.node[:]
    model.graph.node.extend(nodes)
