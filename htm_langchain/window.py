"""Which messages a model is shown: LangChain's messages as groups, of which the core chooses those that fit."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    InvalidToolCall,
    ToolCall,
    ToolMessage,
)

from htm_core.integration.window import MessageGroup, group_tool_calls, stable_window

from .messages import is_from_person, leading_system
from .tokens import Counts, count

# When the window moves, it moves until at most this share of the room is taken.
LOW_WATER = 0.5


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
        has_system_prompt: Whether the request has a system prompt besides. Without one, and without a system message
            among these, what comes before the first user message is left out.
        counts: Counts the tokens of messages.

    A tool call is never separated from its results. The last message of a person always stays, and what follows it as far
    back as fits, the last group at least.
    """
    system, groups = grouped(messages, counts=counts)
    room -= counts(system) if system else 0
    if not system and not has_system_prompt:
        groups = groups[next((at for at, group in enumerate(groups) if group.starts_turn), 0) :]
    shown = stable_window(groups, room=room, low_water=int(low_water * room))
    return [*system, *(each for group in shown for each in group.messages)]


def grouped(
    messages: Sequence[AnyMessage], *, counts: Counts = count
) -> tuple[list[AnyMessage], list[MessageGroup[AnyMessage]]]:
    """The system messages that come first, and the rest in groups, without what no model accepts."""
    lead = leading_system(messages)
    parts = group_tool_calls(
        messages[lead:],
        is_result=lambda each: isinstance(each, ToolMessage),
        answers=_answers,
        is_answered=_is_answered,
    )
    return list(messages[:lead]), [_group(_without_repeats(part), counts) for part in parts]


def calls_of(message: BaseMessage) -> list[ToolCall | InvalidToolCall]:
    """The tool calls of a message, also those that could not be parsed: providers are sent these too, and expect results."""
    return [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else []


def _group(messages: tuple[AnyMessage, ...], counts: Counts) -> MessageGroup[AnyMessage]:
    first = messages[0]
    return MessageGroup(
        messages, counts(messages), starts_turn=isinstance(first, HumanMessage), by_person=is_from_person(first)
    )


def _answers(result: AnyMessage, group: Sequence[AnyMessage]) -> bool:
    return isinstance(result, ToolMessage) and result.tool_call_id in {call["id"] for call in calls_of(group[0])}


def _is_answered(group: Sequence[AnyMessage]) -> bool:
    calls = {call["id"] for call in calls_of(group[0])}
    return calls <= {each.tool_call_id for each in group[1:] if isinstance(each, ToolMessage)}


def _without_repeats(group: tuple[AnyMessage, ...]) -> tuple[AnyMessage, ...]:
    """A group without earlier results of a call that has two: models accept only one, and the last one counts."""
    last = {each.tool_call_id: at for at, each in enumerate(group) if isinstance(each, ToolMessage)}
    return tuple(
        each for at, each in enumerate(group) if not isinstance(each, ToolMessage) or last[each.tool_call_id] == at
    )
