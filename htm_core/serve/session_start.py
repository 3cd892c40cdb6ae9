"""Text that a conversation should begin with: the palace, the user's profile, working memory, and
what was said lately.
"""

from __future__ import annotations

from collections.abc import Callable

from ..memory.memory import Memory
from ..palace import Palace
from ..prompt.origin import TAG
from ..prompt.profile_block import profile_block
from ..prompt.token_budget import fill, said_lines, token_counter
from ..prompt.tool_replies import OPENING
from ..text.fence import Fence, escape, new_token

# Shares of the budget: what one part leaves goes to the next.
PROFILE_SHARE, PALACE_SHARE = 0.3, 0.4
LATELY = 30  # messages that are looked at
LONGEST = 400  # characters of each
LEAST_ROOM = 80  # tokens; a part that has less room is left out
HEADS = {"working": "In working memory:", "lately": "Said lately:"}


def known_text(memory: Memory, *, budget: int) -> str:
    """Return what is known of the user, and what is in working memory, in at most `budget` tokens;
    empty when nothing is.
    """
    count = token_counter(memory)
    profile = _profile(memory, int(budget * PROFILE_SHARE), count)
    working = _working(memory, budget - count(profile) - 2, count)
    return "\n\n".join(filter(None, (profile, working)))


def wake_text(memory: Memory, *, budget: int, topic: str | None = None) -> str:
    """Return the start of a new session in at most `budget` tokens: the palace's wake-up, the
    profile, and what was said lately.
    """
    count = token_counter(memory)
    profile = _profile(memory, int(budget * PROFILE_SHARE), count)
    palace = Palace(memory).wake_up(budget=int(budget * PALACE_SHARE), topic=topic).text
    lately = _lately(memory, budget - count(profile) - count(palace) - 4, count)
    return "\n\n".join(filter(None, (palace, profile, lately)))


def _profile(memory: Memory, room: int, count: Callable[[str], int]) -> str:
    return profile_block(memory.profile(budget=0).lines, memory=memory, room=room, count=count)


def _working(memory: Memory, room: int, count: Callable[[str], int]) -> str:
    """Working memory as a text, in a fence; the context is made shorter until all fits."""
    fence = Fence(TAG, new_token())
    budget = room - count(f"{HEADS['working']} {OPENING}\n{fence.enclose('')}")
    while budget > 0:
        made = memory.context(budget=budget)
        if not made.items:
            return ""
        text = f"{HEADS['working']} {OPENING}\n{fence.enclose(escape(made.text))}"
        if count(text) <= room:  # what is escaped has more tokens
            return text
        budget -= max(1, count(text) - room)
    return ""


def _lately(memory: Memory, room: int, count: Callable[[str], int]) -> str:
    """The latest messages that fit, the last at the end. What files say is no talk."""
    mentions = [
        each
        for each in memory.timeline(limit=LATELY)
        if each.content.strip() and each.source != "file"
    ]
    if not mentions or room < LEAST_ROOM:
        return ""
    fence = Fence(TAG, new_token())
    entries = said_lines(reversed(mentions), longest=LONGEST)
    text = fill(
        entries,
        budget=room,
        count=count,
        build=lambda lines, _: (
            f"{HEADS['lately']} {OPENING}\n{fence.enclose(*reversed(lines))}" if lines else ""
        ),
        advice="",
        gaps=False,
    )
    return text if count(text) <= room else ""
