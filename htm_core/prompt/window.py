"""The messages of a conversation that a model is shown: whole turns within a budget of tokens.

A framework's adapter says which of its messages start a turn, which call tools, and what each
costs. Here it is decided which of them fit, and which are too long to be shown whole (see
`shorten`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from .shorten import Shortener

M = TypeVar("M")

# Of what does not fit whole, no message takes more than this share of the room. The cut depends on
# nothing else, so that it is the same in each request, and a provider's cache of the prefix stays
# valid.
LARGEST_SHARE = 0.5
# The last question may take more, so that older turns do not cost it its middle.
QUESTION_SHARE = 0.8
# What comes after a question is shown beside it only with so many characters of each text; with
# fewer, the question is alone.
LEAST_BESIDE = 200


@dataclass(frozen=True, slots=True)
class MessageGroup(Generic[M]):
    """Messages that stay together: one message, or a tool call with all of its results. `costs` has
    the tokens of each.

    `starts_turn` is true for a user's message. `by_person` is false for one that a framework wrote
    in the user's name.
    """

    messages: tuple[M, ...]
    costs: tuple[int, ...]
    starts_turn: bool
    by_person: bool

    @property
    def tokens(self) -> int:
        """The tokens of all of its messages."""
        return sum(self.costs)


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

    A result without its call is left out, and so is a call without its results, except at the very
    end: there its results may still come.
    """
    parts: list[list[M]] = []
    for message in messages:
        if parts and is_result(message) and answers(message, parts[-1]):
            parts[-1].append(message)
        else:
            parts.append([message])
    last = len(parts) - 1
    return [
        tuple(part)
        for at, part in enumerate(parts)
        if not is_result(part[0]) and (is_answered(part) or at == last)
    ]


def stable_window(
    groups: Sequence[MessageGroup[M]], *, room: int, low_water: int, shortener: Shortener[M]
) -> list[M]:
    """The newest turns that fit `room` tokens, in a window that starts at the same message for many
    turns.

    The start depends only on what was said before it. It stays where it is until the window exceeds
    `room`. Then it moves to the first turn from which no more than `low_water` tokens are left, so
    that a provider's cache of the prefix stays valid for the next turns. Messages that are too long
    lose their middle; of a single turn that is too large anyway, its question and the newest groups
    are shown.
    """
    if sum(group.tokens for group in groups) <= room:
        return _messages(groups)
    sizes = _sizes(groups, room=room)
    start = turn = tokens = 0
    person_seen = False
    for at, group in enumerate(groups):  # replay the conversation message by message
        tokens += sizes[at]
        if group.by_person or (group.starts_turn and not person_seen):
            turn = at
        person_seen = person_seen or group.by_person
        if tokens > room:
            while start < turn and (tokens > low_water or not groups[start].starts_turn):
                tokens -= sizes[start]
                start += 1
    shown = groups[start:]
    if tokens > room:
        shown = _truncate_turn(shown, _last_turn(shown), sizes[start:], room=room)
    return _shorten(shown, room=room, shortener=shortener)


def newest_turns(
    groups: Sequence[MessageGroup[M]], *, room: int, is_all: bool, shortener: Shortener[M]
) -> list[M] | None:
    """The newest whole turns that fit `room` tokens, from the last part of a conversation.

    `is_all` says that nothing older exists. Returns None when older messages must be read to
    decide. A window that leaves something out starts with a user's message. The last of these
    always stays, with the newest groups after it that fit. Messages that are too long lose their
    middle.
    """
    if sum(group.tokens for group in groups) <= room:
        return _messages(groups) if is_all else None
    sizes = _sizes(groups, room=room)
    first = len(groups) - len(_newest_that_fit(groups, sizes, room=room))
    turn = next((at for at in range(first, len(groups)) if groups[at].starts_turn), None)
    earlier = max((at for at in range(first) if groups[at].starts_turn), default=None)
    if first == 0:  # all of it fits, once the longest are cut
        shown = groups if is_all else None
    elif turn is not None:
        shown = groups[turn:]
    elif earlier is not None:
        shown = _truncate_turn(groups, earlier, sizes, room=room)
    else:
        shown = groups[min(first, len(groups) - 1) :] if is_all else None
    return None if shown is None else _shorten(shown, room=room, shortener=shortener, fills=True)


