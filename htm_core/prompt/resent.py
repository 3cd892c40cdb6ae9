"""Messages of a conversation that a log has already: known by their ids, else by what was said and
where.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

# So many of the first messages may be unknown to the log, such as a preface that a client writes
# anew each time.
MAX_PREFACE = 3


@dataclass(frozen=True, slots=True)
class Line:
    """One message, as far as it is needed to know it again.

    Args:
        words: What was said and in which role; equal for equal messages.
        by_person: Whether a person said it.
        is_spoken: Whether it has words for people. Tool calls and their results have none: clients
            often leave them out.
        id: Its id, if it may be known by it.
    """

    words: Hashable
    by_person: bool
    is_spoken: bool = True
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Recognised:
    """The part of a conversation that a log has.

    `places` has for each message its place in the log, or None for a new one. `left` are the places
    in the log that the conversation does not have, although it has something before them: it went
    another way there, or they were removed.
    """

    places: tuple[int | None, ...]
    left: tuple[int, ...]


def recognise(messages: Sequence[Line], logged: Sequence[Line]) -> Recognised:
    """Find the messages of a conversation in its log.

    Messages with an id of the log are those of the log. Others are known by position: the first
    messages of the conversation, or of its part that a client still has, must be the same ones as
    in the log, one after the other. So “ok” said twice stays two messages. A single message without
    a known id is always new. Among messages that are known by their ids, the others are looked for
    between the places of these.

    Where the conversation differs from the log, it goes another way: its messages from there on are
    new.
    """
    by_id = {line.id: at for at, line in enumerate(logged) if line.id is not None}
    known = [by_id.get(line.id) if line.id is not None else None for line in messages]
    return (
        _between(messages, logged, known)
        if any(place is not None for place in known)
        else _by_position(messages, logged)
    )


def _between(
    messages: Sequence[Line], logged: Sequence[Line], known: Sequence[int | None]
) -> Recognised:
    """Find the messages whose ids are not known before, between and after those whose ids are."""
    anchors = [(at, place) for at, place in enumerate(known) if place is not None]
    (start, before), (end, after) = anchors[0], anchors[-1]
    head = _by_position(messages[:start], logged[:before], is_followed=messages[start].by_person)
    by_id = {place for _, place in anchors}  # also of messages that are in another order now
    places = [*(None if place in by_id else place for place in head.places), *known[start:]]
    for (at, place), (next_at, next_place) in pairwise(anchors):
        _fill(
            messages,
            logged,
            places,
            range(at + 1, next_at),
            range(place + 1, next_place),
            may_skip=True,
        )
    limit = len(messages)  # what persons say at the end is new, also when they said it before
    while limit > end + 1 and messages[limit - 1].by_person:
        limit -= 1
    _fill(
        messages,
        logged,
        places,
        range(end + 1, limit),
        range(after + 1, len(logged)),
        may_skip=False,
    )

    held = {place for place in places if place is not None}
    by_words, goes_on = held - by_id, False
    left = [at for at in head.left if at not in held]
    for at in range(len(logged) - 1, min(by_id) - 1, -1):
        if logged[at].is_spoken:
            # a client that knows an answer by its words may leave out the calls before it
            goes_on = at in by_words
        if at not in held and (logged[at].is_spoken or not goes_on):
            left.append(at)
    return Recognised(tuple(places), tuple(sorted(set(left))))


def _fill(
    messages: Sequence[Line],
    logged: Sequence[Line],
    places: list[int | None],
    ours: Sequence[int],
    theirs: Sequence[int],
    *,
    may_skip: bool,
) -> None:
    """Find some messages among some of the log, in the same order; without `may_skip` up to the
    first that differs.
    """
    free = [at for at in theirs if at not in places]
    at = 0
    for index in ours:
        match = next(
            (
                place
                for place in range(at, len(free))
                if logged[free[place]].words == messages[index].words
            ),
            None,
        )
        skipped = [] if match is None else free[at:match]
        if match is not None and (
            may_skip or not any(logged[place].is_spoken for place in skipped)
        ):
            places[index], at = free[match], match + 1
        elif messages[index].is_spoken and not may_skip:
            break


def _by_position(
    messages: Sequence[Line], logged: Sequence[Line], *, is_followed: bool | None = None
) -> Recognised:
    """Find messages without known ids. `is_followed` says whether a person speaks after them; None
    when nobody does.
    """
    spoken = [at for at, line in enumerate(messages) if line.is_spoken]
    logged_spoken = [at for at, line in enumerate(logged) if line.is_spoken]
    ours, theirs = [messages[at] for at in spoken], [logged[at] for at in logged_spoken]
    places: list[int | None] = [None] * len(messages)
    start, offset, length = (0, 0, 0)
    if len(messages) > 1 or is_followed is not None:
        start, offset, length = _longest(ours, theirs, is_followed=bool(is_followed))
    if not length:
        return Recognised(tuple(places), ())
    for step in range(length):
        places[spoken[start + step]] = logged_spoken[offset + step]
    last, after = logged_spoken[offset + length - 1], logged_spoken[offset + length :]
    end = after[0] if after else len(logged)
    wordless: defaultdict[Hashable, deque[int]] = defaultdict(deque)
    for at, line in enumerate(logged[:end]):
        if not line.is_spoken:
            wordless[line.words].append(at)
    limit = spoken[start + length] if start + length < len(spoken) else len(messages)
    for at, line in enumerate(messages[:limit]):
        if not line.is_spoken and wordless[line.words]:
            places[at] = wordless[line.words].popleft()
    # What follows the last common message without words, such as a call of a tool, belongs to the
    # way that was left.
    left = [at for at in range(last + 1, len(logged)) if at not in places] if after else []
    return Recognised(tuple(places), tuple(left))


def _longest(
    messages: Sequence[Line], logged: Sequence[Line], *, is_followed: bool
) -> tuple[int, int, int]:
    """The longest run of messages that both have: where it starts in each, and how long it is; 0
    for none to rely on.
    """
    best, longest = (0, False, 0), (0, 0, 0)
    is_answered = not all(line.by_person for line in messages)
    for start in range(min(MAX_PREFACE, len(messages))):
        for offset in range(len(logged)):
            length = _common(messages, start, logged, offset)
            reaches_end = offset + length == len(logged)
            run, rest = messages[start : start + length], messages[start + length :]
            is_asked = rest[0].by_person if rest else is_followed
            if not run or not (
                _is_certain(run, start, offset, reaches_end=reaches_end, is_answered=is_answered)
                # the last answer
                or (
                    start == 0 and length == 1 and reaches_end and is_asked and not run[0].by_person
                )
            ):
                continue
            if (length, reaches_end, offset) > best:
                best, longest = (length, reaches_end, offset), (start, offset, length)
    return longest


def _is_certain(
    run: Sequence[Line], start: int, offset: int, *, reaches_end: bool, is_answered: bool
) -> bool:
    """True if a common run is more than chance: it begins where both do, or has an answer in it.

    Messages of persons alone, which may only greet as they did before, must have all of the log.
    """
    if start == offset == 0:
        return is_answered or reaches_end
    has_answer = not all(line.by_person for line in run)
    return has_answer and len(run) > 1 and (start == 0 or reaches_end)


def _common(messages: Sequence[Line], start: int, logged: Sequence[Line], offset: int) -> int:
    length = 0
    for ours, theirs in zip(messages[start:], logged[offset:], strict=False):
        if ours.words != theirs.words:
            break
        length += 1
    return length
