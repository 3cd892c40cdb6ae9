"""Build the network of all-MiniLM-L6-v2 over its own weights file: BERT with 6 layers, 12 heads and a width of 384.

Source: Devlin et al. 2018 (BERT), Wang et al. 2020 (MiniLM), and the configuration published with the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from .onnx import FLOAT, INT8, INT64, Attribute, Graph
from .safetensors import Tensors

Form = Literal["float32", "int8"]
LAYERS, HEADS, WIDTH = 6, 12, 384
_EPSILON = 1e-12
_OPSETS = {"": 20, "com.microsoft": 1}
_DTYPES = {"float32": FLOAT, "int64": INT64, "int8": INT8}


def build(tensors: Tensors, form: Form) -> bytes:
    """Give the model as the bytes of an ONNX file.

    The inputs are `ids` and `mask` (texts × tokens, int64), the output is unit vectors (texts × 384, float32). The form
    float32 copies no weights: each tensor is a span of the weights file. int8 adds 10.6 MB of rounded matrices; it
    multiplies integers, with one scale per output and, at run time, one per batch (dynamic quantisation).
    """
    return _Network(tensors, form).model()


class _Network:
    """The graph while it is built; each method adds nodes and gives the name of their result."""

    def __init__(self, tensors: Tensors, form: Form) -> None:
        self.tensors, self.form = tensors, form
        self.graph = Graph("all-MiniLM-L6-v2", _OPSETS)
        self.known: dict[str, str] = {}

    def model(self) -> bytes:
        ids = self.graph.input("ids", INT64, ("texts", "tokens"))
        mask = self.graph.input("mask", INT64, ("texts", "tokens"))
        self.rows = self.constant("rows", np.array([-1, WIDTH]))
        self.split = self.shape_of(ids, np.array([HEADS, WIDTH // HEADS]))
        states = self.node("Reshape", self.embedded(ids), self.rows)
        bias = self.attention_bias(mask)
        for layer in range(LAYERS):
            states = self.layer(f"encoder.layer.{layer}.", states, bias)
        states = self.node("Reshape", states, self.shape_of(ids, np.array([WIDTH])))
        self.graph.output(self.pooled(states, mask), FLOAT, ("texts", WIDTH))
        return self.graph.serialise()

    def embedded(self, ids: str) -> str:
        """Add the embeddings of word, position and segment (always the first), then normalise."""
        axis = self.constant("axis_0", np.array([0]))
        length = self.node("Shape", ids, attributes={"start": 1})
        positions = self.node("Slice", self.weight("embeddings.position_embeddings.weight"), axis, length, axis)
        segment = self.node("Gather", self.weight("embeddings.token_type_embeddings.weight"), axis)
        words = self.node("Gather", self.weight("embeddings.word_embeddings.weight"), ids)
        return self.norm("embeddings.", self.node("Add", self.node("Add", words, positions), segment))

    def attention_bias(self, mask: str) -> str:
        """Give 0 for tokens and −10⁹ for padding, as texts × 1 × 1 × tokens."""
        is_token = self.node(
            "Cast", self.node("Unsqueeze", mask, self.constant("axes_1_2", np.array([1, 2]))), attributes={"to": FLOAT}
        )
        padding = self.node("Sub", is_token, self.constant("one", np.float32(1)))
        return self.node("Mul", padding, self.constant("penalty", np.float32(1e9)))

    def layer(self, prefix: str, states: str, bias: str) -> str:
        attended = self.linear(
            f"{prefix}attention.output.dense", self.attention(f"{prefix}attention.self.", states, bias)
        )
        states = self.norm(f"{prefix}attention.output.", self.node("Add", attended, states))
        hidden = self.node("Gelu", self.linear(f"{prefix}intermediate.dense", states))
        return self.norm(f"{prefix}output.", self.node("Add", self.linear(f"{prefix}output.dense", hidden), states))

    def attention(self, prefix: str, states: str, bias: str) -> str:
        """Give the self-attention, softmax(q·kᵀ/√32 + bias)·v, in 12 heads."""
        query = self.heads(self.linear(f"{prefix}query", states), (0, 2, 1, 3))
        key = self.heads(self.linear(f"{prefix}key", states), (0, 2, 3, 1))
        value = self.heads(self.linear(f"{prefix}value", states), (0, 2, 1, 3))
        scale = self.constant("scale", np.float32((WIDTH // HEADS) ** -0.5))
        scores = self.node("Add", self.node("Mul", self.node("MatMul", query, key), scale), bias)
        mixed = self.node("MatMul", self.node("Softmax", scores, attributes={"axis": -1}), value)
        return self.node("Reshape", self.node("Transpose", mixed, attributes={"perm": (0, 2, 1, 3)}), self.rows)

    def heads(self, states: str, order: tuple[int, ...]) -> str:
        return self.node("Transpose", self.node("Reshape", states, self.split), attributes={"perm": order})

    def linear(self, name: str, states: str) -> str:
        bias = self.weight(f"{name}.bias")
        if self.form == "float32":
            return self.node("Gemm", states, self.weight(f"{name}.weight"), bias, attributes={"transB": 1})
        matrix, scale = quantised(self.tensors.array(f"{name}.weight").T)
        parts = (self.constant(f"{name}.int8", matrix), self.constant(f"{name}.scale", scale))
        zero = self.constant(f"{name}.zero", np.zeros(scale.shape, np.int8))
        return self.node("com.microsoft::DynamicQuantizeMatMul", states, *parts, zero, bias)

    def norm(self, prefix: str, states: str) -> str:
        weights = (self.weight(f"{prefix}LayerNorm.weight"), self.weight(f"{prefix}LayerNorm.bias"))
        return self.node("LayerNormalization", states, *weights, attributes={"axis": -1, "epsilon": _EPSILON})

    def pooled(self, states: str, mask: str) -> str:
        """Give the sum of the tokens' vectors, scaled to unit length: the normalised mean."""
        axis = self.constant("axis_1", np.array([1]))
        counted = self.node("Cast", self.node("Unsqueeze", mask, axis), attributes={"to": FLOAT})
        total = self.node("Squeeze", self.node("MatMul", counted, states), axis)
        return self.node("LpNormalization", total, attributes={"axis": -1, "p": 2})

    def shape_of(self, ids: str, sizes: NDArray[np.int64]) -> str:
        """Give the shape of `ids` with sizes appended."""
        tail = self.constant(f"sizes_{'_'.join(map(str, sizes))}", sizes)
        return self.node("Concat", self.node("Shape", ids), tail, attributes={"axis": 0})

    def weight(self, name: str) -> str:
        if name not in self.known:
            shape, span = self.tensors.shape(name), self.tensors.span(name)
            self.known[name] = self.graph.external(name, FLOAT, shape, span)
        return self.known[name]

    def constant(self, name: str, value: NDArray[Any] | np.generic) -> str:
        if name not in self.known:
            self.known[name] = self.graph.constant(name, _DTYPES[str(value.dtype)], value.shape, value.tobytes())
        return self.known[name]

    def node(self, op: str, *inputs: str, attributes: Mapping[str, Attribute] | None = None) -> str:
        return self.graph.node(op, inputs, attributes)


def quantised(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a matrix (inputs × outputs) to whole numbers from −127 to 127, with one scale per output."""
    largest: NDArray[np.float32] = np.abs(matrix).max(axis=0)
    scale = np.divide(largest, np.float32(127), dtype=np.float32)
    rounded = np.round(matrix / np.where(scale == 0, np.float32(1), scale))
    return rounded.astype(np.int8), scale
