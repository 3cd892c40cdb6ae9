"""What the middleware notes in an agent's state: where its thread began, and who has spoken since."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import uuid4

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.memory import InMemorySaver

from .scope import running_config

# Under these keys LangGraph's configuration has the checkpointer of a run, and the checkpoints of a graph and of those that
# called it.
CHECKPOINTER = "__pregel_checkpointer"
CHECKPOINTS = "checkpoint_map"
# How many checkpoints are looked at to find the user of the turn that is taken up again.
MAX_CHECKPOINTS = 64
# LangGraph writes checkpoints in the background: how often, and after how many seconds, the one at hand is looked for again.
MAX_TRIES = 10
WAIT = 0.01


@dataclass(frozen=True, slots=True)
class ThreadNote:
    """What is noted in the state of a thread, and comes back with each of its checkpoints.

    `key` is this thread's own. `began_with` is the message before which the log is restored; None restores nothing.
    `is_first` says whether its process knew no other thread of the session when it began.
    `speakers` has for each change of speaker the user, and the first message that is theirs; "" is the thread's beginning.
    """

    key: str
    began_with: str | None
    speakers: tuple[tuple[str | None, str], ...]
    is_first: bool = True

    @property
    def user(self) -> str | None:
        """Who speaks."""
        return self.speakers[-1][0]

    def spoken_by(self, user: str | None, turn: str) -> ThreadNote:
        """The note once a user has begun a turn with a message."""
        return self if user == self.user else replace(self, speakers=(*self.speakers, (user, turn)))

    def of(self, user: str | None, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """The messages of a user: what they said, and what was answered to them.

        Where the message at which the speaker changed was removed, it is not certain whose those around it are, and they
        are nobody's: they were kept when they were said.
        """
        places = {str(each.id): at for at, each in enumerate(messages)}
        starts = [0, *(places.get(id, -1) for _, id in self.speakers[1:])]
        found = []
        for at, each in enumerate(messages):
            last = max(number for number, start in enumerate(starts) if 0 <= start <= at)
            lost = itertools.takewhile(lambda number: starts[number] < 0, range(last + 1, len(starts)))
            if all(self.speakers[number][0] == user for number in (last, *lost)):
                found.append(each)
        return found

    def to_state(self) -> dict[str, Any]:
        """The note as a checkpointer keeps it."""
        speakers = [list(each) for each in self.speakers]
        return {"key": self.key, "began_with": self.began_with, "speakers": speakers, "is_first": self.is_first}


def new_note(user: str | None, *, began_with: str | None) -> ThreadNote:
    """The note of a thread that begins."""
    return ThreadNote(str(uuid4()), began_with, ((user, ""),))


def note_of(state: Mapping[str, Any]) -> ThreadNote | None:
    """The note in a state; None where there is none."""
    found = state.get("htm_thread")
    if not isinstance(found, Mapping):
        return None
    speakers = tuple((who, id) for who, id in found["speakers"])
    return ThreadNote(found["key"], found["began_with"], speakers, is_first=found.get("is_first", True))


def with_ids(messages: Sequence[AnyMessage], *, key: str) -> list[AnyMessage]:
    """Messages, each with an id. One without gets an id of the thread's key, its words, and how often they came before.

    So it has the same id whenever the thread's messages are looked at. The messages that are given are not changed.
    """
    if all(each.id for each in messages):
        return list(messages)
    seen: Counter[tuple[str, str]] = Counter()
    found: list[AnyMessage] = []
    for each in messages:
        if not each.id:
            said = (each.type, repr(each.content))
            text = f"{key}\x00{said[0]}\x00{said[1]}\x00{seen[said]}"
            seen[said] += 1
            id = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            each = each.model_copy(update={"id": id})
        found.append(each)
    return found


# -- what LangGraph knows ---------------------------------------------------------------------------------------------


def checkpointer() -> Any:
    """The checkpointer of the run, or None."""
    found = _configurable().get(CHECKPOINTER)
    return found if hasattr(found, "get_tuple") else None


def thread_of_run() -> str | None:
    """The thread of the run; None outside of one."""
    found = _configurable().get("thread_id")
    return None if found is None else str(found)


def is_lost_with_process(saver: object) -> bool:
    """Whether a checkpointer has its threads in memory alone, so that they are gone after a restart."""
    return isinstance(saver, InMemorySaver)


def user_of_checkpoint(saver: Any) -> str | None:
    """The user of the turn that a run takes up again, as its checkpoints have it; None for a turn that begins now."""
    found, config = None, _config()
    for _ in range(MAX_TRIES):
        found = saver.get_tuple(config)
        if found is not None:
            break
        time.sleep(WAIT)
    for _ in range(MAX_CHECKPOINTS):
        if found is None or found.metadata.get("user_id") or found.metadata.get("source") == "input":
            break
        found = saver.get_tuple(found.parent_config) if found.parent_config else None
    return None if found is None else found.metadata.get("user_id")


async def auser_of_checkpoint(saver: Any) -> str | None:
    """`user_of_checkpoint`, awaited."""
    found, config = None, _config()
    for _ in range(MAX_TRIES):
        found = await saver.aget_tuple(config)
        if found is not None:
            break
        await asyncio.sleep(WAIT)
    for _ in range(MAX_CHECKPOINTS):
        if found is None or found.metadata.get("user_id") or found.metadata.get("source") == "input":
            break
        found = await saver.aget_tuple(found.parent_config) if found.parent_config else None
    return None if found is None else found.metadata.get("user_id")


def tenant_of_checkpoint(saver: Any) -> str | None:
    """The tenant that an earlier run of an outer graph named, else the present one's; None where none did."""
    found, last, is_earlier = saver.get_tuple(_config()), None, False
    for _ in range(MAX_CHECKPOINTS):
        if found is None:
            break
        last = found.metadata.get("tenant") or last
        if is_earlier and found.metadata.get("tenant"):
            break
        is_earlier = is_earlier or found.metadata.get("source") == "input"
        found = saver.get_tuple(found.parent_config) if found.parent_config else None
    return last


async def atenant_of_checkpoint(saver: Any) -> str | None:
    """`tenant_of_checkpoint`, awaited."""
    found, last, is_earlier = await saver.aget_tuple(_config()), None, False
    for _ in range(MAX_CHECKPOINTS):
        if found is None:
            break
        last = found.metadata.get("tenant") or last
        if is_earlier and found.metadata.get("tenant"):
            break
        is_earlier = is_earlier or found.metadata.get("source") == "input"
        found = await saver.aget_tuple(found.parent_config) if found.parent_config else None
    return last


def _config() -> Any:
    """The configuration of the checkpoint at hand: that of the outermost graph."""
    known = _configurable()
    space, checkpoint = next(iter((known.get(CHECKPOINTS) or {}).items()), ("", None))
    thread = known.get("thread_id")
    return {"configurable": {"thread_id": thread, "checkpoint_ns": space, "checkpoint_id": checkpoint}}


def _configurable() -> Mapping[str, Any]:
    return running_config().get("configurable") or {}
