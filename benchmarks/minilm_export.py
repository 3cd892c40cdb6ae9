"""Write all-MiniLM-L6-v2 as ONNX, over its own weights file: `python -m benchmarks.minilm_export`. Needs onnx.

minilm.onnx and minilm-int8.onnx are graphs without weights. Each tensor is a span of model.safetensors, as it was published.
Source: Devlin et al. 2018 (BERT), Wang et al. 2020 (MiniLM), and the configuration published with the model.
"""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from htm_core.models.minilm import model
from htm_core.models.minilm.model import FILES, LOCATION, WIDTH, Form
from htm_core.models.minilm.weights import MATRICES, obtain

LAYERS, HEADS = 6, 12
EPSILON = 1e-12
IR_VERSION = 8  # with operators of version 20, what onnxruntime 1.21 reads
OPSETS = [helper.make_opsetid("", 20), helper.make_opsetid("com.microsoft", 1)]


def main() -> None:
    """Write both graphs, and show what the runtime knows the weights file by."""
    for form, file in FILES.items():
        file.write_bytes(Network(form).model().SerializeToString(deterministic=True))
        print(f"{file.name}: {file.stat().st_size:,} bytes")
    head = _head(obtain() / MATRICES)
    print(f"HEAD = {len(head):,}, {hashlib.sha256(head).hexdigest()}")
    assert (len(head), hashlib.sha256(head).hexdigest()) == (model.HEAD_BYTES, model.HEAD_SHA256)


def _head(path: Path) -> bytes:
    """The length and the header of a safetensors file: the names, types, shapes and places of its tensors."""
    with path.open("rb") as file:
        length = file.read(8)
        return length + file.read(*struct.unpack("<Q", length))


def outside(tensor: TensorProto, name: str) -> None:
    """Have the numbers of a tensor read from the weights file, where they are called so."""
    head = _head(obtain() / MATRICES)
    start, stop = json.loads(head[8:])[name]["data_offsets"]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in (
        ("location", LOCATION),
        ("offset", len(head) + start),
        ("length", stop - start),
    ):
        tensor.external_data.add(key=key, value=str(value))


