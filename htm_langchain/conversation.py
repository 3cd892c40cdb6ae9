"""One user's conversation, as an agent's memory holds it while the process lives."""

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
from .messages import draft_of, kept_as, message_of
from .recalled_block import asks, is_note
from .tokens import print_of
from .window import leading

# How far back a window is restored, and on which multiples it begins, so that it begins at the same message for many
# turns and a provider's cache of the prefix lives.
RESTORED = 400
STRIDE = 100
# Of so many messages it is known here that they were saved.
SAID = 4_096


@dataclass(frozen=True, slots=True)
class Facts:
    """What memory adds to one question: what it recalls, and what was said before in this conversation."""

    recalled: Sequence[Document] = ()
    before: Sequence[AnyMessage] = ()


@dataclass(slots=True)
class Conversation:
    """A memory of its own user and session, with what of it has been said and asked already.

    `log` is the session that is written; one that `keeps` nothing is an agent's that another agent asked.
    """

    memory: Memory
    log: str
    keeps: bool = True
    restores: bool = True
    said: dict[str, int] = field(default_factory=dict)
    asked: tuple[object, Facts] | None = None

    def known(self, question: object) -> Facts | None:
        """What memory adds to a question, if it is the one that was asked last."""
        asked = self.asked
        return asked[1] if asked is not None and asked[0] == question else None

    def unsaid(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Messages that are new, or say something else under their id than before; notes were said by nobody."""
        if not self.keeps:
            return []
        return [
            each for each in messages
            if each.id and each.type != "remove" and not is_note(each) and self.said.get(each.id) != print_of(each)
        ]  # fmt: skip

    def save(self, messages: Sequence[BaseMessage]) -> None:
        """Write messages to the log; one whose words the core refuses is kept by its payload alone."""
        log = self.memory.log(self.log)
        try:
            log.append(drafts(messages))
        except InvalidInput:
            for each in messages:
                try:
                    log.append(drafts([each]))
                except InvalidInput:
                    log.append([replace(draft, content="", role=None, name=None) for draft in drafts([each])])
        self.said.update({str(each.id): print_of(each) for each in messages})
        for id in list(self.said)[:-SAID]:  # what is saved again under its id stays the same message
            self.said.pop(id, None)  # another thread of this conversation may have done it

    def before(self, messages: Sequence[BaseMessage]) -> list[AnyMessage]:
        """What the log has before messages that hold no more than one new turn; nothing where they hold more.

        System messages that lead are no part of it. A tool's results that are brought along alone go on with the turn
        that called it.
        """
        messages = messages[leading(messages) :]
        one_turn = bool(messages) and asks(messages[0]) and sum(map(asks, messages)) == 1
        results = bool(messages) and all(isinstance(each, ToolMessage) for each in messages)
        if not self.restores or not (one_turn or results) or any(map(is_note, messages)):
            return []
        entries = self.memory.log(self.log).entries(RESTORED)
        here = {kept_as(each.id) for each in messages if each.id}
        at = next((i for i, (id, _) in enumerate(entries) if id in here), len(entries))
        return _restored(entries[:at])


def drafts(messages: Sequence[BaseMessage]) -> list[Draft]:
    """What is remembered of messages, under their ids."""
    return [
        draft_of(each, id=each.id or str(uuid4()), metadata={INTERRUPTED: True} if _broken_off(each) else None)
        for each in messages
    ]


def _broken_off(message: BaseMessage) -> bool:
    return message.response_metadata.get(INTERRUPTED) is True


def _restored(entries: Sequence[tuple[str | None, Mention]]) -> list[AnyMessage]:
    first = 0
    if len(entries) > RESTORED - STRIDE:
        first = next((i for i, (_, mention) in enumerate(entries) if mention.seq % STRIDE == 0), 0)
    found: list[Any] = [message_of(mention, id=id) for id, mention in entries[first:]]
    shown = [each for each in found if each.type in ("human", "ai", "tool")]
    if first == 0:
        return shown
    return shown[next((i for i, each in enumerate(shown) if asks(each)), len(shown)) :]


class Conversations:
    """The latest conversations of this process, one for each user and session."""

    def __init__(self, *, most: int = 128) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._held: OrderedDict[Hashable, Conversation] = OrderedDict()

    def of(self, whose: Hashable, open: Callable[[], Conversation]) -> Conversation:
        """The conversation that is known under this, else the one that `open` makes; the one used longest ago makes way."""
        with self._lock:
            found = self._held.pop(whose, None) or open()
            self._held[whose] = found
            while len(self._held) > self._most:
                self._held.popitem(last=False)
            return found
