"""Where memory's part of a request goes: into the question, before it, or into the system prompt;
and how it is taken out again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.llms.types import ChatMessage, ContentBlock, MessageRole, TextBlock

from htm_core.palace import GROUNDING_KEY
from htm_core.prompt.memory_block import UNDERSTOOD, Inject, without_blocks

from .window import ASSISTANT, SYSTEM, calls_of


def with_blocks(
    messages: Sequence[ChatMessage],
    texts: Sequence[str],
    *,
    inject: Inject,
    is_asked: bool,
    more: Mapping[str, Any] | None = None,
) -> list[ChatMessage]:
    """Messages with memory's texts in the question, before it, or at the end of the system messages
    that come first.

    The question is the user's last message, unless it is still to come: it `is_asked`, or the
    messages end within a turn. Where it is to come, the assistant answers the texts, so that the
    two speak in turns. `more` stands beside the texts.
    """
    shown, blocks = list(messages), [TextBlock(text=text) for text in texts if text]
    if not blocks:
        return shown
    lead = next((at for at, each in enumerate(shown) if each.role not in SYSTEM), len(shown))
    at = max((at for at, each in enumerate(shown) if each.role == MessageRole.USER), default=None)
    if inject == "system":
        before = shown[lead - 1] if lead else ChatMessage(role=MessageRole.SYSTEM, blocks=[])
        shown[max(0, lead - 1) : lead] = [_with(before, [*before.blocks, *blocks], more)]
        return shown
    block = _with(ChatMessage(role=MessageRole.USER, blocks=[]), blocks, more)
    if not is_asked and (not shown or _is_answer(shown[-1])):
        answer = ChatMessage(role=MessageRole.ASSISTANT, content=UNDERSTOOD)
        return [*shown, block, answer] if inject == "question" else [*shown, block]
    if at is None or inject == "message":
        shown.insert(lead if at is None else at, block)
    else:
        shown[at] = _with(shown[at], [*blocks, *shown[at].blocks], more)
    return shown


def as_said(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Messages of a request as they were said: without memory's texts, and without the answer to
    them.
    """
    spoken: list[ChatMessage] = []
    was_block = False
    for message in messages:
        is_answer = (
            was_block and message.role == MessageRole.ASSISTANT and message.content == UNDERSTOOD
        )
        kept = message if message.role not in (MessageRole.USER, *SYSTEM) else _without(message)
        was_block = kept is None and message.role == MessageRole.USER
        if kept is not None and not is_answer:
            spoken.append(kept)
    return spoken


def _is_answer(message: ChatMessage) -> bool:
    return message.role in ASSISTANT and not calls_of(message)


def _with(
    message: ChatMessage, blocks: Sequence[ContentBlock], more: Mapping[str, Any] | None
) -> ChatMessage:
    kwargs = {**message.additional_kwargs, **(more or {})}
    return message.model_copy(update={"blocks": list(blocks), "additional_kwargs": kwargs})


def _without(message: ChatMessage) -> ChatMessage | None:
    """A message without memory's texts; None where it is nothing else."""
    blocks: list[ContentBlock] = []
    for block in message.blocks:
        text = without_blocks(block.text) if isinstance(block, TextBlock) else ""
        if not isinstance(block, TextBlock) or text == block.text:
            blocks.append(block)
        elif text:
            blocks.append(block.model_copy(update={"text": text}))
    if blocks == list(message.blocks):
        return message
    more = {key: value for key, value in message.additional_kwargs.items() if key != GROUNDING_KEY}
    return (
        message.model_copy(update={"blocks": blocks, "additional_kwargs": more}) if blocks else None
    )