class Network:
    """The graph while it is built; each method adds nodes and gives the name of their result.

    The inputs are `ids` and `mask` (texts × tokens, int64), the output is unit vectors (texts × 384, float32). The form int8
    rounds the matrices when the runtime folds what is constant; it multiplies integers, with one scale per output and, at run
    time, one per batch (dynamic quantisation).
    """

    def __init__(self, form: Form) -> None:
        self.form = form
        self.shapes = {
            name: entry["shape"]
            for name, entry in json.loads(_head(obtain() / MATRICES)[8:]).items()
            if "shape" in entry
        }
        self.nodes: list[onnx.NodeProto] = []
        self.tensors: dict[str, TensorProto] = {}

    def model(self) -> onnx.ModelProto:
        """The whole model."""
        self.rows = self.constant("rows", np.array([-1, WIDTH]))
        self.split = self.shape_of("ids", np.array([HEADS, WIDTH // HEADS]))
        states = self.node("Reshape", self.embedded("ids"), self.rows)
        bias = self.attention_bias("mask")
        for layer in range(LAYERS):
            states = self.layer(f"encoder.layer.{layer}.", states, bias)
        pooled = self.pooled(
            self.node("Reshape", states, self.shape_of("ids", np.array([WIDTH]))), "mask"
        )
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ("texts", "tokens"))
            for name in ("ids", "mask")
        ]
        output = helper.make_tensor_value_info(pooled, TensorProto.FLOAT, ("texts", WIDTH))
        graph = helper.make_graph(
            self.nodes, "all-MiniLM-L6-v2", inputs, [output], list(self.tensors.values())
        )
        return helper.make_model(graph, opset_imports=OPSETS, ir_version=IR_VERSION)

    def embedded(self, ids: str) -> str:
        """Add the embeddings of word, position and segment (always the first), then normalise."""
        axis = self.constant("axis_0", np.array([0]))
        length = self.node("Shape", ids, start=1)
        positions = self.node(
            "Slice", self.weight("embeddings.position_embeddings.weight"), axis, length, axis
        )
        segment = self.node("Gather", self.weight("embeddings.token_type_embeddings.weight"), axis)
        words = self.node("Gather", self.weight("embeddings.word_embeddings.weight"), ids)
        return self.norm(
            "embeddings.", self.node("Add", self.node("Add", words, positions), segment)
        )

    def attention_bias(self, mask: str) -> str:
        """0 for tokens and −10⁹ for padding, as texts × 1 × 1 × tokens."""
        unsqueezed = self.node("Unsqueeze", mask, self.constant("axes_1_2", np.array([1, 2])))
        is_token = self.node("Cast", unsqueezed, to=TensorProto.FLOAT)
        padding = self.node("Sub", is_token, self.constant("one", np.float32(1)))
        return self.node("Mul", padding, self.constant("penalty", np.float32(1e9)))

    def layer(self, prefix: str, states: str, bias: str) -> str:
        """One of the layers."""
        attended = self.linear(
            f"{prefix}attention.output.dense",
            self.attention(f"{prefix}attention.self.", states, bias),
        )
        states = self.norm(f"{prefix}attention.output.", self.node("Add", attended, states))
        hidden = self.node("Gelu", self.linear(f"{prefix}intermediate.dense", states))
        return self.norm(
            f"{prefix}output.",
            self.node("Add", self.linear(f"{prefix}output.dense", hidden), states),
        )

    def attention(self, prefix: str, states: str, bias: str) -> str:
        """The self-attention, softmax(q·kᵀ/√32 + bias)·v, in 12 heads."""
        query = self.heads(self.linear(f"{prefix}query", states), (0, 2, 1, 3))
        key = self.heads(self.linear(f"{prefix}key", states), (0, 2, 3, 1))
        value = self.heads(self.linear(f"{prefix}value", states), (0, 2, 1, 3))
        scale = self.constant("scale", np.float32((WIDTH // HEADS) ** -0.5))
        scores = self.node("Add", self.node("Mul", self.node("MatMul", query, key), scale), bias)
        mixed = self.node("MatMul", self.node("Softmax", scores, axis=-1), value)
        return self.node("Reshape", self.node("Transpose", mixed, perm=(0, 2, 1, 3)), self.rows)

    def heads(self, states: str, order: tuple[int, ...]) -> str:
        """States by head."""
        return self.node("Transpose", self.node("Reshape", states, self.split), perm=order)

    def linear(self, name: str, states: str) -> str:
        """A matrix and a bias."""
        matrix, bias = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        if self.form == "float32":
            return self.node("Gemm", states, matrix, bias, transB=1)
        zero = self.constant(
            f"zero_{self.shapes[f'{name}.bias'][0]}", np.zeros(self.shapes[f"{name}.bias"], np.int8)
        )
        return self.node(
            "com.microsoft::DynamicQuantizeMatMul", states, *self.quantised(matrix), zero, bias
        )

    def quantised(self, matrix: str) -> tuple[str, str]:
        """A matrix (inputs × outputs) in whole numbers from −127 to 127, and the scale of each output."""
        turned = self.node("Transpose", matrix, perm=(1, 0))
        largest = self.node(
            "ReduceMax",
            self.node("Abs", turned),
            self.constant("axis_0", np.array([0])),
            keepdims=0,
        )
        scale = self.node("Div", largest, self.constant("most", np.float32(127)))
        rounded = self.node("Round", self.node("Div", turned, scale))
        return self.node("Cast", rounded, to=TensorProto.INT8), scale

    def norm(self, prefix: str, states: str) -> str:
        """A normalisation of each row."""
        weights = (self.weight(f"{prefix}LayerNorm.weight"), self.weight(f"{prefix}LayerNorm.bias"))
        return self.node("LayerNormalization", states, *weights, axis=-1, epsilon=EPSILON)

    def pooled(self, states: str, mask: str) -> str:
        """The sum of the tokens' vectors, scaled to unit length: the normalised mean."""
        axis = self.constant("axis_1", np.array([1]))
        counted = self.node("Cast", self.node("Unsqueeze", mask, axis), to=TensorProto.FLOAT)
        total = self.node("Squeeze", self.node("MatMul", counted, states), axis)
        return self.node("LpNormalization", total, axis=-1, p=2)

    def shape_of(self, ids: str, sizes: NDArray[np.int64]) -> str:
        """The shape of `ids` with sizes appended."""
        tail = self.constant(f"sizes_{'_'.join(map(str, sizes))}", sizes)
        return self.node("Concat", self.node("Shape", ids), tail, axis=0)

    def weight(self, name: str) -> str:
        """A tensor of the weights file."""
        if name not in self.tensors:
            tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=self.shapes[name])
            outside(tensor, name)
            self.tensors[name] = tensor
        return name

    def constant(self, name: str, value: NDArray[Any] | np.generic) -> str:
        """A tensor of the graph's own."""
        self.tensors.setdefault(name, numpy_helper.from_array(np.asarray(value), name))
        return name

    def node(self, op: str, *inputs: str, **attributes: Any) -> str:
        """An operation, of another operator set as `domain::Op`."""
        domain, _, kind = op.rpartition("::")
        result = f"{kind}_{len(self.nodes) + 1}"
        self.nodes.append(helper.make_node(kind, inputs, [result], domain=domain, **attributes))
        return result


if __name__ == "__main__":
    main()
