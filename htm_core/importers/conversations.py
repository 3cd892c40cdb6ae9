"""Following conversations of elsewhere: what was taken back in them goes, and what holds again
comes back.

A message that was edited away there is hidden here, as if it had been forgotten, until a file says
again that it holds. What a user has forgotten stays so. A file that is older than what is known of
its conversation changes nothing.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any
from uuid import UUID

from ..base.identity import node_id
from ..base.types import Draft
from ..db.database import Connection
from ..db.errors import attempts
from ..engine.engine import Engine
from ..text.redaction.values import redact_draft
from ..writing import forgetting, mentions
from .transcripts.turns import Conversation

# who has forgotten what was taken back; no robot has such a name by accident
TAKEN_BACK = "htm:taken-back"
AT_ONCE = 200  # conversations

_Said = tuple[str | None, UUID | None, datetime | None]  # by whom, the node, and when
Known = dict[str, list[dict[str, Any]]]


def older(engine: Engine, conversations: Iterable[Conversation]) -> set[str]:
    """The sessions of which more, and later, is known than the file has: what it says of them was
    so once.
    """
    sessions = set[str]()
    for some in _batches(conversations):
        with engine.transaction() as connection:
            known = _known(engine, connection, some)
        sessions |= {each.session for each in some if _is_older(each, known[each.session])}
    return sessions


def follow(
    engine: Engine,
    conversations: Iterable[Conversation],
    *,
    but: Iterable[str] = (),
    dry_run: bool = False,
) -> int:
    """Hide what was taken back, and bring back what holds again; answers how many messages were
    hidden.

    `but` are sessions that are left alone, and with `dry_run` nothing is written.
    """
    left, hidden = set(but), 0
    for some in _batches(each for each in conversations if each.session not in left):
        for attempt in attempts():
            with attempt, engine.transaction() as connection:
                known = _known(engine, connection, some)
                gone = [row for each in some for row in _gone(each, known[each.session])]
                back = [row for each in some for row in _back(each, known[each.session])]
                dead = [] if dry_run else _write(engine, connection, gone, back)
        hidden += len(gone)
        if dead:
            engine.drop(dead)
        if (gone or back) and not dry_run:
            engine.emit("follow", hidden=len(gone), shown=len(back))
    return hidden


class FirstTimes:
    """Gives the turns of forked sessions the times at which they were said first, by which a copy
    is known as one.

    A forked session repeats the turns of the session that it goes on from, with new times. It does
    so at its beginning: from the first turn on that is another one, all are its own.
    """

    def __init__(self, engine: Engine, conversations: Iterable[Conversation]) -> None:
        self._engine = engine
        self._from = {each.session: each.forked_from for each in conversations if each.forked_from}
        self._said: dict[str, list[_Said]] = {session: [] for session in self._from.values()}
        self._ids = set[tuple[str, str]]()
        self._copied: Counter[str] = Counter()
        if self._said:
            with engine.transaction() as connection:
                rows = mentions.said_in(
                    connection, list(self._said), owner=engine.owner, but=TAKEN_BACK
                )
            for row in rows:
                self._add(
                    row["session"], row["external_id"], (row["role"], row["node_id"], row["at"])
                )

    def dated(self, draft: Draft) -> Draft:
        """A draft, with the time of the turn that it repeats where it does. They are to be given in
        the order of their files.
        """
        session = draft.session or ""
        if session not in self._from and session not in self._said:
            return draft
        node = node_id(self._engine.owner, redact_draft(draft, self._engine.redactor).content)
        if (before := self._from.get(session)) is not None:
            turns, place = self._said[before], self._copied[session]
            if place < len(turns) and turns[place][:2] == (draft.role, node):
                self._copied[session] += 1
                draft = replace(draft, at=turns[place][2])
            else:
                del self._from[session]
        if session in self._said:
            self._add(session, draft.id or "", (draft.role, node, draft.at))
        return draft

    def _add(self, session: str, id: str, turn: _Said) -> None:
        if (session, id) not in self._ids:
            self._ids.add((session, id))
            self._said[session].append(turn)


def _batches(conversations: Iterable[Conversation]) -> Iterator[list[Conversation]]:
    rest = iter(conversations)
    while some := list(islice(rest, AT_ONCE)):
        yield some


def _write(
    engine: Engine,
    connection: Connection,
    gone: Sequence[dict[str, Any]],
    back: Sequence[dict[str, Any]],
) -> list[Any]:
    owner = engine.owner
    if back:
        forgetting.restore_mentions(
            connection, _with_files(connection, back, owner=owner), owner=owner
        )
    if not gone:
        return []
    ids = _with_files(connection, gone, owner=owner)
    return forgetting.forget_mentions(
        connection, ids, owner=owner, by=TAKEN_BACK, at=engine.clock()
    )


def _with_files(connection: Connection, rows: Sequence[dict[str, Any]], *, owner: str) -> list[Any]:
    """The ids of messages, and of the files that came with them."""
    by_session: dict[str, list[Any]] = defaultdict(list)
    for row in rows:
        by_session[row["session"]].append(row["id"])
    files = [
        id
        for session, ids in by_session.items()
        for id in mentions.attached(connection, ids, owner=owner, session=session)
    ]
    return sorted({*(row["id"] for row in rows), *files})


def _known(engine: Engine, connection: Connection, conversations: Sequence[Conversation]) -> Known:
    rows: Known = {each.session: [] for each in conversations}
    for row in mentions.of_conversations(connection, list(rows), owner=engine.owner):
        rows[row["session"]].append(row)
    return rows


def _is_older(conversation: Conversation, rows: Sequence[dict[str, Any]]) -> bool:
    """True if something that the file does not have was said later than all that it has."""
    of_file = conversation.ids | conversation.taken_back
    shared = [row["at"] for row in rows if row["external_id"] in of_file]
    if not shared:
        return False
    latest = conversation.at or max(shared)
    return any(row["at"] > latest for row in rows if row["external_id"] not in of_file)


def _gone(conversation: Conversation, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    there = [row for row in rows if not row["forgotten"]]
    if conversation.whole and any(
        row["external_id"] in conversation.ids | conversation.taken_back for row in rows
    ):
        return [row for row in there if row["external_id"] not in conversation.ids]
    return [row for row in there if row["external_id"] in conversation.taken_back]


def _back(conversation: Conversation, rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        row
        for row in rows
        if row["forgotten_by"] == TAKEN_BACK and row["external_id"] in conversation.ids
    ]
