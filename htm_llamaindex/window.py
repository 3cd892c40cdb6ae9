"""Messages that a model is shown: LlamaIndex's messages as groups, of which the core chooses those
that fit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
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

from htm_core.prompt.shorten import Parts, Shortener, texts_within, with_texts_within
from htm_core.prompt.token_budget import IMAGE_TOKENS, LOW_DETAIL_TOKENS
from htm_core.prompt.window import MessageGroup, group_tool_calls, largest, newest_turns

__all__ = ["CountTokens", "Counted", "calls_of", "count", "fit", "largest"]

CountTokens = Callable[[str], int]


# What a message costs beside its blocks: its role, and what separates it from the next one.
OVERHEAD = 4
# What LlamaIndex's own `Memory` counts for these, whatever they hold.
MEDIA_TOKENS = 256
DOCUMENT_TOKENS = 2048
# So many tokens the system messages that come first leave for everything else, where they cannot be
# shown whole.
ROOM_BESIDE_SYSTEM = 200
# Fields of a message that say its calls.
_CALLS = ("tool_calls", "function_call")
RESULTS = (MessageRole.TOOL, MessageRole.FUNCTION)
SYSTEM = (MessageRole.SYSTEM, MessageRole.DEVELOPER)
ASSISTANT = (MessageRole.ASSISTANT, MessageRole.MODEL, MessageRole.CHATBOT)


@dataclass(frozen=True, slots=True)
class Counted:
    """A message and its tokens."""

    message: ChatMessage
    tokens: int


def count(message: ChatMessage, *, count_tokens: CountTokens) -> int:
    """The tokens of a message: its blocks, its tool calls in either encoding, its other fields, and
    `OVERHEAD`.
    """
    total = OVERHEAD + sum(_count_block(block, count_tokens) for block in message.blocks)
    if not any(isinstance(block, ToolCallBlock) for block in message.blocks):
        total += sum(count_tokens(_as_text(call)) for call in _legacy_calls(message))
    more = message.additional_kwargs
    return total + sum(
        count_tokens(_as_text(more[key])) for key in more if more[key] and key not in _CALLS
    )


def fit(
    messages: Sequence[Counted], *, room: int, is_all: bool, count_tokens: CountTokens
) -> list[ChatMessage] | None:
    """The newest whole turns that `room` tokens hold, from the last part of a conversation.

    Args:
        messages: The last messages, oldest first.
        room: Tokens at most.
        is_all: Whether there are no older messages.
        count_tokens: Counts the tokens of a text.

    Returns None when older messages must be read to decide. A tool call is never separated from its
    results; one without the other is left out, except calls at the very end. A window that leaves
    something out starts with a user's message. The last of these always stays, with what follows it
    as far back as fits. The middle of a text that is too long is left out, with a line that says
    so.
    """
    groups = group_tool_calls(
        messages,
        is_result=lambda item: item.message.role in RESULTS,
        answers=_answers,
        is_answered=_is_answered,
    )
    shown = newest_turns(
        [_group(each) for each in groups],
        room=room,
        is_all=is_all,
        shortener=_shortener(count_tokens),
    )
    return None if shown is None else [each.message for each in shown]


def fit_opening(
    messages: Sequence[ChatMessage], *, room: int, count_tokens: CountTokens
) -> list[ChatMessage]:
    """The system messages that come first: whole, but for their middle where that leaves little of
    `room` for anything else.
    """
    counted = [Counted(each, count(each, count_tokens=count_tokens)) for each in messages]
    most = max(largest(room), room - ROOM_BESIDE_SYSTEM)
    shortener = _shortener(count_tokens)
    shown = shortener.shorten(counted, room=most)
    return (
        [each.message for each in shown or [shortener.shorten_to_words(counted[0], room=most)]]
        if counted
        else []
    )


def calls_of(message: ChatMessage) -> list[str | None]:
    """The ids of a message's tool calls, in whichever of the two encodings; None for a call without
    an id.
    """
    blocks = [block.tool_call_id for block in message.blocks if isinstance(block, ToolCallBlock)]
    return blocks or [_call_id(call) for call in _legacy_calls(message)]


def _shortener(count_tokens: CountTokens) -> Shortener[Counted]:
    return Shortener(
        lambda item: item.tokens, lambda item: _parts(item.message, count_tokens=count_tokens)
    )


def _group(messages: tuple[Counted, ...]) -> MessageGroup[Counted]:
    is_user = messages[0].message.role == MessageRole.USER
    return MessageGroup(
        messages, tuple(each.tokens for each in messages), starts_turn=is_user, by_person=is_user
    )


def _answers(result: Counted, group: Sequence[Counted]) -> bool:
    """True if a result belongs to a group: by the call's id, or by its place where calls have no
    ids.
    """
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
    value = call.get("id") if isinstance(call, dict) else getattr(call, "id", None)
    return None if value is None else str(value)


def _count_block(block: Any, count_tokens: CountTokens) -> int:
    if isinstance(block, TextBlock):
        return count_tokens(block.text)
    if isinstance(block, ThinkingBlock):
        signed = _as_text(block.additional_information) if block.additional_information else ""
        return max(block.num_tokens or 0, count_tokens(block.content or "")) + count_tokens(signed)
    if isinstance(block, ToolCallBlock):
        parts = (block.tool_name, _as_text(block.tool_kwargs), block.tool_call_id or "")
        return sum(map(count_tokens, filter(None, parts)))
    if isinstance(block, ImageBlock):
        return LOW_DETAIL_TOKENS if block.detail == "low" else IMAGE_TOKENS
    if isinstance(block, AudioBlock | VideoBlock):
        return MEDIA_TOKENS
    if isinstance(block, DocumentBlock):
        return DOCUMENT_TOKENS
    if isinstance(block, CitableBlock):
        named = count_tokens(f"{block.title} {block.source}")
        return named + sum(_count_block(part, count_tokens) for part in block.content)
    if isinstance(block, CitationBlock):
        place = f"{block.title} {block.source} {_as_text(block.additional_location_info)}"
        return count_tokens(place) + _count_block(block.cited_content, count_tokens)
    return count_tokens(block.model_dump_json())


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


# -- messages that are too long --------------------------------------------------------------------


def _parts(message: ChatMessage, *, count_tokens: CountTokens) -> Parts[Counted]:
    """The texts of a message that may be cut: what was said, and what tools are called with."""
    more = message.additional_kwargs
    calls = (
        []
        if any(isinstance(block, ToolCallBlock) for block in message.blocks)
        else _legacy_calls(message)
    )
    cuttable = [*map(_cuttable, message.blocks), *map(_cuttable_call, calls)]

    def counted(blocks: Sequence[Any], changed: dict[str, Any]) -> Counted:
        """The message with other blocks, and its tokens."""
        made = message.model_copy(update={"blocks": list(blocks), "additional_kwargs": changed})
        return Counted(made, count(made, count_tokens=count_tokens))

    def rebuilt(texts: Sequence[str]) -> Counted:
        """The message with other texts."""
        remaining = iter(texts)
        blocks = [_with_block(block, remaining) for block in message.blocks]
        changed = [_with_call(call, remaining) for call in calls]
        name = "tool_calls" if more.get("tool_calls") else "function_call"
        shorter = {name: changed if name == "tool_calls" else changed[0]} if changed else {}
        return counted(blocks, {**more, **shorter})

    def plain(text: str) -> Counted:
        """The message with one text alone."""
        return counted(
            [TextBlock(text=text)],
            {key: more[key] for key in more if key not in ("tool_calls", "function_call")},
        )

    return Parts(texts_within(cuttable), rebuilt, plain)


def _cuttable(block: Any) -> Any:
    """Return what of a block may be cut; nothing of a picture, a file, or a thought that its
    provider checks by a signature.
    """
    if isinstance(block, TextBlock):
        return block.text
    if isinstance(block, ToolCallBlock):
        return _arguments(block.tool_kwargs)
    if isinstance(block, CitableBlock):
        return [_cuttable(part) for part in block.content]
    return _cuttable(block.cited_content) if isinstance(block, CitationBlock) else None


def _with_block(block: Any, texts: Iterator[str]) -> Any:
    if isinstance(block, TextBlock):
        return block.model_copy(update={"text": next(texts)})
    if isinstance(block, ToolCallBlock):
        return block.model_copy(update={"tool_kwargs": _with_arguments(block.tool_kwargs, texts)})
    if isinstance(block, CitableBlock):
        return block.model_copy(
            update={"content": [_with_block(part, texts) for part in block.content]}
        )
    if isinstance(block, CitationBlock):
        return block.model_copy(update={"cited_content": _with_block(block.cited_content, texts)})
    return block


def _cuttable_call(call: Any) -> Any:
    """The arguments of a call in the older encoding, which are JSON."""
    return _arguments(_function(call).get("arguments"))


def _with_call(call: Any, texts: Iterator[str]) -> Any:
    function = _function(call)
    if not function:
        return call
    changed = {**function, "arguments": _with_arguments(function.get("arguments"), texts)}
    return {**call, "function": changed} if function is not call else changed


def _function(call: Any) -> dict[str, Any]:
    """The name and arguments of a call in the older encoding: in a field of their own, or the call
    itself.
    """
    function = call.get("function", call) if isinstance(call, dict) else {}
    return function if isinstance(function, dict) else {}


def _arguments(value: Any) -> Any:
    """A tool's arguments as a value: they may be written as JSON; None for a text that
    is not JSON.
    """
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None


def _with_arguments(value: Any, texts: Iterator[str]) -> Any:
    arguments = _arguments(value)
    if arguments is None:
        return value
    changed = with_texts_within(arguments, texts)
    return json.dumps(changed, ensure_ascii=False) if isinstance(value, str) else changed
