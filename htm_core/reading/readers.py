"""The embedded reader, loaded at its first use; `Memory.recall(reader=True)` and what goes into
prompts use it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from ..base import time_limit
from ..base.errors import ModelError
from ..base.fork import renewed_after_fork
from ..models.lazy import LazyModel

if TYPE_CHECKING:
    from .reader import Floats, Reader

READABLE = 0.5  # share of a question's letters from which on the reader says anything
MEANWHILE = "Until then hits keep the order of the search"


class EmbeddedReader:
    """The reader of a process; any number of threads may use it at once. Every failure is a
    `ModelError`.
    """

    def __init__(self) -> None:
        self._kept_for_parent: list[object] = []
        self._model = _unloaded()
        renewed_after_fork(self)

    def warm(self) -> None:
        """Begin to load the model, as `LazyModel.warm` does."""
        self._model.warm()

    def questions(self, question: str, passages: Sequence[str], *, seconds: float) -> Floats:
        """The logits of a question with each passage, of shape (passages, OUTPUTS).

        Raises `ModelError` when it cannot be loaded, or takes longer than `seconds`.
        """
        try:
            return time_limit.within(
                time_limit.for_model(seconds),
                lambda: self._model.call(lambda reader: reader.questions(question, passages)),
                client="reader",
            )
        except time_limit.OutOfTime as error:
            raise ModelError(
                f"expected the reader to answer within {seconds:.3g} s, but it did not; raise "
                "Settings.reranker_timeout, or go "
                f"without it: reader=False. {MEANWHILE}"
            ) from error

    def states(
        self, question: str, passages: Sequence[tuple[str, datetime | None, str]], *, seconds: float
    ) -> list[float] | None:
        """Return how surely each passage states what is asked, as logits; None where the model
        cannot read the question.

        A passage is who said it, when, and its words. Raises what `questions` raises.
        """
        if self.readable(question) < READABLE:
            return None
        # brings onnxruntime, which is here where the model could be loaded
        from .reader import STATES, shown

        logits: list[float] = self.questions(
            question, [shown(*passage) for passage in passages], seconds=seconds
        )[:, STATES].tolist()
        return logits

    def readable(self, text: str) -> float:
        """Return the share of a text's letters that the model can read, from 0 to 1.

        Raises `ModelError` when the model cannot be loaded.
        """
        return self._model.call(lambda reader: reader.readable(text))

    def replaced(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the probability that the older of two messages of one person no longer holds; each
        pair is newer, older.

        Raises `ModelError` when the model cannot be loaded.
        """
        from .reader import REPLACES

        logits = self._model.call(lambda reader: reader.messages(pairs))
        return [_probability(logit) for logit in logits[:, REPLACES].tolist()]

    def kinds(self, texts: Sequence[str]) -> list[dict[str, float]]:
        """Return each message's probability of each of the reader's `KINDS`, which are the keys.

        Raises `ModelError` when the model cannot be loaded.
        """
        from .reader import KINDS

        logits = self._model.call(lambda reader: reader.kinds(texts)).tolist()
        return [dict(zip(KINDS, map(_probability, of), strict=True)) for of in logits]

    def renew(self) -> None:
        """Load the model anew in a forked child: the threads of onnxruntime exist only in the
        parent.
        """
        self._kept_for_parent.append(self._model)  # deleting its session here would wait for them
        self._model = _unloaded()


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-logit))


def reads_prompts(wanted: bool | None) -> bool:
    """True if the reader reads what goes into a prompt: as wanted, and by default where its files
    are here.
    """
    return is_here() if wanted is None else wanted


@functools.cache
def embedded_reader() -> EmbeddedReader:
    """The one reader of this process."""
    return EmbeddedReader()


def is_here() -> bool:
    """True if the reader and the files of the embedded model are on this machine."""
    try:
        from ..models.minilm import weights
        from . import reader
    except ImportError:
        return False
    return reader.FILE.exists() and weights.find() is not None


def _unloaded() -> LazyModel[Reader]:
    return LazyModel("all-MiniLM-L6-v2:reader", _load, kind="reader", meanwhile=MEANWHILE)


def _load() -> Reader:
    try:
        from ..models.minilm import weights
        from .reader import Reader
    except ImportError as error:
        raise ModelError(
            f"the reader needs numpy, onnxruntime and tokenizers, and {error.name} is not "
            "installed: "
            f'pip install "htm-memory[embedded]". {MEANWHILE}'
        ) from error
    folder = weights.find()
    if folder is None:  # a recall waits for no download
        raise ModelError(
            "the reader needs the files of the embedded model, which are not here: htm setup. "
            f"{MEANWHILE}"
        )
    return Reader(folder)
