"""One user's conversation, as it is known while the process lives."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.messages import AnyMessage, BaseMessage, ToolMessage

from htm_core import Draft, InvalidInput, Memory, Mention

from .answers import INTERRUPTED
from .messages import draft_of, is_from_person, is_inserted, leading_system, message_of, stored_id
from .tokens import fingerprint

# How many messages are restored. The first one is at a multiple of STRIDE, so that it is the same one for many turns and a
# provider's cache of the prefix stays valid.
MAX_RESTORED = 400
STRIDE = 100
# For so many messages it is remembered here that they were saved.
MAX_SAVED = 4_096


@dataclass(frozen=True, slots=True)
class TurnContext:
    """What memory adds to one question: what it recalls, and what was said before in this conversation."""

    recalled: Sequence[Document] = ()
    earlier: Sequence[AnyMessage] = ()


@dataclass(slots=True)
class Conversation:
    """The memory of one user and session, with what was saved and recalled so far.

    `log` is the session that is written. `saves` is false for an agent that was called by another agent's tool.
    """

    memory: Memory
    log: str
    saves: bool = True
    restores: bool = True
    saved: dict[str, int] = field(default_factory=dict)
    last: tuple[object, TurnContext] | None = None

    def known(self, question: object) -> TurnContext | None:
        """What memory adds to a question, if it is still the last one."""
        return self.last[1] if self.last is not None and self.last[0] == question else None

    def unsaved(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Messages that are new, or have changed under their id; without those that nobody said."""
        if not self.saves:
            return []
        return [
            each for each in messages
            if each.id and each.type != "remove" and not is_inserted(each) and self.saved.get(each.id) != fingerprint(each)
        ]  # fmt: skip

    def save(self, messages: Sequence[BaseMessage]) -> None:
        """Write messages to the log. When the core refuses the words of a message, only its payload is written."""
        log = self.memory.log(self.log)
        try:
            log.append(_drafts(messages))
        except InvalidInput:
            for each in messages:
                try:
                    log.append(_drafts([each]))
                except InvalidInput:
                    log.append([replace(draft, content="", role=None, name=None) for draft in _drafts([each])])
        self.saved.update({str(each.id): fingerprint(each) for each in messages})
        for id in list(self.saved)[:-MAX_SAVED]:  # saved again under its id, it stays the same message
            self.saved.pop(id, None)  # another thread of this conversation may have done it

    def earlier(self, messages: Sequence[BaseMessage]) -> list[AnyMessage]:
        """What the log has from before these messages, if they are no more than one new turn; else nothing.

        System messages that come first do not count. Results of tools that come alone belong to the turn that called them.
        """
        messages = messages[leading_system(messages) :]
        is_one_turn = bool(messages) and is_from_person(messages[0]) and sum(map(is_from_person, messages)) == 1
        are_results = bool(messages) and all(isinstance(each, ToolMessage) for each in messages)
        if not self.restores or not (is_one_turn or are_results) or any(map(is_inserted, messages)):
            return []
        entries = self.memory.log(self.log).entries(MAX_RESTORED)
        here = {stored_id(each.id) for each in messages if each.id}
        return _restored(entries[: next((at for at, (id, _) in enumerate(entries) if id in here), len(entries))])


class Conversations:
    """The latest conversations of this process, one for each user and session. Safe for threads."""

    def __init__(self, *, limit: int = 128) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._open: OrderedDict[Hashable, Conversation] = OrderedDict()

    def of(self, key: Hashable, open: Callable[[], Conversation]) -> Conversation:
        """The conversation of a key, else the one that `open` makes; the one used longest ago is dropped."""
        with self._lock:
            found = self._open.pop(key, None) or open()
            self._open[key] = found
            while len(self._open) > self._limit:
                self._open.popitem(last=False)
            return found


def _drafts(messages: Sequence[BaseMessage]) -> list[Draft]:
    return [
        draft_of(
            each,
            id=each.id or str(uuid4()),
            metadata={INTERRUPTED: True} if each.response_metadata.get(INTERRUPTED) is True else None,
        )
        for each in messages
    ]


def _restored(entries: Sequence[tuple[str | None, Mention]]) -> list[AnyMessage]:
    first = 0
    if len(entries) > MAX_RESTORED - STRIDE:
        first = next((at for at, (_, mention) in enumerate(entries) if mention.seq % STRIDE == 0), 0)
    found: list[Any] = [message_of(mention, id=id) for id, mention in entries[first:]]
    shown = [each for each in found if each.type in ("human", "ai", "tool")]
    if first == 0:
        return shown
    return shown[next((at for at, each in enumerate(shown) if is_from_person(each)), len(shown)) :]