def largest(room: int, *, share: float = LARGEST_SHARE) -> int:
    """Tokens at most of a message in a window that does not hold everything."""
    return int(share * max(0, room))


def _messages(groups: Sequence[MessageGroup[M]]) -> list[M]:
    return [message for group in groups for message in group.messages]


def _limits(groups: Sequence[MessageGroup[M]], *, room: int) -> list[int]:
    """Tokens at most of each message of each group."""
    turn = _last_turn(groups)
    return [
        largest(room, share=QUESTION_SHARE if at == turn else LARGEST_SHARE)
        for at in range(len(groups))
    ]


def _sizes(groups: Sequence[MessageGroup[M]], *, room: int) -> list[int]:
    """The tokens of each group, once its messages are cut."""
    limits = _limits(groups, room=room)
    return [
        sum(min(cost, limit) for cost in group.costs)
        for group, limit in zip(groups, limits, strict=True)
    ]


def _last_turn(groups: Sequence[MessageGroup[M]]) -> int:
    """Where the last turn of a person starts, else any last turn."""
    starts = [at for at, group in enumerate(groups) if group.starts_turn]
    return max([at for at in starts if groups[at].by_person] or starts, default=0)


def _truncate_turn(
    groups: Sequence[MessageGroup[M]], turn: int, sizes: Sequence[int], *, room: int
) -> Sequence[MessageGroup[M]]:
    """Cut a turn that is too large to its first group, and the newest of the others that fit, one
    at least.
    """
    opening, rest = list(groups[turn : turn + 1]), groups[turn + 1 :]
    return opening + _newest_that_fit(
        rest, sizes[turn + 1 :], room=room - sum(sizes[turn : turn + 1]), at_least=1
    )


def _newest_that_fit(
    groups: Sequence[MessageGroup[M]], sizes: Sequence[int], *, room: int, at_least: int = 0
) -> list[MessageGroup[M]]:
    kept: list[MessageGroup[M]] = []
    for group, size in zip(reversed(groups), reversed(sizes), strict=True):
        room -= size
        if room < 0 and len(kept) >= at_least:
            break
        kept.append(group)
    return kept[::-1]


def _filling(groups: Sequence[MessageGroup[M]], limits: Sequence[int], *, room: int) -> list[int]:
    """Limits that use the whole room: each that was given, or one higher level for all of them."""

    def taken(level: int) -> int:
        """Return the tokens of all messages with no limit below a level."""
        return sum(
            min(cost, max(limit, level))
            for group, limit in zip(groups, limits, strict=True)
            for cost in group.costs
        )

    low, high = 0, max(0, room)
    while low < high:  # the highest level that fits
        middle = (low + high + 1) // 2
        low, high = (middle, high) if taken(middle) <= room else (low, middle - 1)
    return [max(limit, low) for limit in limits]


def _shorten(
    groups: Sequence[MessageGroup[M]], *, room: int, shortener: Shortener[M], fills: bool = False
) -> list[M]:
    """Messages with those that are too long cut, so that all of them take no more than `room`
    tokens.

    Where cutting does not suffice, as with many results of one call or with pictures, the last
    question is shown with what came last, then alone, then with its words alone. With `fills` a
    message has more than its share where the room allows it.
    """
    shown, total = [], 0
    limits = _limits(groups, room=room)
    limits = _filling(groups, limits, room=room) if fills else limits
    for group, limit in zip(groups, limits, strict=True):
        for message, cost in zip(group.messages, group.costs, strict=True):
            cut = shortener.shorten([message], room=limit) if cost > limit else None
            shown.append(cut[0] if cut else message)
            total += shortener.count(cut[0]) if cut else cost
    if not groups or total <= room:
        return shown
    turn = _last_turn(groups)
    opening = groups[turn : turn + 1]
    candidates = (
        (groups[turn:], LEAST_BESIDE),
        ([*opening, *groups[turn + 1 :][-1:]], LEAST_BESIDE),
        (opening, 0),
    )
    for part, least in candidates:
        shortened = shortener.shorten(_messages(part), room=room, least=least)
        if shortened is not None:
            return shortened
    return [shortener.shorten_to_words(opening[0].messages[0], room=room)]
