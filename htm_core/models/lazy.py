"""Parts of models of all kinds: a model that is loaded at its first use, the name of a model, and
what it can do.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..base.errors import HTMError, ModelError
from ..base.fork import renewed_after_fork

_Model = TypeVar("_Model")
_Answer = TypeVar("_Answer")


class LazyModel(Generic[_Model]):
    """A model that is loaded when it is first called; any number of threads may call it at once.

    `kind` is what error messages call it, such as "tagger", and `meanwhile` says what becomes of
    its work. Every failure is a `ModelError` that says what to do.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], _Model],
        *,
        kind: str,
        meanwhile: str = "Its pending jobs are done when it answers again",
    ) -> None:
        self.name = name
        self._load = load
        self._kind = kind
        self._meanwhile = meanwhile
        self._model: _Model | None = None
        self._loading = threading.Lock()
        renewed_after_fork(self)

    def call(self, function: Callable[[_Model], _Answer]) -> _Answer:
        """Call the model; raises `ModelError` when it cannot be loaded or fails."""
        try:
            with self._loading:
                if self._model is None:
                    self._model = self._load()
                model = self._model
            return function(model)
        except HTMError:
            raise
        except Exception as error:
            raise ModelError(
                f"the {self._kind} {self.name} failed: {type(error).__name__}: {error}; check "
                "that the model behind it runs "
                f"and can be reached. {self._meanwhile}"
            ) from error

    def warm(self) -> None:
        """Begin to load it in a thread, so that it is there when it is first called, which says
        what fails.
        """
        if self._model is None and not self._loading.locked():
            threading.Thread(target=self._load_early, name="htm-model").start()

    def _load_early(self) -> None:
        with contextlib.suppress(ModelError):
            self.call(lambda _: None)

    def invalid_answer(self, expected: str, came: object) -> ModelError:
        """Make the error for an answer that cannot be used."""
        return ModelError(
            f"the {self._kind} {self.name} gave an invalid answer: expected {expected}, got "
            f"{came!r:.120}; nothing of it was "
            "used. Use a model that follows its instructions"
        )

    def renew(self) -> None:
        """Make a new lock in a forked child: another thread of the parent may hold the old one."""
        self._loading = threading.Lock()


def has_methods(instance: Any, *methods: str) -> bool:
    """Say whether an object has all of these methods."""
    return all(callable(getattr(instance, method, None)) for method in methods)


def model_name(model: Any) -> str:
    """Name a model by its class and its own name, such as "ChatOllama:gemma3"; its jobs and vectors
    are stored under it.
    """
    class_name = getattr(model, "__qualname__", None) or type(model).__qualname__
    names = (getattr(model, attribute, None) for attribute in ("model", "model_name"))
    name = next(
        (name for name in names if isinstance(name, str) and name not in ("", "unknown")), None
    )
    return f"{class_name}:{name}" if name else str(class_name)
