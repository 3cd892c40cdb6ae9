"""Stand-ins for outside models, and for time: deterministic, offline, and able to fail on request."""

from __future__ import annotations

import hashlib
import math
import re
import threading
import time
from datetime import datetime
from typing import Literal

InvalidAnswer = Literal["count", "length", "nan"]


def slow_reader(question: str, texts: object) -> str:
    """A palace's reader that takes longer than a turn of a second, as a small model on a laptop does."""
    time.sleep(1.5)
    return "it names a month"


class HashEmbedder:
    """Embed a text as its bag of words, so that texts which share words have similar vectors.

    Each word falls on two of `dimension` axes, chosen and signed by its SHA-256; vectors have unit length and
    are never zero.
    `down=True` raises ConnectionError; `invalid_answer` makes it answer with a wrong count, a wrong length or a NaN.
    """

    def __init__(self, dimension: int = 64, name: str = "hash") -> None:
        self.dimension = dimension
        self.model = name
        self.down = False
        self.invalid_answer: InvalidAnswer | None = None
        self.calls = 0
        self._counting = threading.Lock()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self._answer()
        vectors = [self._vector(text) for text in texts]
        return vectors[:-1] if self.invalid_answer == "count" else vectors

    def embed_query(self, text: str) -> list[float]:
        self._answer()
        return [] if self.invalid_answer == "count" else self._vector(text)

    def _answer(self) -> None:
        with self._counting:
            self.calls += 1
        if self.down:
            raise ConnectionError("the embedder is down")

    def _vector(self, text: str) -> list[float]:
        axes = [0.0] * self.dimension
        for word in re.findall(r"\w+", text.lower()) or [text]:
            self._add(axes, word)
        length = math.sqrt(sum(x * x for x in axes))
        vector = [x / length for x in axes] if length else [1.0] + [0.0] * (self.dimension - 1)
        if self.invalid_answer == "nan":
            vector[0] = math.nan
        return vector[:-1] if self.invalid_answer == "length" else vector

    def _add(self, axes: list[float], word: str) -> None:
        digest = hashlib.sha256(word.encode("utf-8", "replace")).digest()
        for start in (0, 8):
            axis = int.from_bytes(digest[start : start + 4], "big") % self.dimension
            axes[axis] += 1.0 if digest[start + 4] % 2 else -1.0


class StandInChat:
    """A chat model with structured output that always gives the same answer, and keeps the messages that it got."""

    model = "stand-in"

    def __init__(self, answer: object = None) -> None:
        self.answer = answer
        self.asked: list[list[tuple[str, str]]] = []

    def with_structured_output(self, schema: type) -> StandInChat:
        return self

    def invoke(self, messages: list[tuple[str, str]]) -> object:
        self.asked.append(messages)
        return self.answer


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now
