"""Which messages a model is shown: whole turns within a budget, in a window that moves seldom."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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

from .recalled_block import asks
from .tokens import Counts, count

# Where a window moves, it moves until this share of the room is left, so that it stands still for the next turns and a
# provider's cache of the prefix lives.
LOW_WATER = 0.5


def calls_of(message: BaseMessage) -> list[ToolCall | InvalidToolCall]:
    """The calls of a message, also those that nobody could read: providers are sent these too, and want their results."""
    return [*message.tool_calls, *message.invalid_tool_calls] if isinstance(message, AIMessage) else []


@dataclass(frozen=True, slots=True)
class Group:
    """Messages that stay together: a message, or a tool call with all of its results."""

    messages: tuple[AnyMessage, ...]
    tokens: int

    @property
    def opens(self) -> bool:
        """Whether a turn begins here."""
        return isinstance(self.messages[0], HumanMessage)

    @property
    def asks(self) -> bool:
        """Whether a person said this, and not the framework in a person's place."""
        return asks(self.messages[0])

    @property
    def whole(self) -> bool:
        """Whether every result has its call and every call its result."""
        first, results = self.messages[0], self.messages[1:]
        if isinstance(first, ToolMessage):
            return False
        calls = {call["id"] for call in calls_of(first)}
        return calls <= {each.tool_call_id for each in results if isinstance(each, ToolMessage)}


def fit(
    messages: Sequence[AnyMessage], *, room: int, low: float = LOW_WATER, led: bool = True, counts: Counts = count
) -> list[AnyMessage]:
    """The newest whole turns that `room` tokens hold, after the system messages that lead.

    A tool call is never parted from its results, and one without the other is left out, but for calls at the very end.
    The last human message always stays, and what follows it as far back as fits, its last group at least. The window's
    start depends only on what was said before, so that it stands still while messages are added, until they exceed
    `room`; then it moves to the turn after which no more than `low` of the room is taken. Where nothing leads, neither
    here nor (`led`) a system prompt kept elsewhere, what stands before the first human message is left out.
    """
    head, groups = grouped(messages, counts=counts)
    room -= counts(head) if head else 0
    if not head and not led:
        groups = groups[next((at for at, group in enumerate(groups) if group.opens), 0) :]
    start = _start(groups, room=room, low=int(low * room))
    return [*head, *(each for group in _squeezed(groups[start:], room) for each in group.messages)]


def grouped(messages: Sequence[AnyMessage], *, counts: Counts = count) -> tuple[list[AnyMessage], list[Group]]:
    """The system messages that lead, and the rest in groups, without those that no model accepts."""
    lead = leading(messages)
    parts: list[list[AnyMessage]] = []
    for message in messages[lead:]:
        if isinstance(message, ToolMessage) and parts and _answers(message, parts[-1]):
            parts[-1] = [*(each for each in parts[-1] if not _same_result(each, message)), message]
        else:
            parts.append([message])
    groups = [Group(tuple(part), counts(part)) for part in parts]
    last = len(groups) - 1
    return list(messages[:lead]), [
        group for at, group in enumerate(groups)
        if group.whole or (at == last and not isinstance(group.messages[0], ToolMessage))
    ]  # fmt: skip


def leading(messages: Sequence[BaseMessage]) -> int:
    """How many system messages lead."""
    return next((at for at, each in enumerate(messages) if not isinstance(each, SystemMessage)), len(messages))


def _answers(result: ToolMessage, part: Sequence[AnyMessage]) -> bool:
    return result.tool_call_id in {call["id"] for call in calls_of(part[0])}


def _same_result(one: AnyMessage, other: ToolMessage) -> bool:
    """Whether a call is answered twice, of which models accept the last answer only."""
    return isinstance(one, ToolMessage) and one.tool_call_id == other.tool_call_id


def _start(groups: Sequence[Group], *, room: int, low: int) -> int:
    """Where the window begins, found by letting the conversation happen again, message by message."""
    start = turn = held = 0
    asked = False
    for at, group in enumerate(groups):
        held += group.tokens
        turn = at if group.asks or (group.opens and not asked) else turn
        asked = asked or group.asks
        if held > room:
            while start < turn and (held > low or not groups[start].opens):
                held -= groups[start].tokens
                start += 1
    return start


def _squeezed(groups: Sequence[Group], room: int) -> list[Group]:
    """What is left of a single turn that is too large: its opening, and its newest groups that fit, at least one."""
    if sum(group.tokens for group in groups) <= room:
        return list(groups)
    opening_ones = [at for at, group in enumerate(groups) if group.opens]
    turn = max((at for at in opening_ones if groups[at].asks), default=max(opening_ones, default=0))
    opening, rest = list(groups[turn : turn + 1]), groups[turn + 1 :]
    room -= sum(group.tokens for group in opening)
    kept: list[Group] = []
    for group in reversed(rest):
        room -= group.tokens
        if room < 0 and kept:
            break
        kept.append(group)
    return opening + kept[::-1]
