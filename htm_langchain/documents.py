"""Documents as a collection's items, and back, exactly: what jsonb would change is kept beside it.

Filters see the metadata as JSON has it: times as ISO texts, tuples and sets as lists, NaN as null, and what JSON has no
word for as its text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

from langchain_core.documents import Document

from htm_core import CollectionItem, InvalidInput
from htm_core.integration import exact_json

from .store.values import harmless_number, harmless_text

FORMAT = "langchain-document/1"
LARGEST_DIGITS = 1_000
Metadata = Mapping[Any, Any]


def item_of(text: str, metadata: Metadata | None, *, id: str | None) -> CollectionItem:
    """The item that a text is kept as; raises `InvalidInput` for what is no text or no mapping."""
    if not isinstance(text, str):
        raise InvalidInput(f"expected every text to be a str, got {type(text).__name__}; encode it first")
    if metadata is not None and not isinstance(metadata, Mapping):
        raise InvalidInput(f"expected every metadata to be a mapping, got {type(metadata).__name__}")
    given = dict(metadata or {})
    content, seen = harmless_text(text), projected(given)
    whole = content == text and _told(seen) == _told(given)
    return CollectionItem(id=id, content=content, metadata=seen, payload=None if whole else _exact(text, given))


def document_of(item: CollectionItem) -> Document:
    """The document of an item, equal to the one that was added; a fresh object each time."""
    text, metadata = _kept(item.payload) or (item.content, dict(item.metadata))
    return Document(id=item.id, page_content=text, metadata=metadata)


def projected(metadata: Metadata) -> dict[str, Any]:
    """Metadata as filters see it, in JSON's own types and nothing that jsonb would change."""
    return {harmless_text(str(key)): _seen(value) for key, value in metadata.items()}


def _seen(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return harmless_text(str.__str__(value))
    if isinstance(value, float):
        return harmless_number(float(value))
    if isinstance(value, int) and abs(value) < 10**LARGEST_DIGITS:
        return int(value)
    if isinstance(value, Mapping):
        return projected(value)
    if isinstance(value, list | tuple | set | frozenset):
        return [_seen(each) for each in value]
    if isinstance(value, date):
        aware = isinstance(value, datetime) and value.utcoffset() is not None
        return (value.astimezone(UTC) if aware else value).isoformat()  # type: ignore[attr-defined]
    return harmless_text(str(value))


def _told(value: Any) -> str:
    """What tells values apart, types and all, whatever the order of keys."""
    if type(value) is dict:
        return "{" + ",".join(sorted(f"{key!r}:{_told(each)}" for key, each in value.items())) + "}"
    if type(value) is list:
        return "[" + ",".join(map(_told, value)) + "]"
    return f"{type(value).__name__} {value!r}"


def _exact(text: str, metadata: Metadata) -> bytes:
    whole = {"htm": FORMAT, "text": exact_json.marked(text), "metadata": exact_json.marked(metadata)}
    return json.dumps(whole, separators=(",", ":")).encode("ascii")


def _kept(payload: bytes | None) -> tuple[str, dict[Any, Any]] | None:
    """The exact text and metadata; None for an item that has none, or that was put by other means."""
    try:
        found = json.loads(payload or b"null")
    except ValueError:
        return None
    if not isinstance(found, dict) or found.get("htm") != FORMAT:
        return None
    return exact_json.unmarked(found["text"]), exact_json.unmarked(found["metadata"])
