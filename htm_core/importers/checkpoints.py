"""The messages in a checkpoint of LangGraph, read as data: no class of what was stored is imported,
and nothing of it is called.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from ..base.errors import ModelError

# The extension types of langgraph.checkpoint.serde.jsonplus: an object by its module, its name and
# what it is made of.
_WITH_PARTS = range(6)
_ARRAY, _DELTA = 6, 7
NO_LIST = "its channel 'messages' is not a list"
_OVERWRITE = ("langgraph.types", "Overwrite")
_MOVED_BY_LINES = "docs/migrate/langgraph.md has lines that move them"
# What a message is by the role of one that is no object yet: ("user", "Hello"), or {"role": "user",
# "content": "Hello"}.
_TYPES = {
    "user": "human",
    "human": "human",
    "assistant": "ai",
    "ai": "ai",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "function",
    "remove": "remove",
}
# What a value of the standard library is made of, by its class; any other object is given as its
# parts.
_STANDARD: dict[tuple[str, str], Any] = {
    ("datetime", "datetime"): datetime.fromisoformat,
    ("uuid", "UUID"): UUID,
    ("decimal", "Decimal"): Decimal,
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
}


class KeptAsDeltas(ValueError):
    """A checkpoint without the messages, which are what was written on the way to it
    (`DeltaChannel`).
    """

    def __init__(self) -> None:
        super().__init__(
            "its messages are kept as deltas (DeltaChannel), and the table checkpoint_writes is "
            "not there to read or "
            f"has no task_path: {_MOVED_BY_LINES}"
        )


class Snapshot(list[Any]):
    """The whole value of a channel that otherwise keeps deltas."""


@dataclass(frozen=True, slots=True)
class Overwritten:
    """A write that puts a new value in the place of the old one."""

    value: Any


def messages_of(type: str | None, blob: bytes | None) -> list[dict[str, Any]]:
    """The messages of a channel's value, as `message_to_dict` writes them; raises `ValueError` for
    what cannot be read.
    """
    if type is None:
        raise KeptAsDeltas
    value = value_of(type, blob)
    if isinstance(value, Snapshot):
        raise KeptAsDeltas
    if not isinstance(value, list):
        raise ValueError(NO_LIST)
    return [
        {"type": each.get("type"), "data": each} if isinstance(each, dict) else {} for each in value
    ]


def value_of(type: str, blob: bytes | None) -> Any:
    """A value as data, of a channel or of what was written to it; raises `ValueError` for what
    cannot be read.
    """
    if type in ("empty", "null") or blob is None:
        return []
    try:
        if type == "msgpack":
            return _unpacked(blob)
        if type == "json":
            return json.loads(blob, object_hook=_constructed)
    except RecursionError:
        raise ValueError("it is nested too deeply to be read") from None
    raise ValueError(
        f"its messages are written as {type!r}, encrypted or unknown: {_MOVED_BY_LINES}"
    )


def listed_messages(messages: Any) -> list[dict[str, Any]]:
    """Messages as a node returns them, as `message_to_dict` writes them."""
    if not isinstance(messages, list):
        raise ValueError(NO_LIST)
    return [_message(each) for each in messages]


def _message(value: Any) -> dict[str, Any]:
    """A message that was an object, or what LangChain makes one of: a text, a pair of role and
    content, an object with a role.
    """
    if isinstance(value, str):
        return {"type": "human", "data": {"type": "human", "content": value}}
    if isinstance(value, list) and len(value) == 2 and value[0] in _TYPES:
        return {"type": _TYPES[value[0]], "data": {"type": _TYPES[value[0]], "content": value[1]}}
    if not isinstance(value, dict):
        return {"type": None, "data": {}}
    if (
        isinstance(value.get("role"), str)
        and value.get("type") in (None, *_TYPES)
        and value["role"] in _TYPES
    ):
        known = {
            name: value[name] for name in ("content", "id", "name", "tool_call_id") if name in value
        }
        more = {name: each for name, each in value.items() if name not in (*known, "role", "type")}
        kind = _TYPES[value["role"]]
        return {
            "type": kind,
            "data": {"type": kind, **known, **({"additional_kwargs": more} if more else {})},
        }
    return {"type": value.get("type"), "data": value}


def _unpacked(blob: bytes) -> Any:
    try:
        import ormsgpack
    except ImportError as error:
        raise ModelError(
            "checkpoints of LangGraph are read with ormsgpack, which is not installed: pip "
            'install "htm-memory[agents]"'
        ) from error

    def extension(code: int, data: bytes) -> Any:
        """Decode an extension type."""
        held = ormsgpack.unpackb(data, ext_hook=extension, option=ormsgpack.OPT_NON_STR_KEYS)
        if code == _DELTA:
            return Snapshot(held if isinstance(held, list) else ())
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
    if (module, name) == _OVERWRITE:
        return Overwritten(parts.get("value") if isinstance(parts, dict) else None)
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
