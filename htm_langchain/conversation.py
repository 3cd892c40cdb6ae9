"""One user's conversation in one thread, as it is known while the process lives."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, Self
from uuid import uuid4

from langchain_core.documents import Document
from langchain_core.messages import AnyMessage, BaseMessage, ToolMessage

from htm_core import Draft, InvalidInput, Log, Memory, Mention
from htm_core.prompt.deadline import TIMEOUT, Deadline, locked
from htm_core.prompt.held import held_back
from htm_core.prompt.keep import keep_draft
from htm_core.prompt.messages import stored_message, stored_payload
from htm_core.prompt.profile_block import KnownProfile
from htm_core.prompt.recalled_block import new_token
from htm_core.prompt.resent import Line, Recognised, recognise

from .answers import INTERRUPTED
from .messages import (
    decode,
    draft_of,
    encode,
    is_from_person,
    is_inserted,
    leading_system,
    message_of,
    stored_id,
    thread_of,
    words_of,
)
from .tokens import fingerprint

# What `check_keep` answers: a callable, roles, or all messages.
Kept = Callable[[Any], bool] | frozenset[str] | None
Entries = Sequence[tuple[str | None, Mention]]
# What a list of messages is: all of a thread's, those that a caller brought along, or some of a
# conversation's.
Extent = Literal["thread", "input", "part"]

# How many messages are restored. The first one is at a multiple of STRIDE, so that it is the same
# one for many turns and a provider's cache of the prefix stays valid.
MAX_RESTORED = 400
STRIDE = 100
# For so many messages it is remembered here that they were saved.
MAX_SAVED = 4_096
# So many messages of a conversation are held here while they cannot be kept.
MAX_WAITING = 10_000


@dataclass(frozen=True, slots=True)
class TurnContext:
    """The context that memory adds to one question: recalled documents, of which `limit` may be
    shown, and earlier messages.

    `question` is what is asked, with what it leans on.
    """

    recalled: Sequence[Document] = ()
    earlier: Sequence[AnyMessage] = ()
    limit: int = 0
    shows_profile: bool = False
    question: str = ""
    # Of the fence around what is recalled: the same in all requests of the turn, so that they begin
    # alike.
    token: str = field(default_factory=new_token)


@dataclass(slots=True)
class Conversation:
    """The memory of one user and session in one thread, with what was saved and recalled so far.

    Several threads may share a session, and so its log. Each takes out of the log only what it has
    put there.

    Args:
        memory: The memory of the user and session.
        log: The session that is written.
        saves: Whether anything is; false for an agent that was called by another agent's tool.
        restores: Whether the log may be shown. An agent that a graph calls is shown what the graph
            gives it.
        key: Tells messages without ids from those of other conversations.
        saved: The messages that the log is known to have, in its order, each with its fingerprint.
        waiting: Messages that could not be kept yet.
        last: The last question, with what memory adds to it.
        before: What the log has from before a boundary, after that boundary.
        begins_log: The stored id of the message before which the log has nothing, where it was
            looked: nothing comes there later.
        thread: The thread of a checkpointer; None without one, where all of a session is one
            conversation.
        saver: The checkpointer in which the thread was seen last.
        lock: Held while a log is written, which several runs and threads may share.
        is_first: Whether this process knew no other thread of the session when the thread began.
        is_deleted: Whether the thread was deleted, so that the log is to show no more of it.
        run: What stands for the run in which the turn began.
        has_warned: Whether the log says already that this turn's messages could not be kept at
            once.
        deadline: The time that memory has left in this turn.
        keep: Which messages recall may find, as `htm_core.prompt.keep.check_keep` has it; by
            default all.
        by_agent: Whether another agent speaks where a user does elsewhere, so that these are not a
            user's words.
        profile: What is known of the user from other conversations, as it was when this one began
            here.
        forgotten: The ids of what the agent itself has forgotten.
        outgrown: Whether the conversation has more than its window shows. Then the profile is read
            in each turn, with what only this conversation says.
    """

    memory: Memory
    log: str
    saves: bool = True
    restores: bool = True
    key: str = field(default_factory=lambda: str(uuid4()))
    saved: dict[str, int] = field(default_factory=dict)
    waiting: dict[str, BaseMessage] = field(default_factory=dict)
    last: tuple[object, TurnContext] | None = None
    before: tuple[frozenset[str], Sequence[AnyMessage]] | None = None
    begins_log: str | None = None
    thread: str | None = None
    saver: weakref.ref[Any] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    is_first: bool = True
    is_deleted: bool = False
    run: object | None = None
    keep: Kept = None
    by_agent: bool = False
    profile: KnownProfile = field(default_factory=KnownProfile)
    outgrown: bool = False
    forgotten: frozenset[str] = frozenset()
    deadline: Deadline = field(init=False)
    has_warned: bool = False
    _entries: Entries | None = None
    _shows_log: bool = False  # in the last turn; then it is read with what is written
    _decoded: dict[str, tuple[Mention, BaseMessage]] = field(default_factory=dict)
    _held_key: object = field(default_factory=object)

    def __post_init__(self) -> None:
        self.begin_turn(TIMEOUT)

    def begin_turn(self, timeout: float | None, *, run: object | None = None) -> None:
        """Give memory its time for a new turn. What it adds is read again: words may have been
        forgotten since.
        """
        self.deadline = Deadline(self.memory, timeout=timeout)
        self._shows_log = self.before is not None
        self.last = self.before = self._entries = None
        self.run, self.has_warned = run, False

    def write_held(self) -> None:
        """Write what could not be kept, in the order in which it was said."""
        with locked(self.lock, what="the log of this conversation"):
            if not self.is_deleted:
                self._write(self.memory.log(self.log), list(self.waiting.values()))

    def resume_turn(self, timeout: float | None, *, run: object | None) -> None:
        """Begin a new turn in a run other than the one in which the last began, as after an
        interrupt.
        """
        if run is not None and run is not self.run:
            self.begin_turn(timeout, run=run)

    def saw_thread_in(self, saver: object) -> None:
        """Note that a checkpointer has the thread of this conversation."""
        with contextlib.suppress(TypeError):  # of some classes no weak reference can be made
            self.saver = weakref.ref(saver)

    def had_thread_in(self, saver: object) -> bool:
        """True if a checkpointer had the thread of this conversation, as far as this
        process knows.
        """
        return self.saver is not None and self.saver() is saver

    def forget(self, ids: frozenset[str]) -> None:
        """Show nothing of what the agent has forgotten: what was read before is read again."""
        if not ids <= self.forgotten:
            self.forgotten |= ids
            self.last = self.before = self._entries = self.profile.lines = None

    def known(self, question: object) -> TurnContext | None:
        """Return the context that memory adds to a question, if it is still the last one; else
        None.
        """
        return self.last[1] if self.last is not None and self.last[0] == question else None

    # -- keeping -----------------------------------------------------------------------------------

    def unsaved(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        """Messages that are new, or have changed under their id; without those that nobody said."""
        if not self.saves:
            return []
        return [
            each
            for each in messages
            if each.id
            and each.type != "remove"
            and not is_inserted(each)
            and self.saved.get(each.id) != fingerprint(each)
        ]

    def due(self, messages: Sequence[BaseMessage], extent: Extent) -> int | None:
        """Return the number of messages to save; None when there is nothing to do."""
        if not self.saves:
            return None
        count = len(self.unsaved(messages))
        return (
            count
            if count or (extent == "thread" and messages and not self._goes_on(messages, extent))
            else None
        )

    def save(self, messages: Sequence[BaseMessage], extent: Extent) -> None:
        """Write what is new among messages to the log, after what could not be written before.

        All messages of a thread, and those that a caller brought along, are compared with the log
        first, unless it is known that they go on where the log ends.
        """
        with self.lock:  # of two runs at once, neither follows what the other has half written
            self._save(messages, extent)

    def _save(self, messages: Sequence[BaseMessage], extent: Extent) -> None:
        log, here = self.memory.log(self.log), {each.id for each in messages}
        if self.is_deleted:
            self._clear(log)
            self.saved, self.before, self.is_deleted = {}, None, False
        waiting = list(self.waiting.values())
        while waiting and waiting[-1].id in here:
            waiting.pop()
        self._write(log, waiting)
        retold = 0
        if not self._goes_on(messages, extent):
            asked = _last_of_turn(messages) if extent == "input" else 0
            brought = [
                each
                for at, each in enumerate(messages)
                if at < asked or each.id not in self.waiting or not asked
            ]
            is_begun = self._follow(
                log, [each for each in brought if each.id and not is_inserted(each)], extent
            )
            if not is_begun:  # what comes before the first turn was said elsewhere
                retold = len(self.unsaved(messages[: start_of_turn(messages)]))
        reads = MAX_RESTORED + 2 * len(messages) if self._shows_log and self.before is None else 0
        self._write(log, self.unsaved(messages), retold=retold, reads=reads)

    def postpone(self, messages: Sequence[BaseMessage], extent: Extent) -> None:
        """Hold messages until the log can be written. Of those that a caller brings along only the
        last turn is held, with its answers: the others are found in the log or are new when the
        caller brings them again."""
        if extent == "input" and not self._goes_on(messages, extent):
            messages = messages[start_of_turn(messages) :]
        new = self.unsaved(messages)
        for message in new[: MAX_WAITING - len(self.waiting)]:
            self.waiting[str(message.id)] = message
        if self.waiting:
            held_back.add(self._held_key, self.memory, self.write_held, waiting=self.waiting)

    def _goes_on(self, messages: Sequence[BaseMessage], extent: Extent) -> bool:
        """True if messages go on where the log ends, as far as this process knows."""
        if extent == "thread":
            known = [each.id for each in messages if each.id in self.saved]
            return bool(self.saved) and bool(known) and list(self.saved)[-len(known) :] == known
        if extent == "part":
            return True
        start, asked = start_of_turn(messages), _last_of_turn(messages)
        brought = [each for each in messages[: asked or len(messages)] if not is_inserted(each)]
        is_turn = len(messages) < 2 or (asked > 0 and start <= leading_system(messages))
        return is_turn or all(each.id in self.saved for each in brought)

    def _follow(self, log: Log, messages: Sequence[BaseMessage], extent: Extent) -> bool:
        """Find out which messages the log has, and let it go the way that they go. Answers whether
        it had any.
        """
        # A client that sends its history again sends what was forgotten, too: it is known, and
        # stays forgotten.
        forgotten = extent == "input"
        read, entries, recognised = self._compared(log, messages, forgotten=forgotten)
        left, places = set(recognised.left), list(recognised.places)
        for n, (message, place) in enumerate(zip(messages, recognised.places, strict=True)):
            if (
                extent == "thread"
                and place is not None
                and self._says_again(message, *entries[place])
            ):
                left.add(place)
                places[n] = None
        if extent == "thread" and self.saved and all(place is None for place in places):
            # all that the thread had was removed
            left = {at for at, (id, _) in enumerate(entries) if id in self.saved}
        left = {at for at in left if thread_of(entries[at][1]) == self._mark}
        returning = any(
            each.id in self.saved
            for each, place in zip(messages, places, strict=True)
            if place is None
        )
        # another run has taken messages out, or has written answers before their questions
        if extent == "thread":
            returning = returning or _is_out_of_order(places)
        for message, place in zip(messages, places, strict=True):
            self.saved.pop(str(message.id), None)
            if place is not None and (
                extent == "input" or self._is_stored(message, entries[place][1].payload)
            ):
                self.saved[str(message.id)] = fingerprint(message)
        if left and not returning:
            log.remove([entries[at][1] for at in left])
            self.before = None
        elif returning:
            gone = {entries[at][1].id for at in left}
            stay = [entry for entry in log.entries(forgotten=forgotten) if entry[1].id not in gone]
            live = {mention.id for _, mention in log.entries()} if forgotten else None
            kept = [(id, each) for id, each in stay if id or live is None or each.id in live]
            at = {entries[place][1].id: n for n, place in enumerate(places) if place is not None}
            new = self.unsaved(messages)
            drafts = self._in_order(messages, new, kept, at)
            log.replace(drafts)
            self._note_saved(new)
            order = {draft.id: n for n, draft in enumerate(drafts)}
            self.saved = dict(
                sorted(self.saved.items(), key=lambda known: order.get(stored_id(known[0]), -1))
            )
            self.before = None
        self._entries = None if left or returning or forgotten else read
        return bool(read)

    def _in_order(
        self,
        messages: Sequence[BaseMessage],
        new: Sequence[BaseMessage],
        kept: Entries,
        at: Mapping[str, int],
    ) -> list[Draft]:
        """Drafts of the log in the order of the messages; `at` says which message an entry is.

        An entry that is none of them stays behind the one that it followed.
        """
        drafts = dict(zip((str(each.id) for each in new), self._drafts(new), strict=True))
        own: dict[int, Draft] = {}
        others: defaultdict[int, list[Draft]] = defaultdict(list)
        last = -1
        for id, mention in kept:
            if mention.id in at:
                last = at[mention.id]
                own[last] = _draft_again(id, mention)
            else:
                others[last].append(_draft_again(id, mention))
        ordered = others[-1]
        for n, message in enumerate(messages):
            draft = drafts.get(str(message.id)) or own.get(n)
            ordered += [*([draft] if draft else []), *others[n]]
        return ordered

    def _says_again(self, message: BaseMessage, id: str | None, known: Mention) -> bool:
        """True if a message only repeats the words of another one, such as a tool's result when its
        step is run anew.
        """
        return id not in (None, stored_id(str(message.id))) and not self._is_stored(
            message, known.payload
        )

    def _is_stored(self, message: BaseMessage, payload: bytes | None) -> bool:
        """True if a message is stored as it is, but for what is redacted."""
        kept = () if payload is None else (payload,)
        return payload == stored_payload(self.memory, self._encoded(message), stored=kept)

    def _compared(
        self, log: Log, messages: Sequence[BaseMessage], *, forgotten: bool
    ) -> tuple[Entries, Entries, Recognised]:
        """Return the entries read of the log, those of them that may be among the messages, and how
        these match the messages.
        """
        enough = MAX_RESTORED + 2 * len(messages)
        read = log.entries(enough, forgotten=forgotten)
        entries = self._of_thread(read, messages)
        recognised = _recognised(self.memory, messages, entries)
        if len(read) == enough and (
            recognised.left or all(place is None for place in recognised.places)
        ):
            read = log.entries(forgotten=forgotten)
            entries = self._of_thread(read, messages)
            recognised = _recognised(self.memory, messages, entries)
        return read, entries, recognised

    def _clear(self, log: Log) -> None:
        """Take what the thread had out of the log."""
        entries = log.entries(forgotten=True)
        own = [mention for _, mention in entries if thread_of(mention) == self._mark]
        if len(own) == len(entries):
            log.clear()
        else:
            log.remove(own)

    def _write(
        self, log: Log, messages: Sequence[BaseMessage], *, retold: int = 0, reads: int = 0
    ) -> None:
        """Write messages, of which so many were said elsewhere, and read so many of the log with
        them. When the core refuses the words of a message, only its payload is written.
        """
        if not messages:
            return
        try:
            drafts = self._drafts(messages)
            if reads:
                self._entries = log.append_and_read(drafts, reads, retold=retold)
            else:
                log.append(drafts, retold=retold)
        except InvalidInput:
            for at, message in enumerate(messages):
                try:
                    log.append(self._drafts([message]), retold=int(at < retold))
                except InvalidInput:
                    bare = [
                        replace(draft, content="", role=None, name=None, attached=())
                        for draft in self._drafts([message])
                    ]
                    log.append(bare)
        self._note_saved(messages)

    def _note_saved(self, messages: Sequence[BaseMessage]) -> None:
        self.saved.update({str(each.id): fingerprint(each) for each in messages})
        for message in messages:
            self.waiting.pop(str(message.id), None)
        if messages and not self.waiting:
            held_back.discard(self._held_key)
        # saved again under its id, it stays the same message
        for id in list(self.saved)[:-MAX_SAVED]:
            self.saved.pop(id, None)  # another thread of this conversation may have done it

    # -- threads that share a log ------------------------------------------------------------------

    @property
    def _mark(self) -> str | None:
        """The mark of this thread's messages in the log; None where the log's session is the
        thread's own.
        """
        return None if self.thread == self.log else self.thread

    def _is_of_other_thread(self, mention: Mention) -> bool:
        mark = thread_of(mention)
        return mark is not None and mark != self._mark

    def _of_thread(self, entries: Entries, messages: Sequence[BaseMessage]) -> Entries:
        """Entries of the log that are not another thread's, and those that have the id of a
        message; without a thread all.
        """
        if self.thread is None:
            return entries
        ids = {stored_id(each.id) for each in messages if each.id}
        return [
            entry for entry in entries if entry[0] in ids or not self._is_of_other_thread(entry[1])
        ]

    def _encoded(self, message: BaseMessage) -> bytes:
        return encode(message, thread=self._mark)

    def _drafts(self, messages: Sequence[BaseMessage]) -> list[Draft]:
        return [
            keep_draft(
                draft_of(
                    each,
                    id=each.id or str(uuid4()),
                    metadata={INTERRUPTED: True}
                    if each.response_metadata.get(INTERRUPTED) is True
                    else None,
                    thread=self._mark,
                    by_agent=self.by_agent,
                ),
                each,
                self.keep,
            )
            for each in messages
        ]

    # -- restoring ---------------------------------------------------------------------------------

    def boundary(
        self, messages: Sequence[BaseMessage], *, began_with: str | None
    ) -> frozenset[str] | None:
        """The stored ids before which the log is to be shown with these messages; None where it is
        not.

        With `began_with`, the message with which the messages' thread began, it is that one, as
        long as the thread still has it. Otherwise it is one new turn, or results of tools that come
        alone and belong to the turn that called them. System messages that come first do not count.
        """
        messages = messages[leading_system(messages) :]
        if not self.restores or not messages or any(map(is_inserted, messages)):
            return None
        ids = frozenset(stored_id(each.id) for each in messages if each.id)
        if began_with is not None:
            return (
                ids
                if messages[0].id == began_with and stored_id(began_with) != self.begins_log
                else None
            )
        if is_one_turn(messages) or all(isinstance(each, ToolMessage) for each in messages):
            return ids
        return None

    def earlier(self, boundary: frozenset[str]) -> Sequence[AnyMessage]:
        """Return the log's messages from before a boundary: the thread's own, where it has any. The
        log is read once a turn.
        """
        if self.before is None or self.before[0] != boundary:
            enough = MAX_RESTORED + len(boundary)
            entries = (
                self._entries
                if self._entries is not None
                else self.memory.log(self.log).entries(enough)
            )
            if (
                self.thread is not None
                and len(entries) >= enough
                and any(self._is_of_other_thread(mention) for _, mention in entries)
            ):
                entries = self.memory.log(self.log).entries()
            if entries and entries[0][0] in boundary and len(entries) < enough:
                self.begins_log = entries[0][0]
            entries = entries[
                : next((at for at, (id, _) in enumerate(entries) if id in boundary), len(entries))
            ]
            self.before = boundary, self._restored(self._own(entries)[-MAX_RESTORED:])
        self._entries = None
        return self.before[1]

    def _restored(self, entries: Entries) -> list[AnyMessage]:
        """Return the messages of entries, from the start of a stride on. What was decoded in the
        last turn is not decoded again.
        """
        first = 0
        if len(entries) > MAX_RESTORED - STRIDE:
            first = next(
                (at for at, (_, mention) in enumerate(entries) if mention.seq % STRIDE == 0), 0
            )
        known, self._decoded = self._decoded, {}
        messages: list[Any] = []
        for id, mention in entries[first:]:
            before = known.get(mention.id)
            if before is None or before[0] != mention:
                before = mention, message_of(mention, id=id)
            if isinstance(before[1].content, str):  # blocks may be changed by other middleware
                self._decoded[mention.id] = before
            messages.append(before[1].model_copy())
        shown = [each for each in messages if each.type in ("human", "ai", "tool")]
        if first == 0:
            return shown
        return shown[
            next((at for at, each in enumerate(shown) if is_from_person(each)), len(shown)) :
        ]

    def _own(self, entries: Entries) -> Entries:
        """Return the log's entries of the thread; where it has none, all of the log for the first
        of the session's threads.
        """
        if self.thread is None or not any(
            map(self._is_of_other_thread, (mention for _, mention in entries))
        ):
            return entries
        if any(thread_of(mention) == self._mark for _, mention in entries):
            return [entry for entry in entries if not self._is_of_other_thread(entry[1])]
        return entries if self.is_first else ()


class Key(NamedTuple):
    """The key of a conversation. `subagent` is the agent that is called within it, and `worker` the
    step that calls.
    """

    tenant: str
    user: str | None
    session: str
    thread: str | None = None
    subagent: str | None = None
    worker: str | None = None
    timezone: str | None = None


class Conversations:
    """The latest conversations of this process, one for each user, session and thread. Safe for
    threads.
    """

    def __init__(self, *, limit: int = 128) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._open: OrderedDict[Key, Conversation] = OrderedDict()
        self._locks: weakref.WeakValueDictionary[Key, Any] = weakref.WeakValueDictionary()

    def __deepcopy__(self, memo: object) -> Self:
        return self  # copies of a component know the same of each conversation

    def of(self, key: Key, open: Callable[[], Conversation]) -> Conversation:
        """The conversation of a key, else the one that `open` makes.

        The one used longest ago is dropped, but only when nothing of it is waiting to be kept.
        """
        with self._lock:
            conversation = self._open.pop(key, None)
            if conversation is None:
                conversation = open()
                conversation.lock = self._locks.setdefault(
                    key._replace(thread=None), conversation.lock
                )
            self._open[key] = conversation
            while len(self._open) > self._limit:
                idle = next((known for known, each in self._open.items() if not each.waiting), None)
                if idle is None or idle == key:
                    break
                del self._open[idle]
            return conversation

    def of_thread(self, key: Key) -> list[Conversation]:
        """The conversations of all users of a thread."""
        with self._lock:
            return [
                each
                for known, each in self._open.items()
                if known._replace(user=None) == key._replace(user=None)
            ]

    def of_session(self, key: Key) -> list[Conversation]:
        """The conversations of all threads of a session."""
        with self._lock:
            return [each for known, each in self._open.items() if known[:3] == key[:3]]


def is_one_turn(messages: Sequence[BaseMessage]) -> bool:
    """True if these are one message of a person and the run's answers to it so far."""
    messages = messages[leading_system(messages) :]
    return (
        bool(messages)
        and is_from_person(messages[0])
        and sum(map(is_from_person, messages)) == 1
        and not any(map(is_inserted, messages))
    )


