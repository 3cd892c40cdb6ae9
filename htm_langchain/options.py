"""Options that make no sense, refused where they are given: later nobody would know why memory gives nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from htm_core import InvalidInput, Memory

SCOPES = ("user", "session", "tenant", None)


def memory_given(value: object) -> Memory:
    """A memory; raises `InvalidInput` for anything else, as all of these do."""
    if not isinstance(value, Memory):
        raise InvalidInput(f"expected an htm_core.Memory, got {type(value).__name__}; make one first: Memory()")
    return value


def named(value: Any, *, what: str) -> Any:
    """A name, a callable that finds one, or None."""
    if value is None or isinstance(value, str) or callable(value):
        return value
    raise InvalidInput(f"expected {what} to be a name, a callable that finds one, or None; got {value!r:.80}")


def called(value: Any) -> str:
    """What something is called among others: a text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"expected name to be a text that is not empty, got {value!r:.80}")
    return value


def one_of(value: Any, known: Sequence[Any], *, what: str) -> Any:
    """One of the values that there are."""
    if value not in known:
        raise InvalidInput(f"expected {what} to be one of {', '.join(map(repr, known))}, got {value!r}")
    return value


def score(value: Any) -> float:
    """A score, from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"expected min_score to be a number from 0 to 1, got {value!r}")
    return float(value)


def seconds(value: Any) -> float | None:
    """A time to wait; None is as long as it takes."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise InvalidInput(f"expected recall_timeout to be a number of seconds above 0, or None, got {value!r}")
    return float(value)


def whole(value: Any, *, least: int, what: str) -> int:
    """A number of tokens or passages."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(
            f"expected {what} to be a whole number of tokens or passages, {least} or more, got {value!r}"
        )
    return value
