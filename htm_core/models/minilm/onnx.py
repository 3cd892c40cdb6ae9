"""Write an ONNX graph as bytes, without the `onnx` package.

An ONNX model is one protocol-buffers message. The numbers of its fields below are from the published schema (onnx.proto,
IR version 8). Weights are not copied: an initializer may point into any file by offset.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

FLOAT, UINT8, INT8, INT32, INT64 = 1, 2, 3, 6, 7
_IR_VERSION = 8
_VARINT, _BYTES, _FIXED32 = 0, 2, 5

Attribute = int | float | str | Sequence[int]
Dimension = int | str


@dataclass(frozen=True, slots=True)
class Span:
    """The place of a tensor's bytes: `length` bytes from `offset` in the file called `location`."""

    location: str
    offset: int
    length: int


@dataclass(slots=True)
class Graph:
    """A graph under construction: add tensors and nodes, then `serialise`.

    `opsets` are the versions of the operator sets in use, by name; the standard one is "".
    """

    name: str
    opsets: Mapping[str, int]
    _body: list[bytes] = field(default_factory=list)
    _count: int = 0

    def input(self, name: str, kind: int, shape: Sequence[Dimension]) -> str:
        """Declare an input; a dimension that is a word may vary."""
        self._body.append(_field(11, _value_info(name, kind, shape)))
        return name

    def output(self, name: str, kind: int, shape: Sequence[Dimension]) -> None:
        """Declare an output."""
        self._body.append(_field(12, _value_info(name, kind, shape)))

    def external(self, name: str, kind: int, shape: Sequence[int], span: Span) -> str:
        """Add a tensor whose bytes stay in their file."""
        place = {"location": span.location, "offset": str(span.offset), "length": str(span.length)}
        entries = [_field(13, _field(1, key) + _field(2, value)) for key, value in place.items()]
        self._body.append(_field(5, _tensor(name, kind, shape) + b"".join(entries) + _field(14, 1)))
        return name

    def constant(self, name: str, kind: int, shape: Sequence[int], data: bytes) -> str:
        """Add a tensor with its little-endian bytes."""
        self._body.append(_field(5, _tensor(name, kind, shape) + _field(9, data)))
        return name

    def node(self, op: str, inputs: Sequence[str], attributes: Mapping[str, Attribute] | None = None) -> str:
        """Add an operation, of another operator set as `domain::Op`; give the name of its first result."""
        domain, _, kind = op.rpartition("::")
        self._count += 1
        result = f"{kind}_{self._count}"
        parts = [_field(1, name) for name in inputs] + [_field(2, result), _field(4, kind), _field(7, domain)]
        parts += [_field(5, _attribute(key, value)) for key, value in (attributes or {}).items()]
        self._body.append(_field(1, b"".join(parts)))
        return result

    def serialise(self) -> bytes:
        """Give the model as the bytes of an ONNX file."""
        graph = b"".join(self._body) + _field(2, self.name)
        opsets = [_field(8, _field(1, domain) + _field(2, version)) for domain, version in self.opsets.items()]
        return _field(1, _IR_VERSION) + _field(7, graph) + b"".join(opsets)


def _varint(number: int) -> bytes:
    number &= (1 << 64) - 1  # negative numbers are written as 64-bit two's complement
    parts = bytearray()
    while number > 0x7F:
        parts.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*parts, number])


def _field(number: int, value: int | str | bytes | float) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3 | _VARINT) + _varint(value)
    if isinstance(value, float):
        return _varint(number << 3 | _FIXED32) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | _BYTES) + _varint(len(data)) + data


def _tensor(name: str, kind: int, shape: Sequence[int]) -> bytes:
    return b"".join(_field(1, size) for size in shape) + _field(2, kind) + _field(8, name)


def _value_info(name: str, kind: int, shape: Sequence[Dimension]) -> bytes:
    sizes = [_field(1, _field(1 if isinstance(size, int) else 2, size)) for size in shape]
    tensor = _field(1, kind) + _field(2, b"".join(sizes))
    return _field(1, name) + _field(2, _field(1, tensor))


def _attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, int):
        return _field(1, name) + _field(3, value) + _field(20, 2)
    if isinstance(value, float):
        return _field(1, name) + _field(2, value) + _field(20, 1)
    if isinstance(value, str):
        return _field(1, name) + _field(4, value) + _field(20, 3)
    return _field(1, name) + b"".join(_field(8, item) for item in value) + _field(20, 7)
