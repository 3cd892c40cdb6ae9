"""The messages in a checkpoint of LangGraph, read as data: no class of what was stored is imported, and nothing of it is called."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from ..errors import ModelError

# The extension types of langgraph.checkpoint.serde.jsonplus: an object by its module, its name and what it is made of.
_WITH_PARTS = range(6)
_ARRAY, _DELTA = 6, 7
DELTAS = "its messages are kept as deltas (DeltaChannel), which are not read: docs/migrate/langgraph.md has lines that move them"
# What a value of the standard library is made of, by its class; any other object is given as its parts.
_STANDARD: dict[tuple[str, str], Any] = {
    ("datetime", "datetime"): datetime.fromisoformat,
    ("uuid", "UUID"): UUID,
    ("decimal", "Decimal"): Decimal,
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
}


class Delta(list[Any]):
    """A snapshot in a channel that keeps deltas: what came after it is not in it."""


def messages_of(type: str | None, blob: bytes | None) -> list[dict[str, Any]]:
    """The messages of a channel's value, as `message_to_dict` writes them; raises `ValueError` for what cannot be read."""
    if type is None:
        raise ValueError(DELTAS)
    if type in ("empty", "null") or blob is None:
        return []
    if type == "msgpack":
        found = _unpacked(blob)
    elif type == "json":
        found = json.loads(blob, object_hook=_constructed)
    else:
        raise ValueError(
            f"its messages are written as {type!r}, encrypted or unknown: docs/migrate/langgraph.md has lines that move them"
        )
    if isinstance(found, Delta):
        raise ValueError(DELTAS)
    if not isinstance(found, list):
        raise ValueError("its channel 'messages' is not a list")
    return [{"type": each.get("type"), "data": each} if isinstance(each, dict) else {} for each in found]


def _unpacked(blob: bytes) -> Any:
    try:
        import ormsgpack
    except ImportError as error:
        raise ModelError(
            'checkpoints of LangGraph are read with ormsgpack, which is not installed: pip install "htm-memory[agents]"'
        ) from error

    def extension(code: int, data: bytes) -> Any:
        """What an extension type holds."""
        held = ormsgpack.unpackb(data, ext_hook=extension, option=ormsgpack.OPT_NON_STR_KEYS)
        if code == _DELTA:
            return Delta(held if isinstance(held, list) else ())
        return _of_parts(held) if code in _WITH_PARTS else None if code == _ARRAY else held

    try:
        return ormsgpack.unpackb(blob, ext_hook=extension, option=ormsgpack.OPT_NON_STR_KEYS)
    except (ValueError, TypeError) as error:
        raise ValueError(f"its messages cannot be unpacked: {error}") from None


def _of_parts(held: Any) -> Any:
    """An object of the standard library, made again; of any other, what it is made of."""
    if not isinstance(held, list | tuple) or len(held) < 3:
        return held
    module, name, parts = held[:3]
    make = _STANDARD.get((module, name))
    if make is None:
        return parts
    try:
        return make(parts)
    except (TypeError, ValueError, ArithmeticError):
        return parts


def _constructed(value: dict[str, Any]) -> Any:
    """An object that was written as JSON: what it is made of."""
    if value.get("lc") in (1, 2) and value.get("type") == "constructor":
        return value.get("kwargs") or value.get("args")
    return value
