"""Checks of options: what cannot work is refused where it is given, with `InvalidInput`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from htm_core import InvalidInput

SCOPES = ("user", "session", "tenant", None)


def check_name_source(value: Any, *, what: str) -> Any:
    """A name, a callable that finds one, or None."""
    if value is None or isinstance(value, str) or callable(value):
        return value
    raise InvalidInput(f"expected {what} to be a name, a callable that finds one, or None; got {value!r:.80}")


def check_name(value: Any) -> str:
    """The name of a middleware: a text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"expected name to be a text that is not empty, got {value!r:.80}")
    return value


def check_choice(value: Any, choices: Sequence[Any], *, what: str) -> Any:
    """One of the values that there are."""
    if value not in choices:
        raise InvalidInput(f"expected {what} to be one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def check_score(value: Any) -> float:
    """A score from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"expected min_score to be a number from 0 to 1, got {value!r}")
    return float(value)


def check_timeout(value: Any) -> float | None:
    """Seconds to wait; None waits as long as it takes."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise InvalidInput(f"expected recall_timeout to be a number of seconds above 0, or None, got {value!r}")
    return float(value)


def check_whole(value: Any, *, least: int, what: str) -> int:
    """A number of tokens or passages."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(
            f"expected {what} to be a whole number of tokens or passages, {least} or more, got {value!r}"
        )
    return value
