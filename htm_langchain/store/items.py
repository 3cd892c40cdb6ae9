"""LangGraph's operations and items as items of a collection, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, cast

from langgraph.store.base import Item, MatchCondition, PutOp, SearchItem, TTLConfig

from htm_core import CollectionHit, CollectionItem, InvalidInput

from .index import Index
from .values import check_value, join_value, split_value

Place = tuple[tuple[str, ...], str]
ANY = "*"
_TTL = ("refresh_on_read", "omit_expired", "default_ttl", "sweep_interval_minutes")


def put_item(op: PutOp, index: Index) -> CollectionItem:
    """Return the item that a put writes; raises `InvalidInput` for what cannot be stored."""
    value = check_value(op.value)
    texts = index.texts(value, op.index)
    filterable, exact = split_value(value)
    return CollectionItem(
        id=op.key,
        namespace=tuple(op.namespace),
        value=filterable,
        payload=exact,
        texts=texts or (),
        index=texts is not None,
        ttl=None if op.ttl is None else minutes(op.ttl, what="ttl"),
    )


def got_item(item: CollectionItem) -> Item:
    """Return the answer of a get."""
    return Item(**_fields(item))


def found_item(hit: CollectionHit) -> SearchItem:
    """Return a hit of a search; without a query the score is None."""
    return SearchItem(**_fields(hit.item), score=hit.score)


def _fields(item: CollectionItem) -> dict[str, Any]:
    return {
        "namespace": tuple(item.namespace),
        "key": item.id,
        "value": join_value(cast(dict[str, Any], item.value), item.payload),
        "created_at": item.created_at,
        "updated_at": item.updated_at,
    }


def minutes(number: object, *, what: str) -> timedelta:
    """A time to live, from LangGraph's minutes; raises `InvalidInput` for none above zero."""
    real = isinstance(number, int | float) and not isinstance(number, bool)
    if not real or not math.isfinite(cast(float, number)) or cast(float, number) <= 0:
        raise InvalidInput(
            f"expected {what} to be minutes above zero, got {number!r}; use None for ever"
        )
    try:
        return max(timedelta(minutes=cast(float, number)), timedelta.resolution)
    except OverflowError:
        raise InvalidInput(
            f"expected {what} to be minutes that a time span can hold, got {number!r}; use None "
            "for ever"
        ) from None


def check_ttl(config: TTLConfig | None) -> TTLConfig | None:
    """A store's TTL configuration; raises `InvalidInput` for unknown keys and impossible times."""
    if config is None:
        return None
    unknown = (
        [str(key) for key in config if key not in _TTL]
        if isinstance(config, Mapping)
        else [repr(config)]
    )
    if unknown:
        raise InvalidInput(
            f"expected ttl to be a mapping of {', '.join(_TTL)}; got {', '.join(unknown)}"
        )
    for name in ("default_ttl", "sweep_interval_minutes"):
        if config.get(name) is not None:
            minutes(config.get(name), what=name)
    return config


def pattern(conditions: Sequence[MatchCondition], kind: str) -> tuple[str, ...] | None:
    """All prefixes (or suffixes) that must match, as one; None when no namespace can match them
    all.

    "*" stands for any one label.
    """
    step = 1 if kind == "prefix" else -1
    merged: list[str] = []
    for path in [tuple(each.path)[::step] for each in conditions if each.match_type == kind]:
        for place, label in enumerate(path):
            if place == len(merged):
                merged.append(label)
            elif merged[place] == ANY:
                merged[place] = label
            elif label not in (ANY, merged[place]):
                return None
    return tuple(merged[::step])


def check_namespace(namespace: object) -> None:
    """Refuse a namespace that is one text: its letters would be its labels, and "user-1" a prefix
    of "user-12".
    """
    if not isinstance(namespace, list | tuple):
        raise InvalidInput(
            "expected a namespace to be a tuple of labels such as ('users', 'ann'), got "
            f"{namespace!r:.80}"
        )


def check_conditions(conditions: Sequence[MatchCondition]) -> None:
    """Refuse an unknown kind of match."""
    for condition in conditions:
        if condition.match_type not in ("prefix", "suffix"):
            raise InvalidInput(
                f"expected match_type to be 'prefix' or 'suffix', got {condition.match_type!r}"
            )
        check_namespace(condition.path)
