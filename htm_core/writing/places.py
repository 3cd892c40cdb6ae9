"""Places: where the palace keeps mentions and until when, and the audit of decisions and
consultations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from ..base.places import Drawer, Placed, Room, note_owner_prefix
from ..db.connection import Queued, Reader
from ..db.database import Connection, Row
from ..db.queries import load
from ..db.transactions import take_locks
from ..working import store
from . import nodes


def insert(
    connection: Connection,
    mentions: Sequence[UUID],
    *,
    owner: str,
    kind: str,
    at: datetime,
    where: Sequence[tuple[str, str]] | None = None,
    expires: datetime | None = None,
    uris: Sequence[str | None] | None = None,
    facts: Sequence[Mapping[str, Any]] | None = None,
) -> None:
    """Insert a place for each mention; `where` has a (room, drawer) for each, or is None for none.
    So have `uris` and `facts`.
    """
    rooms = where or [("", "")] * len(mentions)
    values = {
        "mentions": list(mentions), "rooms": [room for room, _ in rooms],
        "drawers": [drawer for _, drawer in rooms], "owner": owner, "kind": kind, "at": at,
        "expires": expires, "uris": list(uris or [None] * len(mentions)),
        "facts": [Jsonb(dict(each)) for each in facts or [{}] * len(mentions)],
    }  # fmt: skip
    connection.execute(load("writing/places")["insert"], values)


def list_places(
    read: Reader,
    *,
    owners: Sequence[str],
    kinds: Sequence[str],
    now: datetime,
    limit: int | None,
    room: str | None = None,
    drawer: str | None = None,
    uri: str | None = None,
) -> list[Placed]:
    """The places that satisfy the filters, newest first, without forgotten and expired ones."""
    values = _filters(owners, kinds, now, limit) | {"room": room, "drawer": drawer, "uri": uri}
    return [_placed(row) for row in read(load("writing/places")["list_places"], values)]


def _filters(
    owners: Sequence[str], kinds: Sequence[str], now: datetime, limit: int | None
) -> dict[str, Any]:
    return {
        "owners": list(owners), "kinds": list(kinds), "now": now, "limit": limit, "room": None,
        "drawer": None, "uri": None,
    }  # fmt: skip


def by_mention(
    connection: Connection, mention: UUID, *, owners: Sequence[str], now: datetime
) -> Placed | None:
    """The place of a mention; None when these owners have none, or when it is
    forgotten or expired.
    """
    values = {"mentions": [mention], "owners": list(owners), "now": now}
    row = connection.execute(load("writing/places")["by_mentions"], values).fetchone()
    return None if row is None else _placed(row)


def by_nodes(
    read: Reader,
    ids: Sequence[UUID],
    *,
    owners: Sequence[str],
    kinds: Sequence[str],
    now: datetime,
    room: str | None = None,
    drawer: str | None = None,
) -> dict[str, Placed]:
    """The newest place of each of these nodes, for those that have one."""
    values = {
        "nodes": list(ids),
        "owners": list(owners),
        "kinds": list(kinds),
        "now": now,
        "room": room,
        "drawer": drawer,
    }
    return {
        str(row["node_id"]): _placed(row)
        for row in read(load("writing/places")["by_nodes"], values)
    }


def rooms(read: Reader, *, owners: Sequence[str]) -> list[Room]:
    """The rooms with their drawers, by name."""
    return _rooms(read(load("writing/places")["rooms"], {"owners": list(owners)}))


@dataclass(frozen=True, slots=True)
class Surveyed:
    """The contents of a palace: whether a session has notes, whether notes of anybody have expired
    and are still to be hidden, (room, drawer) of all drawers, and what is kept of some kinds.
    """

    notes: bool
    expired: bool
    names: list[tuple[str, str]]
    kept: list[Placed]


def queue_survey(
    connection: Connection,
    *,
    note_owner: str,
    owners: Sequence[str],
    kinds: Sequence[str],
    now: datetime,
    limit: int,
) -> Callable[[], Surveyed]:
    """The contents, with the names of at most `limit` drawers, read with what is sent next."""
    statements = load("writing/places")
    survey = connection.queue(statements["survey"], {"note_owner": note_owner, "now": now})
    names = connection.queue(statements["names"], {"owners": list(owners), "limit": limit})
    kept = connection.queue(statements["list_places"], _filters(owners, kinds, now, None))
    return lambda: Surveyed(
        **survey.rows[0],
        names=[(row["room"], row["drawer"]) for row in names.rows],
        kept=[_placed(row) for row in kept.rows],
    )


def queue_waking(
    connection: Connection,
    *,
    owner: str,
    robot: str,
    owners: Sequence[str],
    now: datetime,
    limit: int,
) -> Callable[[], tuple[datetime | None, list[Room], list[Placed]]]:
    """When a robot last woke up, the rooms, and the newest of what is filed, read with what is sent
    next; it wakes up now.
    """
    statements = load("writing/places")
    last = connection.queue(statements["last_wake"], {"owner": owner, "robot": robot})
    rooms = connection.queue(statements["rooms"], {"owners": list(owners)})
    newest = connection.queue(statements["list_places"], _filters(owners, ["filed"], now, limit))
    connection.queue(statements["set_wake"], {"owner": owner, "robot": robot, "at": now})
    return lambda: (
        last.rows[0]["at"] if last.rows else None,
        _rooms(rooms.rows),
        [_placed(row) for row in newest.rows],
    )


def contradicted(
    read: Reader, ids: Sequence[UUID], *, owners: Sequence[str], now: datetime
) -> dict[str, list[Placed]]:
    """Return what is filed and known to contradict each of these nodes, by the node's id."""
    values = {"nodes": list(ids), "owners": list(owners), "now": now}
    by_node: dict[str, list[Placed]] = {}
    for row in read(load("writing/places")["contradicted"], values):
        by_node.setdefault(str(row["against"]), []).append(_placed(row))
    return by_node


