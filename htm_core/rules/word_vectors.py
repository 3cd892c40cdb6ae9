"""Late interaction: how near each word of a question comes to the nearest word of a passage.

One vector for a whole passage says what it is about; whether it says the very thing that a question asks for is lost in the mean.
So a passage keeps a small vector for each of its words too, in its context, as some bytes: a number of the form, then for each word
the signs of its numbers, one bit each. The words of a question keep their numbers. They are compared here, since only the few
candidates of a recall are. Who makes them is the embedded model (models/minilm/words.py). docs/why/ranker.md has the measurement.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

FORM = 1  # the first byte; another way to pack words gets another one
NUMBERS = 64  # of a word
BYTES = NUMBERS // 8  # of a word

# The signs that each byte stands for, so that those of a whole word have length one.
_SIGNS = ((np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1) * 2.0 - 1) / math.sqrt(NUMBERS)).astype(
    np.float32
)


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The words of a question: their vectors of length one (words, NUMBERS), and how much each counts.

    Together they count 1, less the share of the words that the model does not know.
    """

    vectors: Floats
    weights: Floats

    @property
    def known(self) -> float:
        """The share of the question that the model knows, from 0 to 1."""
        return round(float(self.weights.sum()), 4)  # they are small numbers of which the sum is only nearly 1


def packed(vectors: Floats) -> bytes:
    """The words of a passage (words, NUMBERS) as the bytes that are stored."""
    return bytes([FORM]) + np.packbits(vectors > 0, axis=1).tobytes()


def is_packed(words: bytes | None) -> bool:
    """Whether these are the bytes of at least one word, in the form that is read here."""
    return words is not None and len(words) > 1 and words[0] == FORM and (len(words) - 1) % BYTES == 0


def nearness(question: QuestionWords, passages: Sequence[bytes | None]) -> npt.NDArray[np.float64]:
    """How near the words of a question are to the nearest of each passage: a mean of cosines with signs, by its words' weights.

    A vector has a cosine of about 0.8 with its own signs. NaN where a passage has no words, or has them in another form.
    """
    found = np.full(len(passages), np.nan)
    known = [place for place, words in enumerate(passages) if is_packed(words)]
    if not known or not len(question.weights):
        return found
    stored = [passages[place] or b"" for place in known]
    counts = np.array([(len(words) - 1) // BYTES for words in stored])
    joined = np.frombuffer(b"".join(words[1:] for words in stored), dtype=np.uint8)
    cosines = question.vectors @ _SIGNS[joined].reshape(-1, NUMBERS).T
    nearest = np.maximum.reduceat(cosines, np.cumsum(counts) - counts, axis=1)
    found[known] = question.weights @ nearest
    return found
