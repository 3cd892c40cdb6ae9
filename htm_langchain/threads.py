"""Notes of the middleware in an agent's state: where its thread began, and who has spoken since."""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import time
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import uuid4

from langchain_core.messages import AnyMessage
from langgraph.checkpoint.memory import InMemorySaver

from .scope import running_config

# Under these keys LangGraph's configuration has the checkpointer of a run, and the checkpoints of a
# graph and of those that called it.
CHECKPOINTER = "__pregel_checkpointer"
CHECKPOINTS = "checkpoint_map"
# How many checkpoints are looked at to find the user of the turn that is taken up again.
MAX_CHECKPOINTS = 64
# In so many later steps it is looked who began the turn.
MAX_LATER = 16
# LangGraph writes checkpoints in the background: how often, and after how many seconds, the one at
# hand is looked for again.
MAX_TRIES = 10
WAIT = 0.01


@dataclass(frozen=True, slots=True)
class ThreadNote:
    """Note in the state of a thread, which comes back with each of its checkpoints.

    `key` is this thread's own. `began_with` is the message before which the log is restored; None
    restores nothing. `turn` is the first message of the turn that was begun last, and `asked` the
    last one that it began with. `is_first` says whether its process knew no other thread of the
    session when it began. `speakers` has for each change of speaker a digest of the user, and the
    first message that is theirs; "" is the thread's beginning. A run streams its thread's state to
    whoever has asked for it, so `user`, who speaks in the turn, is there until its end only.
    """

    key: str
    began_with: str | None
    speakers: tuple[tuple[str | None, str], ...]
    is_first: bool = True
    turn: str | None = None
    user: str | None = None
    asked: str | None = None

    def spoken_by(self, user: str | None, turn: str, asked: str | None) -> ThreadNote:
        """The note once a user has begun a turn with a message."""
        speaker = _digest(self.key, user)
        speakers = (
            self.speakers if speaker == self.speakers[-1][0] else (*self.speakers, (speaker, turn))
        )
        return replace(self, speakers=speakers, turn=turn, user=user, asked=asked)

    def of(self, user: str | None, messages: Sequence[AnyMessage]) -> list[AnyMessage]:
        """The messages of a user: what they said, and what was answered to them.

        Where the message at which the speaker changed was removed, it is not certain whose those
        around it are, and they are nobody's: they were kept when they were said.
        """
        speaker = _digest(self.key, user)
        places = {str(each.id): at for at, each in enumerate(messages)}
        starts = [0, *(places.get(id, -1) for _, id in self.speakers[1:])]
        own = []
        for at, message in enumerate(messages):
            last = max(number for number, start in enumerate(starts) if 0 <= start <= at)
            lost = itertools.takewhile(
                lambda number: starts[number] < 0, range(last + 1, len(starts))
            )
            if all(self.speakers[number][0] == speaker for number in (last, *lost)):
                own.append(message)
        return own

    def to_state(self) -> dict[str, Any]:
        """The note as a checkpointer keeps it."""
        speakers = [list(each) for each in self.speakers]
        noted = {"key": self.key, "began_with": self.began_with, "speakers": speakers}
        return noted | {
            "is_first": self.is_first,
            "turn": self.turn,
            "user": self.user,
            "asked": self.asked,
        }


def new_note(user: str | None) -> ThreadNote:
    """The note of a thread that begins."""
    key = str(uuid4())
    return ThreadNote(key, None, ((_digest(key, user), ""),), user=user)


def _digest(key: str, user: str | None) -> str | None:
    """Return a digest that stands for a user in the thread of this key."""
    return (
        None
        if user is None
        else hashlib.sha256(f"{key}\x00{user}".encode("utf-8", "surrogatepass")).hexdigest()[:32]
    )


def note_of(state: Mapping[str, Any]) -> ThreadNote | None:
    """The note in a state; None where there is none."""
    note = state.get("htm_thread")
    if not isinstance(note, Mapping):
        return None
    key, speakers = note["key"], tuple((who, id) for who, id in note["speakers"])
    user = note.get("user")
    if "user" not in note:  # written by 0.1, with names
        user = speakers[-1][0]
        speakers = tuple((_digest(key, who), id) for who, id in speakers)
    is_first, turn, asked = note.get("is_first", True), note.get("turn"), note.get("asked")
    return ThreadNote(key, note["began_with"], speakers, is_first, turn, user, asked)