def first_of_turn(messages: Sequence[BaseMessage]) -> int:
    """Where the messages of persons begin that nobody has answered yet."""
    at = len(messages)
    while at and is_from_person(messages[at - 1]):
        at -= 1
    return at


def start_of_turn(messages: Sequence[BaseMessage]) -> int:
    """Where the last turn begins: what persons said last, one after the other, before the answers
    to it; 0 for none.
    """
    return first_of_turn(messages[: _last_of_turn(messages)])


def _last_of_turn(messages: Sequence[BaseMessage]) -> int:
    """After which message the answers of the last turn follow; 0 when no person has spoken."""
    return next((at for at in range(len(messages), 0, -1) if is_from_person(messages[at - 1])), 0)


def _is_out_of_order(places: Sequence[int | None]) -> bool:
    """True if a message that the log has follows one that it does not have, or has later."""
    known = [place for place in places if place is not None]
    return known != sorted(known) or None in places[: len(known)]


def _draft_again(id: str | None, mention: Mention) -> Draft:
    """An entry of the log as it was written, so that it stays the same one."""
    return Draft(
        content=mention.content,
        id=id,
        role=mention.role,
        name=mention.name,
        payload=mention.payload,
        metadata=mention.metadata,
        source=mention.source,
        trust=mention.trust,
    )


