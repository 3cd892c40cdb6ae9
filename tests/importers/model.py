"""The model of the recorded databases, and what is in them. It needs the standard library alone, so that it also runs where only a peer is installed."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.stand_ins import HashEmbedder

DIMENSION = 32
TOPICS = ("harbour", "lighthouse", "bakery", "library", "station", "market")
PLACES = ("north", "south", "east", "west", "old", "new", "upper", "lower", "inner", "outer")
QUERIES = [f"{TOPICS[at % 6]} {place} opens" for at, place in enumerate(PLACES)]
TEXTS = [f"The {place} {topic} opens at {at} and closes at {at + 7}." for at, (topic, place) in enumerate(
    (topic, place) for topic in TOPICS for place in PLACES)]  # fmt: skip


def topic(at: int) -> str:
    """What the text at a place is about."""
    return TOPICS[at // 10 % len(TOPICS)]


class DenseEmbedder(HashEmbedder):
    """`HashEmbedder` with a little of the text's own in every number, so that no two texts are equally near to a query.

    Where the tenth and the eleventh of a ranking are equally near, which one of them is among ten is chance.
    """

    def __init__(self, name: str = "hash") -> None:
        super().__init__(DIMENSION, name)

    def _vector(self, text: str) -> list[float]:
        own = random.Random(text)
        vector = [number + own.gauss(0, 0.1) for number in super()._vector(text)]
        length = math.hypot(*vector)
        return [number / length for number in vector]


@dataclass(frozen=True, slots=True)
class Corpus:
    """What a package is given: texts, what is asked, the model of the vectors, and how much longer a conversation goes on."""

    texts: Sequence[str]
    queries: Sequence[str]
    dimension: int
    model: Any
    turns: int = 0


RECORDED = Corpus(TEXTS, QUERIES, DIMENSION, DenseEmbedder())