def ended(state: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the change of a thread's note at the end of a turn: it names nobody any more. None
    where nothing changes.
    """
    note = note_of(state)
    return (
        None
        if note is None or note.user is None
        else {"htm_thread": replace(note, user=None).to_state()}
    )


def with_ids(messages: Sequence[AnyMessage], *, key: str) -> list[AnyMessage]:
    """Messages, each with an id. One without gets an id of the thread's key, its words, and how
    often they came before.

    So it has the same id whenever the thread's messages are looked at. The messages that are given
    are not changed.
    """
    if all(each.id for each in messages):
        return list(messages)
    seen: Counter[tuple[str, str]] = Counter()
    result: list[AnyMessage] = []
    for message in messages:
        if not message.id:
            signature = (message.type, repr(message.content))
            text = f"{key}\x00{signature[0]}\x00{signature[1]}\x00{seen[signature]}"
            seen[signature] += 1
            id = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
            message = message.model_copy(update={"id": id})
        result.append(message)
    return result


# -- what LangGraph knows --------------------------------------------------------------------------


def checkpointer() -> Any:
    """The checkpointer of the run, or None."""
    saver = _configurable().get(CHECKPOINTER)
    return saver if hasattr(saver, "get_tuple") else None


def thread_of_run() -> str | None:
    """The thread of the run; None outside of one."""
    thread = _configurable().get("thread_id")
    return None if thread is None else str(thread)


def is_lost_with_process(saver: object) -> bool:
    """True if a checkpointer has its threads in memory alone, so that they are gone after a
    restart.
    """
    return isinstance(saver, InMemorySaver)


@dataclass(frozen=True, slots=True)
class _Ask:
    """Request of a rule: the checkpoint of a configuration, or with `step` the thread's checkpoints
    of this step.
    """

    config: Any
    step: int | None = None
    wait: float = 0.0


# A rule yields what it asks, is sent the checkpoints that were found, and returns a name. So it is
# written once for both colours.
_Rule = Generator[_Ask, Sequence[Any], str | None]


def user_of_checkpoint(saver: Any, *, is_resumed: bool = False) -> str | None:
    """The user of the turn that a run takes up again, as its checkpoints have it; None for a turn
    that begins now.

    For a run that `is_resumed` later checkpoints of the turn are looked at, too: in them it is
    noted who began it, also where the checkpoints' metadata does not say so.
    """
    return _answered(saver, _user_of_turn(is_resumed=is_resumed))


async def auser_of_checkpoint(saver: Any, *, is_resumed: bool = False) -> str | None:
    """`user_of_checkpoint`, awaited."""
    return await _aanswered(saver, _user_of_turn(is_resumed=is_resumed))


def tenant_of_checkpoint(saver: Any) -> str | None:
    """The tenant that an earlier run of an outer graph named, else the present one's; None where
    none did.
    """
    return _answered(saver, _tenant_of_thread())


async def atenant_of_checkpoint(saver: Any) -> str | None:
    """`tenant_of_checkpoint`, awaited."""
    return await _aanswered(saver, _tenant_of_thread())


def _user_of_turn(*, is_resumed: bool) -> _Rule:
    checkpoints: Sequence[Any] = ()
    for attempt in range(MAX_TRIES):
        checkpoints = yield _Ask(_config(), wait=WAIT if attempt else 0.0)
        if checkpoints:
            break
    known: list[Any] = []
    while checkpoints and len(known) < MAX_CHECKPOINTS:
        known.append(checkpoints[0])
        if checkpoints[0].metadata.get("user_id"):
            return str(checkpoints[0].metadata["user_id"])
        if checkpoints[0].metadata.get("source") == "input" or not checkpoints[0].parent_config:
            break
        checkpoints = yield _Ask(checkpoints[0].parent_config)
    if not is_resumed or not known or known[-1].metadata.get("source") != "input":
        return None
    # What follows the turn's input belongs to the turn, up to the next input. There the note tells
    # of a new turn.
    ids, before = {_id_of(known[-1].config)}, _turn_noted(known[-1])
    first = known[-1].metadata.get("step", 0) + 1
    for step in range(first, first + MAX_LATER):
        listed = yield _Ask(_config(of_thread=True), step=step)
        later = [each for each in listed if _id_of(each.parent_config) in ids]
        later = [each for each in later if each.metadata.get("source") in ("loop", "fork")]
        for entry in later:
            note = note_of(entry.checkpoint.get("channel_values") or {})
            if note is not None and note.turn != before and note.user is not None:
                return note.user
        if not later:
            break
        ids = {_id_of(each.config) for each in later}
    return None


def _turn_noted(entry: Any) -> str | None:
    note = note_of(entry.checkpoint.get("channel_values") or {})
    return None if note is None else note.turn


def _tenant_of_thread() -> _Rule:
    last, is_earlier = None, False
    checkpoints = yield _Ask(_config())
    for _ in range(MAX_CHECKPOINTS):
        if not checkpoints:
            break
        last = checkpoints[0].metadata.get("tenant") or last
        if is_earlier and checkpoints[0].metadata.get("tenant"):
            break
        is_earlier = is_earlier or checkpoints[0].metadata.get("source") == "input"
        if not checkpoints[0].parent_config:
            break
        checkpoints = yield _Ask(checkpoints[0].parent_config)
    return last


def _answered(saver: Any, rule: _Rule) -> str | None:
    checkpoints: Any = None
    try:
        while True:
            ask = rule.send(checkpoints)
            time.sleep(ask.wait)
            if ask.step is None:
                checkpoints = [each for each in [saver.get_tuple(ask.config)] if each is not None]
            else:
                checkpoints = list(
                    saver.list(ask.config, filter={"step": ask.step}, limit=MAX_CHECKPOINTS)
                )
    except StopIteration as done:
        return cast("str | None", done.value)


async def _aanswered(saver: Any, rule: _Rule) -> str | None:
    checkpoints: Any = None
    try:
        while True:
            ask = rule.send(checkpoints)
            await asyncio.sleep(ask.wait)
            if ask.step is None:
                checkpoints = [
                    each for each in [await saver.aget_tuple(ask.config)] if each is not None
                ]
            else:
                listed = saver.alist(ask.config, filter={"step": ask.step}, limit=MAX_CHECKPOINTS)
                checkpoints = [each async for each in listed]
    except StopIteration as done:
        return cast("str | None", done.value)


def _id_of(config: Any) -> str | None:
    return ((config or {}).get("configurable") or {}).get("checkpoint_id")


def _config(*, of_thread: bool = False) -> Any:
    """The configuration of the checkpoint at hand, that of the outermost graph; or of all of its
    thread.
    """
    known = _configurable()
    space, checkpoint = next(iter((known.get(CHECKPOINTS) or {}).items()), ("", None))
    thread = known.get("thread_id")
    place = {"thread_id": thread, "checkpoint_ns": space}
    return {"configurable": place if of_thread else {**place, "checkpoint_id": checkpoint}}


def _configurable() -> Mapping[str, Any]:
    return running_config().get("configurable") or {}
