"""Messages that a model is shown: LangChain's messages as groups, of which the core chooses those
that fit.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    SystemMessage,
    ToolCall,
    ToolMessage,
)

from htm_core.prompt.shorten import Parts, Shortener, texts_within, with_texts_within
from htm_core.prompt.window import MessageGroup, group_tool_calls, largest, stable_window

from .messages import is_from_person, leading_system
from .thoughts import without_earlier_thoughts
from .tokens import Counts, count

_log = logging.getLogger("htm.langchain")

# When the window moves, it moves until at most this share of the room is taken.
LOW_WATER = 0.5
# When what is always sent (system prompt, tools) leaves fewer tokens than the first number, the
# budget cannot be held. The conversation then has as many as the second.
LEAST_ROOM = 32
ROOM_BEYOND_BUDGET = 200


def room_left(room: int) -> int:
    """Tokens for the conversation, where what is always sent leaves so many."""
    if room >= LEAST_ROOM:
        return room
    _tell_beyond_budget()
    return ROOM_BEYOND_BUDGET


@cache
def _tell_beyond_budget() -> None:
    _log.warning(
        "the system prompt and the tools alone take the budget of tokens; they are sent whole, "
        "with %d tokens of the conversation",
        ROOM_BEYOND_BUDGET,
    )


def fit(
    messages: Sequence[AnyMessage],
    *,
    room: int,
    low_water: float = LOW_WATER,
    has_system_prompt: bool = True,
    counts: Counts = count,
) -> list[AnyMessage]:
    """The newest whole turns that `room` tokens hold, after the system messages that come first.

    Args:
        messages: The conversation, oldest first.
        room: Tokens at most, by `counts`.
        low_water: Down to which share of the room the window is emptied when it moves, from 0 to 1.
        has_system_prompt: Whether the request has a system prompt besides. Without one, and without
            a system message among these, what comes before the first user message is left out.
        counts: Counts the tokens of messages.

    System messages that come first stay, but for their middle where they leave little room for
    anything else. A tool call is never separated from its results. The last message of a person
    always stays, and what follows it as far back as fits, the last group at least. The middle of a
    text that is too long is left out, with a line that says so; the messages that were given are
    not changed.
    """
    system, groups = grouped(without_earlier_thoughts(messages), counts=counts)
    system = fit_opening(system, room=room, counts=counts)
    room -= counts(system) if system else 0
    if not system and not has_system_prompt:
        groups = groups[next((at for at, group in enumerate(groups) if group.starts_turn), 0) :]
    return [
        *system,
        *stable_window(
            groups, room=room, low_water=int(low_water * room), shortener=_shortener(counts)
        ),
    ]


def fit_opening(
    messages: Sequence[AnyMessage], *, room: int, counts: Counts = count
) -> list[AnyMessage]:
    """The system messages that come first: whole, but for their middle where that leaves little of
    `room` for anything else.
    """
    most = max(largest(room), room - ROOM_BEYOND_BUDGET)
    if not messages or counts(messages) <= most:
        return list(messages)
    shortener = _shortener(counts)
    one = SystemMessage("\n\n".join(str(each.text) for each in messages))
    cut = next(
        filter(None, (shortener.shorten(each, room=most) for each in (messages, [one]))), None
    )
    return cut or [shortener.shorten_to_words(one, room=most)]


def grouped(
    messages: Sequence[AnyMessage], *, counts: Counts = count
) -> tuple[list[AnyMessage], list[MessageGroup[AnyMessage]]]:
    """The system messages that come first, and the rest in groups, without what no
    model accepts.
    """
    lead = leading_system(messages)
    parts = group_tool_calls(
        messages[lead:],
        is_result=lambda message: isinstance(message, ToolMessage),
        answers=_answers,
        is_answered=_is_answered,
    )
    return list(messages[:lead]), [_group(_without_repeats(part), counts) for part in parts]


def calls_of(message: BaseMessage) -> list[ToolCall | InvalidToolCall]:
    """The tool calls of a message, also those that could not be parsed: providers are sent these
    too, and expect results.
    """
    return (
        [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else []
    )


def _shortener(counts: Counts) -> Shortener[AnyMessage]:
    return Shortener(lambda message: counts([message]), parts)


def _group(messages: tuple[AnyMessage, ...], counts: Counts) -> MessageGroup[AnyMessage]:
    first = messages[0]
    costs = tuple(counts([message]) for message in messages)
    return MessageGroup(
        messages,
        costs,
        starts_turn=isinstance(first, HumanMessage),
        by_person=is_from_person(first),
    )


def _answers(result: AnyMessage, group: Sequence[AnyMessage]) -> bool:
    return isinstance(result, ToolMessage) and result.tool_call_id in {
        call["id"] for call in calls_of(group[0])
    }


def _is_answered(group: Sequence[AnyMessage]) -> bool:
    calls = {call["id"] for call in calls_of(group[0])}
    return calls <= {each.tool_call_id for each in group[1:] if isinstance(each, ToolMessage)}


def _without_repeats(group: tuple[AnyMessage, ...]) -> tuple[AnyMessage, ...]:
    """A group with as many results of an id as it has calls of it, the last ones: models accept no
    more.

    Some models give several calls of one answer the same id.
    """
    left = Counter(call["id"] for call in calls_of(group[0]))
    kept: list[AnyMessage] = []
    for message in reversed(group):
        if isinstance(message, ToolMessage):
            left[message.tool_call_id] -= 1
            if left[message.tool_call_id] < 0:
                continue
        kept.append(message)
    return tuple(reversed(kept))


# -- messages that are too long --------------------------------------------------------------------

# The fields of a content block that hold what was said, or what a tool is called with.
_TEXTS = {"tool_use": "input", "tool_call": "args", "tool_result": "content"}
# Blocks whose text a provider checks by a signature, so that none of it may be missing.
_SIGNED = ("thinking", "redacted_thinking", "reasoning")


def parts(message: AnyMessage) -> Parts[AnyMessage]:
    """The texts of a message that may be cut: what was said, and what tools are called with."""
    cuttable = [*_cuttable_content(message.content), *(call["args"] for call in calls_of(message))]

    def rebuilt(texts: Sequence[str]) -> AnyMessage:
        """The message with other texts."""
        remaining = iter(texts)
        changed: dict[str, Any] = {"content": _with_content(message.content, remaining)}
        if isinstance(message, AIMessage):
            for kind in ("tool_calls", "invalid_tool_calls"):
                calls = getattr(message, kind)
                changed[kind] = [
                    {**call, "args": with_texts_within(call["args"], remaining)} for call in calls
                ]
            # Providers' own form of the calls, which would say them whole.
            more = message.additional_kwargs
            changed["additional_kwargs"] = {
                key: more[key] for key in more if key not in ("tool_calls", "function_call")
            }
        return message.model_copy(update=changed)

    def plain(text: str) -> AnyMessage:
        """The message with one text alone."""
        calls: dict[str, Any] = {
            "tool_calls": [],
            "invalid_tool_calls": [],
            "additional_kwargs": {},
        }
        return message.model_copy(update={"content": text, **(calls if calls_of(message) else {})})

    return Parts(texts_within(cuttable), rebuilt, plain)


def _cuttable_content(content: str | list[Any]) -> list[Any]:
    return [content] if isinstance(content, str) else [_cuttable(block) for block in content]


def _with_content(content: str | list[Any], texts: Iterator[str]) -> str | list[Any]:
    if isinstance(content, str):
        return next(texts)
    return [
        with_texts_within(block, texts) if isinstance(block, str) else _with_block(block, texts)
        for block in content
    ]


def _cuttable(block: Any) -> Any:
    """Return what of a content block may be cut; nothing of a picture or a file."""
    return block if isinstance(block, str) else block.get(_text_field(block), ())


def _with_block(block: dict[str, Any], texts: Iterator[str]) -> dict[str, Any]:
    field = _text_field(block)
    return {**block, field: with_texts_within(block[field], texts)} if field in block else block


def _text_field(block: dict[str, Any]) -> str:
    kind = block.get("type")
    return "" if kind in _SIGNED else _TEXTS.get(str(kind), "text")
