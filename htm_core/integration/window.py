"""Which messages of a conversation a model is shown: whole turns within a budget of tokens.

A framework's adapter says which of its messages start a turn, which call tools, and what each costs. Here it is decided
which of them fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class MessageGroup(Generic[M]):
    """Messages that stay together: one message, or a tool call with all of its results.

    `starts_turn` is true for a user's message. `by_person` is false for one that a framework wrote in the user's name.
    """

    messages: tuple[M, ...]
    tokens: int
    starts_turn: bool
    by_person: bool


def group_tool_calls(
    messages: Sequence[M],
    *,
    is_result: Callable[[M], bool],
    answers: Callable[[M, Sequence[M]], bool],
    is_answered: Callable[[Sequence[M]], bool],
) -> list[tuple[M, ...]]:
    """Put each tool call and its results together, and leave out what no model accepts.

    Args:
        messages: The messages, oldest first.
        is_result: Whether a message is the result of a tool call.
        answers: Whether a result belongs to the group right before it.
        is_answered: Whether every call of a group has its result.

    A result without its call is left out, and so is a call without its results, except at the very end: there its results
    may still come.
    """
    parts: list[list[M]] = []
    for message in messages:
        if parts and is_result(message) and answers(message, parts[-1]):
            parts[-1].append(message)
        else:
            parts.append([message])
    last = len(parts) - 1
    return [
        tuple(part) for at, part in enumerate(parts) if not is_result(part[0]) and (is_answered(part) or at == last)
    ]


def stable_window(groups: Sequence[MessageGroup[M]], *, room: int, low_water: int) -> list[MessageGroup[M]]:
    """The newest turns that fit `room` tokens, in a window that starts at the same message for many turns.

    The start depends only on what was said before it. It stays where it is until the window exceeds `room`. Then it moves
    to the first turn from which no more than `low_water` tokens are left, so that a provider's cache of the prefix stays
    valid for the next turns. Of a single turn that is too large `_truncate_turn` keeps a part.
    """
    start = turn = tokens = 0
    person_seen = False
    for at, group in enumerate(groups):  # replay the conversation message by message
        tokens += group.tokens
        if group.by_person or (group.starts_turn and not person_seen):
            turn = at
        person_seen = person_seen or group.by_person
        if tokens > room:
            while start < turn and (tokens > low_water or not groups[start].starts_turn):
                tokens -= groups[start].tokens
                start += 1
    shown = list(groups[start:])
    if sum(group.tokens for group in shown) <= room:
        return shown
    starts = [at for at, group in enumerate(shown) if group.starts_turn]
    by_person = [at for at in starts if shown[at].by_person]
    return _truncate_turn(shown, max(by_person or starts, default=0), room=room, at_least=1)


def newest_turns(groups: Sequence[MessageGroup[M]], *, room: int, is_all: bool) -> list[MessageGroup[M]] | None:
    """The newest whole turns that fit `room` tokens, from the last part of a conversation.

    `is_all` says that nothing older exists. Returns None when older messages must be read to decide. A window that leaves
    something out starts with a user's message. The last of these always stays, with the newest groups after it that fit.
    """
    if sum(group.tokens for group in groups) <= room:
        return list(groups) if is_all else None
    first = len(groups) - len(_newest_that_fit(groups, room=room))
    turn = next((at for at in range(first, len(groups)) if groups[at].starts_turn), None)
    if turn is not None:
        return list(groups[turn:])
    turn = max((at for at in range(first) if groups[at].starts_turn), default=None)
    if turn is not None:
        return _truncate_turn(groups, turn, room=room, at_least=0)
    return list(groups[min(first, len(groups) - 1) :]) if is_all else None


def _truncate_turn(groups: Sequence[MessageGroup[M]], turn: int, *, room: int, at_least: int) -> list[MessageGroup[M]]:
    """What is shown of a turn that is too large: its first group, and the newest of the others that fit."""
    opening, rest = list(groups[turn : turn + 1]), groups[turn + 1 :]
    left = room - sum(group.tokens for group in opening)
    return opening + _newest_that_fit(rest, room=left, at_least=at_least)


def _newest_that_fit(groups: Sequence[MessageGroup[M]], *, room: int, at_least: int = 0) -> list[MessageGroup[M]]:
    kept: list[MessageGroup[M]] = []
    for group in reversed(groups):
        room -= group.tokens
        if room < 0 and len(kept) >= at_least:
            break
        kept.append(group)
    return kept[::-1]
