"""The labelled pairs, and the cosine of each by the embedded model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from htm_core.models.minilm import weights
from htm_core.models.minilm.model import MiniLM
from htm_core.rules.supersession.judge import Saying

HERE = Path(__file__).parent
HALVES = {"development": HERE / "development.jsonl", "test": HERE / "test.jsonl"}


@dataclass(frozen=True, slots=True)
class Labelled:
    """Two sayings, what the newer one does to the older one, and the cosine of their vectors."""

    older: Saying
    newer: Saying
    label: str
    kind: str
    cosine: float


def read(path: Path) -> list[Labelled]:
    """The pairs of a file with a pair on each line."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    cosines = _cosines([(row["older"], row["newer"]) for row in rows])
    return [
        Labelled(
            Saying(row["older"], row["older_speaker"]),
            Saying(row["newer"], row["newer_speaker"]),
            row["label"],
            row["kind"],
            cosine,
        )
        for row, cosine in zip(rows, cosines, strict=True)
    ]


@cache
def _model() -> MiniLM:
    return MiniLM(weights.find() or weights.fetch())


def vectors(texts: Sequence[str]) -> NDArray[np.float64]:
    """The vectors of texts, each of length 1."""
    parts = [np.array(_model().embed_documents(list(texts[at : at + 64]))) for at in range(0, len(texts), 64)]
    found = np.concatenate(parts).astype(np.float64)
    lengths: NDArray[np.float64] = np.linalg.norm(found, axis=1, keepdims=True)
    return found / lengths


def _cosines(texts: Sequence[tuple[str, str]]) -> list[float]:
    found = vectors([text for pair in texts for text in pair])
    return [float(cosine) for cosine in (found[::2] * found[1::2]).sum(axis=1)]
