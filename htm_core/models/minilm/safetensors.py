"""Find the tensors in a safetensors file without reading them."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.errors import ModelError
from .onnx import Span

_LONGEST_HEADER = 1 << 24


@dataclass(frozen=True)
class Tensors:
    """The float32 tensors of one safetensors file, by name.

    The file has eight bytes with the length of a JSON header (little-endian), the header, then the tensors' bytes; the
    header's offsets count from its own end. A symbolic link is followed, since onnxruntime refuses linked weights.
    """

    path: Path

    @cached_property
    def file(self) -> Path:
        """The file itself, where `path` is a link to it."""
        return self.path.resolve()

    @cached_property
    def header(self) -> tuple[dict[str, Any], int]:
        """The header's entry of each tensor, and the offset where the header ends."""
        with self.file.open("rb") as file:
            (length,) = struct.unpack("<Q", file.read(8).ljust(8, b"\0"))
            try:
                entries = json.loads(file.read(min(length, _LONGEST_HEADER)))
            except ValueError as error:
                raise ModelError(
                    f"expected weights in the safetensors format, got something else in {self.path}"
                ) from error
        return entries, 8 + length

    def shape(self, name: str) -> tuple[int, ...]:
        """Give a tensor's shape."""
        return tuple(self._entry(name)["shape"])

    def span(self, name: str) -> Span:
        """Give the place of a tensor's bytes; its file is named without the folder."""
        start, stop = self._entry(name)["data_offsets"]
        return Span(self.file.name, self.header[1] + start, stop - start)

    def array(self, name: str) -> NDArray[np.float32]:
        """Map a tensor into memory, read-only."""
        span = self.span(name)
        return np.memmap(self.file, np.float32, "r", offset=span.offset, shape=self.shape(name))

    def _entry(self, name: str) -> dict[str, Any]:
        entry: dict[str, Any] | None = self.header[0].get(name)
        if entry is None or entry["dtype"] != "F32":
            came = "no" if entry is None else entry["dtype"]
            raise ModelError(
                f"expected all-MiniLM-L6-v2 in float32, but {self.path} has {came} {name}; take the model.safetensors "
                "of sentence-transformers/all-MiniLM-L6-v2"
            )
        return entry
