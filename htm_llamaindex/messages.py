"""Messages as they are remembered: the words to search, and the bytes that bring every field back."""

from __future__ import annotations

import json
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole
from pydantic import BaseModel

from htm_core import Draft, Mention
from htm_core.integration import exact_json

FORMAT = "llamaindex/1"
# Words beyond this are not searched; the payload has them.
LONGEST_SEARCHED = 100_000

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
    return ChatMessage.model_validate(exact_json.unmarked(found["data"]))


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
    return exact_json.marked(value, otherwise=_otherwise)


def _otherwise(value: Any) -> Any:
    """A model as a mapping; for anything else its text: an address or a path, of which pydantic makes one again."""
    return _plain(value.model_dump(warnings=False)) if isinstance(value, BaseModel) else str(value)
