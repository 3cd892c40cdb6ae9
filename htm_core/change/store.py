"""Tidying: facts of the profile, memories that say the same, summaries of sessions, and how far
each session was read for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from ..base.types import Merge, ProfileSource, Summary, TidyKind
from ..db.connection import Reader, Row
from ..db.database import Connection
from ..db.queries import load
from .facts import Fact, Stated, key_of


@dataclass(frozen=True, slots=True)
class ChangedSession:
    """A session with messages that were not read yet: those above `done`."""

    owner: str
    session: str
    last_seq: int
    done: int


@dataclass(frozen=True, slots=True)
class OwnWord:
    """A message of the user themselves."""

    mention: UUID
    node: UUID
    seq: int
    at: datetime
    name: str | None
    content: str


@dataclass(frozen=True, slots=True)
class SaidNode:
    """A node, and what its canonical form depends on beside its text."""

    node: UUID
    content: str
    voices: Sequence[Sequence[str | None]]
    days: Sequence[Any]
    sessions: Sequence[str]
    may_merge: bool


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a session, with its vector where there is one."""

    mention: UUID
    seq: int
    at: datetime
    role: str | None
    name: str | None
    content: str
    vector: Sequence[float] | None


def queue_changed_sessions(
    connection: Connection,
    kind: TidyKind,
    *,
    owners: Sequence[str] | None,
    rules: int,
    quiet: float | None,
    limit: int,
) -> Callable[[], list[ChangedSession]]:
    """Sessions that have more for a kind of tidying, of `owners` or of all (None); with `quiet`
    only after so many seconds.

    They are read with what is sent next.
    """
    values = {
        "kind": kind,
        "owners": None if owners is None else list(owners),
        "rules": rules,
        "quiet": quiet,
        "limit": limit,
    }
    queued = connection.queue(load("change/store")["changed_sessions"], values)
    return lambda: [
        ChangedSession(row["owner"], row["session"], row["last_seq"], row["done"])
        for row in queued.rows
    ]


def queue_unread(connection: Connection, *, owner: str, rules: int) -> Callable[[], int]:
    """Count an owner's messages that were not read for the profile, with what is sent next."""
    queued = connection.queue(
        load("change/store")["count_unread"], {"owner": owner, "rules": rules}
    )
    return lambda: int(queued.rows[0]["messages"])


def mark(
    connection: Connection, kind: TidyKind, session: ChangedSession, *, seq: int, rules: int
) -> None:
    """Note up to which message a session was read."""
    name = {"profile": "mark_profile", "merge": "mark_merge", "summarize": "mark_summary"}[kind]
    values = {"owner": session.owner, "session": session.session, "seq": seq}
    connection.queue(
        load("change/store")[name], values if kind == "summarize" else values | {"rules": rules}
    )


# -- the profile -----------------------------------------------------------------------------------


def queue_words(
    connection: Connection, session: ChangedSession, *, limit: int
) -> Callable[[], tuple[list[OwnWord], list[str]]]:
    """Read what the user said in a session beyond what was read, in order, at most so much; and the
    names of its users.
    """
    values = {
        "owner": session.owner,
        "session": session.session,
        "after": session.done,
        "last": session.last_seq,
        "limit": limit,
    }
    words = connection.queue(load("change/store")["own_words"], values)
    speakers = connection.queue(
        load("change/store")["speakers"], {"owner": session.owner, "session": session.session}
    )
    return lambda: (
        [
            OwnWord(row["id"], row["node_id"], row["seq"], row["at"], row["name"], row["content"])
            for row in words.rows
        ],
        [name for row in speakers.rows for name in row["names"] or ()],
    )


def drop_facts(connection: Connection, session: ChangedSession) -> None:
    """Delete what the messages of a session said, before they are read again."""
    connection.queue(
        load("change/store")["drop_facts"], {"owner": session.owner, "session": session.session}
    )


