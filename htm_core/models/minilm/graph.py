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
_KINDS = {"float32": FLOAT, "int64": INT64, "int8": INT8}


def build(tensors: Tensors, form: Form) -> bytes:
    """Give the model as onnxruntime reads it.

    In go `ids` and `mask` (texts × tokens, int64), out come unit vectors (texts × 384, float32). The form
    float32 copies no weights: each tensor is a span of the weights file. int8 adds the 10.6 MB of its rounded matrices;
    it multiplies in integers, with one scale per output and, at run time, one per batch (dynamic quantisation).
    """
    return _Network(tensors, form).model()


class _Network:
    """The graph while it is being built; every method adds nodes and names their result."""

    def __init__(self, tensors: Tensors, form: Form) -> None:
        self.tensors, self.form = tensors, form
        self.graph = Graph("all-MiniLM-L6-v2", _OPSETS)
        self.known: dict[str, str] = {}

    def model(self) -> bytes:
        ids = self.graph.input("ids", INT64, ("texts", "tokens"))
        mask = self.graph.input("mask", INT64, ("texts", "tokens"))
        self.rows = self.fixed("rows", np.array([-1, WIDTH]))
        self.split = self.joined(ids, np.array([HEADS, WIDTH // HEADS]))
        states = self.node("Reshape", self.embedded(ids), self.rows)
        bias = self.attention_bias(mask)
        for layer in range(LAYERS):
            states = self.layer(f"encoder.layer.{layer}.", states, bias)
        states = self.node("Reshape", states, self.joined(ids, np.array([WIDTH])))
        self.graph.output(self.pooled(states, mask), FLOAT, ("texts", WIDTH))
        return self.graph.serialise()

    def embedded(self, ids: str) -> str:
        """Add up word, position and (always the first) segment, then normalise."""
        axis = self.fixed("axis_0", np.array([0]))
        length = self.node("Shape", ids, having={"start": 1})
        positions = self.node("Slice", self.weight("embeddings.position_embeddings.weight"), axis, length, axis)
        segment = self.node("Gather", self.weight("embeddings.token_type_embeddings.weight"), axis)
        words = self.node("Gather", self.weight("embeddings.word_embeddings.weight"), ids)
        return self.norm("embeddings.", self.node("Add", self.node("Add", words, positions), segment))

    def attention_bias(self, mask: str) -> str:
        """Give 0 for a token and −10⁹ for padding, as texts × 1 × 1 × tokens."""
        seen = self.node(
            "Cast", self.node("Unsqueeze", mask, self.fixed("axes_1_2", np.array([1, 2]))), having={"to": FLOAT}
        )
        padding = self.node("Sub", seen, self.fixed("one", np.float32(1)))
        return self.node("Mul", padding, self.fixed("never", np.float32(1e9)))

    def layer(self, prefix: str, states: str, bias: str) -> str:
        seen = self.linear(f"{prefix}attention.output.dense", self.attention(f"{prefix}attention.self.", states, bias))
        states = self.norm(f"{prefix}attention.output.", self.node("Add", seen, states))
        thought = self.node("Gelu", self.linear(f"{prefix}intermediate.dense", states))
        return self.norm(f"{prefix}output.", self.node("Add", self.linear(f"{prefix}output.dense", thought), states))

    def attention(self, prefix: str, states: str, bias: str) -> str:
        """Let every token look at every other: softmax(q·kᵀ/√32 + bias)·v, in 12 heads."""
        query = self.heads(self.linear(f"{prefix}query", states), (0, 2, 1, 3))
        key = self.heads(self.linear(f"{prefix}key", states), (0, 2, 3, 1))
        value = self.heads(self.linear(f"{prefix}value", states), (0, 2, 1, 3))
        scale = self.fixed("scale", np.float32((WIDTH // HEADS) ** -0.5))
        scores = self.node("Add", self.node("Mul", self.node("MatMul", query, key), scale), bias)
        seen = self.node("MatMul", self.node("Softmax", scores, having={"axis": -1}), value)
        return self.node("Reshape", self.node("Transpose", seen, having={"perm": (0, 2, 1, 3)}), self.rows)

    def heads(self, states: str, order: tuple[int, ...]) -> str:
        return self.node("Transpose", self.node("Reshape", states, self.split), having={"perm": order})

    def linear(self, name: str, states: str) -> str:
        bias = self.weight(f"{name}.bias")
        if self.form == "float32":
            return self.node("Gemm", states, self.weight(f"{name}.weight"), bias, having={"transB": 1})
        matrix, scale = quantised(self.tensors.array(f"{name}.weight").T)
        parts = (self.fixed(f"{name}.int8", matrix), self.fixed(f"{name}.scale", scale))
        zero = self.fixed(f"{name}.zero", np.zeros(scale.shape, np.int8))
        return self.node("com.microsoft::DynamicQuantizeMatMul", states, *parts, zero, bias)

    def norm(self, prefix: str, states: str) -> str:
        weights = (self.weight(f"{prefix}LayerNorm.weight"), self.weight(f"{prefix}LayerNorm.bias"))
        return self.node("LayerNormalization", states, *weights, having={"axis": -1, "epsilon": _EPSILON})

    def pooled(self, states: str, mask: str) -> str:
        """Add up the tokens' vectors and give it unit length, which is the normalised mean."""
        axis = self.fixed("axis_1", np.array([1]))
        counted = self.node("Cast", self.node("Unsqueeze", mask, axis), having={"to": FLOAT})
        total = self.node("Squeeze", self.node("MatMul", counted, states), axis)
        return self.node("LpNormalization", total, having={"axis": -1, "p": 2})

    def joined(self, ids: str, sizes: NDArray[np.int64]) -> str:
        """Give the shape of `ids` followed by sizes."""
        tail = self.fixed(f"sizes_{'_'.join(map(str, sizes))}", sizes)
        return self.node("Concat", self.node("Shape", ids), tail, having={"axis": 0})

    def weight(self, name: str) -> str:
        if name not in self.known:
            shape, span = self.tensors.shape(name), self.tensors.span(name)
            self.known[name] = self.graph.external(name, FLOAT, shape, span)
        return self.known[name]

    def fixed(self, name: str, value: NDArray[Any] | np.generic) -> str:
        if name not in self.known:
            self.known[name] = self.graph.constant(name, _KINDS[str(value.dtype)], value.shape, value.tobytes())
        return self.known[name]

    def node(self, op: str, *inputs: str, having: Mapping[str, Attribute] | None = None) -> str:
        return self.graph.node(op, inputs, having)


def quantised(matrix: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Round a matrix (inputs × outputs) to whole numbers from −127 to 127, with one scale per output."""
    scale = np.abs(matrix).max(axis=0) / np.float32(127)
    rounded = np.round(matrix / np.where(scale == 0, np.float32(1), scale))
    return rounded.astype(np.int8), scale
