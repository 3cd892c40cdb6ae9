"""Which messages a model is shown: LlamaIndex's messages as groups, of which the core chooses those that fit."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.llms.types import (
    AudioBlock,
    ChatMessage,
    CitableBlock,
    CitationBlock,
    DocumentBlock,
    ImageBlock,
    MessageRole,
    TextBlock,
    ThinkingBlock,
    ToolCallBlock,
    VideoBlock,
)

from htm_core.integration.window import MessageGroup, group_tool_calls, newest_turns

CountTokens = Callable[[str], int]

# What a message costs beside its blocks: its role, and what separates it from the next one.
OVERHEAD = 4
# What LlamaIndex's own `Memory` counts for these, whatever they hold.
MEDIA_TOKENS = 256
DOCUMENT_TOKENS = 2048
RESULTS = (MessageRole.TOOL, MessageRole.FUNCTION)


@dataclass(frozen=True, slots=True)
class Counted:
    """A message and its tokens."""

    message: ChatMessage
    tokens: int


def count(message: ChatMessage, *, count_tokens: CountTokens) -> int:
    """The tokens of a message: its blocks, its tool calls in either encoding, and `OVERHEAD`."""
    total = OVERHEAD + sum(_count_block(block, count_tokens) for block in message.blocks)
    if not any(isinstance(block, ToolCallBlock) for block in message.blocks):
        total += sum(count_tokens(_as_text(call)) for call in _legacy_calls(message))
    return total


def fit(messages: Sequence[Counted], *, room: int, is_all: bool) -> list[ChatMessage] | None:
    """The newest whole turns that `room` tokens hold, from the last part of a conversation.

    Args:
        messages: The last messages, oldest first.
        room: Tokens at most.
        is_all: Whether there are no older messages.

    Returns None when older messages must be read to decide. A tool call is never separated from its results; one without
    the other is left out, except calls at the very end. A window that leaves something out starts with a user's message.
    The last of these always stays, with what follows it as far back as fits.
    """
    parts = group_tool_calls(
        messages, is_result=lambda each: each.message.role in RESULTS, answers=_answers, is_answered=_is_answered
    )
    shown = newest_turns([_group(part) for part in parts], room=room, is_all=is_all)
    return None if shown is None else [each.message for group in shown for each in group.messages]


def calls_of(message: ChatMessage) -> list[str | None]:
    """The ids of a message's tool calls, in whichever of the two encodings; None for a call without an id."""
    blocks = [block.tool_call_id for block in message.blocks if isinstance(block, ToolCallBlock)]
    return blocks or [_call_id(call) for call in _legacy_calls(message)]


def _group(messages: tuple[Counted, ...]) -> MessageGroup[Counted]:
    is_user = messages[0].message.role == MessageRole.USER
    return MessageGroup(messages, sum(each.tokens for each in messages), starts_turn=is_user, by_person=is_user)


def _answers(result: Counted, group: Sequence[Counted]) -> bool:
    """Whether a result belongs to a group: by the call's id, or by its place where calls have no ids."""
    calls = calls_of(group[0].message)
    by_place = not all(calls) and len(group) <= len(calls)
    return by_place or _answered_call(result) in [call for call in calls if call]


def _is_answered(group: Sequence[Counted]) -> bool:
    calls, results = calls_of(group[0].message), group[1:]
    answered = {_answered_call(result) for result in results}
    return len(calls) <= len(results) and all(call in answered for call in calls if call)


def _answered_call(result: Counted) -> str | None:
    return result.message.additional_kwargs.get("tool_call_id")


def _legacy_calls(message: ChatMessage) -> list[Any]:
    if message.role in RESULTS:
        return []
    single = message.additional_kwargs.get("function_call")
    return list(message.additional_kwargs.get("tool_calls") or ([single] if single else []))


def _call_id(call: Any) -> str | None:
    found = call.get("id") if isinstance(call, dict) else getattr(call, "id", None)
    return None if found is None else str(found)


def _count_block(block: Any, count_tokens: CountTokens) -> int:
    if isinstance(block, TextBlock):
        return count_tokens(block.text)
    if isinstance(block, ThinkingBlock):
        return block.num_tokens or count_tokens(block.content or "")
    if isinstance(block, ToolCallBlock):
        return count_tokens(block.tool_name) + count_tokens(_as_text(block.tool_kwargs))
    if isinstance(block, ImageBlock | AudioBlock | VideoBlock):
        return MEDIA_TOKENS
    if isinstance(block, DocumentBlock):
        return DOCUMENT_TOKENS
    if isinstance(block, CitableBlock):
        return sum(_count_block(part, count_tokens) for part in block.content)
    return _count_block(block.cited_content, count_tokens) if isinstance(block, CitationBlock) else 0


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
