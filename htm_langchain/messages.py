"""Messages as they are remembered: the words to search, and the bytes that bring every field back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    BaseMessageChunk,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_chunk_to_message,
    messages_from_dict,
)

from htm_core import Draft, Mention
from htm_core.integration import exact_json

FORMAT = "langchain/1"
# Words beyond this are not searched; the payload has them.
LONGEST_SEARCHED = 100_000
LONGEST_NAME = 255

_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}


def encode(message: BaseMessage) -> bytes:
    """Write a message of any type down, with every field of it.

    ASCII JSON, so that NUL, NaN, infinities and lone surrogates survive, in the shape of LangChain's
    `messages_to_dict`; bytes, times, tuples and sets are marked. An object that has no form of its own (a data frame as
    an artifact) is kept as its `repr`: nothing is pickled. What cannot be written down at all (it holds itself, or is
    nested without end) costs no more than its own field.
    """
    whole = message_chunk_to_message(message) if isinstance(message, BaseMessageChunk) else message
    try:
        return _written(whole.type, exact_json.marked(whole.model_dump(warnings=False)))
    except Exception:  # a value's own `repr` may raise anything
        return _written(whole.type, {name: _writable(value) for name, value in whole})


def decode(payload: bytes) -> BaseMessage:
    """Read a message that `encode` wrote; a fresh object each time. Raises `ValueError` for other bytes."""
    found = json.loads(payload)
    if not isinstance(found, dict) or found.get("htm") != FORMAT:
        raise ValueError(
            f"expected a message that htm_langchain wrote ({FORMAT}), got other bytes; read Mention.content"
        )
    return messages_from_dict([{"type": found["type"], "data": exact_json.unmarked(found["data"])}])[0]


def message_of(mention: Mention, *, id: str | None = None) -> BaseMessage:
    """The message of a mention; one that was not said through LangChain is made of its role and words.

    `id` is given to a message that had none.
    """
    try:
        message = decode(mention.payload or b"null")
    except ValueError:
        message = _made(mention)
    message.id = message.id or id or mention.id
    return message


def draft_of(message: BaseMessage, *, id: str, metadata: Mapping[str, Any] | None = None) -> Draft:
    """What is remembered of a message under an id: its words, who said them, and the exact message."""
    return Draft(
        content=words_of(message),
        id=kept_as(id),
        role=role_of(message),
        name=_name(message.name),
        payload=encode(message),
        metadata=metadata,
    )


def kept_as(id: str) -> str:
    """What a message is kept under: its id, or the hash of one that the core does not take."""
    return _name(id) or hashlib.sha256(id.encode("utf-8", "surrogatepass")).hexdigest()


def words_of(message: BaseMessage) -> str:
    """The words of a message that can be searched: its text, without what PostgreSQL cannot hold; may be empty."""
    text = str(message.text)[:LONGEST_SEARCHED].replace("\x00", " ").encode("utf-8", "replace").decode()
    return text if text.strip() else ""


def role_of(message: BaseMessage) -> str | None:
    """Who says such a message, in the words of the core; None for a role of the caller's own."""
    if message.type == "chat":
        given = getattr(message, "role", None)
        return given if given in _ROLES.values() else None
    return _ROLES.get(message.type.removesuffix("MessageChunk").lower() if message.type not in _ROLES else message.type)


def _written(kind: str, data: Any) -> bytes:
    return json.dumps({"htm": FORMAT, "type": kind, "data": data}, separators=(",", ":")).encode("ascii")


def _writable(value: Any) -> Any:
    """A field as `marked` has it; of one that cannot be written down its `repr`, or what it is."""
    try:
        found = exact_json.marked(value)
        json.dumps(found)
    except Exception:
        return _told(value)
    return found


def _told(value: Any) -> str:
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__}>"


def _made(mention: Mention) -> BaseMessage:
    if mention.role == "tool":
        return ToolMessage(content=mention.content, tool_call_id="")
    kinds: dict[str | None, type[BaseMessage]] = {"assistant": AIMessage, "system": SystemMessage}
    return kinds.get(mention.role, HumanMessage)(content=mention.content, name=mention.name)


def _name(name: str | None) -> str | None:
    """A name that the core takes as it is, or none."""
    if name is None or not name.strip() or len(name) > LONGEST_NAME or "\x00" in name:
        return None
    return name if name.encode("utf-8", "replace").decode() == name else None