def insert_facts(
    connection: Connection, facts: Sequence[tuple[UUID, Fact]], *, owner: str, model: str = ""
) -> None:
    """Store facts with the mentions that say them; none of a mention that is gone."""
    if not facts:
        return
    values: Mapping[str, Any] = {
        "owner": owner, "model": model,
        "mentions": [mention for mention, _ in facts], "keys": [key_of(fact) for _, fact in facts],
        "retracts": [fact.retracts for _, fact in facts],
        "sections": [fact.section for _, fact in facts], "slots": [fact.slot for _, fact in facts],
        "values": [fact.value for _, fact in facts], "lines": [fact.line for _, fact in facts],
    }  # fmt: skip
    connection.queue(load("change/store")["insert_facts"], values)


def facts(connection: Connection, *, owner: str) -> list[Stated]:
    """Return what is known of an owner by messages that are not forgotten, oldest first."""
    return queue_facts(connection, owner=owner)()


def queue_facts(connection: Connection, *, owner: str) -> Callable[[], list[Stated]]:
    """`facts`, read with what is sent next."""
    queued = connection.queue(load("change/store")["facts"], {"owner": owner})
    return lambda: [
        Stated(
            fact=Fact(
                section=row["section"],
                slot=row["slot"],
                value=row["value"],
                line=row["line"],
                retracts=row["retracts"],
            ),
            source=ProfileSource(
                mention_id=str(row["mention_id"]),
                node_id=str(row["node_id"]),
                session=row["session"] or None,
                at=row["at"],
                seq=row["seq"],
            ),
        )
        for row in queued.rows
    ]


# -- merges ----------------------------------------------------------------------------------------


def nodes_of_session(connection: Connection, session: ChangedSession) -> list[SaidNode]:
    """The nodes that were mentioned in a session beyond what was read."""
    values = {
        "owner": session.owner,
        "session": session.session,
        "after": session.done,
        "last": session.last_seq,
    }
    return [
        SaidNode(
            row["id"],
            row["content"],
            row["voices"] or (),
            row["days"] or (),
            row["sessions"] or (),
            row["may_merge"],
        )
        for row in connection.execute(load("change/store")["nodes_of_session"], values)
    ]


def put_forms(
    connection: Connection, digests: Mapping[UUID, bytes | None], *, owner: str
) -> list[bytes]:
    """Store the canonical forms of nodes, by their hashes, and give those that are new.

    A node whose form is another than before, or that has none any more, is separated from what it
    was merged with.
    """
    nodes = list(digests)
    known = {
        row["node_id"]: bytes(row["digest"])
        for row in connection.execute(load("change/store")["known_forms"], {"nodes": nodes})
    }
    changed = [node for node in known if digests[node] != known[node]]
    if changed:
        connection.execute(load("change/store")["drop_forms"], {"nodes": changed})
        connection.execute(load("change/store")["separate"], {"nodes": changed})
    new = {
        node: digest
        for node, digest in digests.items()
        if digest is not None and known.get(node) != digest
    }
    if new:
        connection.execute(
            load("change/store")["insert_forms"],
            {"owner": owner, "nodes": list(new), "digests": list(new.values())},
        )
    return sorted(set(new.values()))


def merge_same(
    connection: Connection, digests: Sequence[bytes], *, owner: str, robot: str, at: datetime
) -> list[UUID]:
    """Merge the nodes of each of these forms into one, and give those that were merged into
    another.
    """
    values = {"owner": owner, "digests": list(digests), "robot": robot, "at": at}
    return (
        [row["node_id"] for row in connection.execute(load("change/store")["merge_same"], values)]
        if digests
        else []
    )


def merges(
    connection: Connection, *, owner: str, limit: int, nodes: Sequence[UUID] | None = None
) -> list[Merge]:
    """The merges of an owner, newest first: all, or those of some nodes."""
    values = {"owner": owner, "limit": limit, "nodes": None if nodes is None else list(nodes)}
    return [
        Merge(
            node_id=str(row["node_id"]),
            into_id=str(row["into_id"]),
            content=row["content"],
            into_content=row["into_content"],
            robot=row["robot"],
            at=row["merged_at"],
        )
        for row in connection.execute(load("change/store")["merges"], values)
    ]


