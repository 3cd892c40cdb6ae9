"""The few messages that tell most of a conversation, chosen without a model, and always the same
ones for the same conversation.

A message is worth more the rarer its words are here, the nearer it is to what the others say, and
when it states rather than asks. What is chosen covers the conversation from its beginning to its
end, and says nothing twice.
"""

# ruff: noqa: E501 - lists of words and patterns
from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ..base.folding import fold, words
from ..text.excerpts import excerpt
from ..text.fence import one_line
from ..text.questions import only_asks

FEWEST = 6  # messages with something to say: a shorter conversation is its own summary
LONGEST = 200  # characters of a line
ONE_IN = 8  # messages that one line stands for, between LEAST and MOST lines
LEAST, MOST = 2, 6
QUESTION, ASSISTANT, SHORT = (
    0.4,
    0.8,
    0.5,
)  # what a question, an answer and a very short message are worth beside a user's statement
ALIKE = 0.7  # how much of a message's worth is lost by being like one that was chosen

_WORD = re.compile(r"[^\W_]{2,}")
_COMMON = words("""the and for that this with you your are was were have has had but not can could would should will just from they them
    there what when where which who how why about into some any all its it's i'm i've don't didn't also then than too very
    more most much many one our out his her she him get got like really yes yeah okay thanks thank please sure hello here
    now well know think want need going go been being did does doing do me my we us be is it in on of to at as an or if so
    no up by he a i""")


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message: its text, whether an assistant said it, and its vector where it has one."""

    text: str
    by_assistant: bool = False
    vector: Sequence[float] | None = None


def most_telling(messages: Sequence[Spoken]) -> list[int]:
    """The places of the messages that tell most, in their order; none where a conversation is too
    short to be summarised.

    Takes time in proportion to the messages' number times the number of lines: about 10 ms for 200.
    """
    contents = [_content(each.text) for each in messages]
    telling = [place for place, own in enumerate(contents) if len(own) >= 2]
    if len(telling) < FEWEST:
        return []
    wanted = max(LEAST, min(MOST, math.ceil(len(telling) / ONE_IN)))
    worth = _worths(messages, contents, telling)
    chosen: list[int] = []
    for number in range(wanted):
        begin, end = (len(telling) * number) // wanted, (len(telling) * (number + 1)) // wanted
        part = telling[begin:end]

        def value(place: int) -> float:
            """Return the worth of a message beside those that were chosen."""
            alike = max(
                (_likeness(contents[place], contents[other]) for other in chosen), default=0.0
            )
            return worth[place] * (1 - ALIKE * alike)

        chosen.append(max(part, key=lambda place: (value(place), -place)))
    return sorted(chosen)


def by_worth(messages: Sequence[Spoken]) -> list[int]:
    """The places of all messages, that which tells most first: what is like one before it comes
    later, and what says nothing last.

    Takes time in proportion to the square of their number: about 20 ms for 200.
    """
    contents = [_content(each.text) for each in messages]
    telling = [place for place, own in enumerate(contents) if own]
    worth = _worths(messages, contents, telling)
    alike = dict.fromkeys(telling, 0.0)
    order: list[int] = []
    while alike:
        best = max(alike, key=lambda place: (worth[place] * (1 - ALIKE * alike[place]), -place))
        order.append(best)
        del alike[best]
        for place in alike:
            alike[place] = max(alike[place], _likeness(contents[place], contents[best]))
    return order + [place for place, own in enumerate(contents) if not own]


def line_of(message: Spoken, *, speaker: str | None) -> str:
    """A message as a line of a summary: who said it, and its most telling part."""
    text = one_line(excerpt(" ".join(message.text.split()), "", longest=LONGEST))
    return f"{speaker}: {text}" if speaker else text


def _content(text: str) -> frozenset[str]:
    return frozenset(word for word in _WORD.findall(fold(text)) if word not in _COMMON)


def _worths(
    messages: Sequence[Spoken], contents: Sequence[frozenset[str]], telling: Sequence[int]
) -> dict[int, float]:
    counts = Counter(word for place in telling for word in contents[place])
    center = _center([messages[place].vector for place in telling])
    worth: dict[int, float] = {}
    for place in telling:
        message, own = messages[place], contents[place]
        rare = sum(math.log(1 + len(telling) / counts[word]) for word in own) / (len(own) + 4)
        shared = sum(counts[word] > 1 for word in own) / len(own)
        near = (
            shared
            if center is None or message.vector is None
            else 0.5 * shared + 0.5 * max(0.0, _cosine(message.vector, center))
        )
        value = rare * (0.5 + near)
        value *= QUESTION if only_asks(message.text) else 1.0
        value *= ASSISTANT if message.by_assistant else 1.0
        worth[place] = value * (SHORT if len(own) < 4 else 1.0)
    return worth


def _center(vectors: Sequence[Sequence[float] | None]) -> list[float] | None:
    known = [vector for vector in vectors if vector is not None]
    if not known or any(len(vector) != len(known[0]) for vector in known):
        return None
    return [sum(column) / len(known) for column in zip(*known, strict=True)]


def _cosine(one: Sequence[float], other: Sequence[float]) -> float:
    if len(one) != len(other):
        return 0.0
    dot = sum(a * b for a, b in zip(one, other, strict=True))
    size = math.sqrt(sum(a * a for a in one)) * math.sqrt(sum(b * b for b in other))
    return dot / size if size else 0.0


def _likeness(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / min(len(one), len(other)) if one and other else 0.0
