"""Checks of options: what cannot work is refused where it is given, with `InvalidInput`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from htm_core import InvalidInput

SCOPES = ("user", "session", "tenant", None)


def check_name_source(value: Any, *, what: str) -> Any:
    """A name, a callable that finds one, or None."""
    if value is None or isinstance(value, str) or callable(value):
        return value
    raise InvalidInput(
        f"expected {what} to be a name, a callable that finds one, or None; got {value!r:.80}"
    )


def check_tenant(value: Any) -> Any:
    """A name, a callable that finds one, the names that a run may choose from, or None."""
    if isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping):
        names = frozenset(value)
        if names and all(isinstance(name, str) and name.strip() for name in names):
            return names
    elif value is None or callable(value) or (isinstance(value, str) and value.strip()):
        return value
    raise InvalidInput(
        "expected tenant to be a name, a callable that finds one, a list of the names that a run "
        "may choose from, or None; "
        f"got {value!r:.80}"
    )


def check_rewrite(value: Any) -> Any:
    """A callable that writes queries, or None."""
    if value is not None and (not callable(value) or isinstance(value, type)):
        raise InvalidInput(
            f"expected rewrite to be a callable of the question and the messages, got {value!r:.80}"
        )
    return value


def check_recall_limit(limit: int | None, recall_limit: int, *, default: int = 8) -> int:
    """The one limit of two names of it."""
    if limit is not None and recall_limit != default:
        raise InvalidInput(
            f"expected limit or recall_limit, which are two names of one option, got {limit} and "
            f"{recall_limit}; give limit alone"
        )
    return check_whole(recall_limit if limit is None else limit, least=0, what="limit")


def check_name(value: Any) -> str:
    """The name of a middleware: a text that is not empty."""
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput(f"expected name to be a text that is not empty, got {value!r:.80}")
    return value


def check_choice(value: Any, choices: Sequence[Any], *, what: str) -> Any:
    """One of the values that there are."""
    if value not in choices:
        raise InvalidInput(
            f"expected {what} to be one of {', '.join(map(repr, choices))}, got {value!r:.80}"
        )
    return value


def check_score(value: Any) -> float:
    """A score from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"expected min_score to be a number from 0 to 1, got {value!r}")
    return float(value)


def check_timeout(value: Any, *, what: str = "recall_timeout") -> float | None:
    """Seconds to wait; None waits as long as it takes."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise InvalidInput(
            f"expected {what} to be a number of seconds above 0, or None, got {value!r}"
        )
    return float(value)


def check_whole(value: Any, *, least: int, what: str) -> int:
    """A number of tokens or passages."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise InvalidInput(
            f"expected {what} to be a whole number of tokens or passages, {least} or more, got "
            f"{value!r}"
        )
    return value


def one_name(options: dict[str, Any], aliases: Mapping[str, str]) -> dict[str, Any]:
    """Options by their present names; an older name is taken as well, but not beside the present
    one.

    `aliases` has the older names, each with the present one.
    """
    renamed = dict(options)
    for old, new in aliases.items():
        if old not in renamed:
            continue
        value = renamed.pop(old)
        if renamed.get(new) is not None and value is not None:
            raise InvalidInput(
                f"expected {new} or {old}, which are two names of one option, got both; give "
                f"{new} alone"
            )
        if value is not None:
            renamed[new] = value
    return renamed
