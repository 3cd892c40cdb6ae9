"""Mentions that are read: who said it, when and where, in the exact order of each session; and the
log of a chat.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from ..base.identity import ANONYMOUS
from ..base.places import NOTE_OWNER_PREFIX
from ..base.types import Mention, Window
from ..db.connection import Reader
from ..db.database import Connection, Row
from ..db.queries import load
from ..db.records import WrittenEntry, mention_of, multirange

LOOKED_AT = 200  # owners, among which users are looked for whose names can be given

# Gives the entries of a log that were read with what was sent.
Queue = Callable[[], list[tuple[str | None, Mention]]]


def nodes_of_ids(
    connection: Connection, ids: Sequence[tuple[str, str]], *, owner: str
) -> dict[tuple[str, str], UUID | None]:
    """Return those of these (session, caller's id) that have a mention, each with its node (None
    when it has no text).
    """
    values = {
        "owner": owner,
        "sessions": [session for session, _ in ids],
        "ids": [id for _, id in ids],
    }
    rows = connection.execute(load("writing/mentions")["nodes_of_ids"], values)
    return {(row["session"], row["external_id"]): row["node_id"] for row in rows}


def of_conversations(
    connection: Connection, sessions: Sequence[str], *, owner: str
) -> list[dict[str, Any]]:
    """The messages of sessions that have ids of their own: id, session, external_id, at, forgotten,
    forgotten_by.
    """
    return connection.execute(
        load("writing/mentions")["of_conversations"], {"owner": owner, "sessions": list(sessions)}
    ).fetchall()


def said_in(
    connection: Connection, sessions: Sequence[str], *, owner: str, but: str
) -> list[dict[str, Any]]:
    """Read the messages of sessions, in order: session, external_id, role, node_id, at; without
    those that `but` has forgotten.
    """
    return connection.execute(
        load("writing/mentions")["said_in"],
        {"owner": owner, "sessions": list(sessions), "but": but},
    ).fetchall()


def timeline(
    read: Reader,
    *,
    owners: Sequence[str],
    owner_prefix: str | None,
    session: str | None,
    robot: str | None,
    windows: Sequence[Window],
    limit: int,
    before: UUID | None,
    after: UUID | None,
    forgotten: bool,
    as_of: datetime | None = None,
) -> list[Mention]:
    """The latest mentions (or the first ones after `after`), ascending.

    Across sessions it includes the mentions of owners with names that begin with `owner_prefix`.
    """
    statement = ("latest" if after is None else "following") + (
        "" if session is None else "_in_session"
    )
    filters = {
        "owners": list(owners),
        "owner_prefix": owner_prefix,
        "session": session,
        "robot": robot,
        "windows": multirange(windows),
        "limit": limit,
        "before": before,
        "after": after,
        "forgotten": forgotten,
        "as_of": as_of,
    }
    mentions = [mention_of(row) for row in read(load("writing/mentions")[statement], filters)]
    return mentions if after is not None else mentions[::-1]


def existing(
    read: Reader, ids: Sequence[UUID], *, owners: Sequence[str], owner_prefix: str | None
) -> set[UUID]:
    """Return those of these mentions that exist, forgotten or not."""
    values = {"ids": list(ids), "owners": list(owners), "owner_prefix": owner_prefix}
    return {row["id"] for row in read(load("writing/mentions")["existing"], values)}


def of_nodes(
    connection: Connection, nodes: Sequence[UUID], *, owners: Sequence[str]
) -> list[Mention]:
    """The mentions of these nodes that are not forgotten, newest first."""
    values = {"nodes": list(nodes), "owners": list(owners)}
    return [
        mention_of(row) for row in connection.execute(load("writing/mentions")["of_nodes"], values)
    ]


def by_id(connection: Connection, ids: Sequence[UUID]) -> dict[UUID, Mention]:
    """Mentions by id, without forgotten ones."""
    return queue_by_id(connection, ids)()


def queue_by_id(connection: Connection, ids: Sequence[UUID]) -> Callable[[], dict[UUID, Mention]]:
    """`by_id`, read with what is sent next, or with the end of the transaction."""
    queued = connection.queue(load("writing/mentions")["by_id"], {"ids": list(ids)})
    return lambda: {row["id"]: mention_of(row) for row in queued.rows}


def tail(
    read: Reader,
    *,
    owner: str,
    session: str,
    limit: int | None,
    archived: bool | None = None,
    forgotten: bool = False,
) -> list[tuple[str | None, Mention]]:
    """The last `limit` messages of a session's log with the callers' ids, ascending; a limit of
    None means all.
    """
    values = {
        "owner": owner,
        "session": session,
        "limit": limit,
        "archived": archived,
        "forgotten": forgotten,
    }
    return _entries(read(load("writing/mentions")["tail"], values))


def queue_tail(connection: Connection, *, owner: str, session: str, limit: int) -> Queue:
    """`tail`, read with what is sent next, or with the end of the transaction."""
    values = {"owner": owner, "session": session, "limit": limit}
    queued = connection.queue(
        load("writing/mentions")["tail"], {**values, "archived": None, "forgotten": False}
    )
    return lambda: _entries(queued.rows)


def _entries(rows: Sequence[Row]) -> list[tuple[str | None, Mention]]:
    return [(row["external_id"], mention_of(row)) for row in reversed(rows)]


def beginning(
    read: Reader, *, owner: str, session: str, limit: int
) -> list[tuple[str | None, Mention]]:
    """The first `limit` messages of a session's log, as `tail` has its last ones."""
    values = {"owner": owner, "session": session, "limit": limit}
    return [
        (row["external_id"], mention_of(row))
        for row in read(load("writing/mentions")["beginning"], values)
    ]


