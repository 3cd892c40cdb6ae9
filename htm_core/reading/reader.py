"""The reader: a small cross-encoder, which reads a question together with a passage.

It is four layers of all-MiniLM-L6-v2 with outputs of its own, as ONNX with weights of 8 bits. Its
word vectors stay in the embedded model's file. `python -m benchmarks.reader.train` trains it on
this project's own chats; docs/why/reader.md has the measurements.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..base.last_used import LastUsed
from ..models.minilm.model import (
    RELEASE,
    batches,
    most_threads,
    readable,
    run_each,
    session,
    tokenizer,
)
from ..models.minilm.weights import WORDS
from ..models.stopping import native_parts

Floats: TypeAlias = npt.NDArray[np.float32]
# Of a pair: its tokens, and the part of each: 0 the question, 1 the passage.
Tokens: TypeAlias = tuple[list[int], list[int]]

FILE = Path(__file__).with_name("reader.onnx")
CLS, SEP, PADDING = 101, 102, -1
QUESTION, PASSAGE = 32, 96  # tokens of each at most
LONGEST = 3 + 2 * PASSAGE  # tokens of a pair at most
MOST_CHARACTERS = 2_000  # of a text: more than PASSAGE words
KEPT = 4_096  # pairs of a question and a passage whose logits are kept

# The outputs are logits. Of a question and a passage: the passage states what is asked, now or
# formerly; it is the answer. Of two messages of one person, the newer in the place of the question:
# what the older one says no longer holds.
STATES, ANSWERS, REPLACES = 0, 1, 2
# Of a message alone: it asks something, only acknowledges, tells the assistant how to behave or
# asks it to do something once, says what its author likes or plans, that something has ended,
# speaks of somebody else, says that its author does not know, or is pasted or raw output; it tells
# what lasts: who its author is, who somebody in their life is, where they live or come from, what
# they do for a living or study.
KINDS = (
    "asks", "acknowledges", "instructs", "requests", "prefers", "plans", "ended", "of_another",
    "unknown", "raw", "about", "people", "places", "work",
)  # fmt: skip
FIRST_KIND = 3
OUTPUTS = FIRST_KIND + len(KINDS)


class Pairs:
    """Texts as the reader takes them: [CLS] question [SEP] passage [SEP]."""

    def __init__(self, directory: Path) -> None:
        self._tokenizer = tokenizer(directory / WORDS)
        self._tokenizer.no_truncation()

    def of(self, question: str, passage: str) -> Tokens:
        """A question and a passage, as `shown` gives it."""
        return _pair(self._ids(question)[:QUESTION], self._ids(passage)[:PASSAGE])

    def of_messages(self, newer: str, older: str) -> Tokens:
        """Two messages of one person."""
        return _pair(self._ids(newer)[:PASSAGE], self._ids(older)[:PASSAGE])

    def of_message(self, text: str) -> Tokens:
        """One message alone."""
        tokens = [CLS, *self._ids(text)[:PASSAGE], SEP]
        return tokens, [0] * len(tokens)

    def readable(self, text: str) -> float:
        """Return the share of a text's letters that the model can read, from 0 to 1."""
        return readable(self._tokenizer, text[:MOST_CHARACTERS])

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text[:MOST_CHARACTERS], add_special_tokens=False).ids)


def _pair(first: Sequence[int], second: Sequence[int]) -> Tokens:
    tokens = [CLS, *first, SEP, *second, SEP]
    return tokens, [0] * (len(first) + 2) + [1] * (len(second) + 1)


def shown(who: str, at: datetime | None, passage: str) -> str:
    """A passage with who said it and on which day."""
    return f"{who}, {at.day} {at:%B %Y}: {passage}" if at else f"{who}: {passage}"


def digest(question: str, passage: str) -> bytes:
    """A key for a question and a passage."""
    return hashlib.blake2b(
        f"{len(question)} {question}{passage}".encode(errors="replace"), digest_size=16
    ).digest()


class Reader:
    """Logits of what a text says of another; any number of threads may read at once.

    Args:
        directory: The folder of the embedded model's files.
        threads: At most so many threads work on one call; None is `HTM_MODEL_THREADS`, else at most
            four.
        file: The ONNX file.

    Raises `ModelError` when onnxruntime cannot open it.
    """

    def __init__(self, directory: Path, *, threads: int | None = None, file: Path = FILE) -> None:
        self._pairs = Pairs(directory)
        self._session, self._threads = session(file, directory), most_threads(threads)
        # The logits of what was read last, by digests of the texts: nothing that anybody said stays
        # here.
        self._kept, self._lock = LastUsed[bytes, Floats](KEPT), threading.Lock()

    def questions(self, question: str, passages: Sequence[str]) -> Floats:
        """The logits of a question with each passage, of shape (passages, OUTPUTS). What was read
        lately is not read again.
        """
        keys = [digest(question, passage) for passage in passages]
        with self._lock:
            logits = {key: kept for key in keys if (kept := self._kept.get(key)) is not None}
        unread = {
            key: passage for key, passage in zip(keys, passages, strict=True) if key not in logits
        }
        read = dict(
            zip(
                unread,
                self._read([self._pairs.of(question, each) for each in unread.values()]),
                strict=True,
            )
        )
        with self._lock:
            self._kept.update(read)
        logits |= read
        return np.array([logits[key] for key in keys], np.float32).reshape(-1, OUTPUTS)

    def readable(self, text: str) -> float:
        """Return the share of a text's letters that the model can read, from 0 to 1."""
        return self._pairs.readable(text)

    def messages(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        """The logits of pairs of a newer and an older message, of shape (pairs, OUTPUTS)."""
        return self._read([self._pairs.of_messages(newer, older) for newer, older in pairs])

    def kinds(self, texts: Sequence[str]) -> Floats:
        """The logits of `KINDS` of each message, of shape (texts, kinds)."""
        return self._read([self._pairs.of_message(text) for text in texts])[:, FIRST_KIND:]

    def _read(self, pairs: Sequence[Tokens]) -> Floats:
        logits = np.empty((len(pairs), OUTPUTS), np.float32)

        def run(batch: list[int]) -> None:
            tokens, parts = filled_up([pairs[place] for place in batch])
            with native_parts.part():
                of = {"tokens": tokens, "parts": parts}
                [logits[batch]] = self._session.run(None, of, RELEASE)

        run_each(run, list(batches([tokens for tokens, _ in pairs])), threads=self._threads)
        return logits


def filled_up(pairs: Sequence[Tokens]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Tokens and parts of some pairs, each of shape (pairs, longest)."""
    longest = max(len(tokens) for tokens, _ in pairs)
    tokens = np.zeros((len(pairs), longest), np.int64)
    parts = np.full_like(tokens, PADDING)
    for row, (ids, of) in enumerate(pairs):
        tokens[row, : len(ids)], parts[row, : len(ids)] = ids, of
    return tokens, parts
