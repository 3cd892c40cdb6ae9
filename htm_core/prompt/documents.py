"""LangChain's documents as items of a collection, exactly: what `jsonb` would change is stored
beside it.

Filters see the metadata as JSON has it: times as ISO texts, tuples and sets as lists, NaN as null,
and objects of other types as their text. `htm_langchain.documents` reads the items back.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from ..base.errors import InvalidInput
from ..base.folding import storable
from ..base.types import CollectionItem
from .exact_json import encode_value, jsonb_number
from .messages import write_payload

FORMAT = "langchain-document/1"
MAX_DIGITS = 1_000
Metadata = Mapping[Any, Any]


def item_of(text: str, metadata: Metadata | None, *, id: str | None) -> CollectionItem:
    """The item that stores a text and its metadata; raises `InvalidInput` for what is no text or no
    mapping.
    """
    if not isinstance(text, str):
        raise InvalidInput(
            f"expected every text to be a str, got {type(text).__name__}; encode it first"
        )
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInput(
            f"expected every metadata to be a mapping, got {type(metadata).__name__}"
        )
    fields = dict(metadata or {})
    content, filterable = storable(text), jsonb_metadata(fields)
    payload = None
    if content != text or _canonical(filterable) != _canonical(fields):
        payload = write_payload(
            FORMAT, {"text": encode_value(text), "metadata": encode_value(fields)}
        )
    return CollectionItem(id=id, content=content, metadata=filterable, payload=payload)


def jsonb_metadata(metadata: Metadata) -> dict[str, Any]:
    """Metadata as filters see it, in JSON's own types, and with nothing that `jsonb`
    would change.
    """
    return {storable(str(key)): _jsonb_value(value) for key, value in metadata.items()}


def _jsonb_value(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return storable(str.__str__(value))
    if isinstance(value, float):
        return jsonb_number(float(value))
    if isinstance(value, int) and abs(value) < 10**MAX_DIGITS:
        return int(value)
    if isinstance(value, Mapping):
        return jsonb_metadata(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [_jsonb_value(each) for each in value]
    if isinstance(value, date):
        is_aware = isinstance(value, datetime) and value.utcoffset() is not None
        return (value.astimezone(UTC) if is_aware else value).isoformat()  # type: ignore[attr-defined]
    return storable(str(value))


def _canonical(value: Any) -> str:
    """A text that is equal for equal values of equal types, whatever the order of keys."""
    if type(value) is dict:
        return (
            "{"
            + ",".join(sorted(f"{key!r}:{_canonical(each)}" for key, each in value.items()))
            + "}"
        )
    if type(value) is list:
        return "[" + ",".join(map(_canonical, value)) + "]"
    return f"{type(value).__name__} {value!r}"
