"""Recognise messages that name no topic, so that no search answers them: "What did we talk about
last time?".

A message is compared with a few examples of each kind, by the embedded model; without its files
every message is searched for. docs/why/questions.md has how often that is right.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from ..base.errors import ModelError
from ..base.settings import Settings
from ..base.types import Window
from ..models.embedders import resolve
from ..reading import readers
from ..timeframes import extract

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

# What a message asks for: a conversation, what is known of the user, what happened at a time, or
# what the user did then.
Kind: TypeAlias = Literal["talk", "me", "happened", "did"]
EXAMPLES: Mapping[Kind, Sequence[str]] = {
    "talk": (
        "What did we talk about last time?", "Summarize our last conversation.",
        "Where did we leave off?", "What was our last chat about?",
        "What did I tell you last time?", "Can you recap our previous session?",
        "What were we talking about?", "What did we discuss?",
        "Do you remember our last conversation?", "What did I say?",
        "Let's pick up where we left off.", "What did we cover in the previous session?",
        "Recap of last time, please.", "What did I tell you?", "Recap our conversation.",
    ),
    "me": (
        "What do you know about me?", "What have I told you about myself?", "Who am I?",
        "Do you know who I am?", "Tell me everything you remember about me.", "Do you remember me?",
        "Describe me.", "What do you have stored about me?",
    ),
    "happened": (
        "What happened?", "Summarize.", "Give me a summary.", "Anything new?", "What was going on?",
        "What has changed?", "Catch me up.",
    ),
    "did": ("What did I do?", "Where was I?", "What was I up to?", "Who did I meet?", "What have we been doing?"),
}  # fmt: skip
# The embedded model's vectors of the examples, by
# np.save(VECTORS, MiniLM(folder).embed([text for texts in EXAMPLES.values() for text in texts])):
# making them would take half of the first question's time.
VECTORS = Path(__file__).with_name("topicless.npy")
ALIKE = 0.7  # the least cosine with an example
LONGEST = 160  # characters: who writes more asks for something of their own
# what happened on one day may have been told on another, so that is searched for, too
LEAST_DAYS = timedelta(days=2)


class Asker(Protocol):
    """The part of an engine that knows when a message is sent."""

    @property
    def settings(self) -> Settings:
        """Return the settings, of which the first day of the week counts."""

    @property
    def timezone(self) -> tzinfo | None:
        """Return the time zone of the user; None is that of the clock."""

    def clock(self) -> datetime:
        """Return the present moment."""


@dataclass(frozen=True, slots=True)
class OverviewQuestion:
    """The subject of a question without a topic: "talk", what was said in a conversation, or "me",
    what is known of the user.

    `windows` are the times whose conversations are meant; none means the last conversation.
    """

    about: Literal["talk", "me"]
    windows: tuple[Window, ...] = ()


def overview_question(asker: Asker, message: str) -> OverviewQuestion | None:
    """Return what a message asks for as a whole; None where it names a topic, or is no such
    question.
    """
    kind, windows = _read(asker, message)
    if kind == "me" and not windows:
        return OverviewQuestion("me")
    if kind == "talk" or (kind == "happened" and windows and _are_long(asker, windows)):
        return OverviewQuestion("talk", windows)
    return None


def asked_time(asker: Asker, message: str) -> tuple[Window, ...]:
    """Return the past time of which a message asks what happened or was done then, naming nothing
    else; else none.

    "What did I do on 9 May?" may be answered by what was said then, and by what was said of it at
    another time.
    """
    kind, windows = _read(asker, message)
    of_a_day = kind == "happened" and not _are_long(asker, windows)
    return windows if windows and (of_a_day or kind == "did") else ()


def names_only_a_time(asker: Asker, message: str) -> bool:
    """True if a message asks what was said, happened or was done at a time, and names
    nothing else.
    """
    kind, windows = _read(asker, message)
    return bool(windows) and kind in ("talk", "happened", "did")


def _read(asker: Asker, message: str) -> tuple[Kind | None, tuple[Window, ...]]:
    """Return the kind of a message, and the times in it, all of which have begun."""
    if len(message) > LONGEST or not readers.is_here():
        return None, ()
    now, settings = asker.clock(), asker.settings
    rest, windows, _ = extract(
        message, now=now, week_start=settings.week_start, timezone=asker.timezone
    )
    if not all(window.start is not None and window.start < now for window in windows):
        return None, ()
    try:
        return _kind(rest), windows
    except ModelError:
        return None, ()


def _are_long(asker: Asker, windows: Sequence[Window]) -> bool:
    now = asker.clock()
    return all(
        window.start is not None and (window.stop or now) - window.start >= LEAST_DAYS
        for window in windows
    )


@functools.lru_cache(maxsize=64)  # a question is asked about several times in one turn
def _kind(text: str) -> Kind | None:
    kinds, vectors = _examples()
    cosines = vectors @ resolve("minilm").query(text)
    nearest = int(cosines.argmax())
    return kinds[nearest] if cosines[nearest] >= ALIKE else None


@functools.cache
def _examples() -> tuple[Sequence[Kind], npt.NDArray[np.float32]]:
    import numpy as np

    return [kind for kind, texts in EXAMPLES.items() for _ in texts], np.load(VECTORS)
