"""The messages of a thread that LangGraph keeps as deltas (`DeltaChannel`), put together again from
what was stored and written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from .checkpoints import Overwritten, listed_messages

# The id in a removal that stands for all messages.
_ALL = "__remove_all__"
_OVERWRITE = "__overwrite__"


class DeltaMessages:
    """The messages of a channel, checkpoint by checkpoint, by the rules of LangGraph's own reducers
    for deltas.

    A message with the id of another one takes its place, a removal takes one away or all, an
    `Overwrite` begins anew. Whoever gave the channel a reducer that does something else has other
    messages there than here.
    """

    def __init__(self) -> None:
        self._state: list[tuple[dict[str, Any], datetime]] = []
        self._first: dict[str, datetime] = {}
        self._written: list[Any] = []

    def write(self, value: Any) -> None:
        """Add what was written on the way to the next checkpoint."""
        self._written.append(value)

    def reach(self, at: datetime, stored: list[dict[str, Any]] | None) -> None:
        """The next checkpoint, with the messages that are stored in it whole, if they are."""
        if self._written:
            self._take_writes(at)
        if stored is not None:
            self._state = [self._timed(message, place, at) for place, message in enumerate(stored)]

    def messages(self) -> Iterator[tuple[dict[str, Any], datetime]]:
        """The messages, each with the time of the first checkpoint that had it."""
        yield from self._state

    def _take_writes(self, at: datetime) -> None:
        state, writes = self._state, [_overwriting(value) for value in self._written]
        self._written = []
        last = max(
            (place for place, value in enumerate(writes) if isinstance(value, Overwritten)),
            default=None,
        )
        if last is not None:
            state = [
                (message, self._since(message, at)) for message in _messages(writes[last].value)
            ]
            writes = writes[last + 1 :]
        self._state = self._reduced(
            state, [message for value in writes for message in _messages(value)], at
        )

    def _reduced(
        self,
        state: Sequence[tuple[dict[str, Any], datetime]],
        messages: Sequence[dict[str, Any]],
        at: datetime,
    ) -> list[tuple[dict[str, Any], datetime]]:
        """The state after messages were added, replaced and removed."""
        cleared = [
            place
            for place, each in enumerate(messages)
            if each["type"] == "remove" and _id(each) == _ALL
        ]
        if cleared:
            state, messages = (), messages[cleared[-1] + 1 :]
        result: list[tuple[dict[str, Any], datetime] | None] = list(state)
        places = {
            id: place for place, (each, _) in enumerate(state) if (id := _id(each)) is not None
        }
        for message in messages:
            id = _id(message)
            if message["type"] == "remove":
                if id in places:
                    result[places.pop(id)] = None
            elif id is not None and id in places:
                result[places[id]] = (message, self._since(message, at))
            else:
                if id is not None:
                    places[id] = len(result)
                result.append((message, self._since(message, at)))
        return [each for each in result if each is not None]

    def _since(self, message: dict[str, Any], at: datetime) -> datetime:
        """When a message was there first."""
        id = _id(message)
        return at if id is None else self._first.setdefault(id, at)

    def _timed(
        self, message: dict[str, Any], place: int, at: datetime
    ) -> tuple[dict[str, Any], datetime]:
        """A message of a stored value; one without an id is as old as the same one at its place."""
        if _id(message) is None and place < len(self._state) and self._state[place][0] == message:
            return self._state[place]
        return message, self._since(message, at)


def _overwriting(value: Any) -> Any:
    """A write; one that puts a new value in the place of the old, in each of LangGraph's forms, as
    `Overwritten`.
    """
    if isinstance(value, dict):
        if len(value) == 1 and _OVERWRITE in value:
            return Overwritten(value[_OVERWRITE])
        if value.get("type") == _OVERWRITE and "value" in value:
            return Overwritten(value["value"])
    return value


def _messages(written: Any) -> list[dict[str, Any]]:
    """The messages in one write: a list of them, or a single one."""
    if written is None:
        return []
    return listed_messages(written if isinstance(written, list) else [written])


def _id(message: dict[str, Any]) -> str | None:
    id = message["data"].get("id")
    return id if isinstance(id, str) and id else None
