"""Write a trained reader as ONNX with weights of 8 bits: `python -m benchmarks.reader.export FOLDER`. Needs torch and onnx.

FOLDER/NAME.pt becomes FOLDER/NAME.onnx. The vectors of words, which training leaves as they are, stay in the embedded model's file.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from onnxruntime.quantization import QuantType, quantize_dynamic
from torch import Tensor, nn

from benchmarks.minilm_export import outside
from benchmarks.reader.model import VOCABULARY, WIDTH, WORD_VECTORS, Reader, batch
from htm_core.models.minilm.model import session
from htm_core.models.minilm.weights import obtain
from htm_core.reading.reader import LONGEST, Pairs, shown

ASKED, SAID = (
    "Where do I live?",
    ("We moved to Bristol.", "In the spring we moved to Bristol, all five of us."),
)


def main() -> None:
    """Export, and say how far the form of 8 bits is from the reader in torch."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", default="reader")
    parser.add_argument(
        "--seven-bits",
        action="store_true",
        help="weights that no processor's integer products overflow",
    )
    args = parser.parse_args()
    reader = trained(args.folder / f"{args.name}.pt")
    reader.positions = nn.Embedding.from_pretrained(reader.positions.weight[:LONGEST].clone())
    pairs = Pairs(obtain())
    tokens, parts = batch([pairs.of(ASKED, shown("user", None, each)) for each in SAID])
    with tempfile.TemporaryDirectory() as temporary:
        exact, small = Path(temporary) / "exact.onnx", Path(temporary) / "small.onnx"
        free = {name: {0: "pairs", 1: "tokens"} for name in ("tokens", "parts")} | {
            "logits": {0: "pairs"}
        }
        torch.onnx.export(
            reader, (tokens, parts), str(exact), input_names=["tokens", "parts"], output_names=["logits"], dynamic_axes=free,
            opset_version=17, dynamo=False,
        )  # fmt: skip
        quantize_dynamic(
            exact, small, weight_type=QuantType.QInt8, per_channel=True, reduce_range=args.seven_bits,
            op_types_to_quantize=["MatMul", "Gemm"],
        )  # fmt: skip
        model = onnx.load(small)
    # The vectors of words are read from the embedded model's file.
    [words] = [each for each in model.graph.initializer if list(each.dims) == [VOCABULARY, WIDTH]]
    outside(words, WORD_VECTORS)
    path = args.folder / f"{args.name}.onnx"
    path.write_bytes(model.SerializeToString())
    with torch.no_grad():
        wanted = reader(tokens, parts).numpy()
    off = np.abs(run(path, tokens, parts) - wanted).max()
    print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, off by at most {off:.3f}")


def trained(path: Path) -> Reader:
    """A reader with these weights."""
    weights = torch.load(path)
    layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("layers."))
    reader = Reader(layers)
    reader.load_state_dict(weights)
    return reader.eval()


def run(path: Path, tokens: Tensor, parts: Tensor) -> NDArray[np.float32]:
    """The logits of an exported reader."""
    opened = session(path, obtain())
    outputs: Sequence[NDArray[np.float32]] = opened.run(
        None, {"tokens": tokens.numpy(), "parts": parts.numpy()}
    )
    return outputs[0]


if __name__ == "__main__":
    main()
