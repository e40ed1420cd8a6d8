"""The few ONNX messages of a graph, in protobuf's wire format, without a package for it. Source: onnx.proto."""

import struct
from collections.abc import Sequence

FLOAT, UINT8, INT8, INT32, INT64, FLOAT16, BFLOAT16 = 1, 2, 3, 6, 7, 10, 16
MICROSOFT = "com.microsoft"
_IR_VERSION, _OPERATORS = 10, 20  # those with Gelu, of January 2024
Attribute = int | float | str | Sequence[int]
Value = tuple[str, int, Sequence[str | int]]
"""A name, the type of its numbers, and its dimensions, of which those with a name may vary."""


def node(operator: str, inputs: Sequence[str], output: str, *, domain: str = "", **attributes: Attribute) -> bytes:
    """Return an operator of a graph: the names of its inputs and its output, and its attributes."""
    names = b"".join(_text(1, name) for name in inputs) + _text(2, output) + _text(4, operator)
    return names + b"".join(_block(5, _attribute(*each)) for each in attributes.items()) + _text(7, domain)


def tensor(name: str, kind: int, shape: Sequence[int], data: bytes) -> bytes:
    """Return a tensor whose numbers are in the graph."""
    return _tensor(name, kind, shape) + _block(9, data)


def outer_tensor(name: str, kind: int, shape: Sequence[int], file: str, offset: int, length: int) -> bytes:
    """Return a tensor whose numbers are so many bytes of a file, from an offset on."""
    places = {"location": file, "offset": str(offset), "length": str(length)}
    entries = b"".join(_block(13, _text(1, key) + _text(2, value)) for key, value in places.items())
    return _tensor(name, kind, shape) + entries + _number(14, 1)


def model(nodes: Sequence[bytes], tensors: Sequence[bytes], inputs: Sequence[Value], outputs: Sequence[Value]) -> bytes:
    """Return a whole file."""
    parts = [_block(1, each) for each in nodes] + [_text(2, "encoder")] + [_block(5, each) for each in tensors]
    parts += [_block(11, _value(*each)) for each in inputs] + [_block(12, _value(*each)) for each in outputs]
    sets = ((_OPERATORS, ""), (1, MICROSOFT))
    operators = b"".join(_block(8, _text(1, domain) + _number(2, version)) for version, domain in sets)
    return _number(1, _IR_VERSION) + _text(2, "structformer") + _block(7, b"".join(parts)) + operators


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative ones in two's complement
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _block(field: int, data: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(data)) + data


def _text(field: int, text: str) -> bytes:
    return _block(field, text.encode("utf-8"))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return _text(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _number(20, 1)
    if isinstance(value, int):
        return _text(1, name) + _number(3, value) + _number(20, 2)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _number(20, 3)
    return _text(1, name) + b"".join(_number(8, each) for each in value) + _number(20, 7)


def _tensor(name: str, kind: int, shape: Sequence[int]) -> bytes:
    return b"".join(_number(1, size) for size in shape) + _number(2, kind) + _text(8, name)


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = (_number(1, each) if isinstance(each, int) else _text(2, each) for each in shape)
    dimensions = b"".join(_block(1, each) for each in sizes)
    return _text(1, name) + _block(2, _block(1, _number(1, kind) + _block(2, dimensions)))
