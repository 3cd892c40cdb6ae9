"""A session's log: which messages are new and which ones it has already, read and written within
the time of a turn.

LlamaIndex's messages have no ids, and clients send them again: what was said is known by its
content and its place.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar
from uuid import uuid4

from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock
from llama_index_instrumentation import get_dispatcher
from llama_index_instrumentation.base.event import BaseEvent

from htm_core import DatabaseUnavailable, Draft, HTMError, Log, Memory, Mention
from htm_core.prompt.deadline import PAUSE, Deadline, MemorySkipped, Step
from htm_core.prompt.messages import stored_message, stored_payload

from .messages import Kept, decode, draft_of, encode, message_of, name_of
from .window import RESULTS, calls_of

T = TypeVar("T")
Entries = Sequence[tuple[str | None, Mention]]

# Beside twice as many as it puts, so many more of the log's messages are read to see whether a
# client sends a history again.
FIRST_MORE = 16

_log = logging.getLogger("htm.llamaindex")
_dispatcher = get_dispatcher(__name__)


class HTMMemoryDegraded(BaseEvent):
    """Memory could not do a part of its work in a turn: `what` says which part, `error` the class
    of the error.
    """

    what: str
    error: str

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex's instrumentation knows it."""
        return "HTMMemoryDegraded"


def tell_degraded(what: str, error: Exception, *, instead: str) -> None:
    """Say that a part of memory's work failed: in the log of the program, and as an event in
    LlamaIndex's traces.
    """
    _log.warning("%s failed (%s); the model is shown %s", what, type(error).__name__, instead)
    _dispatcher.event(HTMMemoryDegraded(what=what, error=type(error).__name__))


class TurnLog:
    """The log of a memory's session, within the time of a turn.

    Reading never fails: while the database does not answer, it gives what this process has last
    seen of the log. Writing raises `StorageError` when it is not known that the messages are
    stored.
    """

    def __init__(self, memory: Memory, *, timeout: float | None) -> None:
        self._memory, self._timeout = memory, timeout
        self._turn = Deadline(memory, timeout=timeout)
        self._seen: Entries = ()
        self._unsure: Sequence[Draft] = ()
        self._skipped_at: float | None = None

    @property
    def spent(self) -> float:
        """Seconds that the turn took so far."""
        return self._turn.spent

    def begin(self, *, spent: float = 0.0) -> None:
        """Begin another turn, with time of its own, of which so many seconds are spent."""
        self._turn = Deadline(self._memory, timeout=self._timeout, spent=max(0.0, spent))
        self._skipped_at = None

    def run(self, work: Callable[[], T], *, step: Step) -> T:
        """Do work in the time that the turn has left; raises what the work raises, `TimeoutError`
        and `MemorySkipped`.

        A turn whose time is used up gets it anew after `PAUSE` seconds, so that nothing is left out
        for good.
        """
        if self._skipped_at is not None and time.monotonic() - self._skipped_at >= PAUSE:
            self.begin()
        try:
            return self._turn.run(work, step=step)
        except MemorySkipped:
            self._skipped_at = self._skipped_at or time.monotonic()
            raise

    def entries(self, n: int | None) -> Entries:
        """The system messages that come first and the last `n` messages, or all of them.

        While the database does not answer, these are the ones that were last seen.
        """
        try:
            entries = self.run(lambda: self._memory.log().entries(n, lead=True), step="log")
        except (HTMError, TimeoutError) as error:
            tell_degraded(
                "reading the log", error, instead="what this process knows of the conversation"
            )
            return self._seen
        self._seen = entries
        return entries

    def append(self, drafts: Sequence[Draft], *, archived: bool = False) -> None:
        """Write messages, archived at once or not; the same ones put again right after a failure
        are the same ones.
        """
        unsure, self._unsure = self._unsure, ()
        drafts = put_again(drafts, unsure)
        try:
            written = self.write(lambda: _appended(self._memory.log(), drafts, archived=archived))
        except HTMError:
            self._unsure = drafts
            raise
        self._seen = [
            *self._seen,
            *((draft.id, said) for draft, said in zip(drafts, written, strict=False)),
        ]

    def write(self, work: Callable[[], T]) -> T:
        """Do work that writes; raises `DatabaseUnavailable` when its time is up, and at once after
        that for a while.
        """
        try:
            return self.run(work, step="log")
        except MemorySkipped as error:
            raise DatabaseUnavailable(
                f"{error}. Nothing was written; put the messages again later"
            ) from error
        except TimeoutError as error:
            raise DatabaseUnavailable(
                f"{error}. It is not known whether the messages were written; put them again: "
                "each is stored once"
            ) from error

    def forget_seen(self) -> None:
        """Forget what was last seen, after the log was replaced or emptied."""
        self._seen = ()


def put_again(drafts: Sequence[Draft], unsure: Sequence[Draft]) -> Sequence[Draft]:
    """Drafts under the ids of those that may be stored, when they are the same messages put again;
    else as they are.
    """
    if [each.payload for each in unsure] != [each.payload for each in drafts]:
        return drafts
    return [replace(each, id=before.id) for each, before in zip(drafts, unsure, strict=True)]


def _appended(log: Log, drafts: Sequence[Draft], *, archived: bool) -> list[Mention]:
    mentions = log.append(drafts)
    if archived:
        log.archive(mentions)
    return mentions


# -- what is new -----------------------------------------------------------------------------------


def drafts_of(messages: Sequence[ChatMessage], *, keep: Kept | None = None) -> list[Draft]:
    """Drafts of new messages, each under a new id."""
    return [draft_of(message, id=str(uuid4()), keep=keep) for message in messages]