def undo(connection: Connection, node: UUID, *, owner: str, at: datetime) -> list[UUID]:
    """Undo the merge of a node, or those into it, and give the nodes that stand for themselves
    again.
    """
    rows = connection.execute(
        load("change/store")["undo"], {"owner": owner, "node": node, "at": at}
    )
    return [row["node_id"] for row in rows]


def group_of(connection: Connection, node: UUID) -> list[UUID]:
    """All nodes that are merged with a node, itself too."""
    return [
        row["id"] for row in connection.execute(load("change/store")["group_of"], {"node": node})
    ]


def merged_among(read: Reader, nodes: Sequence[UUID]) -> dict[UUID, UUID]:
    """Map nodes to those that represent them, as far as one of each pair is among these."""
    rows = read(load("change/store")["merged_among"], {"nodes": list(nodes)})
    return {row["node_id"]: row["into_id"] for row in rows}


# -- summaries -------------------------------------------------------------------------------------


def messages(connection: Connection, session: ChangedSession, *, limit: int) -> list[Message]:
    """The last messages of a session, in their order: what its user and assistants said."""
    values = {
        "owner": session.owner,
        "session": session.session,
        "last": session.last_seq,
        "limit": limit,
    }
    rows = connection.execute(load("change/store")["messages"], values).fetchall()
    return [
        Message(
            row["id"],
            row["seq"],
            row["at"],
            row["role"],
            row["name"],
            row["content"],
            row["vector"],
        )
        for row in reversed(rows)
    ]


def are_there(connection: Connection, mentions: Sequence[UUID]) -> bool:
    """True if none of these messages was forgotten or erased meanwhile; they are locked against it
    until the transaction ends.
    """
    row = connection.execute(
        load("change/store")["hidden_since"], {"mentions": list(mentions)}
    ).fetchone()
    return row is not None and row["there"] == len(set(mentions))


def put_summary(connection: Connection, summary: Summary, session: ChangedSession) -> None:
    """Store what a session was about, in place of what was there."""
    values = {
        "owner": session.owner, "session": session.session, "last": session.last_seq,
        "lines": list(summary.lines), "sources": [UUID(id) for id in summary.sources],
        "messages": summary.messages, "first_at": summary.first_at, "last_at": summary.last_at,
        "at": summary.made_at, "model": summary.model,
    }  # fmt: skip
    connection.execute(load("change/store")["put_summary"], values)


def drop_summary(connection: Connection, session: ChangedSession) -> None:
    """Delete the summary of a session that has too little left for one."""
    connection.execute(
        load("change/store")["drop_summary"], {"owner": session.owner, "session": session.session}
    )


def summaries(
    connection: Connection, *, owner: str, session: str | None, limit: int
) -> list[Summary]:
    """The summaries of an owner, the latest session first."""
    rows = connection.execute(
        load("change/store")["summaries"], {"owner": owner, "session": session, "limit": limit}
    )
    return [summary_of(row) for row in rows]


def summary_of(row: Row) -> Summary:
    """A summary, from its row."""
    return Summary(
        session=row["session"] or None,
        lines=tuple(row["lines"]),
        sources=tuple(map(str, row["sources"])),
        messages=row["messages"],
        first_at=row["first_at"],
        last_at=row["last_at"],
        made_at=row["made_at"],
        model=row["model"],
    )


# -- jobs ------------------------------------------------------------------------------------------


def queue(connection: Connection, kind: TidyKind, *, rules: int, quiet: float) -> int:
    """Queue a job for each tenant that has something to tidy, and return for how many."""
    values = {"kind": kind, "rules": rules, "quiet": quiet}
    row = connection.execute(load("change/store")["queue"], values).fetchone()
    assert row is not None  # a select without from has one row
    return int(row["queued"])


def enqueue(connection: Connection, kind: TidyKind) -> None:
    """Queue a job that tidies the tenant."""
    connection.queue(load("change/store")["enqueue"], {"kind": kind})
