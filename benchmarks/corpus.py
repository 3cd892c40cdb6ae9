"""A synthetic corpus: Zipf-distributed words and clustered vectors, the same for the same seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

DIMENSION = 384
START = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Document:
    """One text with its vector, time and tag."""

    content: str
    vector: list[float]
    at: datetime
    tag: str


class Corpus:
    """`size` documents of about ten words, spread over 90 days, with vectors in √size clusters."""

    def __init__(self, size: int, *, seed: int = 7) -> None:
        self._random = np.random.default_rng(seed)
        self.size = size
        words = max(2_000, size // 2)
        self._names = [f"w{number:x}" for number in range(words)]
        weights = 1.0 / np.arange(1, words + 1) ** 0.9
        self._shares = (
            weights / weights.sum()
        ).cumsum()  # added up once, and not for each sentence
        self._shares /= self._shares[-1]
        self._centres = self._random.standard_normal((max(8, int(size**0.5)), DIMENSION)).astype(
            np.float32
        )

    def documents(self) -> Iterator[Document]:
        """All documents, in order of time."""
        for number in range(self.size):
            yield Document(
                content=self.sentence(),
                vector=self.vector().tolist(),
                at=START + timedelta(days=90 * number / self.size),
                tag=f"topic:{min(9, int(self._random.exponential(2.0)))}",
            )

    def sentence(self, words: int = 10) -> str:
        """Random words by Zipf's law, and one word that no other sentence has."""
        picks = self._shares.searchsorted(self._random.random(words), side="right")
        return (
            " ".join(self._names[pick] for pick in picks) + f" n{self._random.integers(1 << 40):x}"
        )

    def vector(self) -> NDArray[np.float32]:
        """A random unit vector near one of the cluster centres."""
        centre = self._centres[self._random.integers(len(self._centres))]
        point = centre + self._random.standard_normal(DIMENSION).astype(np.float32) * 0.7
        return np.asarray(point / np.linalg.norm(point), dtype=np.float32)


class RandomEmbedder:
    """A stand-in for a model that gives random vectors at once, so that benchmarks time the database and not a model."""

    model = "ready-384"

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Give a vector for each text."""
        return [self._corpus.vector().tolist() for _ in texts]

    def embed_query(self, text: str) -> list[float]:
        """Give a vector for a query."""
        del text  # the vector does not depend on it
        return [float(number) for number in self._corpus.vector()]
