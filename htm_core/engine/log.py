"""Logs: the messages of a session, exact and in order."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any
from uuid import UUID

from ..base import validation
from ..base.errors import InvalidInput
from ..base.types import Draft, Mention
from ..db.database import Connection
from ..db.errors import attempts
from ..db.records import WrittenEntry
from ..db.verbs import Handle, verbs
from ..text.redaction.redactor import Redactor
from ..writing import forgetting, mentions
from ..writing.redaction import redact_draft
from .engine import Engine

Message = Draft | Mapping[str, Any]
# Has something read with the end of a transaction that has entered mentions of these ids.
Read = Callable[[Connection, Sequence[UUID]], None]

# So many system messages at most are the beginning of a log.
MOST_LEADING = 8


class Entered:
    """Messages entered in a log, read with the end of the transaction that writes them."""

    def __init__(self) -> None:
        self._ids: Sequence[UUID] = ()
        self._found: Callable[[], Mapping[UUID, Mention]] = dict

    def read(self, connection: Connection, ids: Sequence[UUID]) -> None:
        """Have the mentions of these ids read, in this order."""
        self._ids, self._found = ids, mentions.queue_by_id(connection, ids)

    def mentions(self) -> list[Mention]:
        """The mentions, without those that are forgotten."""
        by_id = self._found()
        return [by_id[id] for id in self._ids if id in by_id]


@verbs("htm.log")
class Log(Handle):
    """The messages of a session. Clearing or replacing the log changes this record, and long-term
    memory only with `forget`.
    """

    def __init__(self, engine: Engine, session: str) -> None:
        self._engine = engine
        self.session = validation.normal_name(session, what="session")

    @property
    def redactor(self) -> Redactor | None:
        """Redactor that takes secrets out of messages before they are stored; None where nothing
        does.
        """
        return self._engine.redactor

    def append(self, messages: Sequence[Message], *, retold: int = 0) -> list[Mention]:
        """Add messages; answers with their mentions, in order.

        So many of the first as `retold` says are the history of a conversation that was held
        elsewhere, such as a copied one: what the same speaker said in the same words in another
        session is then the same saying.

        Each is a `Draft` or a mapping of `remember`'s arguments. Here content may be empty: such a
        message has no node, and its `payload` keeps it exactly. A message with an id that the
        session knows is the same message, and comes to the end of the log if it had left it. What
        is `attached` to it is written with it, found by recall, and in no answer of the log.
        """
        answer = Entered()
        self._say(messages, answer.read, retold=validation.check_whole(retold, what="retold"))
        return answer.mentions()

    def append_and_read(
        self, messages: Sequence[Message], n: int, *, retold: int = 0
    ) -> list[tuple[str | None, Mention]]:
        """Add `messages`, with `retold` as in `append`; answers with what `entries(n)` gives after
        it, which takes no message to the server of its own.
        """
        limit, read = validation.check_whole(n, what="n"), list[mentions.Queue]()

        def queue(connection: Connection, _: Sequence[UUID]) -> None:
            """Have the log read, once more where the transaction is tried again."""
            whose = {"owner": self._engine.owner, "session": self.session}
            read[:] = [mentions.queue_tail(connection, **whose, limit=limit)]

        self._say(messages, queue, retold=validation.check_whole(retold, what="retold"))
        return read[0]() if read else self.entries(n)

    def tail(self, n: int | None = None, *, tokens: int | None = None) -> list[Mention]:
        """The last `n` messages, or as many of the last ones as fit `tokens`, oldest first; all of
        them when neither is given.
        """
        if n is not None and (isinstance(n, bool) or not isinstance(n, int) or n < 0):
            raise InvalidInput(f"expected n to be a whole number, 0 or more, got {n!r}")
        latest = [mention for _, mention in self.entries(n)] if n != 0 else []
        return latest if tokens is None else self._fitting(latest, tokens)

    def entries(
        self,
        n: int | None = None,
        *,
        archived: bool | None = None,
        forgotten: bool = False,
        lead: bool = False,
    ) -> list[tuple[str | None, Mention]]:
        """The last `n` messages with the ids that their callers gave them, or None. `archived`
        keeps only the archived ones, or only the others. `forgotten` adds those that were forgotten
        and not yet purged, so that they are known again. `lead` adds the system messages with which
        the log begins.
        """
        read = partial(self._engine.read, primary=True)
        whose = {"owner": self._engine.owner, "session": self.session}
        last = mentions.tail(read, **whose, limit=n, archived=archived, forgotten=forgotten)
        if not lead or n is None or len(last) < n:
            return last
        known = {mention.id for _, mention in last}
        first = mentions.beginning(read, **whose, limit=MOST_LEADING)
        opening = takewhile(
            lambda entry: entry[1].role == "system" and entry[1].id not in known, first
        )
        return [*opening, *last]

    def archive(self, messages: Sequence[Mention]) -> list[Mention]:
        """Mark messages as archived, for callers that read the log as a queue. They stay in it.
        Answers with those newly marked.
        """
        return self._marked(mentions.archive, messages)

    def remove(self, messages: Sequence[Mention], *, forget: bool = False) -> list[Mention]:
        """Remove messages from the log. Answers with those that were in it.

        Long-term memory keeps them, unless `forget` is given: then they leave recall, too, as with
        `replace`.
        """
        gone: list[UUID] = []

        def drop(
            connection: Connection, ids: Sequence[UUID], *, owner: str, session: str
        ) -> set[UUID]:
            """Remove them, and forget what was removed if that is wanted."""
            removed = mentions.drop_from_log(connection, ids, owner=owner, session=session)
            gone[:] = self._forget(connection, removed) if forget else ()
            return removed

        removed = self._marked(drop, messages)
        self._engine.drop(gone)
        return removed

    def replace(self, messages: Sequence[Message], *, forget: bool = False) -> list[Mention]:
        """Make these messages the log, in this order. Messages that it has already keep their time.

            log.replace(edited, forget=True)  # what was edited away is no longer found

        With `forget`, the messages that leave the log are forgotten: they leave recall, the
        timeline and working memory. A message with an id that was forgotten comes back, so that an
        edit is undone by replacing again; `Memory.restore` brings others back until `purge` deletes
        them. The same words stay where somebody has said them elsewhere. Without it, long-term
        memory keeps them.
        """
        places = self._places(messages)
        answer = Entered()
        before: set[UUID] = set()
        gone: list[UUID] = []

        def clear(connection: Connection) -> None:
            before.clear()
            before.update(
                mentions.clear_log(connection, owner=self._engine.owner, session=self.session)
            )

        def place(connection: Connection, written: list[WrittenEntry]) -> None:
            fresh = iter(written)
            now = [next(fresh).mention if isinstance(place, Draft) else place for place in places]
            mentions.place_in_log(connection, list(dict.fromkeys(now)))
            if forget:
                back = [*now, *self._attached(connection, now)]
                forgetting.restore_mentions(connection, sorted(set(back)), owner=self._engine.owner)
            gone[:] = self._forget(connection, before.difference(now)) if forget else ()
            gone[:] += self._detach(connection, new, written)
            answer.read(connection, now)

        new = [place for place in places if isinstance(place, Draft)]
        self._engine.write(new, before=clear, wordless=True, after=place)
        self._engine.drop(gone)
        return answer.mentions()

    def clear(self) -> None:
        """Empty the log. Long-term memory keeps what was in it."""
        for attempt in attempts():
            with attempt, self._engine.transaction() as connection:
                mentions.clear_log(connection, owner=self._engine.owner, session=self.session)

    def _checked(self, messages: Sequence[Message]) -> Sequence[Message]:
        validation.check_several(messages, what="messages")
        return validation.check_count(
            messages, what="messages", most=self._engine.settings.max_drafts
        )

    def _say(self, messages: Sequence[Message], read: Read, *, retold: int) -> None:
        gone: list[UUID] = []

        def note(connection: Connection, written: list[WrittenEntry]) -> None:
            entered = written[: len(here)]
            mentions.bring_back(connection, entered, owner=self._engine.owner, session=self.session)
            gone[:] = self._detach(connection, here, written)
            read(connection, [each.mention for each in entered])

        if messages:
            here = [self._here(message) for message in self._checked(messages)]
            asked = len(here) - retold == 1 and here[-1].role == "user" and not here[-1].attached
            self._engine.write(here, wordless=True, after=note, retold=retold, asked=asked)
            self._engine.drop(gone)

    def _here(self, message: Message) -> Draft:
        draft = validation.as_draft(message)
        if draft.session not in (None, self.session):
            raise InvalidInput(
                f"expected a message of session {self.session!r}, got one of {draft.session!r}"
            )
        return replace(draft, session=self.session)

    def _places(self, messages: Sequence[Message]) -> list[UUID | Draft]:
        """For each message its mention in the log, else the draft to write. A mention
        is used once.
        """
        kept: defaultdict[tuple[object, ...], deque[UUID]] = defaultdict(deque)
        for name, mention in self.entries():
            if name is None:
                kept[mention.role, mention.name, mention.content, mention.payload].append(
                    UUID(mention.id)
                )
        places: list[UUID | Draft] = []
        for draft in map(self._here, self._checked(messages)):
            redacted = redact_draft(draft, self._engine.redactor)
            key = (redacted.role, redacted.name, redacted.content, redacted.payload)
            is_one = draft.id is None and all(
                isinstance(each, Hashable) for each in key
            )  # else it is refused when it is written
            known = kept[key] if is_one else None
            places.append(known.popleft() if known else draft)
        return places

    def _marked(self, mark: Callable[..., set[UUID]], messages: Sequence[Mention]) -> list[Mention]:
        validation.check_count(messages, what="messages")
        for attempt in attempts():
            with attempt, self._engine.transaction() as connection:
                done = mark(
                    connection,
                    [UUID(each.id) for each in messages],
                    owner=self._engine.owner,
                    session=self.session,
                )
        return [each for each in messages if UUID(each.id) in done]

    def _forget(self, connection: Connection, ids: Iterable[UUID]) -> list[UUID]:
        """Forget these mentions and what came with them; answers with the nodes that nobody
        mentions any more.
        """
        engine, chosen = self._engine, list(ids)
        every = {*chosen, *self._attached(connection, chosen)}
        return forgetting.forget_mentions(
            connection, sorted(every), owner=engine.owner, by=engine.robot, at=engine.clock()
        )

    def _detach(
        self, connection: Connection, drafts: Sequence[Draft], written: Sequence[WrittenEntry]
    ) -> list[UUID]:
        """Forget what came with messages before they were changed under their ids, and does no
        longer.
        """
        messages, attached = written[: len(drafts)], written[len(drafts) :]
        stale = self._attached(
            connection,
            [each.mention for each in messages if each.changed],
            kept=[each.mention for each in attached],
        )
        engine = self._engine
        gone = forgetting.forget_mentions(
            connection, stale, owner=engine.owner, by=engine.robot, at=engine.clock()
        )
        mentions.detach(connection, stale)
        return gone

    def _attached(
        self, connection: Connection, ids: Sequence[UUID], *, kept: Sequence[UUID] = ()
    ) -> list[UUID]:
        return mentions.attached(
            connection, ids, owner=self._engine.owner, session=self.session, kept=kept
        )

    def _fitting(self, candidates: list[Mention], tokens: int) -> list[Mention]:
        kept: list[Mention] = []
        for mention in reversed(candidates):
            tokens -= self._engine.tokens(mention.content) if mention.content else 0
            if tokens < 0:
                break
            kept.append(mention)
        return kept[::-1]
