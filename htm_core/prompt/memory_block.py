"""The block that memory adds to a request: what day it is, what is known of the user and what was
recalled.

There is one, so that a request has at most one part that nobody said. It stands in the question,
before it, or in the system prompt (`inject=`). Many models' templates take a user's and an
assistant's messages in turns alone: the question's own message is the one place that all of them
accept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Literal, get_args

from ..base.errors import InvalidInput
from ..memory.memory import Memory
from ..text.fence import TOKEN, Fence
from ..timeframes import short_day
from .origin import TAG

Inject = Literal["question", "message", "system"]
# What the assistant says to a block where the question comes after it, in a message that only the
# framework sees.
UNDERSTOOD = "Understood."
_OPENING = re.compile(rf"<(memory|memory_palace)-({TOKEN})>\n")


def check_inject(value: object) -> Inject:
    """Where memory's block goes. "human" is an older name of "message". Raises `InvalidInput` for
    anything else.
    """
    wanted = "message" if value == "human" else value
    for name in get_args(Inject):
        if wanted == name:
            chosen: Inject = name
            return chosen
    raise InvalidInput(f"expected inject to be one of {', '.join(get_args(Inject))}, got {value!r}")


def today_of(memory: Memory) -> date:
    """Return today's date by the memory's clock, in its user's time zone."""
    engine = memory._engine
    return engine.clock().astimezone(engine.timezone).date()


def today_line(today: date) -> str:
    """The sentence that says what day it is."""
    return f"Today is {today:%a} {short_day(today)}."


def memory_block(blocks: Sequence[str], *, today: date, token: str) -> str:
    """One block of what stands in several, each empty or in a fence of its own; empty when all are.

    It has no more tokens than these and `today_line` together.
    """
    parts = [each.split("\n", 1)[1].rpartition("\n")[0] for each in blocks if each]
    return Fence(TAG, token).enclose(today_line(today), *parts) if parts else ""


def is_memory_block(text: str) -> bool:
    """True if a text is a block that memory put there, and nothing else."""
    return bool(text) and not without_blocks(text)


def without_blocks(text: str) -> str:
    """Return what somebody said, without the blocks of memory that stand before it in a request."""
    return split_blocks(text)[1]


def split_blocks(text: str) -> tuple[str, str]:
    """The blocks of memory at the beginning of a text in a request, and what somebody said after
    them.
    """
    blocks, rest = "", text
    while match := _OPENING.match(rest):
        closing = f"\n</{match[1]}-{match[2]}>"
        end = rest.find(closing, match.end() - 1)
        if end < 0:
            break
        end += len(closing)
        blocks, rest = blocks + rest[:end], rest[end:].removeprefix("\n").removeprefix("\n")
    return blocks, rest
