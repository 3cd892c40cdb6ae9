"""Messages as they are remembered: the words to search, and the bytes that bring every field back."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from pydantic import BaseModel

from htm_core import Draft, Mention

FORMAT = "llamaindex/1"
# Words beyond this are not searched; the payload has them.
LONGEST_SEARCHED = 100_000

_TAG = "$htm"
# Two surrogates side by side, which are two characters here and would be read from JSON as one.
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
# How far into arguments it is looked for what cannot be written down, so that what stands beside it is.
_DEEP = 3
_ROLES = {
    MessageRole.USER: "user",
    MessageRole.ASSISTANT: "assistant",
    MessageRole.MODEL: "assistant",
    MessageRole.CHATBOT: "assistant",
    MessageRole.SYSTEM: "system",
    MessageRole.DEVELOPER: "system",
    MessageRole.TOOL: "tool",
    MessageRole.FUNCTION: "tool",
}

# What JSON has no word for: how it is written, and how it is read. A datetime is a date too, so it comes first.
_KINDS: dict[str, tuple[type[Any], Callable[[Any], Any], Callable[[Any], Any]]] = {
    "bytes": (bytes, lambda value: base64.b64encode(value).decode(), base64.b64decode),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "timedelta": (
        timedelta,
        lambda value: [value.days, value.seconds, value.microseconds],
        lambda parts: timedelta(*parts),
    ),
    "decimal": (Decimal, str, Decimal),
    "uuid": (UUID, str, UUID),
    "tuple": (tuple, lambda value: [_plain(each) for each in value], tuple),
    "set": (set, lambda value: [_plain(each) for each in value], set),
    "frozenset": (frozenset, lambda value: [_plain(each) for each in value], frozenset),
    # Last, since no value is of it: texts are looked at before.
    "text": (type(None), str, lambda of: base64.b64decode(of).decode("utf-8", "surrogatepass")),
}


def encode(message: ChatMessage) -> bytes:
    """Write a message down with its role, every content block and its additional arguments.

    ASCII JSON, so that NUL, NaN and lone surrogates survive; bytes, times, tuples and sets are marked. Models of
    pydantic among the arguments become mappings, as LlamaIndex keeps them too; nothing is pickled. What cannot be written
    down at all (it holds itself, or is nested without end) costs no more than its own argument. The legacy argument
    `images` is left out: LlamaIndex has made blocks of them.
    """
    more = {key: value for key, value in message.additional_kwargs.items() if key != "images"}
    try:
        return _written(message.model_dump(exclude={"additional_kwargs"}, warnings=False), more)
    except Exception:  # a value's own `str` may raise anything
        blocks = [{name: _writable(value) for name, value in block} for block in message.blocks]
        return _written({"role": message.role, "blocks": blocks}, _writable(more))


def decode(payload: bytes) -> ChatMessage:
    """Read a message that `encode` wrote; a fresh object each time. Raises `ValueError` for other bytes."""
    found = json.loads(payload)
    if not isinstance(found, dict) or found.get("htm") != FORMAT:
        raise ValueError(
            f"expected a message that htm_llamaindex wrote ({FORMAT}), got other bytes; read Mention.content"
        )
    return ChatMessage.model_validate(_whole(found["data"]))


def message_of(mention: Mention) -> ChatMessage:
    """The message of a mention; one that was not said through LlamaIndex is made of its role and words."""
    try:
        return decode(mention.payload or b"null")
    except ValueError:
        return ChatMessage(content=mention.content, role=MessageRole(mention.role or "user"))


def draft_of(message: ChatMessage, *, id: str) -> Draft:
    """What is remembered of a message under an id: its words, who said them, and the exact message."""
    return Draft(content=words_of(message), id=id, role=_ROLES.get(message.role), payload=encode(message))


def words_of(message: ChatMessage) -> str:
    """The words of a message that can be searched: its text, without what PostgreSQL cannot hold; may be empty."""
    return searchable(message.content or "")


def searchable(text: str) -> str:
    """As much of a text as is searched, in characters that PostgreSQL can hold; white space alone is no text."""
    clean = text[:LONGEST_SEARCHED].replace("\x00", " ").encode("utf-8", "replace").decode()
    return clean if clean.strip() else ""


def _written(data: dict[str, Any], more: Any) -> bytes:
    whole = _plain({**data, "additional_kwargs": more})
    return json.dumps({"htm": FORMAT, "data": whole}, separators=(",", ":")).encode("ascii")


def _writable(value: Any, deep: int = _DEEP) -> Any:
    """A value that can be written down, as it is; of one that cannot its `repr`, or what it is."""
    try:
        json.dumps(_plain(value))
    except Exception:
        if isinstance(value, dict) and deep:
            return {key: _writable(each, deep - 1) for key, each in value.items()}
        return _told(value)
    return value


def _told(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


def _plain(value: Any) -> Any:
    if isinstance(value, str) and _PAIR.search(value):
        return {_TAG: "text", "of": base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()}
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list):
        return [_plain(each) for each in value]
    if isinstance(value, dict):
        if all(isinstance(key, str) and not _PAIR.search(key) for key in value) and _TAG not in value:
            return {key: _plain(each) for key, each in value.items()}
        return {_TAG: "dict", "of": [[_plain(key), _plain(each)] for key, each in value.items()]}
    if isinstance(value, BaseModel):
        return _plain(value.model_dump(warnings=False))
    for kind, (known, write, _) in _KINDS.items():
        if isinstance(value, known):
            return {_TAG: kind, "of": write(value)}
    return str(value)  # an address or a path, of which pydantic makes one again


def _whole(value: Any) -> Any:
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if not isinstance(value, dict):
        return value
    if _TAG not in value:
        return {key: _whole(each) for key, each in value.items()}
    kind, of = value[_TAG], _whole(value["of"])
    return {key: each for key, each in of} if kind == "dict" else _KINDS[kind][2](of)  # noqa: C416 - pairs of anything
