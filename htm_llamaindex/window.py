"""Which messages a model is shown: the newest whole turns within a budget of tokens."""

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

Count = Callable[[str], int]

# What a message costs beside its blocks: its role and what parts it from the next.
OVERHEAD = 4
# What LlamaIndex's own `Memory` takes them for, whatever they hold.
MEDIA_TOKENS = 256
DOCUMENT_TOKENS = 2048
RESULTS = (MessageRole.TOOL, MessageRole.FUNCTION)


@dataclass(frozen=True, slots=True)
class Counted:
    """A message and what it costs."""

    message: ChatMessage
    tokens: int


@dataclass(frozen=True, slots=True)
class Group:
    """Messages that stay together: a message, or a tool call with all of its results."""

    parts: tuple[Counted, ...]

    @property
    def tokens(self) -> int:
        """What all of it costs."""
        return sum(part.tokens for part in self.parts)

    @property
    def opens(self) -> bool:
        """Whether a turn begins here."""
        return self.parts[0].message.role == MessageRole.USER

    @property
    def whole(self) -> bool:
        """Whether every result has its call and every call its result."""
        first, results = self.parts[0].message, self.parts[1:]
        if first.role in RESULTS:
            return False
        calls = calls_of(first)
        answered = {_answered(part.message) for part in results}
        return len(calls) <= len(results) and all(call in answered for call in calls if call)


def count(message: ChatMessage, *, words: Count) -> int:
    """The tokens of a message: its blocks, its calls in either encoding, and its frame."""
    total = OVERHEAD + sum(_block(block, words) for block in message.blocks)
    if not any(isinstance(block, ToolCallBlock) for block in message.blocks):
        total += sum(words(_text(call)) for call in _legacy_calls(message))
    return total


def fit(messages: Sequence[Counted], *, room: int, whole: bool) -> list[ChatMessage] | None:
    """The newest whole turns that `room` tokens hold, of a conversation's last messages; None when more must be read.

    `whole` says that there are no older ones. A call is never parted from its results, and one without the other is
    left out, but for calls at the very end. A window that leaves something out begins with a user's message; the last
    of them always stays, and what follows it as far back as fits.
    """
    groups = grouped(messages)
    if sum(group.tokens for group in groups) <= room:
        return _messages(groups) if whole else None
    first = _first(groups, room)
    turn = next((at for at in range(first, len(groups)) if groups[at].opens), None)
    if turn is not None:
        return _messages(groups[turn:])
    turn = max((at for at in range(first) if groups[at].opens), default=None)
    if turn is None:
        return _messages(groups[min(first, len(groups) - 1) :]) if whole else None
    opening = groups[turn]
    rest = groups[turn + 1 :]
    return _messages([opening, *rest[_first(rest, room - opening.tokens) :]])


def grouped(messages: Sequence[Counted]) -> list[Group]:
    """Messages in groups, without those that no model accepts."""
    parts: list[list[Counted]] = []
    for each in messages:
        if each.message.role in RESULTS and parts and _answers(each.message, parts[-1]):
            parts[-1].append(each)
        else:
            parts.append([each])
    groups = [Group(tuple(part)) for part in parts]
    return [
        group for at, group in enumerate(groups)
        if group.whole or (at == len(groups) - 1 and group.parts[0].message.role not in RESULTS)
    ]  # fmt: skip


def calls_of(message: ChatMessage) -> list[str | None]:
    """The ids of the tool calls in a message, in whichever of the two encodings; None for one without an id."""
    blocks = [block.tool_call_id for block in message.blocks if isinstance(block, ToolCallBlock)]
    return blocks or [_id(call) for call in _legacy_calls(message)]


def _first(groups: Sequence[Group], room: int) -> int:
    """Where the newest groups begin that fit."""
    first = len(groups)
    while first and (room := room - groups[first - 1].tokens) >= 0:
        first -= 1
    return first


def _messages(groups: Sequence[Group]) -> list[ChatMessage]:
    return [part.message for group in groups for part in group.parts]


def _answers(result: ChatMessage, group: Sequence[Counted]) -> bool:
    """Whether a result belongs to a group: by the call's id, or by its place where the calls have none."""
    calls = calls_of(group[0].message)
    return _answered(result) in [call for call in calls if call] or (not all(calls) and len(group) <= len(calls))


def _answered(result: ChatMessage) -> str | None:
    return result.additional_kwargs.get("tool_call_id")


def _legacy_calls(message: ChatMessage) -> list[Any]:
    if message.role in RESULTS:
        return []
    single = message.additional_kwargs.get("function_call")
    return list(message.additional_kwargs.get("tool_calls") or ([single] if single else []))


def _id(call: Any) -> str | None:
    found = call.get("id") if isinstance(call, dict) else getattr(call, "id", None)
    return None if found is None else str(found)


def _block(block: Any, words: Count) -> int:
    if isinstance(block, TextBlock):
        return words(block.text)
    if isinstance(block, ThinkingBlock):
        return block.num_tokens or words(block.content or "")
    if isinstance(block, ToolCallBlock):
        return words(block.tool_name) + words(_text(block.tool_kwargs))
    if isinstance(block, ImageBlock | AudioBlock | VideoBlock):
        return MEDIA_TOKENS
    if isinstance(block, DocumentBlock):
        return DOCUMENT_TOKENS
    if isinstance(block, CitableBlock):
        return sum(_block(part, words) for part in block.content)
    return _block(block.cited_content, words) if isinstance(block, CitationBlock) else 0


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