def clear_log(connection: Connection, *, owner: str, session: str) -> set[UUID]:
    """Empty a session's log and return what was in it; its messages stay in long-term memory."""
    rows = connection.execute(
        load("writing/mentions")["clear_log"], {"owner": owner, "session": session}
    )
    return {row["id"] for row in rows}


def archive(connection: Connection, ids: Sequence[UUID], *, owner: str, session: str) -> set[UUID]:
    """Archive messages of a session's log and return those that were not archived before."""
    values = {"owner": owner, "session": session, "ids": list(ids)}
    return {row["id"] for row in connection.execute(load("writing/mentions")["archive"], values)}


def drop_from_log(
    connection: Connection, ids: Sequence[UUID], *, owner: str, session: str
) -> set[UUID]:
    """Remove messages from a session's log and return those that were in it."""
    values = {"owner": owner, "session": session, "ids": list(ids)}
    return {
        row["id"] for row in connection.execute(load("writing/mentions")["drop_from_log"], values)
    }


def attached(
    connection: Connection,
    ids: Sequence[UUID],
    *,
    owner: str,
    session: str,
    kept: Sequence[UUID] = (),
) -> list[UUID]:
    """The mentions that came with some messages of a session, as a file's texts do; without those
    in `kept`.
    """
    values = {"owner": owner, "session": session, "ids": list(ids), "kept": list(kept)}
    return (
        [row["id"] for row in connection.execute(load("writing/mentions")["attached"], values)]
        if ids
        else []
    )


def attached_to_nodes(
    connection: Connection,
    nodes: Sequence[UUID],
    *,
    owner: str,
    robot: str | None = None,
    hidden: bool = False,
) -> list[tuple[UUID, UUID]]:
    """Return the mentions that came with the messages of these nodes, with their nodes; with
    `hidden` those hidden with them.
    """
    values = {"nodes": list(nodes), "owner": owner, "robot": robot, "hidden": hidden}
    rows = (
        connection.execute(load("writing/mentions")["attached_to_nodes"], values) if nodes else ()
    )
    return [(row["id"], row["node_id"]) for row in rows]


def detach(connection: Connection, ids: Sequence[UUID]) -> None:
    """Part what came with messages from them."""
    if ids:
        connection.execute(load("writing/mentions")["detach"], {"ids": list(ids)})


def logged_sessions(connection: Connection, *, owner: str, owner_pattern: str | None) -> list[str]:
    """The sessions with a log of an owner, and of owners with names like
    `owner_pattern`, sorted.
    """
    rows = connection.execute(
        load("writing/mentions")["logged_sessions"],
        {"owner": owner, "owner_pattern": owner_pattern},
    )
    return [row["session"] for row in rows]


def latest_sessions(
    connection: Connection, *, owners: Sequence[str], limit: int
) -> list[tuple[str, datetime]]:
    """The sessions in which something was said last, and when; the latest first, without those of
    files.
    """
    rows = connection.execute(
        load("writing/mentions")["latest_sessions"], {"owners": list(owners), "limit": limit}
    )
    return [(row["session"], row["at"]) for row in rows]


def session_titles(
    connection: Connection, sessions: Sequence[str], *, owners: Sequence[str]
) -> dict[str, tuple[str | None, str | None]]:
    """Of each session its stored title and the beginning of what a user said first in it; None
    where there is none.
    """
    rows = connection.execute(
        load("writing/mentions")["session_titles"],
        {"sessions": list(sessions), "owners": list(owners)},
    )
    return {row["session"]: (row["title"], row["opening"]) for row in rows}


def place_in_log(connection: Connection, mentions: Sequence[UUID]) -> None:
    """Make these mentions the log, in this order; call `clear_log` first."""
    connection.execute(
        load("writing/mentions")["place_in_log"],
        {"ids": list(mentions), "positions": list(range(1 - len(mentions), 1))},
    )


def bring_back(
    connection: Connection, written: Sequence[WrittenEntry], *, owner: str, session: str
) -> None:
    """Put messages that had left the log at its end, where they are appended again, with the fresh
    ones and in this order.
    """
    fresh = {each.mention: not each.known for each in written}
    if not all(fresh.values()):
        values = {
            "ids": list(fresh),
            "fresh": list(fresh.values()),
            "owner": owner,
            "session": session,
        }
        connection.queue(load("writing/mentions")["bring_back"], values)


def named_users(connection: Connection, *, limit: int) -> list[str]:
    """The names of some users who have memories, in their order; the transaction must see all
    owners.
    """
    values = {"limit": limit, "looked": LOOKED_AT, "reserved": [ANONYMOUS, NOTE_OWNER_PREFIX]}
    return [
        row["owner"] for row in connection.execute(load("writing/mentions")["named_users"], values)
    ]
