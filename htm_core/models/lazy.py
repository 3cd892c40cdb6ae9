"""Asking a model that is loaded at its first use: whatever goes wrong is a `ModelError` that says what to do."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from ..errors import HTMError, ModelError
from ..fork import renewed_after_fork

_Model = TypeVar("_Model")
_Answer = TypeVar("_Answer")


class Asked(Generic[_Model]):
    """A model under a name; `what` it is called in messages. Any number of threads may ask at once."""

    def __init__(self, name: str, load: Callable[[], _Model], *, what: str) -> None:
        self.name = name
        self._load = load
        self._what = what
        self._model: _Model | None = None
        self._loading = threading.Lock()
        renewed_after_fork(self)

    def ask(self, question: Callable[[_Model], _Answer]) -> _Answer:
        """Put a question to the model, which is loaded first where it is not; raises `ModelError`."""
        try:
            return question(self._loaded())
        except HTMError:
            raise
        except Exception as error:
            raise ModelError(
                f"the {self._what} {self.name} failed: {type(error).__name__}: {error}; see that the model behind it runs "
                "and can be reached; what it owes is done when it answers again"
            ) from error

    def lie(self, expected: str, came: object) -> ModelError:
        """The error of an answer that cannot be meant."""
        return ModelError(
            f"the {self._what} {self.name} answered something impossible: expected {expected}, got {came!r:.120}; nothing "
            "of it was used. Give it a model that follows its instructions"
        )

    def renew(self) -> None:
        """After a fork: another thread of the parent may have been loading."""
        self._loading = threading.Lock()

    def _loaded(self) -> _Model:
        with self._loading:
            if self._model is None:
                self._model = self._load()
            return self._model
