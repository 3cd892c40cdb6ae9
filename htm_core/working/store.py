"""Working sets: their items, their versions, and the receipts of evicted items."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from uuid import UUID

from ..base.types import Eviction, Item
from ..db.connection import Queued
from ..db.database import Connection, Row
from ..db.queries import load

_moment = partial(datetime.fromtimestamp, tz=UTC)  # of epoch seconds


@dataclass(frozen=True, slots=True)
class SetKey:
    """Identifies a working set: tenant, owner, robot (or group, when shared), and session."""

    tenant: str
    owner: str
    holder: str
    session: str
    shared: bool = False

    def columns(self) -> dict[str, str | bool]:
        """The columns after the tenant, which the transaction sets."""
        return {
            "owner": self.owner,
            "shared": self.shared,
            "holder": self.holder,
            "session": self.session,
        }


@dataclass(frozen=True, slots=True)
class SetVersion:
    """The version of a set, with the id of its row."""

    id: UUID
    version: int

    def follows(self, before: SetVersion | None) -> bool:
        """True if this is the version right after `before`."""
        if before is None:
            return self.version == 1
        return self.id == before.id and self.version == before.version + 1

    def covers(self, other: SetVersion) -> bool:
        """True if this is `other` or a later version of the same set."""
        return self.id == other.id and self.version >= other.version


@dataclass(frozen=True, slots=True)
class SetChange:
    """A change that was written: its version, and the items that were refused because they were
    forgotten meanwhile.
    """

    at: SetVersion
    refused: tuple[str, ...] = ()


# Gives a change that travels with the end of its transaction, or with what is read before. None
# where there was nothing to write, or all of it was erased, and where the set has moved on.
Written = Callable[[], SetChange | None]


@dataclass(frozen=True, slots=True)
class SetChanges:
    """Changes of a set: `held` are its new or changed items, `gone` the ids that left; `whole`
    means `held` is everything.

    Items that the reader did not know come with their content; the others come with an empty one.
    `dead` are those of the reader's unwritten items that were forgotten meanwhile.
    """

    at: SetVersion | None
    whole: bool
    held: dict[str, Item] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    dead: frozenset[str] = frozenset()


def read_changes(
    connection: Connection,
    key: SetKey,
    *,
    since: SetVersion | None,
    known: Container[str],
    unwritten: Sequence[UUID] = (),
) -> SetChanges | None:
    """Return what has changed since a version, or all items when `since` is None; None when nothing
    has changed.

    `known` are the ids whose content the reader has, `unwritten` those that it holds and has not
    written yet.
    """
    values: dict[str, object] = {**key.columns(), "unwritten": list(unwritten)}
    row = connection.execute(load("working/store")["version"], values).fetchone()
    dead = frozenset(map(str, row["dead"])) if row is not None else frozenset()
    if row is None or row["id"] is None:
        return SetChanges(at=None, whole=True, dead=dead)
    at = SetVersion(row["id"], row["version"])
    if since is not None and since.covers(at):
        return SetChanges(at=at, whole=False, dead=dead) if dead else None
    whole = since is None or since.id != at.id or row["pruned"] > since.version
    values = {"set": at.id, "since": 0 if since is None else since.version}
    rows = connection.execute(
        load("working/store")["items" if whole else "changed"], values
    ).fetchall()
    held = {str(row["id"]): row for row in rows if row["held"]}
    gone = frozenset(str(row["id"]) for row in rows if not row["held"])
    words = _contents(connection, [UUID(id) for id in held if id not in known])
    items = {
        id: _item(row, words.get(id)) for id, row in held.items() if id in known or id in words
    }
    return SetChanges(at=at, whole=whole, held=items, gone=gone, dead=dead)


def _contents(connection: Connection, ids: Sequence[UUID]) -> dict[str, Row]:
    if not ids:
        return {}
    return {
        str(row["id"]): row
        for row in connection.execute(load("working/store")["contents"], {"ids": list(ids)})
    }


def _item(row: Row, words: Row | None) -> Item:
    item = Item(
        id=str(row["id"]),
        content="",
        tokens=0,
        importance=row["importance"],
        access_count=row["access_count"],
        added_at=row["added_at"].timestamp(),
        accessed_at=row["accessed_at"].timestamp(),
    )
    if words is None:
        return item
    return replace(
        item,
        content=words["content"],
        tokens=words["tokens"],
        name=words["name"],
        role=words["role"],
        session=words["session"] or None,
        said_at=None if words["at"] is None else words["at"].timestamp(),
        seq=words["seq"] or 0,
        source=words["source"],
        tags=tuple(words["tags"]),
        keys=tuple(words["keys"]),
        expires_at=None if words["expires_at"] is None else words["expires_at"].timestamp(),
    )


def change(
    connection: Connection,
    key: SetKey,
    *,
    admitted: Sequence[Item] = (),
    evicted: Sequence[Eviction] = (),
    dead: Sequence[UUID] = (),
    expected: int | None = None,
    noted: bool = False,
    recalled: bool = False,
) -> Written:
    """Have admitted and evicted items stored, and `dead` nodes removed from every set; gives the
    new version once that is done.

    With `noted` the change goes into the record of the set, by its turn: with `recalled` that of
    the time at which it happened, which may be a moment ago, else the present one.

    Where `expected` is given, nothing is written once the set has another version.
    """
    if not (admitted or evicted or dead):
        return lambda: None
    values: dict[str, object] = {
        "expected": expected,
        "gone": [UUID(eviction.item.id) for eviction in evicted],
        "scores": [eviction.score for eviction in evicted],
        "at": _moment(evicted[0].at) if evicted else None,
        "policy": evicted[0].policy if evicted else None,
        "dead": list(dead),
        "noted": noted,
        "recalled": recalled,
        "gone_ats": [_moment(eviction.at) for eviction in evicted] if noted and recalled else None,
    }
    return partial(
        _written,
        connection.queue(
            load("working/store")["change"], {**key.columns(), **values, **_columns(admitted)}
        ),
    )


def remove(
    connection: Connection, key: SetKey, ids: Sequence[str], *, at: datetime, noted: bool = False
) -> Written:
    """Remove items from a set without a receipt. With `noted` the change goes into the record of
    the set.
    """
    values = {
        "expected": None, "gone": [UUID(id) for id in ids], "scores": None, "at": at,
        "policy": None, "dead": [], "noted": noted, "recalled": False, "gone_ats": None,
    }  # fmt: skip
    return partial(
        _written,
        connection.queue(
            load("working/store")["change"], {**key.columns(), **values, **_columns(())}
        ),
    )


def _written(queued: Queued) -> SetChange | None:
    if not queued.rows:
        return None
    row = queued.rows[0]
    return SetChange(SetVersion(row["set_id"], row["reached"]), tuple(map(str, row["refused"])))


@dataclass(frozen=True, slots=True)
class CountedAccesses:
    """Accesses that were written: the version of the set, and the new counts with the times of the
    last access.
    """

    at: SetVersion
    counts: Mapping[str, tuple[int, float]]


def add_accesses(
    connection: Connection, key: SetKey, access_counts: Mapping[UUID, tuple[int, datetime]]
) -> Callable[[], CountedAccesses | None]:
    """Add to the access counts of items of a set with what is sent next; None when it has none of
    them.
    """
    ids = sorted(access_counts)
    values = {
        "ids": ids,
        "times": [access_counts[id][0] for id in ids],
        "ats": [access_counts[id][1] for id in ids],
    }
    queued = connection.queue(load("working/store")["add_accesses"], {**key.columns(), **values})

    def counted() -> CountedAccesses | None:
        """The counts, once they were added to."""
        rows = queued.rows
        if not rows:
            return None
        counts = {str(row["node"]): (row["count"], row["at"].timestamp()) for row in rows}
        return CountedAccesses(SetVersion(rows[0]["set_id"], rows[0]["reached"]), counts)

    return counted


def remove_dead(connection: Connection, ids: Sequence[UUID]) -> None:
    """Remove nodes that are no longer live from every set."""
    connection.queue(load("working/store")["remove_dead"], {"ids": list(ids)})


def prune(connection: Connection, ids: Sequence[UUID]) -> None:
    """Record in every set that rows of these nodes are about to be deleted, so that readers load it
    again.
    """
    if ids:
        connection.queue(load("working/store")["prune"], {"ids": list(ids)})


@dataclass(frozen=True, slots=True)
class Moved:
    """A node that came into a set or left it: its first words, tokens, and the keep-score by which
    it left.

    `content` is None where the node is hidden: it was forgotten since.
    """

    id: str
    content: str | None
    tokens: int
    score: float | None = None


@dataclass(frozen=True, slots=True)
class NotedChange:
    """Change of a set at a turn: the first of the nodes that came by recall and that left, and how
    many did.

    `seq` is the number of the last mention of the session by then, 0 before the first. `policy` is
    that by which they left, None where somebody removed them. `holder` is a robot, or with `shared`
    a group.
    """

    session: str
    seq: int
    at: datetime
    holder: str
    shared: bool
    recalled: tuple[Moved, ...]
    recalled_count: int
    evicted: tuple[Moved, ...]
    evicted_count: int
    policy: str | None


def history(
    connection: Connection,
    *,
    owner: str,
    turns: Mapping[str, tuple[int, int]],
    first: int,
    limit: int,
) -> list[NotedChange]:
    """Return the changes of an owner's sets in sessions, each from one turn to another, with the
    `first` nodes of each list.
    """
    values: dict[str, object] = {
        "owner": owner, "sessions": list(turns), "begins": [begin for begin, _ in turns.values()],
        "ends": [end for _, end in turns.values()], "first": first, "limit": limit,
    }  # fmt: skip
    rows = connection.execute(load("working/store")["history"], values).fetchall()
    ids = sorted({id for row in rows for id in (*row["recalled"], *row["evicted"])})
    words = (
        {
            row["id"]: row
            for row in connection.execute(load("working/store")["history_words"], {"ids": ids})
        }
        if ids
        else {}
    )

    def _moved(id: UUID, score: float | None = None) -> Moved:
        known = words.get(id)
        return Moved(
            str(id), known["content"] if known else None, known["tokens"] if known else 0, score
        )

    return [
        NotedChange(
            session=row["session"],
            seq=row["seq"],
            at=row["at"],
            holder=row["holder"],
            shared=row["shared"],
            recalled=tuple(map(_moved, row["recalled"])),
            recalled_count=row["came"],
            evicted=tuple(map(_moved, row["evicted"], row["scores"])),
            evicted_count=row["left"],
            policy=row["policy"],
        )
        for row in rows
    ]


def drop_history(connection: Connection, *, before: datetime) -> None:
    """Delete the tenant's records from before a time."""
    connection.execute(load("working/store")["drop_history"], {"before": before})


def drop_all_history(connection: Connection, *, before: datetime) -> int:
    """Delete the records of all tenants from before a time, as a worker; says how many."""
    row = connection.execute(
        load("working/store")["drop_all_history"], {"before": before}
    ).fetchone()
    return 0 if row is None else int(row["dropped"])


def _columns(items: Sequence[Item]) -> dict[str, list[object]]:
    return {
        "came": [UUID(item.id) for item in items],
        "added": [_moment(item.added_at) for item in items],
        "accessed": [_moment(item.accessed_at) for item in items],
        "counts": [item.access_count for item in items],
    }
