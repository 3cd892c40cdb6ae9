"""The numbers that callers give: budgets in tokens, scores, and moments in epoch seconds."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from numbers import Real

from ...errors import InvalidInput
from ...types import Item

Score = Callable[[Item, float], float]

SHORTEST_LEASE, LONGEST_LEASE = 0.2, 86_400.0  # seconds within which a lost active robot has a successor


def token_budget(budget: object, *, least: int = 1) -> int:
    """Read a budget: a whole number of tokens, `least` or more.

    Fractions, NaN, infinities and booleans raise `InvalidInput`, since none of them can be meant as a number of tokens.
    """
    tokens = whole(budget)
    if tokens is None or tokens < least:
        raise InvalidInput(
            f"budget must be a whole number of tokens, {least} or more; got {budget!r}. "
            "Pass for example budget=8_000, or two thirds of the model's context window."
        )
    return tokens


def lease_seconds(lease: object) -> float | None:
    """Read a group's lease: seconds within its bounds; None for anything else, booleans and NaN among it."""
    if isinstance(lease, bool) or not isinstance(lease, int | float) or not SHORTEST_LEASE <= lease <= LONGEST_LEASE:
        return None
    return float(lease)


def moment(now: float) -> float:
    """Read a moment: UTC epoch seconds, finite."""
    if isinstance(now, bool) or not isinstance(now, Real) or not math.isfinite(now):
        raise InvalidInput(f"now must be finite UTC epoch seconds; got {now!r}. Pass an aware datetime's .timestamp().")
    return float(now)


def scored(score: Score, item: Item, now: float) -> float:
    """Score an item with a caller's function; an infinite answer is allowed, NaN and anything but a number is not."""
    answer: object = score(item, now)
    if type(answer) is float and answer == answer:  # the usual answer, twice as fast as asking what else it may be
        return answer
    value = float(answer) if isinstance(answer, Real) else math.nan
    if math.isnan(value):
        name = getattr(score, "__name__", type(score).__name__)
        raise InvalidInput(
            f"{name} must return a number for every item; it returned {answer!r} for item {item.id!r}. "
            "Nothing was changed. Return a float, for example item.importance."
        )
    return value


def hours(start: float, now: float) -> float:
    """Count the hours from a moment until now; a moment ahead of now, from another thread's clock, is 0 hours ago."""
    return max(0.0, now - start) / 3600.0


def sound(item: Item) -> Item:
    """Check that an item can be ranked and counted: whole tokens and accesses, finite importance and times."""
    whole = isinstance(item.tokens, int) and isinstance(item.access_count, int)
    # The sum is finite only if all three are.
    finite = math.isfinite(item.importance + item.added_at + item.accessed_at)
    if whole and finite and item.tokens >= 0 and item.access_count >= 0:
        return item
    raise InvalidInput(
        f"item {item.id!r} must have whole tokens and access_count, 0 or more, and a finite importance, added_at and "
        f"accessed_at; got tokens={item.tokens!r}, access_count={item.access_count!r}, importance={item.importance!r}, "
        f"added_at={item.added_at!r}, accessed_at={item.accessed_at!r}. Count its tokens and pass epoch seconds."
    )


def whole(value: object) -> int | None:
    """Read a whole number, numpy's too; None for anything else, booleans among it."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None
