"""The three ways to forget: hide, purge after some time, erase at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from uuid import UUID

from ..base.places import NOTE_OWNER_PREFIX, note_owner
from ..db import jobs
from ..db.database import Connection, Row
from ..db.queries import load
from ..working import store
from . import keys, mentions, nodes, places, quotes, relations

COUNTED = (
    # in so many passages a word stands at least of which the statistics of words know
    # (functions/word_counts.sql)
    20
)
EXPIRY = "htm:expiry"  # who has forgotten what has expired; no robot has such a name by accident


def forget(
    connection: Connection,
    group: Sequence[UUID],
    *,
    owner: str,
    by: str,
    robot: str | None,
    at: datetime,
) -> tuple[int, list[UUID]]:
    """Hide the mentions of nodes (only those of `robot`, if given), and the files that came with
    them; the last hides its node.

    What quotes a node that is hidden is hidden with it.

    Returns how many of the nodes' own mentions were hidden, and the nodes that are not live any
    more.
    """
    came_with = mentions.attached_to_nodes(connection, group, owner=owner, robot=robot)
    touched = sorted({*group, *(node for _, node in came_with)})
    connection.execute(load("writing/forgetting")["lock_nodes"], {"ids": touched})
    values = {"owner": owner, "by": by, "at": at}
    hidden = 0
    for node in group:
        hidden += len(
            connection.execute(
                load("writing/forgetting")["forget"], values | {"node": node, "robot": robot}
            ).fetchall()
        )
    if not hidden:
        return 0, []
    connection.execute(
        load("writing/forgetting")["forget_mentions"], values | {"ids": [id for id, _ in came_with]}
    )
    return hidden, _hide(connection, touched, owner=owner, by=by, at=at)


def _hide(
    connection: Connection, touched: Sequence[UUID], *, owner: str, by: str, at: datetime
) -> list[UUID]:
    """Hide nodes that no mention keeps any more, and what quotes them; returns those that are not
    live.
    """
    nodes.refresh(connection, touched, described=touched)
    gone = sorted(set(touched) - nodes.live(connection, touched))
    gone += quotes.forget(connection, gone, owner=owner, by=by, at=at)
    store.remove_dead(connection, sorted({*touched, *gone}))
    return gone


def forget_mentions(
    connection: Connection, ids: Sequence[UUID], *, owner: str, by: str, at: datetime
) -> list[UUID]:
    """Hide single mentions; returns the nodes that are not live any more, since no other mention
    keeps them.
    """
    return hide_mentions(connection, ids, owner=owner, by=by, at=at)[1]


def hide_mentions(
    connection: Connection, ids: Sequence[UUID], *, owner: str, by: str, at: datetime
) -> tuple[int, list[UUID]]:
    """Hide single mentions; returns how many, and the nodes that are not live any more."""
    values = {"ids": list(ids), "owner": owner, "by": by, "at": at}
    if ids:
        connection.execute(load("writing/forgetting")["lock_nodes_of_mentions"], values)
    rows = (
        connection.execute(load("writing/forgetting")["forget_mentions"], values).fetchall()
        if ids
        else []
    )
    touched = sorted({row["node_id"] for row in rows if row["node_id"] is not None})
    return len(rows), _hide(connection, touched, owner=owner, by=by, at=at) if touched else []


def mentions_of_key(connection: Connection, node: UUID, *, key: str, owner: str) -> list[UUID]:
    """The mentions of a node that were said for a key and are not forgotten."""
    values = {"node": node, "key": key, "owner": owner}
    return [
        row["id"]
        for row in connection.execute(load("writing/forgetting")["mentions_of_key"], values)
    ]


def restore(connection: Connection, group: Sequence[UUID], *, owner: str) -> int:
    """Bring back the forgotten mentions of nodes, and the files that were hidden with them; returns
    how many of the nodes' own.
    """
    came_with = mentions.attached_to_nodes(connection, group, owner=owner, hidden=True)
    touched = sorted({*group, *(node for _, node in came_with)})
    connection.execute(load("writing/forgetting")["lock_nodes"], {"ids": touched})
    times = quotes.times_forgotten(connection, group)
    shown = 0
    for node in group:
        shown += len(
            connection.execute(
                load("writing/forgetting")["restore"], {"node": node, "owner": owner}
            ).fetchall()
        )
    if shown:
        ids = [id for id, _ in came_with]
        connection.execute(
            load("writing/forgetting")["restore_attached"], {"ids": ids, "owner": owner}
        )
        nodes.refresh(connection, touched, described=touched)
        quotes.restore(connection, group, owner=owner, times=times)
    return shown


def restore_mentions(connection: Connection, ids: Sequence[UUID], *, owner: str) -> None:
    """Bring back single mentions that were forgotten."""
    if ids:
        connection.execute(load("writing/forgetting")["lock_nodes_of_mentions"], {"ids": list(ids)})
    rows = (
        connection.execute(
            load("writing/forgetting")["restore_mentions"], {"ids": list(ids), "owner": owner}
        )
        if ids
        else ()
    )
    touched = sorted({row["node_id"] for row in rows if row["node_id"] is not None})
    if touched:
        nodes.refresh(connection, touched, described=touched)


def node_of_key(connection: Connection, key: str, *, owner: str) -> UUID | None:
    """The newest node of a key, forgotten or not."""
    row = connection.execute(
        load("writing/forgetting")["node_of_key"], {"owner": owner, "key": key}
    ).fetchone()
    return row["node_id"] if row else None


def hide_expired(connection: Connection, *, owner: str) -> list[UUID]:
    """Hide what has expired as if it had been forgotten then; returns the nodes that are not live
    any more.
    """
    values = {"owner": owner, "by": EXPIRY}
    connection.execute(load("writing/forgetting")["lock_nodes_of_expired"], values)
    rows = connection.execute(load("writing/forgetting")["hide_expired"], values).fetchall()
    touched = sorted({row["node_id"] for row in rows if row["node_id"] is not None})
    if not touched:
        return []
    nodes.refresh(connection, touched, described=touched)
    store.remove_dead(connection, touched)
    return sorted(set(touched) - nodes.live(connection, touched))


def sweep(
    connection: Connection, *, before: datetime, owner: str | None = None
) -> tuple[list[UUID], int]:
    """Hide what has expired, and erase what expired before a time: of an owner, or of all of the
    tenant.

    Returns the nodes that were hidden, and how many were deleted.
    """
    values = {"owner": owner, "before": before, "by": EXPIRY}
    hidden: list[UUID] = []
    deleted = 0
    for row in connection.execute(
        load("writing/forgetting")["owners_with_expired"], values
    ).fetchall():
        hidden += hide_expired(connection, owner=row["owner"])
        deleted += purge(connection, owner=row["owner"], before=before, by=EXPIRY)["nodes"]
    return hidden, deleted


def tenants_with_expired(connection: Connection, *, before: datetime) -> list[str]:
    """The tenants in which a sweep has something to do."""
    row = connection.execute(
        load("writing/forgetting")["tenants_with_expired"], {"before": before, "by": EXPIRY}
    ).fetchone()
    assert row is not None  # a select without from has one row
    return list(row["tenants"])


def purge(
    connection: Connection, *, owner: str, before: datetime, by: str | None = None
) -> dict[str, int]:
    """Erase for good what was forgotten before a time, with the notes of all sessions, perhaps only
    by one; returns counts.
    """
    counts = Counter[str]()
    for owner_name in [
        owner,
        *(
            []
            if owner.startswith(NOTE_OWNER_PREFIX)
            else places.note_owners(connection, owner=owner)
        ),
    ]:
        values = {"owner": owner_name, "before": before, "by": by}
        connection.execute(load("writing/forgetting")["lock_nodes_of_forgotten"], values)
        rows = connection.execute(load("writing/forgetting")["to_purge"], values).fetchall()
        counts.update(_empty(connection, rows, owner=owner_name))
    return dict(counts)


def _empty(
    connection: Connection, rows: Sequence[Row], *, owner: str, stated: Collection[UUID] = ()
) -> dict[str, int]:
    """Empty mentions, and delete the nodes that no other mention keeps; returns counts. `stated` is
    as for `delete_unmentioned`.
    """
    connection.execute(load("writing/forgetting")["empty"], {"ids": [row["id"] for row in rows]})
    touched = sorted({row["node_id"] for row in rows if row["node_id"] is not None})
    return delete_unmentioned(connection, touched, owner=owner, stated=stated) | {
        "mentions": len(rows)
    }


def erase_owner(connection: Connection, *, owner: str) -> dict[str, int]:
    """Erase everything of one owner, including nodes without mentions and the notes of all
    sessions; returns counts.
    """
    notes = Counter[str]()
    for owner_name in (
        [] if owner.startswith(NOTE_OWNER_PREFIX) else places.note_owners(connection, owner=owner)
    ):
        notes.update(erase_owner(connection, owner=owner_name))
    places.erase_audit(connection, owner=owner, session=None)
    values: dict[str, str | None] = {"owner": owner, "session": None}
    sessions = connection.execute(
        load("writing/forgetting")["drop_sessions"], values
    ).fetchall()  # waits for running writers
    connection.execute(load("writing/forgetting")["lock_nodes_of_owner"], values)
    deleted = connection.execute(
        load("writing/forgetting")["delete_owner_mentions"], values
    ).fetchall()
    nodes_of = [
        row["id"]
        for row in connection.execute(load("writing/forgetting")["nodes_of_owner"], values)
    ]
    counts = delete_unmentioned(connection, nodes_of, owner=owner)
    connection.execute(load("writing/forgetting")["drop_working_sets"], values)
    connection.execute(load("files/store")["drop_all"], values)
    relations.drop_of_owner(connection, owner=owner)  # also those between shared nodes
    notes.update(counts | {"mentions": len(deleted), "sessions": len(sessions)})
    return dict(notes)


def erase_session(connection: Connection, *, owner: str, session: str) -> dict[str, int]:
    """Erase a session: its mentions, its notes, and the nodes that no other mention keeps; returns
    counts.
    """
    notes = Counter[str]()
    if not owner.startswith(NOTE_OWNER_PREFIX):
        notes.update(erase_session(connection, owner=note_owner(owner, session), session=session))
        places.erase_audit(connection, owner=owner, session=session)
    values: dict[str, str | None] = {"owner": owner, "session": session}
    sessions = connection.execute(
        load("writing/forgetting")["drop_session"], values
    ).fetchall()  # waits for running writers
    connection.execute(load("writing/forgetting")["lock_nodes_of_session"], values)
    rows = connection.execute(
        load("writing/forgetting")["delete_session_mentions"], values
    ).fetchall()
    counts = delete_unmentioned(
        connection, [row["node_id"] for row in rows if row["node_id"]], owner=owner
    )
    connection.execute(load("writing/forgetting")["drop_working_sets"], values)
    # its files are no longer loaded
    connection.execute(load("files/store")["drop_session"], values)
    notes.update(counts | {"mentions": len(rows), "sessions": len(sessions)})
    return dict(notes)


def erase_key(connection: Connection, *, owner: str, key: str) -> dict[str, int]:
    """Erase every version of a key: its mentions, and the nodes that no other mention keeps;
    returns counts.
    """
    keys.lock(connection, key, owner=owner)
    connection.execute(
        load("writing/forgetting")["lock_nodes_of_key"], {"owner": owner, "key": key}
    )
    rows = connection.execute(
        load("writing/forgetting")["said_for_key"], {"owner": owner, "key": key}
    ).fetchall()
    gone = connection.execute(
        load("writing/forgetting")["drop_key"], {"owner": owner, "key": key}
    ).fetchall()
    counts = _empty(
        connection, rows, owner=owner, stated={row["node_id"] for row in rows if row["is_told"]}
    )
    return counts | {"keys": counts["keys"] + len(gone)}


def delete_unmentioned(
    connection: Connection, touched: Sequence[UUID], *, owner: str, stated: Collection[UUID] = ()
) -> dict[str, int]:
    """Delete those of `touched` without any mention, with everything that belongs to them and
    quotes them; returns counts.

    What shows them by their ids quotes them, and what repeats the words of those that are `stated`:
    that somebody said.
    """
    statements = load("writing/forgetting")
    connection.execute(statements["lock_nodes"], {"ids": list(touched)})
    unmentioned = [
        row["id"]
        for row in connection.execute(
            statements["unmentioned"], {"ids": list(touched), "owner": owner}
        )
    ]
    parts = connection.execute(statements["count_parts"], {"ids": unmentioned}).fetchone()
    assert parts is not None  # a select without from has one row
    dropped = connection.execute(
        statements["drop_keys"], {"ids": unmentioned, "owner": owner}
    ).fetchall()
    store.prune(connection, unmentioned)
    if parts["passages"] >= COUNTED:
        # a word that only they had leaves the statistics of words, too
        jobs.enqueue_count(connection)
    quoting = (
        quotes.erase(connection, unmentioned, owner=owner, stated=stated) if unmentioned else {}
    )
    connection.execute(statements["drop_nodes"], {"ids": unmentioned})
    left = set(touched) - set(unmentioned)
    nodes.refresh(connection, left, described=left)
    store.remove_dead(connection, list(left))
    counts = {"nodes": len(unmentioned), "keys": len(dropped), **parts}
    for whose, showing in sorted(quoting.items()):  # what only showed them goes, too
        more = delete_unmentioned(connection, sorted(set(showing)), owner=whose)
        counts = {name: count + more[name] for name, count in counts.items()}
    return counts
