"""What is written as a graph is what onnxruntime reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from hypothesis import given
from hypothesis import strategies as st

from htm_core.models.minilm.onnx import FLOAT, INT64, Graph, Span, _varint


def run(graph: Graph, feeds: dict[str, Any], folder: Path | None = None) -> Any:
    options = onnxruntime.SessionOptions()
    if folder is not None:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(folder))
    session = onnxruntime.InferenceSession(graph.serialise(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0]


def test_a_graph_of_one_operation_computes() -> None:
    graph = Graph("sum", {"": 20})
    left = graph.input("left", FLOAT, ("n",))
    result = graph.node("Add", [left, graph.constant("one", FLOAT, (1,), np.ones(1, np.float32).tobytes())])
    graph.output(result, FLOAT, ("n",))
    assert run(graph, {"left": np.array([1, 2], np.float32)}).tolist() == [2.0, 3.0]


def test_attributes_of_every_kind_arrive() -> None:
    """A negative integer, a list, a fraction and a word."""
    graph = Graph("attributes", {"": 20})
    x = graph.input("x", FLOAT, (2, 3))
    turned = graph.node("Transpose", [x], {"perm": (1, 0)})
    leaky = graph.node("LeakyRelu", [graph.node("Softmax", [turned], {"axis": -1})], {"alpha": 0.5})
    graph.output(
        graph.node("Pad", [leaky, graph.constant("no", INT64, (4,), bytes(32))], {"mode": "edge"}), FLOAT, (3, 2)
    )
    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    powers = np.exp(given.T)
    assert np.allclose(run(graph, {"x": given}), powers / powers.sum(1, keepdims=True))


def test_a_tensor_is_read_from_its_span_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "weights.bin").write_bytes(b"twelve bytes" + np.array([3, 4], np.float32).tobytes() + b"and after")
    graph = Graph("outside", {"": 20})
    x = graph.input("x", FLOAT, (2,))
    weights = graph.external("weights", FLOAT, (2,), Span("weights.bin", 12, 8))
    graph.output(graph.node("Mul", [x, weights]), FLOAT, (2,))
    assert run(graph, {"x": np.array([2, 2], np.float32)}, tmp_path).tolist() == [6.0, 8.0]


@given(st.integers(-(1 << 63), (1 << 64) - 1))
def test_numbers_are_read_back_as_protocol_buffers_define_them(number: int) -> None:
    parts = _varint(number)
    assert all(part & 0x80 for part in parts[:-1])
    assert parts[-1] < 0x80
    assert sum((part & 0x7F) << (7 * place) for place, part in enumerate(parts)) == number % (1 << 64)
