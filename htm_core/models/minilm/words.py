"""The words of a text as small vectors: what the model says of each token in its context, by its main directions.

`words.bin` has the mean of such vectors, and the directions whose signs say most of how those of the training half of this
project's chats differ; `python -m benchmarks.train_words` makes it. Which tokens say much is known from the vocabulary: it is in
the order of frequency.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...rules.word_vectors import NUMBERS, QuestionWords, packed
from .graph import WIDTH

FILE = Path(__file__).with_name("words.bin")
MOST_WORDS = 64  # of a passage; of more, those that say most
FIRST_WORD, LAST_WORD = (
    1_996,
    29_999,
)  # in the vocabulary: "the", and the rarest; before them are signs and single letters
UNKNOWN = 100  # the place of the sign for all words that the vocabulary does not have
LEAST_OF_QUESTION = 0.4  # what each token of a question counts beside what it says: they are few, and all were meant
LEAST_WEIGHT = 0.3  # of a token of a passage that is kept; so little has about what stands in every other sentence


def weights_of(tokens: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float32]:
    """How much each token says, from 0 to 1: by the logarithm of its place in the vocabulary."""
    places = np.clip(np.asarray(tokens, np.float32) - (FIRST_WORD - 1), 1.0, LAST_WORD - FIRST_WORD + 1)
    return (np.log(places) / math.log(LAST_WORD - FIRST_WORD + 1)).astype(np.float32)


def passage_words(tokens: Sequence[int], states: NDArray[np.float32]) -> bytes:
    """The words of a passage, packed: each token once, without those that say little; `states` are tokens × 384."""
    ids = np.asarray(tokens, np.int64)[1:-1]  # without the signs of beginning and end
    weights = weights_of(ids)
    _, first = np.unique(ids, return_index=True)
    kept = first[weights[first] >= LEAST_WEIGHT] if (weights >= LEAST_WEIGHT).any() else first
    if len(kept) > MOST_WORDS:
        kept = kept[np.argsort(-weights[kept], kind="stable")[:MOST_WORDS]]
    return packed(_squeezed(states[1:-1][np.sort(kept)]))


def question_words(tokens: Sequence[int], states: NDArray[np.float32]) -> QuestionWords:
    """The words of a question, with their weights, 0 for what the model does not know; `states` are tokens × 384."""
    ids = np.asarray(tokens, np.int64)[1:-1]
    weights = LEAST_OF_QUESTION + weights_of(ids)
    shares = np.where(ids == UNKNOWN, np.float32(0), weights / max(float(weights.sum()), LEAST_OF_QUESTION))
    return QuestionWords(_squeezed(states[1:-1]), shares)


def _squeezed(states: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors of length one with `NUMBERS` numbers."""
    mean, directions = _basis()
    vectors = (states - mean) @ directions
    squeezed: NDArray[np.float32] = vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-9)
    return squeezed


@functools.cache
def _basis() -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """The mean (384) and the directions (384 × NUMBERS)."""
    numbers = np.frombuffer(FILE.read_bytes(), dtype="<f2").astype(np.float32).reshape(1 + NUMBERS, WIDTH)
    return numbers[0], numbers[1:].T.copy()