def move(connection: Connection, mention: UUID, *, owner: str, room: str, drawer: str) -> bool:
    """Move a filed mention to another drawer; False when it is not filed."""
    values = {"mention": mention, "owner": owner, "room": room, "drawer": drawer}
    return connection.execute(load("writing/places")["move"], values).fetchone() is not None


def hide(
    connection: Connection, mentions: Sequence[UUID], *, owner: str, by: str, at: datetime
) -> tuple[int, set[UUID]]:
    """Hide these mentions; returns how many, and the nodes hidden with their last mention."""
    values = {"mentions": list(mentions), "owner": owner, "by": by, "at": at}
    rows = connection.execute(load("writing/places")["hide"], values).fetchall()
    return len(rows), _hide_unmentioned(connection, rows)


def queue_sweep(connection: Connection, *, now: datetime, by: str) -> Queued:
    """Have up to a thousand expired notes hidden with what is sent next; `finish_sweep` goes on."""
    return connection.queue(load("writing/places")["sweep"], {"now": now, "by": by})


def finish_sweep(connection: Connection, swept: Queued) -> set[UUID]:
    """Hide the nodes whose last mention was swept in this transaction, and return them."""
    return _hide_unmentioned(connection, swept.rows)


def _hide_unmentioned(connection: Connection, rows: Iterable[Row]) -> set[UUID]:
    touched = {row["node_id"] for row in rows if row["node_id"] is not None}
    if not touched:
        return set()
    nodes.refresh(connection, touched, described=touched)
    gone = touched - nodes.live(connection, sorted(touched))
    store.remove_dead(connection, sorted(gone))
    return gone


def lock_drawer(connection: Connection, *, owner: str, room: str, drawer: str) -> None:
    """Lock a drawer until the transaction ends: two promotions at the same time would each miss
    what the other files.
    """
    take_locks(connection, "drawer", (owner, room, drawer))


def mark_promoted(connection: Connection, note: UUID, *, at: datetime | None) -> None:
    """Mark a note as promoted, so that it is no longer shown; with None it is shown again."""
    connection.execute(load("writing/places")["mark_promoted"], {"mention": note, "at": at})


def add_decision(connection: Connection, row: Mapping[str, Any]) -> None:
    """Add a decision to the audit."""
    connection.execute(
        load("writing/places")["add_decision"], {**row, "against": Jsonb(row["against"])}
    )


def decisions(
    connection: Connection, *, owner: str, limit: int, id: UUID | None = None
) -> list[Row]:
    """Decisions, newest first."""
    return connection.execute(
        load("writing/places")["decisions"], {"owner": owner, "limit": limit, "id": id}
    ).fetchall()


def is_undone(connection: Connection, decision: UUID) -> bool:
    """True if a decision was undone before."""
    return (
        connection.execute(load("writing/places")["is_undone"], {"id": decision}).fetchone()
        is not None
    )


def add_consultation(connection: Connection, row: Mapping[str, Any]) -> None:
    """Add a consultation to the audit."""
    connection.queue(
        load("writing/places")["add_consultation"], {**row, "layers": Jsonb(row["layers"])}
    )


def consultations(connection: Connection, *, owner: str, limit: int) -> list[Row]:
    """Consultations, newest first."""
    return connection.execute(
        load("writing/places")["consultations"], {"owner": owner, "limit": limit}
    ).fetchall()


def note_owners(connection: Connection, *, owner: str) -> list[str]:
    """The owners of the notes of all sessions of a user."""
    return [
        row["owner"]
        for row in connection.execute(
            load("writing/places")["note_owners"], {"prefix": note_owner_prefix(owner)}
        )
    ]


def erase_audit(connection: Connection, *, owner: str, session: str | None) -> None:
    """Delete the audit of an owner or of one session; places are deleted with their mentions."""
    connection.execute(load("writing/places")["erase_audit"], {"owner": owner, "session": session})


def _rooms(rows: Sequence[Row]) -> list[Room]:
    return [
        Room(name=name, drawers=tuple(map(_drawer, of)))
        for name, of in groupby(rows, key=lambda row: row["room"])
    ]


def _drawer(row: Row) -> Drawer:
    return Drawer(name=row["drawer"], places=row["places"], filed_at=row["filed_at"])


def _placed(row: Row) -> Placed:
    return Placed(
        id=str(row["mention_id"]),
        node_id=str(row["node_id"]),
        kind=row["kind"],
        content=row["content"],
        tokens=row["tokens"],
        importance=row["importance"],
        room=row["room"],
        drawer=row["drawer"],
        robot=row["robot"],
        session=row["session"] or None,
        at=row["at"],
        filed_at=row["filed_at"],
        expires_at=row["expires_at"],
        promoted_at=row["promoted_at"],
        uri=row["uri"],
        facts=row["facts"],
        owner=row["owner"],
    )
