"""Places: where mentions are kept in the palace and until when, and the audit of what was decided and consulted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..rules.places import Drawer, Placed, Room, note_owner_prefix
from . import nodes, working
from .database import Connection, Row
from .queries import load


def put(
    connection: Connection, mentions: Sequence[UUID], *, owner: str, kind: str, at: datetime,
    where: Sequence[tuple[str, str]] | None = None, expires: datetime | None = None, uri: str | None = None,
    facts: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Give mentions their places, each its (room, drawer), or none."""
    rooms = where or [("", "")] * len(mentions)
    values = {
        "mentions": list(mentions), "rooms": [room for room, _ in rooms], "drawers": [drawer for _, drawer in rooms],
        "owner": owner, "kind": kind, "at": at, "expires": expires, "uri": uri, "facts": Jsonb(dict(facts or {})),
    }  # fmt: skip
    connection.execute(load("places")["put"], values)


def look(
    connection: Connection, *, owners: Sequence[str], kinds: Sequence[str], now: datetime, limit: int | None,
    room: str | None = None, drawer: str | None = None, uri: str | None = None, robot: str | None = None,
    since: datetime | None = None,
) -> list[Placed]:  # fmt: skip
    """What lies in the palace, newest first."""
    values = {
        "owners": list(owners), "kinds": list(kinds), "now": now, "limit": limit, "room": room, "drawer": drawer,
        "uri": uri, "robot": robot, "since": since,
    }  # fmt: skip
    return [_placed(row) for row in connection.execute(load("places")["look"], values)]


def by_mention(connection: Connection, mention: UUID, *, owners: Sequence[str], now: datetime) -> Placed | None:
    """One place; None when there is none of these owners, or not any more."""
    values = {"mentions": [mention], "owners": list(owners), "now": now}
    row = connection.execute(load("places")["by_mentions"], values).fetchone()
    return None if row is None else _placed(row)


def by_nodes(
    connection: Connection, ids: Sequence[UUID], *, owners: Sequence[str], kinds: Sequence[str], now: datetime,
    room: str | None = None, drawer: str | None = None,
) -> dict[str, Placed]:  # fmt: skip
    """The newest place of each of these nodes, as far as they have one."""
    values = {
        "nodes": list(ids),
        "owners": list(owners),
        "kinds": list(kinds),
        "now": now,
        "room": room,
        "drawer": drawer,
    }
    return {str(row["node_id"]): _placed(row) for row in connection.execute(load("places")["by_nodes"], values)}


def rooms(connection: Connection, *, owners: Sequence[str]) -> list[Room]:
    """The rooms with their drawers, by name."""
    rows = connection.execute(load("places")["rooms"], {"owners": list(owners)}).fetchall()
    return [Room(name=name, drawers=tuple(map(_drawer, of))) for name, of in groupby(rows, key=lambda row: row["room"])]


def move(connection: Connection, mention: UUID, *, owner: str, room: str, drawer: str) -> bool:
    """Put what is filed into another drawer, and say whether it was there."""
    values = {"mention": mention, "owner": owner, "room": room, "drawer": drawer}
    return connection.execute(load("places")["move"], values).fetchone() is not None


def hide(
    connection: Connection, mentions: Sequence[UUID], *, owner: str, by: str, at: datetime
) -> tuple[int, set[UUID]]:
    """Hide these mentions; the answer is how many, and the nodes that went with their last."""
    values = {"mentions": list(mentions), "owner": owner, "by": by, "at": at}
    rows = connection.execute(load("places")["hide"], values).fetchall()
    return len(rows), _let_go(connection, rows)


def sweep(connection: Connection, *, now: datetime, by: str) -> set[UUID]:
    """Hide the notes whose time is up, a thousand at a time; the answer is the nodes that went with their last mention."""
    return _let_go(connection, connection.execute(load("places")["sweep"], {"now": now, "by": by}).fetchall())


def _let_go(connection: Connection, rows: Iterable[Row]) -> set[UUID]:
    touched = {row["node_id"] for row in rows if row["node_id"] is not None}
    if not touched:
        return set()
    nodes.refresh(connection, touched, described=touched)
    gone = touched - nodes.live(connection, sorted(touched))
    working.remove_dead(connection, sorted(gone))
    return gone


def lock_drawer(connection: Connection, *, owner: str, room: str, drawer: str) -> None:
    """Be the only one who promotes into a drawer until the transaction ends."""
    connection.execute(load("places")["lock_drawer"], {"owner": owner, "room": room, "drawer": drawer})


def mark_promoted(connection: Connection, note: UUID, *, at: datetime | None) -> None:
    """Surface a note no more, since it was promoted; or again, with None."""
    connection.execute(load("places")["promoted"], {"mention": note, "at": at})


def decide(connection: Connection, row: Mapping[str, Any]) -> None:
    """Write down a decision."""
    connection.execute(load("places")["decide"], {**row, "against": Jsonb(row["against"])})


def decisions(connection: Connection, *, owner: str, limit: int, id: UUID | None = None) -> list[Row]:
    """Decisions, newest first."""
    return connection.execute(load("places")["decisions"], {"owner": owner, "limit": limit, "id": id}).fetchall()


def is_undone(connection: Connection, decision: UUID) -> bool:
    """Whether a decision was taken back already."""
    return connection.execute(load("places")["undone"], {"id": decision}).fetchone() is not None


def consulted(connection: Connection, row: Mapping[str, Any]) -> None:
    """Write down a consultation."""
    connection.execute(load("places")["consulted"], {**row, "layers": Jsonb(row["layers"])})


def consultations(connection: Connection, *, owner: str, limit: int) -> list[Row]:
    """Consultations, newest first."""
    return connection.execute(load("places")["consultations"], {"owner": owner, "limit": limit}).fetchall()


def woke(connection: Connection, *, owner: str, robot: str) -> datetime | None:
    """When a robot woke up last."""
    row = connection.execute(load("places")["woke"], {"owner": owner, "robot": robot}).fetchone()
    return None if row is None else row["at"]


def wake(connection: Connection, *, owner: str, robot: str, at: datetime) -> None:
    """Write down that a robot wakes up now."""
    connection.execute(load("places")["wake"], {"owner": owner, "robot": robot, "at": at})


def note_owners(connection: Connection, *, owner: str) -> list[str]:
    """Whose the notes of all sessions of a user are."""
    return [
        row["owner"] for row in connection.execute(load("places")["note_owners"], {"prefix": note_owner_prefix(owner)})
    ]


def erase(connection: Connection, *, owner: str, session: str | None) -> None:
    """Erase the audit of an owner, or of one session of theirs; places go with their mentions."""
    connection.execute(load("places")["erase"], {"owner": owner, "session": session})


def _drawer(row: Row) -> Drawer:
    return Drawer(name=row["drawer"], places=row["places"], filed_at=row["filed_at"])


def _placed(row: Row) -> Placed:
    return Placed(
        id=str(row["mention_id"]), node_id=str(row["node_id"]), kind=row["kind"], content=row["content"],
        tokens=row["tokens"], importance=row["importance"], room=row["room"], drawer=row["drawer"], robot=row["robot"],
        session=row["session"] or None, at=row["at"], filed_at=row["filed_at"], expires_at=row["expires_at"],
        promoted_at=row["promoted_at"], uri=row["uri"], facts=row["facts"],
    )  # fmt: skip