def set_log(
    log: Log, messages: Sequence[ChatMessage], *, keep: Kept | None = None, forget: bool = False
) -> None:
    """Make messages a session's log, in their order. A message that the log has already keeps its
    id.

    With `forget`, what leaves the log leaves recall as well.
    """
    entries = log.entries()
    stored = as_stored(log, messages, entries)
    known = common_start(entries, stored)
    if known == len(entries):
        new = messages[known:]
        log.append(drafts_of(new, keep=keep), retold=0 if entries else retold_of(new))
    else:
        log.replace(drafts_with_known_ids(log, entries, messages, keep=keep), forget=forget)


def retold_of(messages: Sequence[ChatMessage]) -> int:
    """Count the first messages of a new conversation that were said elsewhere: all up to the last
    that is no person's.
    """
    return max(
        (at for at, message in enumerate(messages, 1) if message.role != MessageRole.USER),
        default=0,
    )


def as_stored(log: Log, messages: Sequence[ChatMessage], entries: Entries) -> list[ChatMessage]:
    """Messages as the log, which has these entries, has them: without what the memory's redactor
    takes out.
    """
    stored = _payloads(entries)
    return [
        stored_message(log, message, encode=encode, decode=decode, stored=stored)
        for message in messages
    ]


def _payloads(entries: Entries) -> list[bytes]:
    return [mention.payload for _, mention in entries if mention.payload is not None]


def unsaid(log: Log, messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """Messages without those that a client sends again: when the whole log is their start, only
    what comes after it.

    Calls of tools and their results may be missing in what a client sends. Where it is not certain
    that it sends a history, all of the messages are new: people say the same thing twice. So a
    history has words of a person and words of another, and more than these two: later messages, or
    earlier ones.
    """
    entries = _log_no_longer_than(log, len(messages)) if len(messages) > 1 else None
    count = _resent(entries, as_stored(log, messages, entries)) if entries else 0
    roles = {message.role for message in messages[:count]}
    is_history = len(messages) > 2 and {MessageRole.USER, MessageRole.ASSISTANT} <= roles
    return messages[count:] if is_history else messages


def _log_no_longer_than(log: Log, n: int) -> Entries | None:
    """The whole log, when it has no more than `n` messages beside calls of tools and their results;
    None otherwise.
    """
    reads = 2 * n + FIRST_MORE
    while True:
        entries = log.entries(reads)
        if sum(not _is_by_the_way(message_of(mention)) for _, mention in entries) > n:
            return None
        if len(entries) < reads:
            return entries
        reads *= 4


def _resent(entries: Entries, messages: Sequence[ChatMessage]) -> int:
    """Count the messages at the start that are the whole log, which may have more calls and
    results; 0 when it has others.
    """
    count = 0
    for _, mention in entries:
        if count < len(messages) and (
            is_same(mention, messages[count]) or _has_words_of(mention, messages[count])
        ):
            count += 1
        elif not _is_by_the_way(message_of(mention)):
            return 0
    return count


def _has_words_of(mention: Mention, message: ChatMessage) -> bool:
    """True if a message has the words of a call, as a client that keeps what people see has it."""
    stored, words = message_of(mention), _words(message)
    return (
        words is not None
        and bool(calls_of(stored))
        and words == (stored.role, stored.content, name_of(stored))
    )


def _is_by_the_way(message: ChatMessage) -> bool:
    """True if a message is a call of tools or a result, which people do not see."""
    return message.role in RESULTS or bool(calls_of(message))


def common_start(entries: Entries, messages: Sequence[ChatMessage]) -> int:
    """Count the messages at the start that are the same as at the start of the log."""
    pairs = zip(entries, messages, strict=False)
    differs = (
        at for at, ((_, mention), message) in enumerate(pairs) if not is_same(mention, message)
    )
    return next(differs, min(len(entries), len(messages)))


def is_same(mention: Mention, message: ChatMessage) -> bool:
    """True if a message is the one of a mention, as it was, or as a client sends it again: its role
    and words alone.
    """
    if mention.payload == encode(message):
        return True
    return _words(message) is not None and _words(message) == _words(message_of(mention))


def _words(message: ChatMessage) -> tuple[object, ...] | None:
    """A message that is nothing but words, as who said what; None for any other."""
    if (
        not message.content
        or not all(isinstance(block, TextBlock) for block in message.blocks)
        or calls_of(message)
    ):
        return None
    return message.role, message.content, name_of(message)


def drafts_with_known_ids(
    log: Log, entries: Entries, messages: Sequence[ChatMessage], *, keep: Kept | None = None
) -> list[Draft]:
    """Drafts under the ids that the log has for the same messages. Each id is used once.

    What a client sends again with less than the log has of it is stored as the log has it.
    """
    drafts = drafts_of(messages, keep=keep)
    exact: defaultdict[bytes | None, list[str]] = defaultdict(list)
    for id, mention in reversed(entries):
        if id is not None:
            exact[mention.payload].append(id)
    stored = _payloads(entries)
    payloads = [stored_payload(log, draft.payload or b"", stored=stored) for draft in drafts]
    ids = [exact[payload].pop() if exact[payload] else None for payload in payloads]
    used = set(ids)
    by_words: defaultdict[object, list[tuple[str, Mention]]] = defaultdict(list)
    for id, mention in reversed(entries):
        if id is not None and id not in used:
            by_words[_words(message_of(mention))].append((id, mention))
    made: list[Draft] = []
    for draft, id, message in zip(drafts, ids, as_stored(log, messages, entries), strict=True):
        words = _words(message)
        if id is None and words is not None and by_words[words]:
            id, mention = by_words[words].pop()
            draft = replace(draft, payload=mention.payload)
        made.append(draft if id is None else replace(draft, id=id))
    return made
