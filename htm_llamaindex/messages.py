"""LlamaIndex's messages as they are stored: the words to search, and the bytes that bring every
field back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ThinkingBlock
from pydantic import BaseModel

from htm_core import Draft, Mention
from htm_core.prompt import exact_json
from htm_core.prompt.attachments import files_said
from htm_core.prompt.follow_ups import SaidBefore, asks_further
from htm_core.prompt.keep import keep_draft
from htm_core.prompt.messages import (
    LLAMAINDEX_MESSAGE,
    NOT_KEPT,
    quotes_memories,
    read_payload,
    safe_repr,
    searchable,
    storable_name,
    without_thought_fields,
    without_thoughts,
    write_payload,
)
from htm_core.prompt.origin import EXTERNAL, quoted

from .attachments import files_of

FORMAT = LLAMAINDEX_MESSAGE
Kept = Callable[[Any], bool] | frozenset[str]

# How many levels of nested arguments are searched for the one that cannot be written down, so that
# the others are kept.
_MAX_DEPTH = 3
_OBSERVATION = re.compile(r"\A(?>.*?^Action:).*^Observation:", re.M | re.S)
# What LlamaIndex's own tool answers when one agent hands over to another: it says nothing that
# anybody asks for later.
_HANDED_OVER = re.compile(
    r"Agent .{1,200} is now handling the request due to the following reason: .*\s"
    r"Please continue with the current request\.\s*",
    re.DOTALL,
)
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
    """Write down a message with its role, every content block and its additional arguments.

    Bytes, times, tuples and sets are marked. Pydantic models among the arguments become mappings,
    as LlamaIndex keeps them too; nothing is pickled. An argument that cannot be written down at
    all, because it contains itself or is nested without end, does not harm the others. The legacy
    argument `images` is left out: LlamaIndex has made blocks of it.
    """
    more = {key: value for key, value in message.additional_kwargs.items() if key != "images"}
    try:
        return _payload(message.model_dump(exclude={"additional_kwargs"}, warnings=False), more)
    except Exception:  # a value's own `str` may raise anything
        blocks = [{name: _encodable(value) for name, value in block} for block in message.blocks]
        return _payload({"role": message.role, "blocks": blocks}, _encodable(more))


def decode(payload: bytes) -> ChatMessage:
    """Read a message that `encode` wrote; a fresh object each time. Raises `ValueError` for other
    bytes.
    """
    data = read_payload(payload, FORMAT)
    if data is None:
        raise ValueError(
            f"expected a message that htm_llamaindex wrote ({FORMAT}), got other bytes; read "
            "Mention.content"
        )
    return ChatMessage.model_validate(exact_json.decode_value(data["data"]))


def said_before(question: str, messages: Iterable[ChatMessage]) -> list[SaidBefore]:
    """Return the user's and the model's messages before a question that leans on it; no message is
    read for any other.
    """
    if not asks_further(question):
        return []
    return [
        SaidBefore(words_of(each), by_person=each.role == MessageRole.USER)
        for each in messages
        if _ROLES.get(each.role) in ("user", "assistant")
    ]


def message_of(mention: Mention) -> ChatMessage:
    """The message of a mention; of one that was not said through LlamaIndex, a message with its
    role and words.
    """
    try:
        return decode(mention.payload or b"null")
    except ValueError:
        is_named = mention.role == "tool" or mention.source not in EXTERNAL
        # A page or a file has no role in a chat, and these are nobody's words.
        content = mention.content if is_named else quoted(mention)
        return ChatMessage(
            content=content, role=MessageRole(mention.role or "user" if is_named else "user")
        )


def draft_of(message: ChatMessage, *, id: str, keep: Kept | None = None) -> Draft:
    """Draft of a message under an id: its words, its speaker, the exact message, and the text of
    its files.

    Where it comes from is its role's, whatever its name and its other arguments say; a ReAct
    agent's reasoning quotes what tools have answered, so it is a tool's. Who said it is
    `additional_kwargs["name"]`. `keep` says whether recall may find it (see
    `htm_core.prompt.keep`); what LlamaIndex says of a hand-off it never finds.
    """
    role, words = _ROLES.get(message.role), words_of(message)
    draft = Draft(
        content="" if role == "tool" and _HANDED_OVER.fullmatch(words) else words,
        id=id,
        role=role,
        source="tool" if _holds_results(message) else None,
        name=name_of(message),
        payload=encode(message),
        attached=files_said(files_of(message), role),
    )
    return keep_draft(draft, message, keep)


def name_of(message: ChatMessage) -> str | None:
    """Who said a message, where several people speak: `additional_kwargs["name"]`."""
    return storable_name(message.additional_kwargs.get("name"))


def words_of(message: ChatMessage) -> str:
    """The words of a message that can be searched, which a model's thoughts are not;
    may be empty.
    """
    text = message.content or ""
    return searchable(without_thoughts(text) if _ROLES.get(message.role) == "assistant" else text)


def without_thinking(message: ChatMessage) -> ChatMessage:
    """A message of an earlier turn as a model is shown it: an assistant's without thoughts, a
    tool's without quoted memories.

    In the turn that is going on they stay, since a provider wants them back with the results of
    tools.
    """
    if _ROLES.get(message.role) == "tool" and quotes_memories(message.content or ""):
        return message.model_copy(update={"blocks": [TextBlock(text=NOT_KEPT)]})
    if _ROLES.get(message.role) != "assistant":
        return message
    blocks = [
        block.model_copy(update={"text": without_thoughts(block.text)})
        if isinstance(block, TextBlock)
        else block
        for block in message.blocks
        if not isinstance(block, ThinkingBlock)
    ]
    more = without_thought_fields(message.additional_kwargs)
    if blocks == message.blocks and more == message.additional_kwargs:
        return message
    kept = [block for block in blocks if not isinstance(block, TextBlock) or block.text]
    return message.model_copy(update={"blocks": kept, "additional_kwargs": more})


def is_blank(message: ChatMessage) -> bool:
    """True if nothing is left of an assistant's message, as of one that was thoughts alone."""
    return (
        _ROLES.get(message.role) == "assistant"
        and not message.blocks
        and not message.additional_kwargs
    )


def _holds_results(message: ChatMessage) -> bool:
    """True if an assistant's message quotes results of tools, as the reasoning that a ReAct agent
    keeps does.
    """
    return (
        _ROLES.get(message.role) == "assistant"
        and _OBSERVATION.search(message.content or "") is not None
    )


def _payload(data: dict[str, Any], more: Any) -> bytes:
    return write_payload(FORMAT, {"data": _encode({**data, "additional_kwargs": more})})


def _encodable(value: Any, depth: int = _MAX_DEPTH) -> Any:
    """A value that can be written down, as it is; its `repr` for one that cannot."""
    try:
        json.dumps(_encode(value))
    except Exception:
        if isinstance(value, dict) and depth:
            return {key: _encodable(each, depth - 1) for key, each in value.items()}
        return safe_repr(value)
    return value


def _encode(value: Any) -> Any:
    return exact_json.encode_value(value, otherwise=_encode_object)


def _encode_object(value: Any) -> Any:
    """A model as a mapping; any other object as its text (an address, a path), of which pydantic
    makes one again.
    """
    return _encode(value.model_dump(warnings=False)) if isinstance(value, BaseModel) else str(value)