def _recognised(memory: Memory, messages: Sequence[BaseMessage], entries: Entries) -> Recognised:
    """Match messages with the log. A prompt that is known by its id says nothing about where the
    others are.
    """
    at = {id: place for place, (id, _) in enumerate(entries) if id is not None}
    lead = leading_system(messages)
    prompts = {
        n: at[stored_id(each.id)]
        for n, each in enumerate(messages[:lead])
        if each.id and stored_id(each.id) in at
    }
    rest = [
        _line(stored_message(memory, each, encode=encode, decode=decode), each.id)
        for n, each in enumerate(messages)
        if n not in prompts
    ]
    recognised = recognise(rest, [_line(message_of(mention), id) for id, mention in entries])
    places = iter(recognised.places)
    return Recognised(
        tuple(prompts[n] if n in prompts else next(places) for n in range(len(messages))),
        tuple(place for place in recognised.left if place not in prompts.values()),
    )


def _line(message: BaseMessage, id: str | None) -> Line:
    """A message as far as it is needed to know it again."""
    calls = [(call.get("id"), call.get("name")) for call in getattr(message, "tool_calls", ())]
    spoken = message.type in ("human", "ai") and bool(words_of(message).strip())
    words = (message.type, words_of(message).strip())
    return Line(
        words=words if spoken else (*words, str(calls), getattr(message, "tool_call_id", None)),
        by_person=message.type == "human",
        is_spoken=spoken,
        id=None if id is None else stored_id(id),
    )
